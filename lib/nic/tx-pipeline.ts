import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import { TxKind } from '../qp/queue-pair.js'
import type { Nanos } from '../time/nanos.js'
import * as bth from '../wire/bth.js'
import * as deth from '../wire/deth.js'
import * as icrc from '../wire/icrc.js'
import * as intShim from '../wire/int-shim.js'
import { Opcode } from '../wire/opcode.js'
import * as telemetry from '../wire/telemetry.js'
import type { Flow } from './flow.js'
import { beginFrame, completeHeaders } from './headers.js'

const ICRC_BYTES = 4

export interface TxCounters {
  frames: number
  bytes: number
  /** A packet was due and no frame was free. */
  noFrame: number
}

/**
 * The tx pipeline of the draft's NIC: turns what a queue pair has to say into a whole frame. A data packet
 * gets an INT shim to be stamped, an acknowledgement the echo of the one that came last.
 */
export class TxPipeline {
  readonly counters: TxCounters = { frames: 0, bytes: 0, noFrame: 0 }
  readonly #pool: FramePool
  readonly #icrc: boolean

  /** @param options.icrc false: the ICRC is left zero, for virtual time */
  constructor(options: { pool: FramePool; icrc: boolean }) {
    this.#pool = options.pool
    this.#icrc = options.icrc
  }

  /** The flow's next acknowledgement, or null. */
  acknowledgement(now: Nanos, flow: Flow, concurrentFlows: number): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const at = this.#beginEcho(frame, flow, concurrentFlows)
    if (flow.qp.pollTransmit(now, frame, at, false) === TxKind.NONE) return this.#abandon(frame)
    return this.#finishEcho(frame, flow)
  }

  /** The echo of a READ response's telemetry, which no acknowledgement carries. Null when it has been sent already. */
  responseNotification(flow: Flow, psn: number, concurrentFlows: number): Frame | null {
    if (flow.echoBytes === 0) return null
    const frame = this.#begin(flow)
    if (frame === null) return null
    this.#writeVendor(frame, flow, Opcode.NOTIFY, this.#beginEcho(frame, flow, concurrentFlows), psn, 0)
    return this.#finishEcho(frame, flow)
  }

  /** Writes the shim that waits to be echoed, if there is one; returns where the BTH goes. */
  #beginEcho(frame: Frame, flow: Flow, concurrentFlows: number): number {
    const at = frame.payload
    if (flow.echoBytes === 0) return at
    flow.echo.copy(frame.bytes, at, 0, flow.echoBytes)
    if (concurrentFlows > 0) intShim.setFlows(frame.view, at, concurrentFlows)
    frame.shim = at
    return at + flow.echoBytes
  }

  /** What is echoed stands for everything that came before: it has been said. */
  #finishEcho(frame: Frame, flow: Flow): Frame {
    if (flow.echoCe) bth.setBecn(frame.view, frame.bth, true)
    flow.echoBytes = 0
    flow.echoCe = false
    flow.unechoedResponses = 0
    return this.#finish(frame)
  }

  /** The flow's next packet with payload, or null; also moves the flow's pacing clock. */
  data(now: Nanos, flow: Flow): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const collects = flow.intSlots > 0
    const at = collects ? telemetry.begin(frame, flow.intFormat, flow.intSlots, 0) : frame.payload
    const kind = flow.qp.pollTransmit(now, frame, at, flow.windowOpen)
    if (kind === TxKind.NONE) return this.#abandon(frame)
    const qp = flow.qp
    const bytes = frame.payloadLength
    const again = qp.lastTransmittedWasRetransmission
    if (kind === TxKind.REQUEST) {
      const transmission = flow.requestSent(qp.lastTransmittedSeq, now, again)
      flow.stats.sentBytes += bytes
      if (again) flow.stats.retransmittedBytes += bytes
      // Set: without a controller the window is closed, and there are no requests.
      flow.cc!.onSent(now, transmission, bytes)
    } else {
      flow.responseSent(qp.lastTransmittedSeq, now, bytes)
    }
    this.#finish(frame)
    flow.paced(now, frame.wireLength)
    return frame
  }

  /** A probe as long as a full data packet, with the flow's own headers, so that it takes the data's way. */
  probe(flow: Flow, sequence: number, payloadBytes: number): Frame | null {
    return this.#vendor(flow, Opcode.PROBE, sequence, payloadBytes)
  }

  /** The answer to a probe. */
  notification(flow: Flow, sequence: number): Frame | null {
    return this.#vendor(flow, Opcode.NOTIFY, sequence, 0)
  }

  /** A management datagram to QP 1: UD SEND_ONLY with the well-known Q_Key (IBA 13.5). */
  managementDatagram(headers: Buffer, mad: Uint8Array, psn: number): Frame | null {
    const frame = this.#take()
    if (frame === null) return null
    const view = frame.view
    const at = beginFrame(frame, headers)
    bth.write(
      view,
      at,
      Opcode.UD_SEND_ONLY,
      false,
      false,
      0,
      bth.DEFAULT_PARTITION_KEY,
      deth.QPN_GSI,
      true,
      psn,
    )
    deth.write(view, at + bth.BYTES, deth.QKEY_GSI, deth.QPN_GSI)
    frame.bth = at
    frame.payload = at + bth.BYTES + deth.BYTES
    frame.payloadLength = mad.length
    frame.bytes.set(mad, frame.payload)
    frame.length = frame.payload + mad.length
    frame.wireLength = frame.length
    return this.#finish(frame)
  }

  #vendor(flow: Flow, opcode: number, sequence: number, payloadBytes: number): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    this.#writeVendor(frame, flow, opcode, frame.payload, sequence, payloadBytes)
    return this.#finish(frame)
  }

  #writeVendor(
    frame: Frame,
    flow: Flow,
    opcode: number,
    at: number,
    sequence: number,
    payloadBytes: number,
  ): void {
    const key = bth.DEFAULT_PARTITION_KEY
    bth.write(frame.view, at, opcode, false, false, 0, key, flow.qp.remoteQpn, false, sequence)
    frame.bth = at
    frame.payload = at + bth.BYTES
    frame.payloadLength = payloadBytes
    // Slots for headers alone (virtual time) have no room for a payload: it is only counted then.
    const materialised = frame.payload + payloadBytes + ICRC_BYTES <= frame.bytes.length
    if (materialised) frame.bytes.fill(0, frame.payload, frame.payload + payloadBytes)
    frame.length = materialised ? frame.payload + payloadBytes : frame.payload
    frame.wireLength = frame.payload + payloadBytes
  }

  /** A frame with the flow's headers; `payload` is where the transport begins. */
  #begin(flow: Flow): Frame | null {
    const frame = this.#take()
    if (frame !== null) frame.payload = beginFrame(frame, flow.headers)
    return frame
  }

  #take(): Frame | null {
    const frame = this.#pool.take()
    if (frame === null) this.counters.noFrame++
    return frame
  }

  #abandon(frame: Frame): null {
    this.#pool.give(frame)
    return null
  }

  #finish(frame: Frame): Frame {
    const whole = frame.length === frame.wireLength
    frame.wireLength += ICRC_BYTES
    completeHeaders(frame, telemetry.destinationPort(frame))
    if (whole) {
      frame.length = frame.wireLength
      if (this.#icrc) icrc.write(frame)
      else frame.view.setUint32(frame.length - ICRC_BYTES, 0)
    }
    this.counters.frames++
    this.counters.bytes += frame.wireLength
    return frame
  }
}

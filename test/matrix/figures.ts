/** What a run of the matrix shows of the options. All are counts, bytes or ns, or lists of texts. */
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import { isReadResponse, isRequest, Opcode } from '../../lib/wire/ib/opcode.js'
import * as udp from '../../lib/wire/net/udp.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import * as arrival from '../../lib/wire/weir/arrival.js'
import { dscp } from '../../switch-emu/core/forwarding/ip-header.js'

export interface Figures {
  // Frames that h1 and h2 send.
  dataFrames: number
  /** Data packets that collect telemetry, those that have an empty header, and those that have none. */
  collecting: number
  empty: number
  plain: number
  /** Data packets and probes that ask switches for direct responses. */
  asking: number
  probes: number
  pathProbes: number
  /** Bytes of telemetry headers as they leave. */
  headerBytes: number
  payloadMax: number
  formats: string
  dscps: string
  sourcePorts: string
  /** A number that depends on time, kind and length of each frame with payload. */
  trace: number
  firstDataNs: number
  // Frames that h3 sends.
  acks: number
  sacks: number
  naks: number
  notifications: number
  windows: number
  /** Acknowledgements that say how a packet arrived, and those that say with which hop limit. */
  stamped: number
  hopLimits: number
  /** Acknowledgements that collect telemetry themselves. */
  collectingAcks: number
  cnps: number
  /** DSCP of the last one. */
  cnpDscp: number
  /** Bytes of the packets that return telemetry, without payload. */
  answerBytes: number
  // Connections.
  controllers: string
  baseRttNs: number
  baseRttChanges: number
  windowMin: number
  windowMax: number
  beginWindow: number
  rateMax: number
  inFlightMax: number
  pathHopsMax: number
  lastPathHops: number
  pathMoves: number
  admissionDelayNs: number
  retransmittedBytes: number
  timeouts: number
  implausible: number
  refusedFeedback: number
  errors: string
  endsNs: number
  // The network.
  queueMax: number
  drops: number
  marks: number
  directResponses: number
}

/** Opcodes from here on are the manufacturers', so Weir's own. */
const VENDOR_FIRST = 0xc0

/** Looks at the frames that one host sends. */
export class FrameWatch {
  dataFrames = 0
  collecting = 0
  empty = 0
  plain = 0
  asking = 0
  probes = 0
  pathProbes = 0
  headerBytes = 0
  payloadMax = 0
  trace = 7
  firstDataNs = 0
  acks = 0
  sacks = 0
  naks = 0
  notifications = 0
  windows = 0
  stamped = 0
  hopLimits = 0
  collectingAcks = 0
  cnps = 0
  cnpDscp = -1
  answerBytes = 0
  readonly formats = new Set<string>()
  readonly dscps = new Set<number>()
  readonly sourcePorts = new Set<number>()

  see(now: number, frame: Frame): void {
    const { view } = frame
    if (frame.bth < 0 || bth.destQpn(view, frame.bth) === deth.QPN_GSI) return
    const opcode = bth.opcode(view, frame.bth)
    this.dscps.add(dscp(frame))
    if (opcode === Opcode.PATH_PROBE) this.pathProbes++
    else this.sourcePorts.add(udp.sourcePort(view, frame.l4))
    if (opcode === Opcode.PROBE) this.probes++
    if (frame.payloadLength > 0 && opcode < VENDOR_FIRST && (isRequest(opcode) || isReadResponse(opcode)))
      this.#seeData(now, frame)
    else this.#seeControl(frame, arrival.isOn(opcode) ? this.#seeArrival(frame, opcode) : opcode)
    if (frame.shim < 0) return
    if (telemetry.isEcho(frame)) {
      this.answerBytes += intShim.totalBytes(view, frame.shim)
      return
    }
    this.headerBytes += frame.bth - frame.shim
    const { intFormat } = frame
    const isNative = intFormat <= intShim.FORMAT_COMPACT
    this.formats.add(isNative ? `native ${intShim.format(view, frame.shim)}` : String(intFormat))
  }

  #seeData(now: number, frame: Frame): void {
    if (this.dataFrames++ === 0) this.firstDataNs = now
    this.payloadMax = Math.max(this.payloadMax, frame.payloadLength)
    for (const word of [now, frame.wireLength]) this.trace = (Math.imul(this.trace, 31) + word) | 0
    if (frame.shim < 0) {
      this.plain++
      return
    }
    if (telemetry.isEcho(frame)) this.empty++
    else this.collecting++
    if ((telemetry.flags(frame) & intShim.FLAG_SUBSCRIBED) !== 0) this.asking++
  }

  /** Returns the opcode of the acknowledgement without that header. */
  #seeArrival(frame: Frame, opcode: number): number {
    this.stamped++
    if (arrival.hopLimit(frame.view, frame.payload - arrival.BYTES) > 0) this.hopLimits++
    return arrival.plainOpcode(opcode)
  }

  #seeControl(frame: Frame, opcode: number): void {
    const isAck = opcode === Opcode.RC_ACKNOWLEDGE || opcode === Opcode.SACK
    if (isAck && frame.shim >= 0 && !telemetry.isEcho(frame)) this.collectingAcks++
    if (opcode === Opcode.RC_ACKNOWLEDGE) {
      this.acks++
      // AETH syndrome 0x60 to 0x7f is a NAK (IBA table 43).
      if (frame.view.getUint8(frame.bth + bth.BYTES) >> 5 === 3) this.naks++
    } else if (opcode === Opcode.SACK) this.sacks++
    else if (opcode === Opcode.NOTIFY) this.notifications++
    else if (opcode === Opcode.RATE) this.windows++
    else if (opcode === Opcode.CNP) {
      this.cnps++
      this.cnpDscp = dscp(frame)
    }
  }
}

import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as deth from '../../wire/ib/deth.js'
import * as grh from '../../wire/ib/grh.js'
import * as immdt from '../../wire/ib/immdt.js'
import { Opcode } from '../../wire/ib/opcode.js'
import { Access, checkDomain, type DomainId, type MemoryRegion } from '../memory/memory.js'
import { scatter } from '../memory/memory-list.js'
import { readPayload, writePayload } from '../memory/payload.js'
import { type CompletionQueue, ReceiveOpcode } from '../queues/completion-queue.js'
import { checkedReceive, ReceiveQueue, type ReceiveSource } from '../queues/receive-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../queues/work.js'
import { WorkStatus } from '../queues/work-status.js'
import { checkedDatagram, DatagramSendQueue, type DatagramSlot } from './datagram-send-queue.js'

/** The bit of a Q_Key that no program may set, and that asks for the sender's own (IBA 10.2.5). */
const QKEY_PRIVILEGED = 0x8000_0000

interface DatagramConfig {
  /** 2 to 0xffffff. */
  qpn: number
  /** What datagrams have to know, 31 bits: the highest bit is for the system's own queue pairs. */
  qkey: number
  domain: DomainId
  /** Most bytes of a datagram. */
  pathMtu: number
  /** Work requests of either queue. */
  queueDepth: number
  /** Where its receives come from, instead of `postReceive`. */
  receiveSource: ReceiveSource | null
  completions: CompletionQueue
}

/** Datagrams that were dropped, by reason: nobody learns of them (IBA 9.8.2). */
export class DatagramCounters {
  sent = 0
  received = 0
  /** Not a SEND of the unreliable datagram service, of another version or partition. */
  droppedOpcode = 0
  /** Another Q_Key than the queue pair's. */
  droppedQkey = 0
  /** No receive was posted. */
  droppedNoReceive = 0
  /** The receive had no room for the GRH and the payload. */
  droppedNoRoom = 0
}

/**
 * An unreliable datagram queue pair (IBA 9.8.3), sans-IO: each SEND is one packet to a queue pair that the work request names. There is no
 * connection, no acknowledgement, and no order.
 *
 * A receive has 40 bytes for the GRH before the payload: see lib/wire/ib/grh.ts.
 */
export class DatagramQueuePair {
  readonly qpn: number
  readonly qkey: number
  readonly pathMtu: number
  readonly counters: DatagramCounters
  readonly #domain: DomainId
  readonly #sends: DatagramSendQueue
  readonly #receives: ReceiveQueue
  readonly #header = new bth.Bth()
  readonly #grh = new Uint8Array(grh.BYTES)
  #psn = 0
  #isClosed = false

  /** Throws WEIR_BAD_ARGUMENT. @param counters of all of the host's */
  constructor(config: DatagramConfig, counters: DatagramCounters) {
    const { qpn, qkey, pathMtu, queueDepth, receiveSource, completions } = config
    if (!Number.isInteger(qkey) || qkey < 0 || qkey >= QKEY_PRIVILEGED)
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `queue pair ${qpn}: qkey is a whole number of 31 bits, not ${qkey}`,
      )
    this.qpn = qpn
    this.qkey = qkey
    this.pathMtu = pathMtu
    this.counters = counters
    this.#domain = config.domain
    this.#sends = new DatagramSendQueue(qpn, queueDepth, completions)
    this.#receives = new ReceiveQueue(qpn, queueDepth, completions, receiveSource)
  }

  /** The datagram that is sent next, or null. */
  get next(): DatagramSlot | null {
    return this.#sends.count === 0 ? null : this.#sends.head
  }

  /** False when the queue is full or the queue pair is closed. Throws WEIR_BAD_ARGUMENT. */
  postSend(posted: SendWork): boolean {
    const work = checkedDatagram(this.qpn, posted, this.pathMtu)
    checkDomain(this.qpn, work.region, this.#domain)
    return !this.#isClosed && this.#sends.post(work)
  }

  /** As `postSend`. The payload comes 40 bytes behind the beginning, so the receive has so many at least. */
  postReceive(posted: ReceiveWork): boolean {
    const work = checkedReceive(this.qpn, posted, grh.BYTES)
    checkDomain(this.qpn, work.region, this.#domain)
    return !this.#isClosed && this.#receives.post(work)
  }

  /**
   * Writes the next datagram from `at` on: BTH, DETH, immediate, payload. The payload is copied, because the work completes at once.
   * False if its memory may not be read any more: it has failed then.
   */
  transmit(frame: Frame, at: number): boolean {
    const slot = this.#sends.head
    if (!slot.region!.allows(0)) {
      this.#sends.complete(WorkStatus.LOC_PROT_ERR)
      return false
    }
    const { view } = frame
    const hasImmediate = slot.opcode === WorkOpcode.SEND_WITH_IMM
    const afterDeth = at + bth.BYTES + deth.BYTES
    const qkey = slot.remoteQkey >= QKEY_PRIVILEGED ? this.qkey : slot.remoteQkey
    deth.write(view, at + bth.BYTES, qkey, this.qpn)
    if (hasImmediate) immdt.write(view, afterDeth, slot.immediate)
    const payload = afterDeth + (hasImmediate ? immdt.BYTES : 0)
    const header = this.#header
    header.padCount = writePayload(frame, payload, slot.region!, slot.offset, slot.length, false)
    header.opcode = hasImmediate ? Opcode.UD_SEND_ONLY_WITH_IMM : Opcode.UD_SEND_ONLY
    header.solicited = slot.solicited
    header.destQpn = slot.remoteQpn
    header.psn = this.#psn
    this.#psn = (this.#psn + 1) & 0xffffff
    bth.write(view, at, header)
    frame.bth = at
    this.counters.sent++
    this.#sends.complete(WorkStatus.SUCCESS)
    return true
  }

  /** The next datagram cannot be sent: the address handle is gone. */
  failNext(): void {
    this.#sends.complete(WorkStatus.LOC_QP_OP_ERR)
  }

  /** A parsed packet for this queue pair with the right ICRC. */
  onPacket(frame: Frame): void {
    const { view, bth: at } = frame
    const opcode = bth.opcode(view, at)
    const { counters } = this
    const isSend = opcode === Opcode.UD_SEND_ONLY || opcode === Opcode.UD_SEND_ONLY_WITH_IMM
    if (!isSend || bth.version(view, at) !== 0 || (bth.partitionKey(view, at) & 0x7fff) !== 0x7fff)
      counters.droppedOpcode++
    else if (deth.qkey(view, at + bth.BYTES) !== this.qkey) counters.droppedQkey++
    else if (!this.#hasReceive()) counters.droppedNoReceive++
    else this.#receive(frame, opcode === Opcode.UD_SEND_ONLY_WITH_IMM)
  }

  /**
   * Receives whose memory may not be written any more have failed: those behind them are good for datagrams. A shared one, which is for
   * connections too, may be too short for the GRH.
   */
  #hasReceive(): boolean {
    const receives = this.#receives
    while (receives.isReady()) {
      const { region, length } = receives.head
      if (!region!.allows(Access.LOCAL_WRITE)) receives.failHead(WorkStatus.LOC_PROT_ERR)
      else if (length < grh.BYTES) receives.failHead(WorkStatus.LOC_LEN_ERR)
      else return true
    }
    return false
  }

  /** A datagram without room is dropped, as Linux does: whoever knows the Q_Key could otherwise use up the receives, or end the queue pair. */
  #receive(frame: Frame, hasImmediate: boolean): void {
    const { view, bth: at, payloadLength } = frame
    const { region, offset, length } = this.#receives.head
    const bytes = grh.BYTES + payloadLength
    if (bytes > length) {
      this.counters.droppedNoRoom++
      return
    }
    this.#writeGrh(frame, region!, offset)
    readPayload(frame, region!, offset + grh.BYTES)
    this.counters.received++
    const immediate = hasImmediate ? immdt.immediate(view, at + bth.BYTES + deth.BYTES) : 0
    const done = this.#receives.completeHead(ReceiveOpcode.RECV, bytes, hasImmediate, immediate, 0)
    done.sourceQpn = deth.sourceQpn(view, at + bth.BYTES)
    done.solicited = bth.solicited(view, at)
  }

  #writeGrh(frame: Frame, region: MemoryRegion, offset: number): void {
    grh.write(this.#grh, 0, frame)
    if (region.pieces !== null) scatter(region, offset, this.#grh)
    else region.backing?.bytes.set(this.#grh, offset)
  }

  /** Ends all work with WR_FLUSH_ERR. */
  close(): void {
    this.#isClosed = true
    this.#sends.flush()
    this.#receives.flush()
  }
}

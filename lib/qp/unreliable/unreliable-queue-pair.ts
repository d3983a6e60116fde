import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as immdt from '../../wire/ib/immdt.js'
import { hasImmediate, hasReth } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import { checkDomain, type DomainId, type MemoryTable } from '../memory/memory.js'
import { writePayload } from '../memory/payload.js'
import type { CompletionQueue } from '../queues/completion-queue.js'
import { messageOpcode } from '../queues/message-opcode.js'
import { checkedReceive, ReceiveQueue, type ReceiveSource } from '../queues/receive-queue.js'
import { checkedSend, SendQueue, type SendSlot } from '../queues/send-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../queues/work.js'
import { WorkStatus } from '../queues/work-status.js'
import type { UnreliableCounters } from './counters.js'
import { SERVICE, UnreliableResponder } from './responder.js'

interface UnreliableConfig {
  /** 2 to 0xffffff. */
  qpn: number
  /** First PSN that it sends with. */
  psn: number
  memory: MemoryTable
  domain: DomainId
  /** Payload bytes of a full packet: both ends have to have the same. */
  pathMtu: number
  /** Work requests of either queue. */
  queueDepth: number
  /** Where its receives come from, instead of `postReceive`. */
  receiveSource: ReceiveSource | null
  completions: CompletionQueue
}

/** An unreliable connected queue pair (IBA 9.8.2), sans-IO. It takes receives from the beginning, and sends once it is connected. */
export class UnreliableQueuePair {
  readonly qpn: number
  readonly psn: number
  readonly pathMtu: number
  readonly counters: UnreliableCounters
  readonly #domain: DomainId
  readonly #sends: SendQueue
  readonly #receives: ReceiveQueue
  readonly #responder: UnreliableResponder
  readonly #header = new bth.Bth()
  #seq: number
  #remoteQpn = 0
  #isConnected = false
  #isClosed = false

  /** @param counters of all of the host's */
  constructor(config: UnreliableConfig, counters: UnreliableCounters) {
    const { qpn, psn, memory, domain, pathMtu, queueDepth, receiveSource, completions } = config
    this.qpn = qpn
    this.psn = psn
    this.pathMtu = pathMtu
    this.counters = counters
    this.#domain = domain
    this.#sends = new SendQueue(qpn, queueDepth, completions)
    this.#sends.nextSeq = psn
    this.#seq = psn
    this.#receives = new ReceiveQueue(qpn, queueDepth, completions, receiveSource)
    this.#responder = new UnreliableResponder({
      memory,
      domain,
      pathMtu,
      receives: this.#receives,
      counters,
    })
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Packets of the peer's host that were taken. */
  get receivedPackets(): number {
    return this.#responder.receivedPackets
  }

  /** Packets of the peer's host that are of another service than this one. */
  get otherService(): number {
    return this.#responder.otherService
  }

  /** Something is to be sent. */
  get hasNext(): boolean {
    return !this.#sends.isEmpty
  }

  /** To RTR and RTS. The peer's first PSN does not matter: its first message begins with any (IBA 9.8.2.2). */
  connect(remoteQpn: number): void {
    this.#remoteQpn = remoteQpn
    this.#isConnected = true
  }

  /** False when the queue is full, or the queue pair is closed or not connected. Throws WEIR_BAD_ARGUMENT. */
  postSend(posted: SendWork): boolean {
    const work = checkedUnreliable(this.qpn, posted)
    checkDomain(this.qpn, work.region, this.#domain)
    return this.#isConnected && !this.#isClosed && this.#sends.post(work, this.pathMtu)
  }

  /** As `postSend`, but from the beginning. */
  postReceive(posted: ReceiveWork): boolean {
    const work = checkedReceive(this.qpn, posted)
    checkDomain(this.qpn, work.region, this.#domain)
    return !this.#isClosed && this.#receives.post(work)
  }

  /**
   * Writes the next packet from `at` on. Its payload is copied, because work completes as its last packet leaves. False if its memory
   * may not be read any more: the work has failed then, and its PSNs are passed over, so that the peer drops what it has had of it.
   */
  transmit(frame: Frame, at: number): boolean {
    const sends = this.#sends
    const slot = sends.at(sends.head)
    if (!slot.region!.allows(0)) {
      this.#seq = slot.lastSeq + 1
      sends.completeHead(WorkStatus.LOC_PROT_ERR)
      return false
    }
    this.#write(frame, at, slot)
    this.counters.sent++
    if (this.#seq === slot.lastSeq) sends.completeHead(WorkStatus.SUCCESS)
    this.#seq++
    return true
  }

  #write(frame: Frame, at: number, slot: SendSlot): void {
    const { view } = frame
    const seq = this.#seq
    const sentBytes = (seq - slot.firstSeq) * this.pathMtu
    const opcode = SERVICE | messageOpcode(slot, seq)
    let next = at + bth.BYTES
    if (hasReth(opcode)) {
      reth.write(view, next, slot.remoteAddress, slot.rkey, slot.length)
      next += reth.BYTES
    }
    if (hasImmediate(opcode)) {
      immdt.write(view, next, slot.immediate)
      next += immdt.BYTES
    }
    const bytes = Math.min(this.pathMtu, slot.length - sentBytes)
    const header = this.#header
    header.padCount = writePayload(frame, next, slot.region!, slot.offset + sentBytes, bytes, false)
    header.opcode = opcode
    // The SE bit is in the last packet of a message (IBA 9.2.3).
    header.solicited = slot.solicited && seq === slot.lastSeq
    header.destQpn = this.#remoteQpn
    header.psn = seq
    bth.write(view, at, header)
    frame.bth = at
  }

  /** The next work request cannot be sent. */
  failNext(): void {
    const sends = this.#sends
    this.#seq = sends.at(sends.head).lastSeq + 1
    sends.completeHead(WorkStatus.LOC_QP_OP_ERR)
  }

  /** A parsed packet of the peer's host for this queue pair, with the right ICRC. */
  onPacket(frame: Frame): void {
    if (this.#isConnected) this.#responder.onPacket(frame)
    else this.counters.droppedSequence++
  }

  /** Ends all work with WR_FLUSH_ERR. */
  close(): void {
    this.#isClosed = true
    this.#sends.flush()
    this.#receives.flush()
  }
}

/** The work with its pieces as one region. Throws WEIR_BAD_ARGUMENT for what an unreliable connection does not do (IBA 9.8.2). */
export function checkedUnreliable(qpn: number, posted: SendWork): SendWork {
  const work = checkedSend(qpn, posted)
  const { opcode } = work
  if (opcode <= WorkOpcode.RDMA_WRITE_WITH_IMM && opcode !== WorkOpcode.SEND_WITH_INV) return work
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `queue pair ${qpn}, send work: an unreliable connection has SEND and RDMA_WRITE, with immediate or without, not opcode ${opcode}`,
  )
}

import { WeirError } from '../errors.js'
import { type DomainId, MemoryRegion, REGION_LENGTH_MAX } from '../qp/memory/memory.js'
import { type Completion, ReceiveOpcode } from '../qp/queues/completion-queue.js'
import type { ReceiveSlot, ReceiveSource } from '../qp/queues/receive-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../qp/queues/work.js'
import { WorkStatus } from '../qp/queues/work-status.js'
import type { Nanos } from '../time/nanos.js'
import type { Queues } from './queues.js'
import type { RegionOfKey, WorkRing } from './work-ring.js'

/** Stands for a region that has been deregistered. Work on it fails with LOC_PROT_ERR. */
export const GONE = new MemoryRegion(0, 0, REGION_LENGTH_MAX, null, 0)
GONE.valid = false

/** A queue pair of the NIC, connected or not. */
interface WorkTaker {
  /** It takes sends. */
  readonly established: boolean
  postSend(now: Nanos, work: SendWork): boolean
  postReceive(work: ReceiveWork): boolean
  disconnect(now: Nanos): void
}

/**
 * The NIC's end of the queues of an application on another thread. It takes work from the shared queues as far as the queue pair has
 * room, and puts completions there. It only takes work when there is a place for its completion.
 */
export class HostedWork<Taker extends WorkTaker> {
  readonly id: number
  readonly domain: DomainId
  #queues: Queues | null = null
  /** Its number at the doorbell; -1 before it is created. */
  bell = -1
  connection: Taker | null = null
  readonly #regionOf: RegionOfKey
  readonly #onWanted: () => void
  readonly #send: SendWork = { id: 0, opcode: WorkOpcode.SEND, region: GONE, offset: 0, length: 0 }
  readonly #receive: ReceiveWork = { id: 0, region: GONE, offset: 0, length: 0 }
  /**
   * For each send in flight, by its number modulo the length: 1 if only its failure produces a completion.
   */
  #unsignaled = new Uint8Array(0)
  #sendsTaken = 0
  #sendsCompleted = 0
  #receivesInFlight = 0
  isClosed = false
  /** Takes receives from the shared `queue` as far as there are places for their completions. Null: it has its own. */
  readonly receiveSource: (ReceiveSource & { readonly queue: ReceiveSource }) | null
  /** Why the shared queues are corrupt. Null: they are not. */
  fault: WeirError | null = null

  /** @param onWanted the application has asked to be woken, and a completion has come */
  constructor(
    id: number,
    regionOf: RegionOfKey,
    domain: DomainId,
    queue: ReceiveSource | null,
    onWanted: () => void,
  ) {
    this.receiveSource = queue && { queue, take: into => this.#takeShared(queue, into) }
    this.id = id
    this.domain = domain
    this.#regionOf = regionOf
    this.#onWanted = onWanted
  }

  /** Sets the queues, once. A request that is never confirmed gets none, so it costs no memory. */
  open(queues: Queues): void {
    this.#queues = queues
    // Every send that is taken has a place among the completions.
    this.#unsignaled = new Uint8Array(queues.completions.ring.depth)
  }

  /** Call after `open`. */
  get queues(): Queues {
    return this.#queues!
  }

  /** Takes posted work as far as there is room. */
  take(now: Nanos): void {
    const { connection } = this
    if (connection === null || this.#queues === null || this.isClosed || this.fault !== null) return
    const { sends, receives } = this.#queues
    try {
      while (this.#hasWork(receives)) {
        receives.peekReceive(this.#receive, this.#regionOf)
        if (!connection.postReceive(this.#receive)) break
        receives.ring.release()
        this.#receivesInFlight++
      }
      while (connection.established && this.#hasWork(sends)) {
        sends.peekSend(this.#send, this.#regionOf)
        // The queue pair completes work in order, signaled or not, so that counting gives the place.
        const unsignaled = this.#send.signaled === false
        this.#send.signaled = true
        if (!connection.postSend(now, this.#send)) break
        sends.ring.release()
        this.#unsignaled[this.#sendsTaken++ & (this.#unsignaled.length - 1)] = unsignaled ? 1 : 0
      }
    } catch (cause) {
      // The application's end has checked its posts, so a wrong record means that its memory was overwritten.
      const text = `the queues of ${this.toWhom} have been written over: ${(cause as Error).message}`
      this.fault = new WeirError('WEIR_BAD_STATE', text, { cause })
      connection.disconnect(now)
    }
  }

  /** For messages. */
  get toWhom(): string {
    return 'a queue pair'
  }

  /** Puts a completion into the shared queue. */
  complete(now: Nanos, completion: Completion): void {
    if (completion.isReceive) this.#receivesInFlight--
    const isSilent = !completion.isReceive && this.#sendIsSilent(completion.status)
    if (!isSilent) {
      this.queues.completions.push(completion)
      const isSolicited = completion.solicited || completion.status !== WorkStatus.SUCCESS
      if (this.queues.takeWanted(isSolicited)) this.#onWanted()
    }
    this.take(now)
  }

  /** Returns true if there is work in the ring, and a place for its completion. */
  #hasWork({ ring }: WorkRing): boolean {
    return ring.pending > 0 && this.#hasPlace()
  }

  #takeShared(queue: ReceiveSource, into: ReceiveSlot): boolean {
    if (this.#queues === null || this.fault !== null || !this.#hasPlace() || !queue.take(into)) return false
    this.#receivesInFlight++
    return true
  }

  #hasPlace(): boolean {
    const { ring: completions } = this.queues.completions
    const inFlight = this.#sendsTaken - this.#sendsCompleted + this.#receivesInFlight
    return inFlight + completions.pending < completions.depth
  }

  #sendIsSilent(status: WorkStatus): boolean {
    const unsignaled = this.#unsignaled[this.#sendsCompleted++ & (this.#unsignaled.length - 1)] === 1
    return unsignaled && status === WorkStatus.SUCCESS
  }
}

/**
 * Completes, at the application's end, the oldest work that a closed connection has left in its queues.
 * Returns false if there is none.
 */
export function pollFlushed({ sends, receives }: Queues, qpn: number, into: Completion): boolean {
  const isReceive = receives.ring.pending > 0
  const left = isReceive ? receives : sends
  if (left.ring.pending === 0) return false
  into.id = left.peekId()
  into.status = WorkStatus.WR_FLUSH_ERR
  into.opcode = isReceive ? ReceiveOpcode.RECV : (left.peekOpcode() as WorkOpcode)
  into.byteLength = 0
  into.qpn = qpn
  into.isReceive = isReceive
  into.hasImmediate = false
  into.immediate = 0
  into.invalidatedKey = 0
  into.sourceQpn = 0
  into.solicited = false
  left.ring.release()
  return true
}

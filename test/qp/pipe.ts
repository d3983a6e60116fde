import { Frame } from '../../lib/frame/frame.js'
import { MemoryTable } from '../../lib/qp/memory/memory.js'
import { type QpConfig, type QpObserver, QpState, QueuePair, TxKind } from '../../lib/qp/queue-pair.js'
import { CompletionQueue } from '../../lib/qp/queues/completion-queue.js'
import { ReorderPool } from '../../lib/qp/queues/reorder-buffer.js'
import type { WorkStatus } from '../../lib/qp/queues/work-status.js'
import { NEVER } from '../../lib/time/nanos.js'

/** Mulberry32: a seeded source of numbers from 0 to below 1. */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** One host: memory, completion queue and a queue pair, with what its observer got. */
export class Host {
  readonly memory: MemoryTable
  readonly sendCq: CompletionQueue
  readonly receiveCq: CompletionQueue
  readonly qp: QueuePair
  readonly reorderPool = new ReorderPool(8192, 4672)
  readonly observed: string[] = []
  error: WorkStatus | null = null
  pausedUntil = 0
  ackedBytes = 0
  lostBytes = 0
  /** Unwrapped PSN that the last report of a loss named. */
  newestLostSeq = -1

  constructor(qpn: number, config: Partial<QpConfig> = {}, seed = 1) {
    const random = randomSource(seed * 7919 + qpn)
    this.memory = new MemoryTable(1024, () => (random() * 2 ** 32) >>> 0)
    this.sendCq = new CompletionQueue(4096)
    this.receiveCq = new CompletionQueue(4096)
    const observer: QpObserver = {
      onAnswersTaken: () => {},
      onUnanswered: () => false,
      onAcked: (_now, seq, bytes) => {
        this.ackedBytes += bytes
        this.observed.push(`acked ${seq} +${bytes}`)
      },
      onRetransmit: (_now, bytes, byTimeout, newestSeq) => {
        this.lostBytes += bytes
        if (bytes > 0) this.newestLostSeq = newestSeq
        this.observed.push(`retransmit ${bytes}${byTimeout ? ' timeout' : ''}`)
      },
      onSpurious: () => {
        this.observed.push('spurious')
      },
      onError: (_now, status) => {
        this.error = status
        this.observed.push(`error ${status}`)
      },
    }
    const { sendCq, receiveCq, memory, reorderPool } = this
    this.qp = new QueuePair({ qpn, sendCq, receiveCq, memory, reorderPool, access: 15, ...config }, observer)
  }

  /** To RTS, with the first PSN of each direction. */
  connect(remoteQpn: number, sendPsn: number, receivePsn: number): void {
    this.qp.modify(0, QpState.INIT)
    this.qp.modify(0, QpState.RTR, { remoteQpn, receivePsn })
    this.qp.modify(0, QpState.RTS, { sendPsn })
  }
}

/** What a pipe does to packets: chances from 0 to 1, delays in ns. */
export interface Faults {
  loss: number
  duplicate: number
  reorder: number
  delayNs: number
  /** Chance that a host stops sending for a while after a packet, so that answers queue up. */
  pause: number
}

/** How long a pausing host stays silent. */
const PAUSE_NS = 700

interface Flight {
  at: number
  order: number
  to: Host
  frame: Frame
}

/** Bytes before the BTH, for a NIC's headers, and room after the packet. */
const HEADROOM = 64

/**
 * Two hosts joined by a pipe in virtual time that loses, duplicates and reorders packets by a seed. A frame
 * is copied as it enters, so the receiver sees its own bytes.
 */
export class Pipe {
  readonly a: Host
  readonly b: Host
  now = 0
  packets = 0
  /** Sees every packet as it is sent. */
  onPacket: (from: Host, frame: Frame) => void = () => {}
  readonly #faults: Faults
  readonly #random: () => number
  readonly #flights: Flight[] = []
  readonly #scratch = new Frame(0, Buffer.alloc(HEADROOM + 4608))
  readonly #free: Frame[] = []
  #order = 0

  constructor(a: Host, b: Host, faults: Faults, random: () => number) {
    this.a = a
    this.b = b
    this.#faults = faults
    this.#random = random
  }

  /** Runs one step; false when nothing is left to do. */
  step(): boolean {
    const resume = Math.min(this.#drain(this.a, this.b), this.#drain(this.b, this.a))
    const flight = this.#flights[0]
    const deadline = Math.min(this.a.qp.nextTimeout(), this.b.qp.nextTimeout(), resume)
    if (flight === undefined && deadline === NEVER) return false
    if (flight !== undefined && flight.at <= deadline) {
      this.#flights.shift()
      this.now = flight.at
      flight.to.qp.onPacket(this.now, flight.frame)
      this.#free.push(flight.frame)
      return true
    }
    this.now = deadline
    this.a.qp.onTimeout(this.now)
    this.b.qp.onTimeout(this.now)
    return true
  }

  /** Sends everything that is ready. Returns when to continue, if it pauses. */
  #drain(from: Host, to: Host): number {
    if (from.pausedUntil > this.now) return from.pausedUntil
    while (from.qp.pollTransmit(this.now, this.#scratch, HEADROOM) !== TxKind.NONE) {
      this.packets++
      this.onPacket(from, this.#scratch)
      if (this.#random() >= this.#faults.loss) {
        this.#launch(to)
        if (this.#random() < this.#faults.duplicate) this.#launch(to)
      }
      if (this.#random() < this.#faults.pause) from.pausedUntil = this.now + PAUSE_NS
      if (from.pausedUntil > this.now) return from.pausedUntil
    }
    return NEVER
  }

  #launch(to: Host): void {
    const frame = this.#free.pop() ?? new Frame(0, Buffer.alloc(HEADROOM + 4608))
    frame.copyFrom(this.#scratch)
    const late = this.#random() < this.#faults.reorder ? this.#random() * 4 * this.#faults.delayNs : 0
    const at = Math.round(this.now + this.#faults.delayNs + late)
    const order = this.#order++
    let index = this.#flights.length
    while (index > 0 && this.#flights[index - 1]!.at > at) index--
    this.#flights.splice(index, 0, { at, order, to, frame })
  }
}

import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import { FlowKey } from '../flows/flow-key.js'
import { SwitchFlows } from '../flows/switch-flows.js'
import type { Pfc } from '../pfc/pfc.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { scaleBps } from '../queueing/line-scale.js'

/** What one queue was like for a period. */
export interface QueueFeatures {
  /** Time for which the line (`scaleBps`) would send what waited, on average over the period, ns. */
  delayNs: number
  /** Bytes sent as a share of what the line could have sent. */
  throughput: number
  /** Bytes of large flows as a share of all that came, 0 to 1. */
  largeShare: number
  /** Flows that sent data. */
  flows: number
  /** Ports that their packets came in by. */
  ingressPorts: number
  /** Bytes that came in by the port with most, as a share of all, 0 to 1. */
  largestPort: number
  /** PFC frames by which those ports paused their peers. */
  pausesSent: number
  /** Pauses of the queue's priority by the peer that it sends to. */
  pausesReceived: number
  /** Packets that the queue marked. */
  marks: number
  /** CNPs that came back by the queue's port: receivers behind it answer marks so. */
  cnps: number
}

/** Packets after which a flow is live: an address that was forged once has one. */
const LIVE_PACKETS = 2
/** Periods of silence after which a flow may lose its place. */
const AGE_PERIODS = 20

interface FlowBytesOptions {
  /** Flows that the table has room for. */
  flows: number
  /** A flow that has sent so much is large. */
  largeBytes: number
  /** The longest period of a queue. */
  periodNs: Nanos
  ports: number
  /** Seed of the hash. */
  seed: number
}

/** What each flow has sent, in a bounded table that all queues of a switch share. */
export class FlowBytes {
  readonly #key: FlowKey
  readonly #table: SwitchFlows
  readonly #largeBytes: number
  // By place in the table.
  readonly #packets: Uint8Array
  readonly #bytes: Float64Array
  /** The period in which the flow was counted last. */
  readonly #period: Float64Array
  /** Periods of all queues that have begun. */
  #periods = 0

  constructor({ flows, largeBytes, periodNs, ports, seed }: FlowBytesOptions) {
    this.#key = new FlowKey(seed)
    this.#table = new SwitchFlows({ flows, ageNs: AGE_PERIODS * periodNs, ports }, null)
    this.#largeBytes = largeBytes
    this.#packets = new Uint8Array(flows)
    this.#bytes = new Float64Array(flows)
    this.#period = new Float64Array(flows)
  }

  /** Packets of flows without a place: they count as those of small flows, and no flow is counted for them. */
  get missed(): number {
    return this.#table.missed
  }

  /** Forgets all flows. */
  clear(): void {
    this.#table.clear()
  }

  /** Returns the number of a period that begins. */
  nextPeriod(): number {
    this.#periods += 1
    return this.#periods
  }

  /** A data packet came. Returns its flow's place, or -1. */
  add(now: Nanos, frame: Frame, ingress: number, priority: number): number {
    if (!this.#key.read(frame, priority)) return -1
    const row = this.#table.touch(now, this.#key, ingress)
    if (row < 0) return row
    if (this.#table.isNew) {
      this.#packets[row] = 0
      this.#bytes[row] = 0
      this.#period[row] = 0
    }
    if (this.#packets[row]! < LIVE_PACKETS) {
      this.#packets[row]! += 1
      if (this.#packets[row] === LIVE_PACKETS) this.#table.keep(row)
    }
    this.#bytes[row]! += frame.wireLength
    return row
  }

  isLarge(row: number): boolean {
    return this.#bytes[row]! > this.#largeBytes
  }

  /** Returns true for the first packet of the flow in that period. */
  isFirstIn(row: number, period: number): boolean {
    if (this.#period[row] === period) return false
    this.#period[row] = period
    return true
  }
}

// Columns of the state. Doubles, so that no store allocates.
const QUEUE_BYTES = 0 // since the last event
const LAST_NS = 1
const INTEGRAL = 2 // byte · ns since the period began
const BEGAN_NS = 3
const CAME_BYTES = 4
const LARGE_BYTES = 5
const FLOWS = 6
const PERIOD = 7
const SENT_BEFORE = 8
const RECEIVED_BEFORE = 9
const MARKS_BEFORE = 10
const CNPS = 11
const COLUMNS = 12

/** Takes the features of one egress queue, period by period. It allocates nothing for a packet. */
export class QueueMeter {
  readonly #port: EgressPort
  readonly #priority: number
  readonly #flows: FlowBytes
  readonly #pfc: Pfc | null
  readonly #state = new Float64Array(COLUMNS)
  /** Bytes of data by the port that they came in by. */
  readonly #cameBy: Float64Array
  /** By port: PFC frames that it had sent when the period began. */
  readonly #pausesBefore: Float64Array

  constructor(port: EgressPort, priority: number, flows: FlowBytes, pfc: Pfc | null, ports: number) {
    this.#port = port
    this.#priority = priority
    this.#flows = flows
    this.#pfc = pfc
    this.#cameBy = new Float64Array(ports)
    this.#pausesBefore = new Float64Array(ports)
  }

  /** Nothing came in this period, and nothing waits. */
  get isIdle(): boolean {
    return this.#state[CAME_BYTES] === 0 && this.#port.queues[this.#priority]!.count === 0
  }

  /** A frame was offered to the queue: it is in it, or was dropped. */
  offered(now: Nanos, frame: Frame, ingress: number): void {
    this.changed(now)
    if (frame.bth >= 0 && frame.payloadLength === 0) return
    const state = this.#state
    const bytes = frame.wireLength
    state[CAME_BYTES]! += bytes
    this.#cameBy[ingress]! += bytes
    const row = this.#flows.add(now, frame, ingress, this.#priority)
    if (row < 0) return
    if (this.#flows.isLarge(row)) state[LARGE_BYTES]! += bytes
    if (this.#flows.isFirstIn(row, state[PERIOD]!)) state[FLOWS]! += 1
  }

  /** A CNP came in by the queue's port. */
  notified(): void {
    this.#state[CNPS]! += 1
  }

  /** The queue has got longer or shorter. A driver that wakes late reports departures of the past as of the latest event. */
  changed(now: Nanos): void {
    const state = this.#state
    const forNs = now - state[LAST_NS]!
    if (forNs > 0) {
      state[INTEGRAL]! += state[QUEUE_BYTES]! * forNs
      state[LAST_NS] = now
    }
    state[QUEUE_BYTES] = this.#port.queues[this.#priority]!.bytes
  }

  /** @param marks packets that the queue has marked so far */
  begin(now: Nanos, marks: number): void {
    const state = this.#state
    this.changed(now)
    state[LAST_NS] = now
    state[BEGAN_NS] = now
    state[INTEGRAL] = 0
    state[CAME_BYTES] = 0
    state[LARGE_BYTES] = 0
    state[FLOWS] = 0
    state[PERIOD] = this.#flows.nextPeriod()
    state[SENT_BEFORE] = this.#port.sentBytes(this.#priority)
    state[RECEIVED_BEFORE] = this.#port.pause.pausesReceived(this.#priority)
    state[MARKS_BEFORE] = marks
    this.#cameBy.fill(0)
    const senders = this.#pfc?.senders ?? []
    for (let port = 0; port < senders.length; port++) {
      this.#pausesBefore[port] = senders[port]!.counters.pauses
    }
  }

  /** The queue is empty, and what was known of it is forgotten. */
  restart(now: Nanos): void {
    this.changed(now)
    this.#state[CNPS] = 0
  }

  /** Returns the features of the period, which ends at `now`. CNPs count in the next period that is read: they come when a short burst is over. */
  read(now: Nanos, marks: number): QueueFeatures {
    this.changed(now)
    const state = this.#state
    const { rateBps } = this.#port
    const forNs = Math.max(1, now - state[BEGAN_NS]!)
    const came = state[CAME_BYTES]!
    const cnps = state[CNPS]!
    state[CNPS] = 0
    return {
      delayNs: ((state[INTEGRAL]! / forNs) * 8e9) / scaleBps(rateBps),
      throughput: ((this.#port.sentBytes(this.#priority) - state[SENT_BEFORE]!) * 8e9) / (rateBps * forNs),
      largeShare: came === 0 ? 0 : state[LARGE_BYTES]! / came,
      flows: state[FLOWS]!,
      ingressPorts: this.#countIngress(),
      largestPort: came === 0 ? 0 : Math.max(...this.#cameBy) / came,
      pausesSent: this.#pausesSent(),
      pausesReceived: this.#port.pause.pausesReceived(this.#priority) - state[RECEIVED_BEFORE]!,
      marks: marks - state[MARKS_BEFORE]!,
      cnps,
    }
  }

  #countIngress(): number {
    let ports = 0
    for (const bytes of this.#cameBy) if (bytes > 0) ports++
    return ports
  }

  #pausesSent(): number {
    const senders = this.#pfc?.senders ?? []
    let pauses = 0
    for (let port = 0; port < senders.length; port++) {
      if (this.#cameBy[port] === 0) continue
      pauses += senders[port]!.counters.pauses - this.#pausesBefore[port]!
    }
    return pauses
  }
}

import { WeirError } from '../../../lib/errors.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import { ENDS, type FlowKey, KEY_WORDS, type NamedFlow, nameFlow } from './flow-key.js'

/** Options of a table. */
interface SwitchFlowsOptions {
  /** Flows that it has room for. */
  flows: number
  /** A flow whose last packet came longer ago may lose its place. */
  ageNs: Nanos
  /** Ports of the switch. */
  ports: number
}

/** Who has columns of its own, by place. */
export interface SwitchFlowsOwner {
  /** A flow that is too old is about to lose its place. Returns false if it must keep it for now. */
  mayLeave(row: number, now: Nanos): boolean
}

const NONE = -1
const FREE = 0
const NEWCOMER = 1
const LIVE = 2
/** Places that a flow without one looks at. */
const LOOKS = 16
/** Places that each new flow looks at, so that old flows do not stay until the table is full. */
const SWEEP = 2

/**
 * The flows that pass a switch, each at a place (`row`), which it has as long as it lives. Its users keep what they know of a flow in
 * columns of their own, by place. The table is made once: open addressing over places, with typed arrays, and no allocation for a packet.
 *
 * Who has a place keeps it against whoever comes:
 *
 * - A flow is a newcomer until its user says that it is live (`keep`). When the table is full a new flow takes the place of a newcomer,
 *   or of a flow that has been silent for `ageNs`. If it finds neither, it gets no place, and is counted (`missed`).
 * - Flows that came in by one port have half of the places at most. So whoever forges flows behind one port leaves room for those behind the others.
 * - Ports share a full table evenly (max-min): a new flow also takes the place of a live one of the port that has most, if that has two more than
 *   its own port. So hosts behind several ports that forge live flows between them leave each other port as many places as theirs have.
 */
export class SwitchFlows {
  readonly capacity: number
  /** By place: when its last packet came, and the port that it came in by. */
  readonly seenNs: Float64Array
  readonly ingress: Uint8Array
  /** The flow that `touch` returned last has just got its place. */
  isNew = false
  /** Packets of flows that found no place. */
  missed = 0
  /** Flows that had to go for others before they were old. */
  replaced = 0
  readonly #ageNs: Nanos
  readonly #owner: SwitchFlowsOwner | null
  readonly #keys: Uint32Array
  readonly #hashes: Int32Array
  readonly #states: Uint8Array
  /** Place by hash, NONE: free. */
  readonly #index: Int32Array
  readonly #free: Int32Array
  #count = 0
  readonly #ofPort: Int32Array
  readonly #ofPortMax: number
  /** The place that is looked at next. */
  #hand = 0

  constructor({ flows, ageNs, ports }: SwitchFlowsOptions, owner: SwitchFlowsOwner | null = null) {
    if (!Number.isInteger(flows) || flows < 1 || flows > 1 << 20) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `flow table: 1 to ${1 << 20} flows, not ${flows}`)
    }
    this.capacity = flows
    this.#ageNs = ageNs
    this.#owner = owner
    this.seenNs = new Float64Array(flows)
    this.ingress = new Uint8Array(flows)
    this.#keys = new Uint32Array(flows * KEY_WORDS)
    this.#hashes = new Int32Array(flows)
    this.#states = new Uint8Array(flows)
    this.#index = new Int32Array(2 ** Math.ceil(Math.log2(2 * flows))).fill(NONE)
    this.#free = Int32Array.from({ length: flows }, (_, i) => flows - 1 - i)
    this.#ofPort = new Int32Array(ports)
    this.#ofPortMax = ports === 1 ? flows : Math.max(1, flows >>> 1)
  }

  /** Flows that have a place. */
  get count(): number {
    return this.#count
  }

  /** A packet of a flow has come. Returns the flow's place, or -1 if there is none for it. */
  touch(now: Nanos, key: FlowKey, ingress: number): number {
    let row = this.find(key)
    this.isNew = row === NONE
    if (row === NONE) {
      row = this.#place(now, ingress)
      if (row === NONE) {
        this.isNew = false
        this.missed++
        return NONE
      }
      this.#enter(row, key, ingress)
    }
    this.seenNs[row] = now
    return row
  }

  /** Returns the place of a flow, or -1. */
  find(key: FlowKey): number {
    const mask = this.#index.length - 1
    for (let at = key.hash & mask; ; at = (at + 1) & mask) {
      const row = this.#index[at]!
      if (row === NONE || (this.#hashes[row] === key.hash && this.#holds(row, key))) return row
    }
  }

  /** The flow is live: it keeps its place until it is old. */
  keep(row: number): void {
    this.#states[row] = LIVE
  }

  /** A flow that has a place comes in by another port now. */
  move(row: number, ingress: number): void {
    this.#ofPort[this.ingress[row]!]! -= 1
    this.#ofPort[ingress]! += 1
    this.ingress[row] = ingress
  }

  /** The destination QPN of a flow of RoCEv2. */
  qpn(row: number): number {
    return this.#keys[row * KEY_WORDS + ENDS]!
  }

  /** For reports. */
  name(row: number): NamedFlow {
    return nameFlow(this.#keys, row * KEY_WORDS)
  }

  /** Calls `see` for each flow, in the order of places. For reports. */
  forEach(see: (row: number) => void): void {
    for (let row = 0; row < this.capacity; row++) if (this.#states[row] !== FREE) see(row)
  }

  /** Takes the flow's place from it. */
  remove(row: number): void {
    this.#takeOut(row)
    this.#states[row] = FREE
    this.#ofPort[this.ingress[row]!]! -= 1
    this.#count--
    this.#free[this.capacity - 1 - this.#count] = row
  }

  /** Forgets all flows. Counts remain. */
  clear(): void {
    this.#states.fill(FREE)
    this.#index.fill(NONE)
    this.#ofPort.fill(0)
    this.#count = 0
    this.#hand = 0
    for (let i = 0; i < this.capacity; i++) this.#free[i] = this.capacity - 1 - i
  }

  #holds(row: number, { words }: FlowKey): boolean {
    const at = row * KEY_WORDS
    for (let i = 0; i < KEY_WORDS; i++) if (this.#keys[at + i] !== words[i]) return false
    return true
  }

  /** Returns a place for a flow that came in by that port, or NONE. */
  #place(now: Nanos, ingress: number): number {
    for (let i = 0; i < SWEEP; i++) this.#look(now, NONE, false)
    const isOver = this.#ofPort[ingress]! >= this.#ofPortMax
    const of = isOver ? ingress : NONE
    const needs = isOver || this.#count === this.capacity
    for (let i = 0; needs && i < LOOKS; i++) if (this.#look(now, of, true)) break
    if (!isOver && this.#count === this.capacity) this.#evenOut(now, ingress)
    if (this.#count === this.capacity || this.#ofPort[ingress]! >= this.#ofPortMax) return NONE
    return this.#free[this.capacity - 1 - this.#count]!
  }

  /** Frees a place of the port that has most, if it has two more than that one. */
  #evenOut(now: Nanos, ingress: number): void {
    let most = 0
    for (let port = 1; port < this.#ofPort.length; port++)
      if (this.#ofPort[port]! > this.#ofPort[most]!) most = port
    if (this.#ofPort[most]! < this.#ofPort[ingress]! + 2) return
    for (let i = 0; i < LOOKS; i++) {
      const row = this.#next()
      if (this.#states[row] === FREE || this.ingress[row] !== most) continue
      if (this.#owner !== null && !this.#owner.mayLeave(row, now)) continue
      this.replaced++
      this.remove(row)
      return
    }
  }

  /** The place that is looked at now. */
  #next(): number {
    const row = this.#hand
    this.#hand = row + 1 === this.capacity ? 0 : row + 1
    return row
  }

  /**
   * Looks at the next place, and frees it if its flow may go. Returns true if so.
   *
   * @param of the port whose flows may go, or NONE: all
   * @param newcomers whether they have to go
   */
  #look(now: Nanos, of: number, newcomers: boolean): boolean {
    const row = this.#next()
    const state = this.#states[row]
    if (state === FREE || (of !== NONE && this.ingress[row] !== of)) return false
    const isOld = now - this.seenNs[row]! > this.#ageNs
    const mustGo = newcomers && state === NEWCOMER
    if (!isOld && !mustGo) return false
    if (this.#owner !== null && !this.#owner.mayLeave(row, now)) return false
    if (!isOld) this.replaced++
    this.remove(row)
    return true
  }

  #enter(row: number, key: FlowKey, ingress: number): void {
    this.#count++
    this.#ofPort[ingress]! += 1
    this.ingress[row] = ingress
    this.#states[row] = NEWCOMER
    this.#hashes[row] = key.hash
    this.#keys.set(key.words, row * KEY_WORDS)
    const mask = this.#index.length - 1
    let at = key.hash & mask
    while (this.#index[at] !== NONE) at = (at + 1) & mask
    this.#index[at] = row
  }

  /** Frees a place of the index. Flows behind it that belong there, or before it, move up (Knuth, volume 3, section 6.4, algorithm R). */
  #takeOut(row: number): void {
    const index = this.#index
    const mask = index.length - 1
    let free = this.#hashes[row]! & mask
    while (index[free] !== row) free = (free + 1) & mask
    for (let at = (free + 1) & mask; index[at] !== NONE; at = (at + 1) & mask) {
      const home = this.#hashes[index[at]!]! & mask
      if (((at - home) & mask) < ((at - free) & mask)) continue
      index[free] = index[at]!
      free = at
    }
    index[free] = NONE
  }
}

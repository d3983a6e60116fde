import { WeirError } from '../../errors.js'
import { IntMap } from '../../int-map.js'
import type { Flow } from './flow.js'
import { Names } from './names.js'

/** Index 0 and 1 stay empty. */
const FIRST_INDEX = 2
/** Places for QPNs per possible flow: with so many, a QPN that is drawn seldom finds its place taken. */
const PLACES_PER_FLOW = 4
const NO_FLOWS: readonly Flow[] = []

/**
 * The flows of a NIC, by an index of its own and by QPN. Both are arrays, as a flow is looked up for every packet: the low
 * bits of a QPN are its place in the second. All 24 bits of a QPN are random, and all are compared.
 */
export class FlowTable {
  readonly flows: (Flow | null)[]
  readonly capacity: number
  /** GUID of the NIC, and where QPNs come from. */
  readonly names: Names
  /** By the low bits of their QPNs, a power of two. */
  readonly #byQpn: (Flow | null)[]
  readonly #mask: number
  /** By the peer's QPN, which peers choose by themselves: several may have the same. */
  readonly #byRemoteQpn = new IntMap<Flow[]>()
  /** QPNs of queue pairs that are no flows. */
  readonly #reserved = new Set<number>()
  #count = 0
  #lastIndex: number

  /**
   * @param connectionsMax connections at a time, 1 to 65,534
   * @param random source of 32-bit numbers: which QPNs there will be. Nobody else must be able to guess a QPN; and a host
   * that restarts must not claim the queue pairs that its peers still think connected.
   */
  constructor(connectionsMax: number, random: () => number = () => 0) {
    if (!Number.isInteger(connectionsMax) || connectionsMax < 1 || connectionsMax > 65_534) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `NIC: connectionsMax is 1 to 65534, not ${connectionsMax}`)
    }
    this.capacity = connectionsMax + FIRST_INDEX
    this.flows = new Array(this.capacity).fill(null)
    const places = 2 ** Math.ceil(Math.log2(PLACES_PER_FLOW * this.capacity))
    this.#byQpn = new Array(places).fill(null)
    this.#mask = places - 1
    const [first, second] = [random() >>> 0, random() >>> 0]
    this.names = new Names(first, second)
    this.#lastIndex = FIRST_INDEX + ((second % connectionsMax) | 0) - 1
  }

  get count(): number {
    return this.#count
  }

  /** The flow of a QPN, or null. */
  find(qpn: number): Flow | null {
    const flow = this.#byQpn[qpn & this.#mask]!
    return flow !== null && flow.qpn === qpn ? flow : null
  }

  get isFull(): boolean {
    return this.#count >= this.capacity - FIRST_INDEX
  }

  /** Throws WEIR_FULL when there is no room for one more. */
  checkRoom(): void {
    if (!this.isFull) return
    throw new WeirError(
      'WEIR_FULL',
      `NIC: all ${this.capacity - FIRST_INDEX} connections are in use; close some or raise connectionsMax (weir daemon --connections)`,
    )
  }

  /** A free index, and a QPN whose place is free. Throws WEIR_FULL. */
  reserve(): { index: number; qpn: number } {
    this.checkRoom()
    do {
      this.#lastIndex = this.#lastIndex + 1 === this.capacity ? FIRST_INDEX : this.#lastIndex + 1
    } while (this.flows[this.#lastIndex] !== null)
    return { index: this.#lastIndex, qpn: this.#drawQpn() }
  }

  /** At most one place in four is taken, so this ends soon. */
  #drawQpn(): number {
    for (;;) {
      const qpn = this.names.nextQpn()
      if (this.#byQpn[qpn & this.#mask] === null && !this.#reserved.has(qpn)) return qpn
    }
  }

  /** A QPN for a queue pair that is no flow. */
  reserveQpn(): number {
    for (;;) {
      const qpn = this.names.nextQpn()
      if (this.find(qpn) !== null || this.#reserved.has(qpn)) continue
      this.#reserved.add(qpn)
      return qpn
    }
  }

  /** That queue pair has ended. */
  releaseQpn(qpn: number): void {
    this.#reserved.delete(qpn)
  }

  add(flow: Flow): void {
    this.flows[flow.index] = flow
    this.#byQpn[flow.qpn & this.#mask] = flow
    this.#count++
  }

  remove(flow: Flow): void {
    if (this.flows[flow.index] !== flow) return
    this.flows[flow.index] = null
    this.#byQpn[flow.qpn & this.#mask] = null
    this.#count--
    const qpn = flow.qp?.remoteQpn ?? 0
    const all = this.#byRemoteQpn.get(qpn)
    const at = all === null || all[0] === flow ? 0 : all.indexOf(flow)
    if (all === null || at < 0) return
    // The list may outlive the flow, until the whole heap is collected. Mostly there is no other in it.
    if (all.length === 1) all.pop()
    else all.splice(at, 1)
    if (all.length === 0) this.#byRemoteQpn.deleteIf(qpn, all)
  }

  /** The flow's queue pair knows its peer's. */
  bindRemote(flow: Flow): void {
    const qpn = flow.qp.remoteQpn
    const all = this.#byRemoteQpn.get(qpn)
    if (all === null) this.#byRemoteQpn.set(qpn, [flow])
    else all.push(flow)
  }

  /** Flows whose peer has that QPN. */
  withRemoteQpn(qpn: number): readonly Flow[] {
    return this.#byRemoteQpn.get(qpn) ?? NO_FLOWS
  }
}

import { WeirError } from '../errors.js'
import type { Flow } from './flow.js'

/** QPNs 0 and 1 are special (IBA 10.2.4): index 0 and 1 stay empty. */
const FIRST_INDEX = 2
const GENERATIONS_PER_INDEX = 256
const NO_FLOWS: readonly Flow[] = []

/**
 * The flows of a NIC by QPN. An array, as this is looked up for every packet. The low bits of a QPN are the index;
 * the bits above count how often that index was used, so that a late packet of an earlier connection does not reach
 * its successor.
 */
export class FlowTable {
  readonly flows: (Flow | null)[]
  readonly capacity: number
  readonly #generation: Uint8Array
  /** By the peer's QPN, which peers choose by themselves: several may have the same. */
  readonly #byRemoteQpn = new Map<number, Flow[]>()
  #count = 0
  #lastIndex: number

  /**
   * @param connectionsMax connections at a time, 1 to 65,534
   * @param random source of 32-bit numbers: where QPNs begin. A host that restarts must not claim the queue pairs that
   * its peers still think connected (they would call the new connection stale).
   */
  constructor(connectionsMax: number, random: () => number = () => 0) {
    if (!Number.isInteger(connectionsMax) || connectionsMax < 1 || connectionsMax > 65_534) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `NIC: connectionsMax is 1 to 65534, not ${connectionsMax}`)
    }
    this.capacity = connectionsMax + FIRST_INDEX
    this.flows = new Array(this.capacity).fill(null)
    this.#generation = new Uint8Array(this.capacity).fill(random() & 0xff)
    this.#lastIndex = FIRST_INDEX + ((random() >>> 0) % connectionsMax) - 1
  }

  get count(): number {
    return this.#count
  }

  /** The flow of a QPN, or null. */
  find(qpn: number): Flow | null {
    const flow = this.flows[qpn % 0x10000]
    return flow !== undefined && flow !== null && flow.qpn === qpn ? flow : null
  }

  /** Throws WEIR_FULL when there is no room for one more. */
  checkRoom(): void {
    if (this.#count < this.capacity - FIRST_INDEX) return
    throw new WeirError(
      'WEIR_FULL',
      `NIC: all ${this.capacity - FIRST_INDEX} connections are in use; close some or raise connectionsMax`,
    )
  }

  /** A free index and the QPN that goes with it. Throws WEIR_FULL. */
  reserve(): { index: number; qpn: number } {
    this.checkRoom()
    do {
      this.#lastIndex = this.#lastIndex + 1 === this.capacity ? FIRST_INDEX : this.#lastIndex + 1
    } while (this.flows[this.#lastIndex] !== null)
    const index = this.#lastIndex
    const generation = (this.#generation[index]! + 1) % GENERATIONS_PER_INDEX
    this.#generation[index] = generation
    return { index, qpn: generation * 0x10000 + index }
  }

  add(flow: Flow): void {
    this.flows[flow.index] = flow
    this.#count++
  }

  remove(flow: Flow): void {
    if (this.flows[flow.index] !== flow) return
    this.flows[flow.index] = null
    this.#count--
    const qpn = flow.qp?.remoteQpn ?? 0
    const others = this.withRemoteQpn(qpn).filter(other => other !== flow)
    if (others.length > 0) this.#byRemoteQpn.set(qpn, others)
    else this.#byRemoteQpn.delete(qpn)
  }

  /** The flow's queue pair knows its peer's. */
  bindRemote(flow: Flow): void {
    const qpn = flow.qp.remoteQpn
    this.#byRemoteQpn.set(qpn, [...this.withRemoteQpn(qpn), flow])
  }

  /** Flows whose peer has that QPN. */
  withRemoteQpn(qpn: number): readonly Flow[] {
    return this.#byRemoteQpn.get(qpn) ?? NO_FLOWS
  }
}

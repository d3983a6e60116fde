import type { Flow } from '../flow/flow.js'

/** Flows of this host that wait to be admitted, oldest first. Those to one peer are admitted in that order. */
export class AdmissionQueue {
  readonly #flows: Flow[] = []
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** False if there is no room. */
  add(flow: Flow): boolean {
    if (this.#flows.length >= this.#capacity) return false
    this.#flows.push(flow)
    return true
  }

  /** The first of those that wait for this peer, or null. */
  firstTo(peer: Flow['remote']): Flow | null {
    const name = peer.toString()
    return this.#flows.find(({ remote }) => remote.toString() === name) ?? null
  }

  /** Harmless if it does not wait. */
  remove(flow: Flow): void {
    const index = this.#flows.indexOf(flow)
    if (index >= 0) this.#flows.splice(index, 1)
  }

  get size(): number {
    return this.#flows.length
  }
}

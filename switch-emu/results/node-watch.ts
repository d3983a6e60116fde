import type { Observer } from '../../lib/sim/station.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'

/** Samples of one run. Later ones are not taken. */
const SAMPLES_MAX = 1_000_000

/** What is sampled of one port, or of one flow. */
export interface SampledColumn {
  /** Takes a sample. @param timeNs since the first one was due */
  sample(timeNs: Nanos): void
}

/** Samples what is watched at one node, at fixed intervals. */
export class NodeWatch implements Observer {
  /** The node's name. */
  readonly node: string
  /** When the next sample is due, or NEVER. */
  dueNs: Nanos
  readonly #columns: readonly SampledColumn[]
  readonly #startNs: Nanos
  readonly #everyNs: Nanos
  #count = 0

  /** @param startNs time of the first sample */
  constructor(node: string, columns: readonly SampledColumn[], startNs: Nanos, everyNs: Nanos) {
    this.node = node
    this.#columns = columns
    this.dueNs = startNs
    this.#startNs = startNs
    this.#everyNs = everyNs
  }

  /** Takes the samples that are due before `endNs`, from the node as it is now. */
  lookBefore(endNs: Nanos): void {
    while (this.dueNs < endNs) {
      for (const column of this.#columns) column.sample(this.dueNs - this.#startNs)
      this.dueNs = ++this.#count < SAMPLES_MAX ? this.dueNs + this.#everyNs : NEVER
    }
  }
}

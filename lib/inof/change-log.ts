/** What became of each change of a host: when its switch saw it, and when the members of its zones had acknowledged it. */
import type { Nanos } from '../time/nanos.js'
import type { InofEvent } from '../wire/weir/inof-tlv.js'

/** Changes that are kept. Later ones are counted only. */
const CHANGES_MAX = 1000

/** A change of one host. */
export interface InofChange {
  /** When its switch saw it. */
  atNs: Nanos
  address: number
  event: InofEvent
  /** Hosts that get a notice of it, and those that have acknowledged it. */
  told: number
  heard: number
  /** From `atNs` to the last acknowledgement. */
  lastNs: Nanos
}

/** One log for all switches of a network. */
export class ChangeLog {
  readonly #changes: InofChange[] = []
  readonly #latest = new Map<number, InofChange>()
  /** Changes beyond those that are kept. */
  missed = 0

  get changes(): readonly InofChange[] {
    return this.#changes
  }

  /** A switch has seen that a host of its own changed. */
  begin(atNs: Nanos, address: number, event: InofEvent): void {
    this.#latest.delete(address)
    if (this.#changes.length >= CHANGES_MAX) {
      this.missed++
      return
    }
    const change = { atNs, address, event, told: 0, heard: 0, lastNs: 0 }
    this.#changes.push(change)
    this.#latest.set(address, change)
  }

  /** The change that a notice about this host speaks of, or null. */
  of(address: number, event: InofEvent): InofChange | null {
    const change = this.#latest.get(address)
    return change?.event === event ? change : null
  }
}

import { WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { Pipe } from './pipe.js'

/** What may happen to each frame on one direction of a link: independent probabilities, 0 to 1. */
export interface FaultRates {
  loss?: number
  duplication?: number
  /** One bit somewhere in the frame is flipped. */
  corruption?: number
  /** The frame is held back for a random time up to `reorderNs`, so that later ones overtake it. */
  reorder?: number
  reorderNs?: Nanos
}

/** Damages frames on a link, by seed. Frames whose payload is not materialised are never corrupted. */
export class LinkFaults {
  readonly #rates: Required<FaultRates>
  readonly #random: () => number
  lost = 0
  duplicated = 0
  corrupted = 0
  reordered = 0

  /** @param random uniform over [0, 1). Throws WEIR_BAD_ARGUMENT for a rate outside 0 to 1. */
  constructor(rates: FaultRates, random: () => number) {
    const { loss = 0, duplication = 0, corruption = 0, reorder = 0, reorderNs = 10_000 } = rates
    for (const [name, rate] of Object.entries({ loss, duplication, corruption, reorder })) {
      if (!(rate >= 0 && rate <= 1)) throw bad(name, 'a probability from 0 to 1', rate)
    }
    if (!(reorderNs >= 0 && reorderNs < NEVER)) throw bad('reorderNs', '0 or more', reorderNs)
    this.#rates = { loss, duplication, corruption, reorder, reorderNs }
    this.#random = random
  }

  apply(frame: Frame, arrivalNs: Nanos, pipe: Pipe, pool: FramePool): void {
    if (this.#random() < this.#rates.loss) {
      this.lost++
      pool.give(frame)
      return
    }
    if (this.#random() < this.#rates.duplication) {
      const copy = pool.take()
      if (copy !== null) {
        this.duplicated++
        copy.copyFrom(frame)
        pipe.push(copy, this.#arrival(arrivalNs))
      }
    }
    if (frame.materialised && this.#random() < this.#rates.corruption) this.#corrupt(frame)
    pipe.push(frame, this.#arrival(arrivalNs))
  }

  #arrival(arrivalNs: Nanos): Nanos {
    if (this.#random() >= this.#rates.reorder) return arrivalNs
    this.reordered++
    return arrivalNs + Math.ceil(this.#random() * this.#rates.reorderNs)
  }

  #corrupt(frame: Frame): void {
    this.corrupted++
    const bit = Math.floor(this.#random() * frame.length * 8)
    const at = bit >> 3
    frame.bytes[at] = frame.bytes[at]! ^ (1 << (bit & 7))
    // What was known of the frame may no longer be true: whoever receives it parses it anew.
    frame.l3 = -1
    frame.l4 = -1
    frame.shim = -1
    frame.bth = -1
  }
}

function bad(name: string, range: string, value: number): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `link faults: ${name} is ${range}, not ${value}`)
}

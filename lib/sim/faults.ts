import { WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import { BurstLoss, type LossModel, RandomLoss } from './loss.js'
import type { Pipe } from './pipe.js'

/** What may happen to each frame on one direction of a link: independent probabilities, 0 to 1. */
export interface FaultRates {
  loss?: number
  /** Losses come in bursts of so many frames on average. Absent: each is independent. */
  burst?: number
  /** Share of the frames of a burst that are lost. Default: all. */
  burstLoss?: number
  duplication?: number
  /** One bit somewhere in the frame is flipped. */
  corruption?: number
  /** The frame is held back for a random time up to `reorderNs`, so that later ones overtake it. */
  reorder?: number
  reorderNs?: Nanos
  /** The frame is delayed by a random time up to this, uniformly distributed. The order of frames stays. */
  jitterNs?: Nanos
}

/** What became of frames. */
export interface FaultCounts {
  /** Frames that were sent into the link since it has faults. */
  frames: number
  lost: number
  /** Frames that were lost because the link was down: on their way, or sent meanwhile. */
  cut: number
  corrupted: number
  duplicated: number
  reordered: number
}

const REORDER_NS = 10_000

/**
 * Damages frames on one direction of a link, by seed. A frame whose payload is not materialised has no bytes to flip. It is
 * discarded when it is corrupted, as its receiver would do.
 */
export class LinkFaults implements FaultCounts {
  frames = 0
  lost = 0
  cut = 0
  corrupted = 0
  duplicated = 0
  reordered = 0
  /** While the link is down, every frame is lost. */
  isDown = false
  #rates: Required<Omit<FaultRates, 'loss' | 'burst' | 'burstLoss'>>
  #loss: LossModel
  readonly #random: () => number
  /** Arrival of the last frame that kept its place. */
  #lastNs: Nanos = 0

  /** @param random uniform over [0, 1). Throws WEIR_BAD_ARGUMENT for a rate outside 0 to 1. */
  constructor(rates: FaultRates, random: () => number) {
    this.#random = random
    this.#rates = checked(rates)
    this.#loss = lossOf(rates)
  }

  /** Sets what may happen from now on. Throws as the constructor does. */
  set(rates: FaultRates): void {
    this.#rates = checked(rates)
    this.#loss = lossOf(rates)
  }

  apply(frame: Frame, arrivalNs: Nanos, pipe: Pipe, pool: FramePool): void {
    this.frames++
    if (this.isDown) {
      this.cut++
      pool.give(frame)
      return
    }
    if (this.#loss.loses(this.#random)) {
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
    if ((frame.materialised || this.#rates.corruption > 0) && this.#random() < this.#rates.corruption) {
      this.corrupted++
      if (!frame.materialised) {
        pool.give(frame)
        return
      }
      this.#corrupt(frame)
    }
    pipe.push(frame, this.#arrival(arrivalNs))
  }

  #arrival(linkNs: Nanos): Nanos {
    const { jitterNs, reorder, reorderNs } = this.#rates
    const jitter = jitterNs > 0 ? Math.round(this.#random() * jitterNs) : 0
    const arrivalNs = Math.max(linkNs + jitter, this.#lastNs)
    if (this.#random() >= reorder) {
      this.#lastNs = arrivalNs
      return arrivalNs
    }
    this.reordered++
    return arrivalNs + Math.ceil(this.#random() * reorderNs)
  }

  #corrupt(frame: Frame): void {
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

function lossOf({ loss = 0, burst, burstLoss = 1 }: FaultRates): LossModel {
  return burst === undefined || loss === 0 ? new RandomLoss(loss) : new BurstLoss(loss, burst, burstLoss)
}

function checked(rates: FaultRates): Required<Omit<FaultRates, 'loss' | 'burst' | 'burstLoss'>> {
  const { loss = 0, burstLoss = 1, duplication = 0, corruption = 0, reorder = 0 } = rates
  const { reorderNs = REORDER_NS, jitterNs = 0 } = rates
  for (const [name, rate] of Object.entries({ loss, burstLoss, duplication, corruption, reorder })) {
    if (!(rate >= 0 && rate <= 1)) throw bad(name, 'a probability from 0 to 1', rate)
  }
  for (const [name, time] of Object.entries({ reorderNs, jitterNs })) {
    if (!(time >= 0 && time < NEVER)) throw bad(name, '0 or more', time)
  }
  return { duplication, corruption, reorder, reorderNs, jitterNs }
}

function bad(name: string, range: string, value: number): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `link faults: ${name} is ${range}, not ${value}`)
}

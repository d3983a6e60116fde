import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import { LinkFaults } from '../../../lib/sim/faults.js'
import type { Pipe } from '../../../lib/sim/pipe.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import * as deth from '../../../lib/wire/ib/deth.js'
import type { LinkPlan } from '../plan.js'
import type { Attacker } from './attacker.js'

/**
 * The faults of one direction of a link: those of every frame, of management datagrams, outages, an attacker.
 * They end after some time.
 */
export class SwarmFaults extends LinkFaults {
  /** Frames lost by an outage or by the loss of management datagrams, in addition to `lost`. */
  taken = 0
  /** While this is true nothing passes. */
  down = false
  readonly #plan: LinkPlan
  readonly #random: () => number
  readonly #attacker: Attacker | null

  constructor(plan: LinkPlan, random: () => number, attacker: Attacker | null) {
    super(plan.rates, random)
    this.#plan = plan
    this.#random = random
    this.#attacker = attacker
  }

  /** Frames that were lost, damaged, copied, overtaken or forged. */
  get total(): number {
    return this.lost + this.taken + this.corrupted + this.duplicated + this.reordered + this.added
  }

  /** Frames that the attacker has added. */
  get added(): number {
    return this.#attacker?.added ?? 0
  }

  override apply(frame: Frame, arrivalNs: Nanos, pipe: Pipe, pool: FramePool): void {
    const faulty = arrivalNs <= this.#plan.faultsEndNs
    if (this.down || (faulty && this.#takes(frame, arrivalNs))) {
      this.taken++
      pool.give(frame)
      return
    }
    if (faulty) this.#attacker?.onFrame(frame, arrivalNs, pipe)
    if (faulty) super.apply(frame, arrivalNs, pipe, pool)
    else pipe.push(frame, arrivalNs)
  }

  #takes(frame: Frame, now: Nanos): boolean {
    const { outage, managementLoss } = this.#plan
    if (outage !== null && now >= outage[0] && now < outage[1]) return true
    if (managementLoss === 0 || frame.bth < 0) return false
    return bth.destQpn(frame.view, frame.bth) === deth.QPN_GSI && this.#random() < managementLoss
  }
}

import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import type { Pipe } from '../../lib/sim/pipe.js'
import type { Nanos } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/bth.js'
import * as deth from '../../lib/wire/deth.js'
import { FAULTS_END_NS, type LinkPlan } from './plan.js'

/** The faults of one direction of a link: those of every frame, of management datagrams, and outages. They end in time. */
export class SwarmFaults extends LinkFaults {
  /** Frames that an outage or the loss of management datagrams took, beside `lost`. */
  taken = 0
  readonly #plan: LinkPlan
  readonly #random: () => number

  constructor(plan: LinkPlan, random: () => number) {
    super(plan.rates, random)
    this.#plan = plan
    this.#random = random
  }

  override apply(frame: Frame, arrivalNs: Nanos, pipe: Pipe, pool: FramePool): void {
    if (arrivalNs > FAULTS_END_NS) pipe.push(frame, arrivalNs)
    else if (this.#takes(frame, arrivalNs)) {
      this.taken++
      pool.give(frame)
    } else super.apply(frame, arrivalNs, pipe, pool)
  }

  #takes(frame: Frame, now: Nanos): boolean {
    const { outage, managementLoss } = this.#plan
    if (outage !== null && now >= outage[0] && now < outage[1]) return true
    if (managementLoss === 0 || frame.bth < 0) return false
    return bth.destQpn(frame.view, frame.bth) === deth.QPN_GSI && this.#random() < managementLoss
  }
}

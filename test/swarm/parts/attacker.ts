/**
 * An attacker on the path of connections with a key, who sees every packet and adds some: repeated ones,
 * forged feedback, telemetry that no switch has written. Without the key this must not change a transfer.
 */
import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import type { Pipe } from '../../../lib/sim/pipe.js'
import type { Random } from '../../../lib/sim/random.js'
import { MILLISECOND, type Nanos } from '../../../lib/time/nanos.js'
import * as aeth from '../../../lib/wire/ib/aeth.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import * as deth from '../../../lib/wire/ib/deth.js'
import * as icrc from '../../../lib/wire/ib/icrc.js'
import { hasAeth } from '../../../lib/wire/ib/opcode.js'
import * as feedbackTag from '../../../lib/wire/weir/feedback-tag.js'
import { pick } from './pick.js'

/** Where the attacker sits. */
export interface AttackPlan {
  link: number
  /** Share of packets to which the attacker adds one, 0 to 1. */
  share: number
  delayNs: Nanos
}

/**
 * @param keys true: hosts have a secret. Without one hosts accept feedback from everybody who knows its
 * numbers
 */
export function attackPlan(random: Random, links: number, keys: boolean): AttackPlan | null {
  if (!keys || random.next() >= 0.4) return null
  return {
    link: random.below(links),
    share: 0.3 * random.next(),
    delayNs: pick(random, [1, 1000, MILLISECOND]),
  }
}

const SYNDROMES = [
  aeth.ACK_UNLIMITED,
  aeth.NAK_PSN_SEQUENCE_ERROR,
  aeth.NAK_REMOTE_ACCESS_ERROR,
  aeth.NAK_INVALID_REQUEST,
  aeth.rnrNakSyndrome(31),
]

/** Adds packets to one direction of a link. */
export class Attacker {
  /** Packets added. */
  added = 0
  readonly #plan: AttackPlan
  readonly #random: Random
  readonly #pool: FramePool

  constructor(plan: AttackPlan, random: Random, pool: FramePool) {
    this.#plan = plan
    this.#random = random
    this.#pool = pool
  }

  /** A frame passes. The attacker's own one follows it. */
  onFrame(frame: Frame, arrivalNs: Nanos, pipe: Pipe): void {
    if (frame.bth < 0 || bth.destQpn(frame.view, frame.bth) <= deth.QPN_GSI) return
    if (this.#random.next() >= this.#plan.share || !icrc.verify(frame)) return
    const copy = this.#pool.take()
    if (copy === null) return
    copy.copyFrom(frame)
    this.#forge(copy)
    this.added++
    pipe.push(copy, arrivalNs + 1 + this.#random.below(this.#plan.delayNs))
  }

  #forge(frame: Frame): void {
    const { view } = frame
    const opcode = bth.opcode(view, frame.bth)
    const isSealed = feedbackTag.isOn(opcode)
    if (this.#random.next() < 0.3) return
    if (isSealed) {
      bth.setPsn(view, frame.bth, (bth.psn(view, frame.bth) + this.#random.below(64)) & 0xffffff)
      if (hasAeth(opcode)) aeth.setSyndrome(view, frame.bth + bth.BYTES, pick(this.#random, SYNDROMES))
    }
    // Telemetry lies between UDP header and BTH.
    if (frame.shim >= 0) {
      const at = frame.shim + this.#random.below(Math.max(1, frame.bth - frame.shim))
      view.setUint8(at, this.#random.below(256))
    }
    icrc.write(frame)
    frame.l3 = -1
    frame.l4 = -1
    frame.shim = -1
    frame.bth = -1
  }
}

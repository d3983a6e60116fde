import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import type { MacAddress } from '../../../lib/wire/net/mac.js'
import * as pfc from '../../../lib/wire/net/pfc.js'

const QUANTA_MAX = 0xffff
/** When no frame was free, the next attempt is after this time, ns. */
const NO_FRAME_RETRY_NS = 1000

/**
 * Asks the peer of one port to hold priorities, by PFC frames (IEEE 802.1Qbb). The wanted state is a mask. A
 * frame is due when the mask differs from what the peer knows. While any priority is held, a frame is also
 * due half a pause time after the last one, so that no pause expires by itself.
 */
export class PfcSender {
  /**
   * Frames that paused a priority, repeated ones included; frames that only resumed; failures to get a free
   * frame.
   */
  readonly counters = { pauses: 0, resumes: 0, noFrame: 0 }
  readonly #pool: FramePool
  readonly #source: MacAddress
  readonly #quanta: number
  readonly #repeatNs: Nanos
  /** Bit p: this port may ask the peer to hold priority p. */
  #allowed = 0xff
  #wanted = 0
  #told = 0
  #repeatAtNs: Nanos = NEVER
  #dueNs: Nanos = NEVER

  /** @param quanta pause time in 512 bit times of the link, 1 to 65535 */
  constructor(pool: FramePool, source: MacAddress, rateBps: number, quanta: number = QUANTA_MAX) {
    if (!Number.isInteger(quanta) || quanta < 1 || quanta > QUANTA_MAX) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `pfc: quanta is a whole number from 1 to ${QUANTA_MAX}, not ${quanta}`,
      )
    }
    this.#pool = pool
    this.#source = source
    this.#quanta = quanta
    this.#repeatNs = Math.floor(pfc.pauseNs(quanta, rateBps) / 2)
  }

  /** When the next frame is due, or NEVER. */
  get dueNs(): Nanos {
    return this.#dueNs
  }

  /**
   * Allows or forbids pauses of a priority, from the next `want` on. Default: allowed, unless a watchdog
   * turns them off.
   */
  allow(priority: number, allowed: boolean): void {
    if (allowed) this.#allowed |= 1 << priority
    else this.#allowed &= ~(1 << priority)
  }

  /** Bit p: priority p must be held from now on, if that is allowed. Returns true if `dueNs` has changed. */
  want(now: Nanos, wanted: number): boolean {
    const mask = wanted & this.#allowed
    if (mask === this.#wanted) return false
    this.#wanted = mask
    // If a pause ends before its frame was sent, no frame is necessary.
    this.#dueNs = mask === this.#told ? this.#repeatAtNs : Math.min(this.#dueNs, now)
    return true
  }

  /** The peer has forgotten all pauses, because the link was down: those that are wanted are due now. */
  repeat(now: Nanos): void {
    this.#told = 0
    this.#repeatAtNs = NEVER
    this.#dueNs = this.#wanted === 0 ? NEVER : now
  }

  /**
   * Returns the due frame. Its first bit leaves at `startNs`. Returns null when the pool is empty, and is due
   * again a little later.
   */
  transmit(startNs: Nanos): Frame | null {
    const frame = this.#pool.take()
    if (frame === null) {
      this.counters.noFrame++
      this.#dueNs = startNs + NO_FRAME_RETRY_NS
      return null
    }
    const { view } = frame
    pfc.write(view, 0, this.#source, this.#wanted, this.#quanta)
    // Time 0 resumes the others.
    pfc.setEnableVector(view, 0, this.#wanted | this.#told)
    frame.length = pfc.BYTES
    frame.wireLength = pfc.BYTES
    this.#told = this.#wanted
    this.#repeatAtNs = this.#wanted === 0 ? NEVER : startNs + this.#repeatNs
    this.#dueNs = this.#repeatAtNs
    if (this.#wanted === 0) this.counters.resumes++
    else this.counters.pauses++
    return frame
  }
}

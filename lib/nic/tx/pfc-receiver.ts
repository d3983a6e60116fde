import type { Frame } from '../../frame/frame.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import { PauseClock } from '../../time/pause-clock.js'
import { WireError } from '../../wire/bytes/wire-error.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as pfc from '../../wire/net/pfc.js'

const PRIORITIES = 8

/** Pauses that the switch has sent to this host. */
interface PauseCounters {
  /** PFC frames that paused at least one priority. */
  pauses: number
  /** PFC frames that only resumed. */
  resumes: number
  /** Frames with PFC's opcode that are not PFC frames. */
  malformed: number
  /** PAUSE frames of 802.3x, which stop all priorities: counted, and not obeyed. */
  globalPauses: number
}

/**
 * What the switch at the other end of the host's link lets the host send: PFC frames (IEEE 802.1Qbb) stop and resume single
 * priorities. A pause holds for its quanta times 512 bit times of the host's link, from the arrival of the frame.
 */
export class PfcReceiver {
  readonly counters: PauseCounters = { pauses: 0, resumes: 0, malformed: 0, globalPauses: 0 }
  /** Which priorities are paused, until when, and for how long they were. */
  readonly clock = new PauseClock()
  /** Bit p: the host must not send priority p, as of the last `update`. */
  held = 0
  #rateBps: number

  constructor(lineRateBps: number) {
    this.#rateBps = lineRateBps
  }

  /** Sets the rate by which the quanta of later pauses count. */
  setRate(rateBps: number): void {
    this.#rateBps = rateBps
  }

  /** True if the frame is MAC control: for the port alone. The caller keeps it. */
  receive(now: Nanos, frame: Frame): boolean {
    const { view, length } = frame
    if (length < ethernet.BYTES || ethernet.etherType(view, 0) !== ethernet.TYPE_MAC_CONTROL) return false
    if (pfc.isPfc(view, 0, length)) this.#pause(now, view, length)
    else if (pfc.isGlobalPause(view, 0, length)) this.counters.globalPauses++
    else return false
    return true
  }

  isHeld(priority: number): boolean {
    return ((this.held >>> priority) & 1) === 1
  }

  /** Brings `held` up to `now`; true if it has changed. */
  update(now: Nanos): boolean {
    const held = this.clock.pausedMask(now)
    const changed = held !== this.held
    this.held = held
    return changed
  }

  /** When a held priority may send again, or NEVER. */
  nextTimeout(): Nanos {
    return this.held === 0 ? NEVER : this.clock.firstExpiry(this.held)
  }

  #pause(now: Nanos, view: DataView, length: number): void {
    if (pfc.check(view, 0, length) !== WireError.OK) {
      this.counters.malformed++
      return
    }
    let pauses = false
    for (let p = 0; p < PRIORITIES; p++) {
      if (!pfc.isEnabled(view, 0, p)) continue
      const quanta = pfc.quanta(view, 0, p)
      pauses ||= quanta > 0
      this.clock.pause(now, p, pfc.pauseNs(quanta, this.#rateBps))
    }
    if (pauses) this.counters.pauses++
    else this.counters.resumes++
  }
}

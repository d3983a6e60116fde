/**
 * Distinguishes a daemon that hangs from one that is busy. A request may take hours; a daemon whose threads run answers a ping meanwhile, whatever
 * else it does. Time is counted in looks, not by the clock: a client that was stopped itself (Ctrl-Z) looks once when it goes on,
 * and has not read by then what waits for it.
 */

/** How often to look whether something has come, and to ping if not. */
const LOOK_EVERY_MS = 5000
/** Looks in vain after which a daemon is given up that has never said anything on this connection: 15 s. */
const FIRST_LOOKS = 3
/** The same for one that has: with it, work that is under way is given up. 60 s. */
const LATER_LOOKS = 12

export class SilenceWatch {
  readonly #ping: () => void
  readonly #giveUp: (silentMs: number) => void
  #timer: NodeJS.Timeout | undefined
  #everHeard = false
  #heard = false
  #inVain = 0

  /** @param ping asks for a sign of life; @param giveUp is called at most once between `start` and `stop` */
  constructor(ping: () => void, giveUp: (silentMs: number) => void) {
    this.#ping = ping
    this.#giveUp = giveUp
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#inVain = 0
    this.#heard = false
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Anything has come from the daemon. */
  onHeard(): void {
    this.#heard = true
    this.#everHeard = true
  }

  #look(): void {
    this.#inVain = this.#heard ? 0 : this.#inVain + 1
    this.#heard = false
    if (this.#inVain < (this.#everHeard ? LATER_LOOKS : FIRST_LOOKS)) {
      if (this.#inVain > 0) this.#ping()
      return
    }
    this.stop()
    this.#giveUp(this.#inVain * LOOK_EVERY_MS)
  }
}

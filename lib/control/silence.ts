/**
 * Distinguishes a daemon that hangs from one that is busy. A request may take hours, but a daemon whose
 * threads run answers a ping meanwhile. Silence is counted in checks and not by the clock. Otherwise a client
 * that was stopped itself (Ctrl-Z) would give up the daemon as soon as it continues, before it has read what
 * arrived meanwhile.
 */

/** Interval of the checks. If nothing has arrived since the last one, the client pings. */
const LOOK_EVERY_MS = 5000
/**
 * Failed checks after which the client gives up a daemon that has never sent anything on this connection: 15
 * s.
 */
const FIRST_LOOKS = 3
/** The same for a daemon that has sent something. Giving it up ends work that is under way. 60 s. */
const LATER_LOOKS = 12

export class SilenceWatch {
  readonly #ping: () => void
  readonly #giveUp: (silentMs: number) => void
  #timer: NodeJS.Timeout | undefined
  #everHeard = false
  #heard = false
  #inVain = 0

  /**
   * @param ping asks the daemon for an answer
   * @param giveUp is called at most once between `start` and `stop`
   */
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

  /** Call it when anything has arrived from the daemon. */
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

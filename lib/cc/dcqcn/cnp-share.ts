/**
 * Alpha, DCQCN's estimate of how much of the time CNPs come (Zhu et al., SIGCOMM 2015, section 3.1). It begins at 1 and counts from the
 * first CNP on:
 *
 *     alpha = (1 - g) alpha + g      with a CNP            (equation 1)
 *     alpha = (1 - g) alpha          K without a CNP       (equation 2)
 *
 * Both are worked out when alpha is asked for, so a flow without congestion has no deadline.
 */
import { type Nanos, NEVER } from '../../time/nanos.js'

export class CnpShare {
  readonly #g: number
  readonly #timerNs: Nanos
  #alpha = 1
  /** When the period that alpha has been worked out for began; NEVER: no CNP has come. */
  #sinceNs: Nanos = NEVER
  /** A CNP has come in this period, and counts at its end. */
  #heard = false

  /** @param timerNs K */
  constructor(g: number, timerNs: Nanos) {
    this.#g = g
    this.#timerNs = timerNs
  }

  at(now: Nanos): number {
    const periods = Math.floor((now - this.#sinceNs) / this.#timerNs)
    if (periods < 1) return this.#alpha
    this.#sinceNs += periods * this.#timerNs
    this.#alpha *= (1 - this.#g) ** periods
    // It came in the first of them, so its share has decayed since.
    if (this.#heard) this.#alpha += this.#g * (1 - this.#g) ** (periods - 1)
    this.#heard = false
    return this.#alpha
  }

  /** A CNP counts now, and the period begins anew. */
  add(now: Nanos): void {
    this.#alpha = (1 - this.#g) * this.at(now) + this.#g
    this.#sinceNs = now
  }

  /** A CNP counts at the end of the period, once with all others that come in it. The first of all begins the periods, and alpha stays. */
  hear(now: Nanos): void {
    this.at(now)
    if (this.#sinceNs === NEVER) this.#sinceNs = now
    else this.#heard = true
  }

  /** The value that was asked for last. */
  get last(): number {
    return this.#alpha
  }

  forget(): void {
    this.#alpha = 1
    this.#sinceNs = NEVER
    this.#heard = false
  }
}

import type { CongestionContext } from '../../cc/congestion-control.js'
import type { OptionValues } from '../../cc/options.js'
import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import * as rateRequest from '../../wire/weir/rate-request.js'

/** Where a request has each option: 0 to 10. */
type OptionPlaces = Readonly<Record<string, number>>

/** An unanswered request is repeated after so many T, then after twice that, and so on… */
const FIRST_TIMEOUT_ROUND_TRIPS = 4
/** …but at least as often as this. */
const TIMEOUT_MAX_NS = 50 * MILLISECOND

/** A change of T is sent so often, because no answer says that it has arrived. */
const CHANGE_REPEATS = 3

/** The sender's part of receiver-based control: asks the receiver to work out the window, until it answers. */
export class RateRequest {
  #context: CongestionContext
  /** Times that the request is to be sent, whatever comes back. */
  #repeats = 0
  readonly #options: OptionValues
  readonly #places: OptionPlaces
  #answered = false
  #sentNs: Nanos = -1
  #timeoutNs: Nanos

  constructor(context: CongestionContext, options: OptionValues, places: OptionPlaces) {
    this.#context = context
    this.#options = options
    this.#places = places
    this.#timeoutNs = Math.min(TIMEOUT_MAX_NS, FIRST_TIMEOUT_ROUND_TRIPS * context.baseRttNs)
  }

  get wantsToSend(): boolean {
    return this.#waits && this.#sentNs < 0
  }

  get #waits(): boolean {
    return !this.#answered || this.#repeats > 0
  }

  /** T has changed: the receiver is to know. */
  onBaseRtt(baseRttNs: Nanos): void {
    this.#context = { ...this.#context, baseRttNs }
    this.#repeats = CHANGE_REPEATS
    if (this.#answered) this.#timeoutNs = Math.min(TIMEOUT_MAX_NS, FIRST_TIMEOUT_ROUND_TRIPS * baseRttNs)
  }

  onSent(now: Nanos): void {
    this.#sentNs = now
    if (this.#repeats > 0) this.#repeats--
  }

  /** The first window has come. */
  onAnswer(): void {
    this.#answered = true
  }

  nextTimeout(): Nanos {
    if (!this.#waits) return NEVER
    return this.#sentNs < 0 ? 0 : this.#sentNs + this.#timeoutNs
  }

  onTimeout(now: Nanos): void {
    if (now < this.nextTimeout()) return
    this.#sentNs = -1
    this.#timeoutNs = Math.min(TIMEOUT_MAX_NS, 2 * this.#timeoutNs)
  }

  write(view: DataView, at: number): void {
    const { baseRttNs, lineRateBps, mtuBytes, careful } = this.#context
    rateRequest.write(view, at, baseRttNs, lineRateBps, mtuBytes)
    if (careful) rateRequest.setCareful(view, at)
    for (const [name, place] of Object.entries(this.#places)) {
      const value = this.#options[name]
      if (value !== undefined) rateRequest.setOption(view, at, place, Number(value))
    }
  }
}

/** What a sender has asked for: its own context, and options by name. */
export function readRequest(
  view: DataView,
  at: number,
  places: OptionPlaces,
): { context: CongestionContext; options: Record<string, number> } {
  const context = {
    baseRttNs: rateRequest.baseRttNs(view, at),
    lineRateBps: rateRequest.lineRateBps(view, at),
    mtuBytes: rateRequest.mtuBytes(view, at),
    careful: rateRequest.isCareful(view, at),
  }
  const options: Record<string, number> = {}
  for (const [name, place] of Object.entries(places)) {
    const value = rateRequest.option(view, at, place)
    if (!Number.isNaN(value)) options[name] = value
  }
  return { context, options }
}

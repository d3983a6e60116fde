import { DOUBLE_0 } from '../../double.js'
import type { QpSettings } from '../context/config.js'

const INFINITE_RNR_RETRIES = 7

/** The retries that a requester has left until the peer acknowledges something new (IBA 9.9.2.1). */
export class Retries {
  #left = 0
  #rnrLeft = DOUBLE_0
  readonly #settings: QpSettings

  constructor(settings: QpSettings) {
    this.#settings = settings
  }

  /** All of them, again. */
  restore(): void {
    this.#left = this.#settings.retryCount
    this.#rnrLeft = this.#settings.rnrRetry
  }

  /** True if some have been used up: it went back before without progress since. */
  get used(): boolean {
    return this.#left < this.#settings.retryCount
  }

  /** True if the next one ends the connection. */
  get exhausted(): boolean {
    return this.#left <= 0
  }

  /** Uses one up after a timeout or NAK; false if there is none. */
  take(): boolean {
    return this.#left-- > 0
  }

  /** The same after an RNR NAK: the peer has answered, and the other count is of silence and gaps. */
  takeRnr(): boolean {
    if (this.#settings.rnrRetry !== INFINITE_RNR_RETRIES && this.#rnrLeft-- === 0) return false
    this.#left = this.#settings.retryCount
    return true
  }
}

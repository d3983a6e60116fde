import { type Nanos, NEVER } from '../time/nanos.js'
import { type InofNotice, NOTICES_MAX } from '../wire/weir/inof-tlv.js'

const REPEAT_FIRST_NS: Nanos = 1_000_000
const REPEAT_LAST_NS: Nanos = 64_000_000

/**
 * Notices for one host: at most one for each member waits, and one frame of them is on its way. It is repeated until the host
 * acknowledges its last number.
 */
export class NoticeQueue {
  readonly #waiting = new Map<number, InofNotice>()
  /** Follows all that waits: the list is complete. */
  #listed: InofNotice | null = null
  #sent: InofNotice[] = []
  /** Number of the first notice of `#sent`. */
  #first = 1
  #repeatNs: Nanos = REPEAT_FIRST_NS
  #dueNs: Nanos = NEVER

  add(now: Nanos, notice: InofNotice): void {
    // The newest comes last.
    this.#waiting.delete(notice.address)
    this.#waiting.set(notice.address, notice)
    this.#wake(now)
  }

  /** All members have been named. */
  complete(now: Nanos, notice: InofNotice): void {
    this.#listed = notice
    this.#wake(now)
  }

  /** When a frame is due, or NEVER. */
  get dueNs(): Nanos {
    return this.#dueNs
  }

  /** The host has all notices up to that number. */
  acknowledge(now: Nanos, heard: number): void {
    if (this.#sent.length === 0 || heard < this.#first + this.#sent.length - 1) return
    this.#first += this.#sent.length
    this.#sent = []
    this.#dueNs = NEVER
    this.#wake(now)
  }

  /** Returns the frame that is due, for the first time or once more. */
  next(now: Nanos): { first: number; notices: readonly InofNotice[] } {
    if (this.#sent.length > 0) this.#repeatNs = Math.min(2 * this.#repeatNs, REPEAT_LAST_NS)
    else {
      this.#sent = this.#take()
      this.#repeatNs = REPEAT_FIRST_NS
    }
    this.#dueNs = now + this.#repeatNs
    return { first: this.#first, notices: this.#sent }
  }

  /** Takes what fits into a frame. */
  #take(): InofNotice[] {
    const taken = [...this.#waiting.values()].slice(0, NOTICES_MAX)
    for (const { address } of taken) this.#waiting.delete(address)
    if (this.#waiting.size === 0 && this.#listed !== null && taken.length < NOTICES_MAX) {
      taken.push(this.#listed)
      this.#listed = null
    }
    return taken
  }

  #wake(now: Nanos): void {
    if (this.#sent.length === 0 && (this.#waiting.size > 0 || this.#listed !== null)) this.#dueNs = now
  }
}

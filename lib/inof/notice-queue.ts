import { type Nanos, NEVER } from '../time/nanos.js'
import { InofEvent, type InofNotice, NOTICES_MAX } from '../wire/weir/inof-tlv.js'
import type { InofChange } from './change-log.js'

const REPEAT_FIRST_NS: Nanos = 1_000_000
const REPEAT_LAST_NS: Nanos = 64_000_000

/** A notice, and the change that it announces; null: it is part of a list. */
interface QueuedNotice extends InofNotice {
  change: InofChange | null
}

/**
 * Notices for one host: at most one for each member and each link waits, and one frame of them is on its way. It is repeated until the host
 * acknowledges its last number.
 */
export class NoticeQueue {
  readonly #waiting = new Map<number, QueuedNotice>()
  /** Follows all that waits: the list is complete. */
  #listed: QueuedNotice | null = null
  #sent: QueuedNotice[] = []
  /** Number of the first notice of `#sent`. */
  #first = 1
  #repeatNs: Nanos = REPEAT_FIRST_NS
  #dueNs: Nanos = NEVER

  add(now: Nanos, notice: QueuedNotice): void {
    const key = keyOf(notice)
    // The newest comes last.
    this.#waiting.delete(key)
    this.#waiting.set(key, notice)
    if (notice.change !== null) notice.change.told++
    this.#wake(now)
  }

  /** All members have been named. */
  complete(now: Nanos): void {
    this.#listed = LISTED
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
    for (const { change } of this.#sent) {
      if (change === null) continue
      change.heard++
      change.lastNs = now - change.atNs
    }
    this.#sent = []
    this.#dueNs = NEVER
    this.#wake(now)
  }

  /** Returns the frame that is due, for the first time or once more. */
  next(now: Nanos): { first: number; notices: readonly QueuedNotice[] } {
    if (this.#sent.length > 0) this.#repeatNs = Math.min(2 * this.#repeatNs, REPEAT_LAST_NS)
    else {
      this.#sent = this.#take()
      this.#repeatNs = REPEAT_FIRST_NS
    }
    this.#dueNs = now + this.#repeatNs
    return { first: this.#first, notices: this.#sent }
  }

  /** Takes what fits into a frame. */
  #take(): QueuedNotice[] {
    const taken = [...this.#waiting.values()].slice(0, NOTICES_MAX)
    for (const notice of taken) this.#waiting.delete(keyOf(notice))
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

const LISTED: QueuedNotice = { event: InofEvent.LISTED, kind: 0, zone: 0, address: 0, change: null }

/** What a notice is about: a member, or a link by its switch and port. */
function keyOf({ event, zone, address }: InofNotice): number {
  return event < InofEvent.LINK_DOWN ? address : 2 ** 32 + address * 0x1_0000 + zone
}

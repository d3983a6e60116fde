import { type Nanos, NEVER } from '../time/nanos.js'

/** Transport timeout of a Local ACK Timeout of `exponent`: 4.096 us * 2^n, 0 = never (IBA 9.9.2.1). */
export function ackTimeoutNs(exponent: number): Nanos {
  return exponent === 0 ? NEVER : 4096 * 2 ** exponent
}

/**
 * The two timers of a requester; at most one of them runs.
 *
 * The transport timer runs while a request is unanswered, and starts again with every answer that brings it
 * on. The RNR timer runs after an RNR NAK, and nothing is sent until it ends (IBA 9.7.5.2.8).
 */
export class RequesterTimers {
  #timeoutNs: Nanos = NEVER
  #ackDeadline: Nanos = NEVER
  #rnrDeadline: Nanos = NEVER

  /** Of the transport timer; NEVER: it does not run out. */
  get timeoutNs(): Nanos {
    return this.#timeoutNs
  }

  setExponent(exponent: number): void {
    this.#timeoutNs = ackTimeoutNs(exponent)
  }

  get waitsForReceiver(): boolean {
    return this.#rnrDeadline !== NEVER
  }

  /** A request has left: the transport timer runs from the oldest unanswered one on. */
  onSent(now: Nanos): void {
    if (this.#ackDeadline === NEVER) this.#ackDeadline = now + this.#timeoutNs
  }

  /** An answer came; `outstanding` if more are awaited. */
  onProgress(now: Nanos, outstanding: boolean): void {
    this.#ackDeadline = outstanding ? now + this.#timeoutNs : NEVER
  }

  /** The peer has shown that it is alive, though it answered nothing in order: the transport timer starts again. */
  onSign(now: Nanos): void {
    if (this.#ackDeadline !== NEVER) this.#ackDeadline = now + this.#timeoutNs
  }

  startRnr(now: Nanos, waitNs: Nanos): void {
    this.#ackDeadline = NEVER
    this.#rnrDeadline = now + waitNs
  }

  stop(): void {
    this.#ackDeadline = NEVER
    this.#rnrDeadline = NEVER
  }

  next(): Nanos {
    return Math.min(this.#rnrDeadline, this.#ackDeadline)
  }

  /** Ends the RNR wait if it is over; `outstanding` if answers are awaited then. */
  takeRnr(now: Nanos, outstanding: boolean): void {
    if (now < this.#rnrDeadline) return
    this.#rnrDeadline = NEVER
    if (outstanding) this.onSent(now)
  }

  /** True, once, if the transport timer has run out. */
  takeAck(now: Nanos): boolean {
    if (now < this.#ackDeadline || this.#ackDeadline === NEVER) return false
    this.#ackDeadline = NEVER
    return true
  }
}

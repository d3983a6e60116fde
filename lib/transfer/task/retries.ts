/** Which failures of an attempt are worth another one, how many there may be, and how long to wait before each. No clock. */
import type { WeirError } from '../../errors.js'
import { MILLISECOND, type Nanos, SECOND } from '../../time/nanos.js'
import { TransferFailure } from '../protocol/failure.js'

/** Most attempts in a row that may be asked for. */
export const RETRIES_MAX = 1000
/** Each wait is twice the last one, up to this. */
const WAIT_MAX_NS = 30 * SECOND

export class AttemptRetries {
  readonly most: number
  readonly #firstWaitNs: Nanos
  #inRow = 0

  /** @param most attempts in a row without progress, 0 to RETRIES_MAX; @param firstWaitNs before the first of them */
  constructor(most: number, firstWaitNs: Nanos) {
    this.most = most
    this.#firstWaitNs = firstWaitNs
  }

  /** Attempts since the last progress. */
  get inRow(): number {
    return this.#inRow
  }

  /** Something more has arrived. */
  onProgress(): void {
    this.#inRow = 0
  }

  /** One more: how long to wait for it; -1 when there have been enough. */
  next(): Nanos {
    if (this.#inRow >= this.most) return -1
    const doublings = Math.min(this.#inRow++, 30)
    return Math.max(MILLISECOND, Math.min(WAIT_MAX_NS, this.#firstWaitNs * 2 ** doublings))
  }
}

/**
 * True for a failure that the next attempt may not meet again: a lost connection, a host that has no place free, or bytes that
 * were changed on their way. Once a connection was lost, a host that is being restarted may not answer, or may refuse connections.
 */
export function mayPass(failure: WeirError, hasLostConnection: boolean): boolean {
  if (failure.code === 'WEIR_CONNECTION_LOST' || failure.code === 'WEIR_FULL') return true
  if (failure instanceof TransferFailure && failure.reason === 'DIGEST_MISMATCH') return true
  if (!hasLostConnection || failure instanceof TransferFailure) return false
  return failure.code === 'WEIR_UNREACHABLE' || failure.code === 'WEIR_REJECTED'
}

/** True if what an earlier transfer had left differs from the file: what cannot be used of it has been removed. */
export function mayBeginAnew(failure: WeirError): boolean {
  return failure instanceof TransferFailure && failure.reason === 'PART_DIFFERS'
}

/** What a user reads when all attempts have failed: the loss, if there was one, and how the last of them ended. */
export function whyGivenUp(lost: WeirError, last: WeirError, tries: number): string {
  const tried = `tried again ${tries === 1 ? 'once' : `${tries} times in a row`}`
  return lost === last ? `${last.message} (${tried})` : `${lost.message} (${tried}: ${last.message})`
}

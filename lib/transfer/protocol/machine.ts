/**
 * A state machine of the transfer protocol, as a session uses it: one for each way of each end (sender, receiver, getter, server).
 * No I/O, no clock.
 */
import type { WeirError } from '../../errors.js'
import type { MendedChunks } from './mended.js'
import type { TransferMessage } from './messages.js'

export interface TransferMachine {
  /** 'done', 'failed', or one of the states that the machine lists. */
  readonly state: string
  /** Why the state is 'failed'. */
  readonly failure: WeirError | null
  /** The state is 'done' or 'failed'. */
  readonly ended: boolean
  readonly chunks: {
    /** Chunks that did not have their digest, and were moved again or are to be. */
    readonly damaged: number
    /** Chunks of an earlier part among them. */
    readonly mended: MendedChunks
  }
  /** A message of the peer. What is out of turn or out of range fails the transfer. */
  onMessage(message: TransferMessage): void
  /** Ends the transfer; the first reason stays. */
  fail(failure: WeirError): void
}

/**
 * A count that travels modulo 2^32: the whole count that `wrapped` stands for, given the last one. Returns -1
 * when that would be more than `most`, or less than the last.
 */
export function advanceCount(last: number, wrapped: number, most: number): number {
  const gained = (wrapped - (last % 2 ** 32) + 2 ** 32) % 2 ** 32
  return last + gained <= most ? last + gained : -1
}

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

/**
 * What the four state machines of the transfer protocol share: a state, which messages are in turn in it, and
 * how they fail. No I/O, no clock.
 */
import { WeirError } from '../../errors.js'
import { TransferFailure } from './failure.js'
import { MendedChunks } from './mended.js'
import type { TransferMessage } from './messages.js'

type EndState = 'done' | 'failed'

export abstract class TransferMachine<State extends string> {
  readonly #inTurn: Readonly<Record<State, readonly string[]>>
  /** Name of the other end for messages. */
  protected readonly peer: string
  /** Chunks that did not have their digest, and were moved again or are to be. */
  damagedChunks = 0
  readonly mended = new MendedChunks()
  #state: State | EndState
  #failure: WeirError | null = null

  /**
   * @param first state to begin in
   * @param inTurn the peer's messages that may come in each state, Ping apart
   */
  constructor(first: State, inTurn: Readonly<Record<State, readonly string[]>>, peer: string) {
    this.#state = first
    this.#inTurn = inTurn
    this.peer = peer
  }

  get state(): State | EndState {
    return this.#state
  }

  /** Why the state is 'failed'. */
  get failure(): WeirError | null {
    return this.#failure
  }

  get ended(): boolean {
    return this.#state === 'done' || this.#state === 'failed'
  }

  /** A message of the peer. What is out of turn or out of range fails the transfer. */
  onMessage(message: TransferMessage): void {
    const state = this.#state
    // What crossed the end on its way means nothing any more.
    if (message.body === 'ping' || state === 'done' || state === 'failed') return
    if (this.#inTurn[state].includes(message.body ?? '')) this.take(message)
    else this.violated(`"${message.body ?? 'an unknown message'}" in state ${state}`)
  }

  /** Ends the transfer; the first reason stays. */
  fail(failure: WeirError): void {
    if (this.ended) return
    this.#failure = failure
    this.#state = 'failed'
  }

  /** A message that is in turn. */
  protected abstract take(message: TransferMessage): void

  protected enter(state: State | 'done'): void {
    this.#state = state
  }

  /** For this end's own events: they must not come in another state. */
  protected expect(state: State): void {
    if (this.#state !== state) {
      throw new WeirError('WEIR_BAD_STATE', `transfer: expected state ${state}, not ${this.#state}`)
    }
  }

  protected violated(what: string): void {
    this.fail(new TransferFailure('PROTOCOL', `${this.peer} broke the transfer protocol: ${what}`))
  }
}

/**
 * A count that travels modulo 2^32: the whole count that `wrapped` stands for, given the last one. Returns -1
 * when that would be more than `most`, or less than the last.
 */
export function advanceCount(last: number, wrapped: number, most: number): number {
  const gained = (wrapped - (last % 2 ** 32) + 2 ** 32) % 2 ** 32
  return last + gained <= most ? last + gained : -1
}

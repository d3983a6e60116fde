/** Where a transfer stands at one end: its state, the messages that may come in it, and why it has failed. No clock. */
import { WeirError } from '../../errors.js'
import { TransferFailure } from './failure.js'
import type { TransferMessage } from './messages.js'

type EndState = 'done' | 'failed'

export class TransferState<State extends string> {
  readonly #inTurn: Readonly<Record<State, readonly string[]>>
  readonly #peer: string
  #current: State | EndState
  #failure: WeirError | null = null

  /**
   * @param first state to begin in
   * @param inTurn the peer's messages that may come in each state, Ping apart
   * @param peer name of the other end for messages
   */
  constructor(first: State, inTurn: Readonly<Record<State, readonly string[]>>, peer: string) {
    this.#current = first
    this.#inTurn = inTurn
    this.#peer = peer
  }

  get current(): State | EndState {
    return this.#current
  }

  /** Why the state is 'failed'. */
  get failure(): WeirError | null {
    return this.#failure
  }

  get ended(): boolean {
    return this.#current === 'done' || this.#current === 'failed'
  }

  /**
   * True if the machine is to act on a message of the peer. Refuse and Fail end the transfer here, and so does a message that is
   * out of turn.
   */
  admits(message: TransferMessage): boolean {
    const state = this.#current
    // What crossed the end on its way means nothing any more.
    if (message.body === 'ping' || state === 'done' || state === 'failed') return false
    if (!this.#inTurn[state].includes(message.body ?? '')) {
      this.violated(`"${message.body ?? 'an unknown message'}" in state ${state}`)
      return false
    }
    if (message.body === 'refuse') this.fail(TransferFailure.fromPeer(message.refuse, this.#peer))
    else if (message.body === 'fail') this.fail(TransferFailure.fromPeer(message.fail, this.#peer))
    else return true
    return false
  }

  enter(state: State | 'done'): void {
    this.#current = state
  }

  /** For this end's own events: they must not come in another state. Throws WEIR_BAD_STATE. */
  expect(state: State): void {
    if (this.#current !== state) {
      throw new WeirError('WEIR_BAD_STATE', `transfer: expected state ${state}, not ${this.#current}`)
    }
  }

  /** Ends the transfer; the first reason stays. */
  fail(failure: WeirError): void {
    if (this.ended) return
    this.#failure = failure
    this.#current = 'failed'
  }

  /** The peer has broken the protocol: ends the transfer. */
  violated(what: string): void {
    this.fail(new TransferFailure('PROTOCOL', `${this.#peer} broke the transfer protocol: ${what}`))
  }
}

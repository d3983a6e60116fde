/**
 * The work of a mover at an endpoint. The exchange hands completions to the mover as messages and moved chunks, runs its steps one
 * after another, pings a silent peer, and ends the transfer when one of them fails. Each session has one.
 *
 * A step may touch the ring, and so may the peer while the connection lives. So the exchange waits until the connection has
 * ended and no step runs. Then it gives everything back, once, in `#settle`.
 */
import { WeirError } from '../../errors.js'
import type { Connection } from '../../nic/types.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { WorkStatus } from '../../qp/queues/work-status.js'
import type { Nanos } from '../../time/nanos.js'
import type { TransferEndpoint } from '../mover/endpoint.js'
import type { Lane, LaneUser } from '../mover/lane.js'
import type { Mover } from '../mover/mover.js'
import { Challenge } from '../protocol/challenge.js'
import { TransferFailure } from '../protocol/failure.js'
import { Liveness } from '../protocol/liveness.js'
import { StepRunner } from './step-runner.js'

/** What the two kinds of session do differently when an exchange ends. */
export interface ExchangeEnding {
  /** The machine has ended; called again with every completion that still comes. */
  onEnded(now: Nanos): void
  /** Everything has been given back. @param failure why there is no file, or why it could not be closed */
  onSettled(failure: WeirError | null): void
}

export class Exchange implements LaneUser {
  readonly #endpoint: TransferEndpoint
  readonly #mover: Mover
  readonly #ending: ExchangeEnding
  readonly #steps: StepRunner
  readonly #liveness: Liveness
  readonly #challenge = new Challenge()
  #settled = false

  /** @param cannot what the mover does, for messages: it cannot 'send' its file */
  constructor(endpoint: TransferEndpoint, mover: Mover, ending: ExchangeEnding, cannot: string) {
    this.#endpoint = endpoint
    this.#mover = mover
    this.#ending = ending
    this.#steps = new StepRunner(
      () => mover.nextStep(),
      error => this.fail(TransferFailure.from(error, `cannot ${cannot} ${mover.name}`)),
      () => this.#settleIfIdle(),
    )
    this.#liveness = new Liveness(endpoint.now())
    endpoint.laneUser = this
  }

  get hasEnded(): boolean {
    return this.#endpoint.closed || this.#mover.machine.ended
  }

  /** True while this end reads or writes its file. */
  get hasStep(): boolean {
    return this.#steps.running
  }

  onCompletion(now: Nanos, completion: Completion): void {
    if (completion.status !== WorkStatus.SUCCESS) return
    const { channel } = this.#endpoint
    this.#liveness.onHeard(now)
    this.guarded(() => {
      const message = channel.onCompletion(now, completion)
      // The last message has been acknowledged.
      if (!channel.busy) this.#challenge.answer(true)
      if (message) this.#mover.onMessage(now, message)
      else this.#mover.onTransferred(now, completion, this.#endpoint.lanes.main)
      channel.flush(now)
      if (!this.hasEnded) this.#mover.advance(now)
    })
    if (this.#mover.machine.ended) this.#ending.onEnded(now)
    this.#steps.kick()
  }

  checkPeer({ seal }: Connection): void {
    const mine = this.#endpoint.seal
    if (mine === null && !seal) return
    if (mine !== null && seal && mine.peer.key === seal.peer.key) return
    throw new WeirError('WEIR_REJECTED', 'a stream of a transfer has another end than its first one')
  }

  onLaneEstablished(now: Nanos): void {
    if (this.hasEnded) this.#endpoint.lanes.leave(now)
    else this.guarded(() => this.#mover.advance(now))
  }

  onLaneCompletion(now: Nanos, lane: Lane, completion: Completion): void {
    if (this.hasEnded) return
    this.#liveness.onHeard(now)
    this.guarded(() => {
      this.#mover.onTransferred(now, completion, lane)
      if (!this.hasEnded) this.#mover.advance(now)
    })
    if (this.#mover.machine.ended) this.#ending.onEnded(now)
    this.#steps.kick()
  }

  onLaneEnded(now: Nanos, lane: Lane): void {
    if (!this.hasEnded)
      this.guarded(() => {
        this.#mover.onLaneLost(now, lane)
        this.#mover.advance(now)
      })
    this.#steps.kick()
    this.#settleIfIdle()
  }

  /** After a step, or when a pipe has become ready: posts what that has made possible, and goes on. */
  advance(): void {
    if (this.hasEnded) return
    this.#mover.advance(this.#endpoint.now())
    this.#endpoint.wake()
    this.#steps.kick()
  }

  /** Call about once a second. */
  tick(now: Nanos): void {
    const { closed, established, channel } = this.#endpoint
    this.#challenge.tick(now)
    if (closed || !established) return
    if (channel.busy || this.#mover.awaitsTransport || !this.#liveness.pingDue(now)) return
    this.#ping(now)
  }

  /**
   * Resolves to whether the exchange goes on: the peer has to acknowledge a message. If it cannot, its connection ends by that,
   * and so does the exchange.
   */
  async goesOn(): Promise<boolean> {
    if (this.hasEnded) return false
    const now = this.#endpoint.now()
    const answered = this.#challenge.begin(now)
    // A message that is on its way will do.
    if (!this.#endpoint.channel.busy) this.#ping(now)
    this.#endpoint.wake()
    return (await answered) && !this.hasEnded
  }

  /** Ends the transfer; the first reason stays. */
  fail(error: WeirError): void {
    this.#mover.machine.fail(error)
    this.#challenge.answer(false)
    this.#ending.onEnded(this.#endpoint.now())
  }

  /** Ends the transfer if `action` throws. */
  guarded(action: () => void): void {
    try {
      action()
    } catch (error) {
      this.fail(error instanceof WeirError ? error : TransferFailure.from(error, 'internal error'))
    }
  }

  /** The connection has ended, or could not be begun. @param why what has failed, if the transfer had not ended before */
  onClosed(why: WeirError): void {
    this.#endpoint.closed = true
    this.#mover.machine.fail(why)
    this.#endpoint.disconnect(this.#endpoint.now())
    this.#settleIfIdle()
  }

  #ping(now: Nanos): void {
    this.guarded(() => this.#endpoint.channel.send(now, { body: 'ping', ping: {} }))
  }

  #settleIfIdle(): void {
    if (!this.#endpoint.hasEnded) return
    this.#challenge.answer(false)
    if (this.#steps.running || this.#settled) return
    this.#settled = true
    void this.#settle()
  }

  async #settle(): Promise<void> {
    const { machine, name } = this.#mover
    this.#endpoint.release()
    let { failure } = machine
    try {
      await this.#mover.close()
    } catch (error) {
      failure ??= TransferFailure.from(error, `cannot close ${name}`)
    }
    this.#ending.onSettled(failure)
  }
}

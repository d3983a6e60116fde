/**
 * A transfer that a user of this daemon asked for. It makes one session after the other, each with a connection of its own, until
 * the file is there or another attempt makes no sense. It does not move again what the receiving end has on its disk, if both
 * ends find the same digest for it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../../errors.js'
import type { Logger } from '../../log.js'
import { printable } from '../../printable.js'
import { MILLISECOND, type Nanos } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'
import type { Moving } from '../mover/mover.js'
import type { RealTime } from '../mover/real-time.js'
import { RING_BYTES_MAX } from '../protocol/chunk-plan.js'
import { briefly, TransferFailure } from '../protocol/failure.js'
import type { SenderFigures } from '../protocol/messages.js'
import type { ActiveSession, TransferOutcome } from '../session/active-session.js'
import { AttemptSums } from './attempt-sums.js'
import { AttemptRetries, mayBeginAnew, mayPass, whyGivenUp } from './retries.js'
import type { Retry, Transfer, TransferResult } from './transfer.js'

/** What is to be moved. */
export interface Task {
  readonly remote: HostAddress
  /** A session for an attempt, not started. Throws WEIR_FULL when no ring is free. @param last the attempt before */
  attempt(last: ActiveSession | null): Promise<ActiveSession>
  /** Removes what has arrived at this end, so that no other transfer resumes it. */
  abandon(last: ActiveSession): Promise<void>
  close(): Promise<void>
}

interface ActiveTransferConfig {
  id: string
  direction: 'send' | 'get'
  peer: string
  task: Task
  /** The first attempt, not started. */
  session: ActiveSession
  time: RealTime
  log: Logger
  /** Attempts in a row without progress. */
  retries: number
  /** Wait before the first of them. */
  retryAfterNs: Nanos
}

export class ActiveTransfer implements Transfer {
  readonly id: string
  readonly direction: 'send' | 'get'
  readonly peer: string
  readonly ended: Promise<void>
  session: ActiveSession
  attempts = 1
  readonly #config: ActiveTransferConfig
  readonly #retries: AttemptRetries
  readonly #sums = new AttemptSums()
  /** The most bytes of the file that are known to have arrived, and the furthest beginning, in all attempts. */
  #bestBytes = 0
  #bestResumedBytes = 0
  /** `deliveredBytes` when the last attempt ended. */
  #reachedBytes = 0
  /** Bytes that earlier transfers had delivered; -1 = not known yet. */
  #resumedBytes = -1
  /** What was to be moved then. */
  #moving: Moving | undefined
  #restarts = 0
  /** The last attempt whose beginning `#noteBeginning` has counted. */
  #noted: ActiveSession | null = null
  /** The last time that a connection was lost. */
  #lost: WeirError | null = null
  #beganAnew = false
  /** The attempt before found a damaged part. It has removed all of the part, or all but its beginning. */
  #wasDamaged = false
  /** Ends the wait for the next attempt. */
  #gap: AbortController | null = null
  #gapEndsNs = 0
  /** Why there is no other attempt: somebody has ended the transfer. Null: nobody has. */
  #stopped: WeirError | null = null
  #resolveEnded: () => void = () => {}

  constructor(config: ActiveTransferConfig) {
    this.id = config.id
    this.direction = config.direction
    this.peer = config.peer
    this.session = config.session
    this.#config = config
    this.#retries = new AttemptRetries(config.retries, config.retryAfterNs)
    this.ended = new Promise(resolve => {
      this.#resolveEnded = resolve
    })
  }

  get state(): string {
    return this.#gap ? 'waiting' : this.session.state
  }

  get deliveredBytes(): number {
    const { begun, resumedBytes, deliveredBytes } = this.session.mover
    if (!begun) return this.#reachedBytes
    // What was on its way to the disk when the connection was lost moves again.
    const goesOn = resumedBytes > 0 && resumedBytes >= this.#reachedBytes - RING_BYTES_MAX
    return goesOn ? Math.max(this.#reachedBytes, deliveredBytes) : deliveredBytes
  }

  get movedBytes(): number {
    return this.#sums.movedBytes + this.session.movedBytes
  }

  get figures(): SenderFigures | null {
    const { figures } = this.session
    return figures && this.#sums.withFigures(figures)
  }

  get damagedChunks(): number {
    return this.#sums.damagedChunks + this.session.damagedChunks
  }

  get retry(): Retry | null {
    const { inRow: number, most } = this.#retries
    if (number === 0) return null
    const inNs = this.#gap ? Math.max(0, this.#gapEndsNs - this.#config.time.now()) : 0
    return { number, most, inNs }
  }

  tick(now: Nanos): void {
    this.#noteBeginning()
    this.session.tick(now)
  }

  cancel(text: string): void {
    const isConnected = this.#gap === null && this.session.state !== 'connecting'
    const stays = this.direction === 'send' && !isConnected && this.#bestBytes > 0
    const more = stays ? `; ${this.peer} keeps what has arrived, for there is no connection to tell it` : ''
    this.#stop(new TransferFailure('CANCELLED', text + more))
    this.session.cancel(text)
  }

  /** That host is there again: where it is the peer, the next attempt need not wait. */
  onArrival(host: HostAddress): void {
    if (this.#config.task.remote.equals(host)) this.#gap?.abort()
  }

  interrupt(text: string): void {
    this.#stop(new TransferFailure('SHUTTING_DOWN', text))
    this.session.interrupt(text)
  }

  /** Makes all attempts; resolves when the file is there and everything has been given back. Throws what stopped it. */
  async run(): Promise<TransferResult> {
    const { task, time } = this.#config
    const beganNs = time.now()
    try {
      for (let isNext = false; ; isNext = true) {
        try {
          if (isNext) this.#onNext(await task.attempt(this.session))
          return await this.#attempt(beganNs)
        } catch (error) {
          await this.#beforeNext(error)
        }
      }
    } catch (error) {
      // Another transfer may resume what a lost connection has left, but not what an attempt after that has refused.
      if (this.#lost && (error as WeirError).code !== 'WEIR_CONNECTION_LOST') await task.abandon(this.session)
      throw error
    } finally {
      await task.close()
      this.#resolveEnded()
    }
  }

  async #attempt(beganNs: Nanos): Promise<TransferResult> {
    const { session } = this
    session.start()
    if (this.#stopped) session.cancel(this.#stopped.message)
    let outcome: TransferOutcome
    try {
      outcome = await session.outcome
    } finally {
      this.#noteBeginning()
      this.#sums.noteMended(session)
    }
    return {
      ...this.#sums.withOutcome(outcome, this.#resumedBytes, this.#moving),
      durationNs: this.#config.time.now() - beganNs,
      attempts: this.attempts,
      restarts: this.#restarts,
    }
  }

  /** Resolves when it is time for the next attempt; throws what ends the transfer. */
  async #beforeNext(error: unknown): Promise<void> {
    if (this.#stopped || !(error instanceof WeirError)) throw this.#stopped ?? error
    this.#reachedBytes = this.deliveredBytes
    if (this.session.mover.begun && this.session.deliveredBytes > this.#bestBytes) {
      this.#bestBytes = this.session.deliveredBytes
      this.#retries.onProgress()
    }
    if (mayBeginAnew(error) && !this.#beganAnew) {
      this.#beganAnew = true
      this.#wasDamaged = true
      this.#bestBytes = 0
      this.#reachedBytes = 0
      this.#resumedBytes = -1
      this.#log('warn', { error: briefly(error) }, 'it begins where the damage does')
      return
    }
    if (!mayPass(error, this.#lost !== null)) throw error
    if (error.code === 'WEIR_CONNECTION_LOST') this.#lost = error
    const waitNs = this.#retries.next()
    if (waitNs < 0) throw this.#whyGivenUp(error)
    await this.#wait(waitNs, error)
  }

  #whyGivenUp(last: WeirError): WeirError {
    if (this.#retries.most === 0) return last
    const text = whyGivenUp(this.#lost ?? last, last, this.#retries.most)
    return new WeirError(this.#lost ? 'WEIR_CONNECTION_LOST' : last.code, text, { cause: last })
  }

  async #wait(waitNs: Nanos, why: WeirError): Promise<void> {
    const { inRow: retry, most } = this.#retries
    const waitMs = waitNs / MILLISECOND
    this.#log('warn', { error: briefly(why), waitMs, retry, most }, 'trying again')
    this.#gap = new AbortController()
    this.#gapEndsNs = this.#config.time.now() + waitNs
    try {
      await sleep(waitMs, undefined, { signal: this.#gap.signal })
    } catch {
      if (this.#stopped) throw this.#stopped
    } finally {
      this.#gap = null
    }
  }

  #onNext(session: ActiveSession): void {
    this.#sums.add(this.session)
    this.session = session
    this.attempts++
  }

  /** Counts where in the file the attempt begins: once an attempt, as soon as that is known. */
  #noteBeginning(): void {
    const { begun, resumedBytes, moving } = this.session.mover
    if (!begun || this.#noted === this.session) return
    this.#noted = this.session
    if (this.#resumedBytes < 0) {
      this.#resumedBytes = resumedBytes
      this.#moving = moving
    } else if (resumedBytes > this.#bestResumedBytes) this.#retries.onProgress()
    this.#bestResumedBytes = Math.max(this.#bestResumedBytes, resumedBytes)
    this.#sums.addRepeatedBytes(Math.max(0, this.#bestBytes - resumedBytes))
    if (resumedBytes === 0 && (this.#bestBytes > 0 || this.#wasDamaged)) this.#restarts++
    this.#wasDamaged = false
    this.#bestBytes = Math.max(this.#bestBytes, resumedBytes)
    if (this.attempts === 1) return
    const what = resumedBytes > 0 ? 'goes on' : 'begins at byte 0: nothing of it is there'
    this.#log('info', { attempt: this.attempts, resumedBytes }, what)
  }

  #stop(why: WeirError): void {
    this.#stopped ??= why
    this.#gap?.abort()
  }

  #log(level: 'info' | 'warn', about: object, what: string): void {
    const { id, peer, session } = this
    this.#config.log[level]({ transfer: id, file: printable(session.name), peer, ...about }, what)
  }
}

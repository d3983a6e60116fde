import { type ErrorCode, WeirError } from '../../lib/errors.js'
import type { Child } from './child.js'
import type { SwitchQuestion, SwitchReply } from './switch-messages.js'

type ReplyOf<K extends SwitchReply['type']> = Extract<SwitchReply, { type: K }>

/**
 * The lab's end of the channel to the switch process: one question at a time. `Start` is the first one. Each
 * kind of switch process has a `Start` of its own.
 */
export class SwitchClient<Start extends { type: 'start' }> {
  readonly #child: Child
  #waiting: { resolve: (reply: SwitchReply) => void; reject: (error: WeirError) => void } | null = null
  #turn: Promise<unknown> = Promise.resolve()
  readonly #up: Promise<void>

  constructor(child: Child) {
    this.#child = child
    this.#up = new Promise(resolve => {
      child.process.on('message', (reply: SwitchReply) => {
        if (reply.type === 'up') resolve()
        else this.#onReply(reply)
      })
    })
    void child.exited.then(() => this.#onEnded())
  }

  /** Resolves when the process answers questions, or has ended. */
  async up(): Promise<void> {
    await Promise.race([this.#up, this.#child.exited])
  }

  /**
   * Sends a question, and resolves with the answer of that type. Throws the error that the switch process
   * reports.
   */
  async ask<K extends SwitchReply['type']>(request: Start | SwitchQuestion, answer: K): Promise<ReplyOf<K>> {
    const asked = this.#turn.then(() => this.#ask(request))
    this.#turn = asked.catch(() => {})
    const reply = await asked
    if (reply.type === answer) return reply as ReplyOf<K>
    if (reply.type === 'error') throw new WeirError(reply.code as ErrorCode, reply.message)
    throw new WeirError('WEIR_PROTOCOL', `the switch process answered ${reply.type} to ${request.type}`)
  }

  #ask(request: Start | SwitchQuestion): Promise<SwitchReply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      if (this.#child.running && this.#child.process.connected) this.#child.process.send(request)
      else this.#onEnded()
    })
  }

  #onReply(reply: SwitchReply): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.resolve(reply)
  }

  #onEnded(): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.reject(new WeirError('WEIR_CONNECTION_LOST', 'the switch process has ended'))
  }
}

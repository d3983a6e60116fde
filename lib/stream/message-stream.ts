import { checkInstance } from '../arguments.js'
import { WeirError } from '../errors.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { StreamMachine } from './stream-machine.js'
import { resetBy, type StreamConnection } from './weir-stream.js'

/** Calls of `send` that may wait. */
const SENDS_MAX = 1024

interface Sending {
  bytes: Uint8Array
  resolve(): void
  reject(error: Error): void
}

interface Receiving {
  resolve(message: Uint8Array | null): void
  reject(error: Error): void
}

/**
 * Whole messages over a queue pair, both ways, in order. A message is as long as the other end takes, and waits at its sender until the other
 * end has room.
 */
export class MessageStream {
  /** Address of the other end. */
  readonly remoteAddress: string
  /** Longest message that the other end takes. */
  readonly sendBytesMax: number
  /** Resolves when the stream has ended at both ends, or with what has ended it. */
  readonly closed: Promise<Error | null>
  readonly #machine: StreamMachine
  readonly #connection: StreamConnection
  readonly #receiveBytesMax: number
  readonly #sends: Sending[] = []
  readonly #receives: Receiving[] = []
  /** Calls of `end` that wait. */
  readonly #ending: (() => void)[] = []
  /** Offset in the first of `#sends`. */
  #at = 0
  /** The message that is coming, as far as it has come: in one piece of memory, so that short segments cost no more than long ones. */
  #coming = new Uint8Array()
  #comingBytes = 0
  #endAsked = false
  #failure: Error | null = null
  #connectionClosed = false
  #disconnected = false
  #isPumpDue = false
  #resolveClosed: (error: Error | null) => void = () => {}

  constructor(
    machine: StreamMachine,
    connection: StreamConnection,
    { sendBytesMax, receiveBytesMax }: { sendBytesMax: number; receiveBytesMax: number },
  ) {
    this.#machine = machine
    this.#connection = connection
    this.remoteAddress = connection.remote
    this.sendBytesMax = sendBytesMax
    this.#receiveBytesMax = receiveBytesMax
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
  }

  /**
   * Sends a message. Resolves when it has been copied, so await it: that is the back-pressure. Throws WEIR_BAD_ARGUMENT for what has no
   * bytes and for one longer than `sendBytesMax`, WEIR_BAD_STATE after `end`, WEIR_FULL when 1,024 messages wait, and what has ended the stream.
   */
  async send(bytes: Uint8Array): Promise<void> {
    checkInstance('send', 'bytes', Uint8Array, bytes)
    if (this.#failure !== null) throw this.#failure
    if (this.#endAsked) throw new WeirError('WEIR_BAD_STATE', 'send: this end of the messages has ended')
    if (bytes.length > this.sendBytesMax) {
      const text = `send: a message of ${bytes.length} bytes; ${this.remoteAddress} takes ${this.sendBytesMax} at most (its messageBytesMax)`
      throw new WeirError('WEIR_BAD_ARGUMENT', text)
    }
    if (this.#sends.length === SENDS_MAX)
      throw new WeirError('WEIR_FULL', `send: ${SENDS_MAX} messages wait already: await each send`)
    await new Promise<void>((resolve, reject) => {
      this.#sends.push({ bytes, resolve, reject })
      this.#pump()
    })
  }

  /** Resolves with the next message; with null when the other end has ended. Throws what has ended the stream. */
  async receive(): Promise<Uint8Array | null> {
    return await new Promise((resolve, reject) => {
      this.#receives.push({ resolve, reject })
      this.#pump()
    })
  }

  /** The messages up to the end of the other end. A loop that breaks resets the stream. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    let isOver = false
    try {
      for (let message = await this.receive(); message !== null; message = await this.receive()) yield message
      isOver = true
    } finally {
      if (!isOver) this.destroy()
    }
  }

  /** This end sends no more. The other one may go on. Resolves when the other end has all messages in its memory. */
  async end(): Promise<void> {
    this.#endAsked = true
    this.#pump()
    while (!this.#machine.endConfirmed) {
      if (this.#failure !== null) throw this.#failure
      await new Promise<void>(resolve => this.#ending.push(resolve))
    }
  }

  /** Resets the stream: the other end gets WEIR_STREAM_RESET, calls that wait get `error`. */
  destroy(error: Error = new WeirError('WEIR_CANCELLED', 'this end has ended the messages')): void {
    this.#fail(error)
    this.#disconnect()
  }

  /** Its connection calls this for each completion. */
  onCompletion(completion: Completion): void {
    try {
      this.#machine.onCompletion(completion)
    } catch (error) {
      this.destroy(error as Error)
    }
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    queueMicrotask(() => {
      this.#isPumpDue = false
      this.#pump()
    })
  }

  /** Its connection calls this last. */
  onClosed(error: Error | null): void {
    this.#connectionClosed = true
    if (!this.#machine.complete) this.#fail(error ?? resetBy(this.remoteAddress))
    this.#resolveClosed(this.#failure)
    this.#pump()
  }

  #pump(): void {
    this.#pumpSends()
    this.#pumpReceives()
    if (this.#machine.endConfirmed || this.#failure !== null)
      for (const resolve of this.#ending.splice(0)) resolve()
    if (this.#machine.finished) this.#disconnect()
    else this.#connection.wake()
  }

  #pumpSends(): void {
    if (this.#failure !== null) return
    for (let first = this.#sends[0]; first !== undefined; first = this.#sends[0]) {
      this.#at = this.#machine.write(first.bytes, this.#at)
      if (this.#at < first.bytes.length || !this.#machine.endMessage()) return
      this.#at = 0
      this.#sends.shift()
      first.resolve()
    }
    if (this.#endAsked) this.#machine.end()
  }

  #pumpReceives(): void {
    while (this.#receives.length > 0) {
      const segment = this.#failure === null || this.#machine.complete ? this.#machine.read() : null
      if (segment === null) break
      if (segment.bytes.length === 0 && !segment.endsMessage) {
        // It would be kept, and no bound of bytes would ever be reached.
        const text = `${this.remoteAddress} sends a piece of a message without bytes`
        this.destroy(new WeirError('WEIR_PROTOCOL', text))
        return
      }
      if (this.#comingBytes + segment.bytes.length > this.#receiveBytesMax) {
        this.destroy(new WeirError('WEIR_PROTOCOL', `${this.remoteAddress} sends a message that is too long`))
        return
      }
      const message = this.#take(segment)
      if (message !== null) this.#receives.shift()!.resolve(message)
    }
    const failure = this.#failure
    if (failure !== null) for (const { reject } of this.#receives.splice(0)) reject(failure)
    else if (this.#machine.readEnded) for (const { resolve } of this.#receives.splice(0)) resolve(null)
  }

  /** Returns the message if the segment ends it. */
  #take({ bytes, endsMessage }: { bytes: Uint8Array; endsMessage: boolean }): Uint8Array | null {
    if (endsMessage && this.#comingBytes === 0) return bytes
    const filled = this.#comingBytes + bytes.length
    if (filled > this.#coming.length) {
      const longer = new Uint8Array(
        Math.min(this.#receiveBytesMax, Math.max(filled, 2 * this.#coming.length)),
      )
      longer.set(this.#coming.subarray(0, this.#comingBytes))
      this.#coming = longer
    }
    this.#coming.set(bytes, this.#comingBytes)
    this.#comingBytes = filled
    if (!endsMessage) return null
    const message = this.#coming.slice(0, filled)
    this.#coming = new Uint8Array()
    this.#comingBytes = 0
    return message
  }

  #fail(error: Error): void {
    if (this.#failure !== null || this.#machine.complete) return
    this.#failure = error
    for (const { reject } of this.#sends.splice(0)) reject(error)
    for (const { reject } of this.#receives.splice(0)) reject(error)
    for (const resolve of this.#ending.splice(0)) resolve()
  }

  #disconnect(): void {
    if (this.#disconnected || this.#connectionClosed) return
    this.#disconnected = true
    this.#connection.disconnect()
  }
}

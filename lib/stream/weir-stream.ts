import { Duplex } from 'node:stream'
import { WeirError } from '../errors.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { StreamMachine } from './stream-machine.js'

/** What a stream needs from its connection. */
export interface StreamConnection {
  /** Address of the other end. */
  readonly remote: string
  /** Closes the connection in order. What has not been acknowledged is lost. */
  disconnect(): void
  /** The NIC is to look for work. */
  wake(): void
}

export interface WeirStreamOptions {
  /** False: `end` is called when the other end has ended. Default true: each direction ends by itself. */
  allowHalfOpen?: boolean | undefined
  /** Bytes that wait in the stream beside those in its memory. Default: of Node.js. */
  highWaterMark?: number | undefined
}

type Done = (error?: Error | null) => void

/** How long a stream that was destroyed in order waits for its peer to take the rest. */
const LINGER_MS = 60_000
/** Segments below this are joined with what follows, if that has come. */
const SHORT_BYTES = 1024

/**
 * A stream of bytes over a queue pair, both ways. As any Duplex: `write` returns false when it is to wait, `end` ends one direction.
 * `'finish'` means that the other end has all bytes in its memory, and `'end'` that all of its bytes have been read. `destroy` before that
 * resets the stream: the other end gets WEIR_STREAM_RESET.
 */
export class WeirStream extends Duplex {
  /** Address of the other end. */
  readonly remoteAddress: string
  /** Bytes written into the memory of the stream, and read from it. */
  bytesWritten = 0
  bytesRead = 0
  readonly #machine: StreamMachine
  readonly #connection: StreamConnection
  /** What `_write` has and the machine has not taken. */
  #chunks: readonly Uint8Array[] = []
  #chunk = 0
  #at = 0
  #onWritten: Done | null = null
  #onFinal: Done | null = null
  #wantsData = false
  #ended = false
  #connectionClosed = false
  #disconnected = false
  #isPumpDue = false
  /** It was destroyed in order. */
  #isEnding = false
  /** Ends the wait for a peer that does not take the rest. */
  #lingers: NodeJS.Timeout | undefined

  constructor(
    machine: StreamMachine,
    connection: StreamConnection,
    { allowHalfOpen = true, highWaterMark }: WeirStreamOptions = {},
  ) {
    super({ allowHalfOpen, ...(highWaterMark === undefined ? {} : { highWaterMark }) })
    this.remoteAddress = connection.remote
    this.#machine = machine
    this.#connection = connection
  }

  /** Its connection calls this for each completion. Nothing of the program runs within it. */
  onCompletion(completion: Completion): void {
    try {
      this.#machine.onCompletion(completion)
    } catch (error) {
      this.destroy(error as Error)
    }
    this.#pumpSoon()
  }

  /** Its connection calls this last. */
  onClosed(error: Error | null): void {
    this.#connectionClosed = true
    clearTimeout(this.#lingers)
    if (!this.#machine.complete && !this.destroyed) this.destroy(error ?? resetBy(this.remoteAddress))
    else this.#pumpSoon()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#take([chunk], done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: Done): void {
    this.#onFinal = done
    this.#pump()
  }

  override _read(): void {
    this.#wantsData = true
    this.#pumpSoon()
  }

  override _destroy(error: Error | null, done: Done): void {
    // A loop over the stream ends with destroy, and with AbortError where the other direction has not ended. Where all has been read, and all
    // that was written is in the memory of the stream, nothing is to be lost by that: the stream ends in order, as TCP does.
    const isAsked = error === null || (error as NodeJS.ErrnoException).code === 'ABORT_ERR'
    const onWritten = this.#onWritten
    this.#onWritten = null
    this.#onFinal = null
    this.#chunks = []
    this.#isEnding = isAsked && this.#machine.readEnded && this.writableLength === 0
    if (this.#isEnding) this.#finishEnding()
    else this.#disconnect()
    done(error)
    // Node.js tells those writes alone that wait behind this one.
    onWritten?.(error ?? new WeirError('WEIR_CANCELLED', 'the stream was destroyed before all was written'))
  }

  #take(chunks: readonly Uint8Array[], done: Done): void {
    this.#chunks = chunks
    this.#chunk = 0
    this.#at = 0
    this.#onWritten = done
    this.#pump()
  }

  /** The program's callbacks run outside of the NIC's processing: an error of theirs is not the NIC's. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    queueMicrotask(() => {
      this.#isPumpDue = false
      this.#pump()
    })
  }

  #pump(): void {
    if (this.destroyed) {
      if (this.#isEnding) this.#finishEnding()
      return
    }
    this.#pumpWrites()
    this.#pumpReads()
    this.#connection.wake()
  }

  #pumpWrites(): void {
    while (this.#chunk < this.#chunks.length) {
      const chunk = this.#chunks[this.#chunk]!
      const at = this.#machine.write(chunk, this.#at)
      this.bytesWritten += at - this.#at
      this.#at = at
      if (at < chunk.length) return
      this.#chunk++
      this.#at = 0
    }
    this.#machine.flush()
    const onWritten = this.#onWritten
    this.#onWritten = null
    this.#chunks = []
    onWritten?.()
    if (this.#onFinal === null || this.destroyed) return
    this.#machine.end()
    if (!this.#machine.endConfirmed) return
    const onFinal = this.#onFinal
    this.#onFinal = null
    onFinal()
  }

  #pumpReads(): void {
    while (this.#wantsData && !this.destroyed) {
      const bytes = this.#readSome()
      if (bytes === null) break
      this.bytesRead += bytes.length
      if (bytes.length > 0) this.#wantsData = this.push(bytes)
    }
    if (!this.#machine.readEnded || this.#ended || this.destroyed) return
    this.#ended = true
    this.push(null)
  }

  /** The next segment. Short ones that have come are joined: the program's stream keeps an object for each piece. */
  #readSome(): Uint8Array | null {
    const first = this.#machine.read()
    if (first === null || first.bytes.length >= SHORT_BYTES) return first?.bytes ?? null
    const pieces = [first.bytes]
    for (let bytes = first.bytes.length; bytes < SHORT_BYTES; bytes += pieces.at(-1)!.length) {
      const next = this.#machine.read()
      if (next === null) break
      pieces.push(next.bytes)
    }
    return pieces.length === 1 ? first.bytes : Buffer.concat(pieces)
  }

  /** The program is done with the stream; the other end is to have all of it first, if it takes it. */
  #finishEnding(): void {
    this.#machine.end()
    if (this.#machine.finished) this.#disconnect()
    else {
      this.#lingers ??= setTimeout(() => this.#disconnect(), LINGER_MS).unref()
      this.#connection.wake()
    }
  }

  #disconnect(): void {
    clearTimeout(this.#lingers)
    if (this.#disconnected || this.#connectionClosed) return
    this.#disconnected = true
    this.#connection.disconnect()
  }
}

/** The other end has closed the connection before the end of the stream. */
export function resetBy(remote: string): WeirError {
  return new WeirError('WEIR_STREAM_RESET', `${remote} has ended the stream before its end`)
}

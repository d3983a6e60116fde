/**
 * What a client of this daemon writes into a Unix socket, as the source of a transfer: pieces, each behind its length in 4 bytes, and a length
 * of 0 at the end. So a client that was killed is no end of its input.
 */
import type { Socket } from 'node:net'
import { OPEN_END } from '../protocol/chunk-plan.js'
import { TransferFailure } from '../protocol/failure.js'
import type { FileSource, PipeReading } from './file.js'

/** Longest piece. */
const PIECE_BYTES_MAX = 1 << 20
const LENGTH_BYTES = 4
const FILE_MODE = 0o644
const NOTHING = Buffer.alloc(0)

export class PipeSource implements FileSource, PipeReading {
  readonly name: string
  readonly allocatedBytes = 0
  readonly mode = FILE_MODE
  readonly mtimeMs = Date.now()
  readonly mtimeNanos = 0
  readonly pipe = this
  size = OPEN_END
  onReady: () => void = () => {}
  readonly #socket: Socket
  /** The bytes to be read next, of which `#filled` have come. */
  #buffer = NOTHING
  #filled = 0
  /** What the socket has given and `#buffer` had no room for. */
  #rest: Buffer = NOTHING
  /** Bytes that the piece goes on for, and the length of the next one as far as it has come. */
  #pieceBytes = 0
  readonly #length = Buffer.alloc(LENGTH_BYTES)
  #lengthBytes = 0
  #readBytes = 0
  #hasEnded = false
  #failure: TransferFailure | null = null

  /** @param socket is the source's from now on */
  constructor(name: string, socket: Socket) {
    this.name = name
    this.#socket = socket
    socket.pause()
    socket.on('data', bytes => this.#onData(bytes))
    socket.on('error', () => this.#onGone())
    socket.on('close', () => this.#onGone())
  }

  has(bytes: number): boolean {
    if (this.#buffer.length !== bytes) this.#buffer = Buffer.alloc(bytes)
    this.#fill()
    return this.#isReady
  }

  mayBeHole(): boolean {
    return false
  }

  /** Fills less than `into` only at the end, and then `size` is known. Throws CANCELLED when the client has gone before it. */
  async read(into: Uint8Array): Promise<void> {
    if (this.#failure !== null) throw this.#failure
    into.set(this.#buffer.subarray(0, this.#filled))
    this.#readBytes += this.#filled
    if (this.#filled < into.length) this.size = this.#readBytes
    this.#filled = 0
  }

  async verifyUnchanged(): Promise<void> {
    if (this.#failure !== null) throw this.#failure
  }

  async close(): Promise<void> {
    this.#socket.destroy()
  }

  get #isReady(): boolean {
    return this.#filled === this.#buffer.length || this.#hasEnded || this.#failure !== null
  }

  #onData(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    this.#fill()
    if (this.#isReady) this.onReady()
  }

  #onGone(): void {
    if (this.#hasEnded) return
    this.#fail('CANCELLED', 'the command that sends it has ended before its input')
    this.onReady()
  }

  /** Takes what is there. The socket goes on while there is room, so it is the reader that sets the pace. */
  #fill(): void {
    while (this.#rest.length > 0 && !this.#isReady) this.#take()
    if (this.#isReady) this.#socket.pause()
    else this.#socket.resume()
  }

  #take(): void {
    if (this.#pieceBytes === 0) {
      this.#takeLength()
      return
    }
    const room = this.#buffer.length - this.#filled
    const bytes = this.#rest.subarray(0, Math.min(this.#pieceBytes, room))
    this.#buffer.set(bytes, this.#filled)
    this.#filled += bytes.length
    this.#pieceBytes -= bytes.length
    this.#rest = this.#rest.subarray(bytes.length)
  }

  #takeLength(): void {
    const bytes = this.#rest.subarray(0, LENGTH_BYTES - this.#lengthBytes)
    this.#length.set(bytes, this.#lengthBytes)
    this.#lengthBytes += bytes.length
    this.#rest = this.#rest.subarray(bytes.length)
    if (this.#lengthBytes < LENGTH_BYTES) return
    this.#lengthBytes = 0
    this.#pieceBytes = this.#length.readUInt32BE()
    if (this.#pieceBytes === 0) this.#hasEnded = true
    else if (this.#pieceBytes > PIECE_BYTES_MAX)
      this.#fail('PROTOCOL', `a piece of ${this.#pieceBytes} bytes, ${PIECE_BYTES_MAX} is the most`)
  }

  #fail(reason: 'CANCELLED' | 'PROTOCOL', text: string): void {
    this.#failure ??= new TransferFailure(reason, text)
  }
}

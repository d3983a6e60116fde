import { closeSync, openSync, readSync } from 'node:fs'
import { isatty } from 'node:tty'
import { WeirError } from '../errors.js'
import { whyNotRead } from '../file-reason.js'

const WINDOW_BYTES = 1 << 20
const STDIN = 0
const NAP_MS = 10
const napping = new Int32Array(new SharedArrayBuffer(4))

/**
 * A file that is read sequentially through one window of bounded size. `need(n)` makes the next n bytes
 * available in `buffer` from `at` on. `skip(n)` passes over them.
 */
export class ByteSource {
  /** File name, for messages. */
  readonly name: string
  buffer: Buffer
  /** Index in `buffer` of the next byte. */
  at = 0
  #end: number
  /** Offset in the file of the first byte of `buffer`. */
  #base = 0
  #fd: number

  private constructor(name: string, fd: number, buffer: Buffer, end: number) {
    this.name = name
    this.#fd = fd
    this.buffer = buffer
    this.#end = end
  }

  /**
   * Throws WEIR_NO_FILE when the file cannot be opened, and WEIR_BAD_ARGUMENT when standard input is a
   * terminal.
   *
   * @param path `-` is standard input
   */
  static open(path: string): ByteSource {
    if (path === '-') return ByteSource.#fromStandardInput()
    try {
      return new ByteSource(path, openSync(path, 'r'), Buffer.alloc(WINDOW_BYTES), 0)
    } catch (error) {
      throw cannotRead(path, error)
    }
  }

  static #fromStandardInput(): ByteSource {
    if (isatty(STDIN)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        'standard input is a terminal: pipe a capture into it, as in "tcpdump -U -w - | weir dump -"',
      )
    }
    return new ByteSource('standard input', STDIN, Buffer.alloc(WINDOW_BYTES), 0)
  }

  /** Returns a source over bytes in memory. */
  static fromBytes(name: string, bytes: Uint8Array): ByteSource {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return new ByteSource(name, -1, buffer, buffer.length)
  }

  /** Offset in the file of the next byte. */
  get offset(): number {
    return this.#base + this.at
  }

  /** True if the next `need` has to read, and may have to wait for it. */
  get isDrained(): boolean {
    return this.#end === this.at
  }

  /** Returns true if `count` more bytes are available. They are then in `buffer` from `at` on. */
  need(count: number): boolean {
    if (this.#end - this.at >= count) return true
    if (this.#fd >= 0) this.#refill(count)
    return this.#end - this.at >= count
  }

  /** Bytes that were available when the last `need` returned false. */
  get available(): number {
    return this.#end - this.at
  }

  skip(count: number): void {
    this.at += count
  }

  close(): void {
    if (this.#fd > STDIN) closeSync(this.#fd)
    this.#fd = -1
  }

  #refill(count: number): void {
    const target = count > this.buffer.length ? Buffer.alloc(count) : this.buffer
    this.buffer.copy(target, 0, this.at, this.#end)
    this.#base += this.at
    this.#end -= this.at
    this.at = 0
    this.buffer = target
    while (this.#end < count) {
      const got = this.#read()
      if (got === 0) return
      this.#end += got
    }
  }

  #read(): number {
    for (;;) {
      try {
        return readSync(this.#fd, this.buffer, this.#end, this.buffer.length - this.#end, null)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        // Standard input can be a pipe in non-blocking mode.
        if (code !== 'EAGAIN') throw cannotRead(this.name, error)
        Atomics.wait(napping, 0, 0, NAP_MS)
      }
    }
  }
}

function cannotRead(path: string, cause: unknown): WeirError {
  return new WeirError('WEIR_NO_FILE', `cannot read ${path}: ${whyNotRead(cause)}`, { cause })
}

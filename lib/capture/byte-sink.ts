import { closeSync, openSync, renameSync, writeSync } from 'node:fs'
import { WeirError } from '../errors.js'
import { whyNotWritten } from '../file-reason.js'

/**
 * A file that is written sequentially through one buffer of fixed size. The caller fills in the bytes that it
 * reserved before it reserves more. So each write to the file ends at the end of a record, and a process that
 * is killed leaves a readable file. Errors are WEIR_NO_FILE.
 */
export class ByteSink {
  readonly buffer: Buffer
  readonly #path: string
  #fd: number
  #used = 0
  #handedOver = 0
  #open = true

  /** Creates or replaces the file. @param bufferBytes at least the longest record */
  constructor(path: string, bufferBytes: number) {
    this.#path = path
    this.#fd = this.#guard(() => openSync(path, 'w'))
    this.buffer = Buffer.alloc(bufferBytes)
  }

  /**
   * Returns the index in `buffer` of the next `bytes` bytes, and counts them as written. Throws
   * WEIR_BAD_STATE after `close`.
   */
  reserve(bytes: number): number {
    if (!this.#open) throw new WeirError('WEIR_BAD_STATE', `capture: ${this.#path} is closed`)
    if (this.#used + bytes > this.buffer.length) this.flush()
    const at = this.#used
    this.#used += bytes
    return at
  }

  /** Bytes of the file, with those in the buffer. */
  get bytes(): number {
    return this.#handedOver + this.#used
  }

  /** Writes the buffered bytes to the file. */
  flush(): void {
    if (this.#used === 0) return
    this.#guard(() => {
      for (let at = 0; at < this.#used; ) at += writeSync(this.#fd, this.buffer, at, this.#used - at)
    })
    this.#handedOver += this.#used
    this.#used = 0
  }

  /** Renames the file to `older`, replacing that, and begins an empty one under its own name. */
  startAnew(older: string): void {
    this.flush()
    this.#guard(() => {
      renameSync(this.#path, older)
      const fd = openSync(this.#path, 'w')
      closeSync(this.#fd)
      this.#fd = fd
    })
    this.#handedOver = 0
  }

  /** Flushes and closes. Has no effect the second time. */
  close(): void {
    if (!this.#open) return
    this.#open = false
    try {
      this.flush()
    } finally {
      closeSync(this.#fd)
    }
  }

  #guard<T>(operation: () => T): T {
    try {
      return operation()
    } catch (error) {
      const text = `cannot write ${this.#path}: ${whyNotWritten(error)}`
      throw new WeirError('WEIR_NO_FILE', text, { cause: error })
    }
  }
}

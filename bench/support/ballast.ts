import { closeSync, ftruncateSync, openSync, renameSync, unlinkSync } from 'node:fs'

/** The file is this much shorter than requested, so that the next write finds memory before the next call. */
const AHEAD_BYTES = 256 << 20

/**
 * A file in tmpfs that gives up its memory while another file is written. A virtual machine returns memory
 * that was free for a second to its host. Getting it again costs more than copying bytes into it, which is a
 * cost of the machine and not of what is measured.
 */
export class Ballast {
  readonly #path: string
  readonly #file: number

  /** Takes over the file from `from`. */
  constructor(from: string, path: string) {
    renameSync(from, path)
    this.#path = path
    this.#file = openSync(path, 'r+')
  }

  shrinkTo(bytes: number): void {
    ftruncateSync(this.#file, Math.max(0, bytes - AHEAD_BYTES))
  }

  close(): void {
    closeSync(this.#file)
    unlinkSync(this.#path)
  }
}

import { closeSync, ftruncateSync, openSync, renameSync, unlinkSync } from 'node:fs'

/** The file is this much shorter than asked for: what is written next finds memory before the next call. */
const AHEAD_BYTES = 256 << 20

/**
 * A file in tmpfs that gives up its memory while another one is written. A virtual machine gives memory that has been
 * free for a second back to its host, and getting it again costs more than copying the bytes that go there (1.2 s/GB
 * were seen, beside 0.3): a cost of the machine, not of what is measured.
 */
export class Ballast {
  readonly #path: string
  readonly #file: number

  /** Takes the file over from `from`. */
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

/** Lines at the end of a terminal that are overwritten while a command works. */
import { stripVTControlCharacters } from 'node:util'
import { widthOf } from '../../lib/text-width.js'

/** Interval between two drawings, because people read no faster. */
const DRAW_EVERY_MS = 100
/** Width of a terminal that does not report it. */
const COLUMNS_USUAL = 80
const COLUMNS_LEAST = 20
/** A terminal shows ^C behind the line. If it had no room for that, it would go to the next line, and the first one would remain. */
const COLUMNS_OF_CTRL_C = 2

const CLEAR_TO_LINE_END = '\x1b[K'
const CLEAR_DOWN = '\x1b[J'

/**
 * Overwrites lines at the end of a terminal. It does not hide the cursor and changes no mode, so that nothing
 * must be restored, however the process ends. When the process ends in order, by a signal or by a throw, it
 * clears the lines.
 */
export class LiveLines {
  readonly #stream: NodeJS.WriteStream
  /** Columns of each line on the terminal. */
  #shown: number[] = []
  #nextMs = 0
  readonly #onExit = () => this.clear()

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    process.once('exit', this.#onExit)
  }

  /**
   * Columns that a line may have. The last column of the terminal remains free, because some terminals wrap
   * after it.
   */
  get columns(): number {
    const columns = this.#stream.columns > 0 ? this.#stream.columns : COLUMNS_USUAL
    return Math.max(COLUMNS_LEAST, columns - COLUMNS_OF_CTRL_C) - 1
  }

  /** Writes the lines over the previous ones, at most every 100 ms. It does not call `make` more often. */
  draw(make: (columns: number) => readonly string[]): void {
    const now = performance.now()
    if (now < this.#nextMs) return
    this.#nextMs = now + DRAW_EVERY_MS
    this.drawNow(make)
  }

  drawNow(make: (columns: number) => readonly string[]): void {
    const lines = make(this.columns)
    this.#stream.write(
      `${this.#toTop()}${lines.map(line => line + CLEAR_TO_LINE_END).join('\n')}${CLEAR_DOWN}`,
    )
    this.#shown = lines.map(line => widthOf(stripVTControlCharacters(line)))
  }

  /** Removes the lines. */
  clear(): void {
    if (this.#shown.length > 0) this.#stream.write(this.#toTop() + CLEAR_DOWN)
    this.#shown = []
    this.#nextMs = 0
  }

  /** Removes the lines for good. */
  close(): void {
    this.clear()
    process.removeListener('exit', this.#onExit)
  }

  /** Keeps the lines, and continues below them. */
  leave(): void {
    if (this.#shown.length > 0) this.#stream.write('\n')
    this.#shown = []
    this.close()
  }

  /**
   * Moves the cursor to the beginning of the first line. A terminal that has become narrower has wrapped
   * lines into several rows.
   */
  #toTop(): string {
    const columns = this.#stream.columns > 0 ? this.#stream.columns : COLUMNS_USUAL
    const rows = this.#shown.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0)
    return rows > 1 ? `\r\x1b[${rows - 1}A` : '\r'
  }
}

/** Returns null where no terminal can overwrite lines. */
export function liveLines(stream: NodeJS.WriteStream): LiveLines | null {
  return stream.isTTY && process.env.TERM !== 'dumb' ? new LiveLines(stream) : null
}

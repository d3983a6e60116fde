/** Lines at the end of a terminal that are written over while a command works. */
import { stripVTControlCharacters } from 'node:util'

/** Between two drawings: people read no faster. */
const DRAW_EVERY_MS = 100
/** The width of a terminal that does not say how wide it is. */
const COLUMNS_USUAL = 80
const COLUMNS_LEAST = 20

const CLEAR_TO_LINE_END = '\x1b[K'
const CLEAR_DOWN = '\x1b[J'

/**
 * The terminal stays as it is: the cursor is not hidden and no mode is changed, so that nothing has to be restored, however the
 * process ends. When it ends in order, by a signal or by a throw, the lines are cleared.
 */
export class LiveLines {
  readonly #stream: NodeJS.WriteStream
  /** Columns of each line that is on the terminal now. */
  #shown: number[] = []
  #nextMs = 0
  readonly #onExit = () => this.clear()

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    process.once('exit', this.#onExit)
  }

  /** Columns that a line may take. The last one of the terminal stays free: some go on to the next line after it. */
  get columns(): number {
    const columns = this.#stream.columns > 0 ? this.#stream.columns : COLUMNS_USUAL
    return Math.max(COLUMNS_LEAST, columns) - 1
  }

  /** Writes the lines over those before, at most every 100 ms; others are not even made. */
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
    this.#shown = lines.map(columnsOf)
  }

  /** Takes the lines away. */
  clear(): void {
    if (this.#shown.length > 0) this.#stream.write(this.#toTop() + CLEAR_DOWN)
    this.#shown = []
    this.#nextMs = 0
  }

  /** Takes the lines away, for good. */
  close(): void {
    this.clear()
    process.removeListener('exit', this.#onExit)
  }

  /** Leaves the lines where they are, and goes on below them. */
  leave(): void {
    if (this.#shown.length > 0) this.#stream.write('\n')
    this.#shown = []
    this.close()
  }

  /** To the beginning of the first line. A terminal that has become narrower has broken lines into several rows. */
  #toTop(): string {
    const columns = this.#stream.columns > 0 ? this.#stream.columns : COLUMNS_USUAL
    const rows = this.#shown.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0)
    return rows > 1 ? `\r\x1b[${rows - 1}A` : '\r'
  }
}

/** Where there is no terminal that can write over lines: null. */
export function liveLines(stream: NodeJS.WriteStream): LiveLines | null {
  return stream.isTTY && process.env.TERM !== 'dumb' ? new LiveLines(stream) : null
}

/** Ranges of characters that take two columns (Unicode, East Asian Width: W and F), as far as names and figures have them. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
/** Those that take none. */
const NARROW = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Columns that a text takes. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const character of stripVTControlCharacters(text)) {
    columns += WIDE.test(character) ? 2 : NARROW.test(character) ? 0 : 1
  }
  return columns
}

/** The text, cut with an ellipsis if it takes more columns. */
export function within(columns: number, text: string): string {
  if (columnsOf(text) <= columns) return text
  let kept = ''
  for (const character of text) {
    if (columnsOf(kept + character) > columns - 1) break
    kept += character
  }
  return `${kept}…`
}

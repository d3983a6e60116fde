/** Columns of the terminal, and texts for it. */
import { fold } from '../../lib/scenario/result/fold.js'
import { columnsMost } from '../../lib/text-width.js'

/** Indent of what follows of a line that is wider than the terminal. */
const HANG = 2

/** Columns of the terminal. 80 if there is none. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : 80
}

/** The text, whose lines are broken between words where a terminal is narrower. */
export function folded(text: string, stream: NodeJS.WriteStream): string {
  return fold(text, columnsMost(stream), HANG)
}

/** Fits texts into columns. */
import { fold } from '../../lib/scenario/result/fold.js'

/** Indent of what follows of a line that is wider than the terminal. */
const HANG = 2

/**
 * Returns `text`, or its beginning and its end with an ellipsis between them, in at most `columns`
 * characters.
 */
export function fit(text: string, columns: number): string {
  const characters = [...text]
  if (characters.length <= columns) return text
  if (columns < 2) return '…'.slice(0, Math.max(0, columns))
  const tail = Math.floor((columns - 1) / 2)
  const head = columns - 1 - tail
  return `${characters.slice(0, head).join('')}…${tail === 0 ? '' : characters.slice(-tail).join('')}`
}

/** Columns of the terminal. 80 if there is none. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : 80
}

/** Columns after which the stream breaks a line. No limit if it is no terminal. */
export function columnsMost(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : Number.POSITIVE_INFINITY
}

/** The text, whose lines are broken between words where a terminal is narrower. */
export function folded(text: string, stream: NodeJS.WriteStream): string {
  return fold(text, columnsMost(stream), HANG)
}

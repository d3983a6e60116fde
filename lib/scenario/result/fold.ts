import { widthOf } from '../../text-width.js'

/** If fewer columns than this remain beside the indent of a line, `fold` drops the indent. */
const LEAST_BESIDE = 16
const LEAST_INDENT = 2

/**
 * Breaks lines that are wider than the terminal at spaces. The terminal itself would break them within words.
 * A word without spaces, such as a path, stays whole, so that it can be copied.
 *
 * @param columns of the terminal
 * @param hang indent of the continuation lines
 */
export function fold(text: string, columns: number, hang = 0): string {
  const indent = ' '.repeat(columns - hang >= LEAST_BESIDE ? hang : Math.min(hang, LEAST_INDENT))
  return text
    .split('\n')
    .map(line => foldLine(line, columns, indent))
    .join('\n')
}

function foldLine(line: string, columns: number, indent: string): string {
  if (widthOf(line) <= columns) return line
  const lines: string[] = []
  let last = ''
  for (const [word] of line.matchAll(/ *[^ ]+/g)) {
    const fits = widthOf(last) + widthOf(word) <= columns
    if (fits || last.trim() === '') {
      last += word
      continue
    }
    lines.push(last)
    last = indent + word.trimStart()
  }
  return [...lines, last].join('\n')
}

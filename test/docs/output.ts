/** Whether commands have printed what a document says they print. `…` stands for anything within a line. */

/** True if the text stands somewhere in the output. */
export function contains(output: string, text: string): boolean {
  return new RegExp(pattern(text)).test(output)
}

/**
 * Returns the first line of `expected` that does not follow in the output, or null. It skips other lines of
 * the output.
 *
 * @param varies true: all numbers are equal, with their units, and so are all blanks between words
 */
export function missingLine(output: string, expected: string, varies: boolean): string | null {
  const plain = varies ? withoutNumbers : (line: string) => line.trimEnd()
  const lines = output.split('\n').map(plain)
  let at = 0
  for (const line of expected.split('\n')) {
    const wanted = plain(line)
    if (wanted.trim() === '' || wanted.trim() === '…') continue
    const whole = new RegExp(`^${pattern(wanted)}$`)
    const found = lines.findIndex((one, i) => i >= at && whole.test(one))
    if (found < 0) return line
    at = found + 1
  }
  return null
}

const NUMBER =
  /\d[\d.,]*(?:e[-+]?\d+)?(?: ?(?:[kKMGT]?i?(?:B|b(?:it)?(?:\/s|ps))|[nu\u00b5m]?s|%)(?![A-Za-z]))?/g

function withoutNumbers(line: string): string {
  return line
    .replace(NUMBER, '#')
    .replace(/[\s─-]+/g, ' ')
    .trim()
}

function pattern(text: string): string {
  const parts = text.split('…').map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return parts.join('[^\\n]*')
}

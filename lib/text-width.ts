/** Texts for so many columns of a terminal. */
import { eastAsianWidth } from 'get-east-asian-width'

/** Characters of one column each, as nearly all texts have them. */
const PLAIN = /^[\x20-\x7e]*$/
/** Characters with no column: marks, controls of format, and the vowels and finals of Korean syllables that are taken apart, as macOS does. */
const NARROW = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7fb]/u
/** What comes behind it makes one picture with what is before it. */
const JOINER = '\u200d'

/** @param text without what steers a terminal */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  return columnsOf([...text]).reduce((sum, columns) => sum + columns, 0)
}

/** Returns the text, cut with an ellipsis if it has more columns. */
export function within(columns: number, text: string): string {
  return widthOf(text) <= columns ? text : `${beginningOf(text, columns - 1)}…`
}

/** Returns the text, or its beginning and its end with an ellipsis between them, in at most `columns`. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  if (columns < 2) return '…'.slice(0, Math.max(0, columns))
  const tail = Math.floor((columns - 1) / 2)
  return `${beginningOf(text, columns - 1 - tail)}…${endOf(text, tail)}`
}

/** Appends spaces up to so many columns. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

/** As much of the text as has at most so many columns. */
function beginningOf(text: string, columns: number): string {
  const characters = [...text]
  const widths = columnsOf(characters)
  let left = columns
  const end = widths.findIndex(width => {
    left -= width
    return left < 0
  })
  return end < 0 ? text : characters.slice(0, end).join('')
}

/** The same from the end. What has no column belongs to the character before it. */
function endOf(text: string, columns: number): string {
  const characters = [...text]
  const widths = columnsOf(characters)
  let begin = characters.length
  let left = columns
  for (let i = characters.length - 1; i >= 0; i--) {
    left -= widths[i]!
    if (left < 0) break
    if (widths[i]! > 0) begin = i
  }
  return characters.slice(begin).join('')
}

/** Columns of each of the characters. */
function columnsOf(characters: readonly string[]): number[] {
  return characters.map((character, i) =>
    NARROW.test(character) || characters[i - 1] === JOINER ? 0 : eastAsianWidth(character.codePointAt(0)!),
  )
}

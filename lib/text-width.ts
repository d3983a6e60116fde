/** Texts for so many columns of a terminal. */
import { eastAsianWidth } from 'get-east-asian-width'

/**
 * Texts of characters that have one column each, as nearly all are: of Latin, Greek and Cyrillic letters, and of the signs that tables and
 * bars are drawn with.
 */
const PLAIN =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2190-\u21ff\u2500-\u25fc]*$/
/** Characters with no column: marks, controls of format, and the vowels and finals of Korean syllables that are taken apart, as macOS does. */
const NARROW = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7fb]/u
/** One picture of several characters: joined ones, one with a skin tone, and one that is to be an emoji. UAX #11, 5: it is wide. */
const PICTURE = /^\p{Extended_Pictographic}.*[\u200d\p{Emoji_Modifier}]|^\p{Emoji}\ufe0f/u

/** Made for the first text that is not plain: it costs 20 ms of CPU. */
let segmenter: Intl.Segmenter | null = null

/** Columns after which the stream breaks a line. No limit if it is no terminal. */
export function columnsMost(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : Number.POSITIVE_INFINITY
}

/** @param text without what steers a terminal */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  return charactersOf(text).reduce((sum, character) => sum + columnsOf(character), 0)
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
  const characters = charactersOf(text)
  return characters.slice(0, fitting(characters, columns)).join('')
}

/** The same from the end. */
function endOf(text: string, columns: number): string {
  const characters = charactersOf(text).reverse()
  return characters.slice(0, fitting(characters, columns)).reverse().join('')
}

/** How many of the characters, from the first one on, have at most so many columns together. */
function fitting(characters: readonly string[], columns: number): number {
  let left = columns
  const end = characters.findIndex(character => {
    left -= columnsOf(character)
    return left < 0
  })
  return end < 0 ? characters.length : end
}

/** What a reader takes for one character each (UAX #29): with its marks, or a picture of several ones. */
function charactersOf(text: string): string[] {
  if (PLAIN.test(text)) return [...text]
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Columns of what a reader takes for one character. */
function columnsOf(character: string): number {
  if (PICTURE.test(character)) return 2
  let columns = 0
  for (const part of character) columns += NARROW.test(part) ? 0 : eastAsianWidth(part.codePointAt(0)!)
  return columns
}

/** Columns that texts take on a terminal. */

/** Characters of one column each, as nearly all texts have them. */
const PLAIN = /^[\x20-\x7e]*$/
/**
 * Ranges of characters with two columns (Unicode, East Asian Width: W and F), as far as names and figures contain them. Emoji that are shown as
 * pictures are W, but for the letters of flags: two make one.
 */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|(?![\u{1f1e6}-\u{1f1ff}])\p{Emoji_Presentation}/u
/** Characters with no column. */
const NARROW = /[\p{Mn}\p{Me}\p{Cf}]/u

/** @param text without what steers a terminal */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let columns = 0
  for (const character of text) columns += columnsOf(character)
  return columns
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
  let left = columns
  let kept = ''
  for (const character of text) {
    left -= columnsOf(character)
    if (left < 0) break
    kept += character
  }
  return kept
}

/** The same from the end. What has no column belongs to the character before it. */
function endOf(text: string, columns: number): string {
  let left = columns
  let kept = ''
  let marks = ''
  for (const character of [...text].reverse()) {
    const width = columnsOf(character)
    left -= width
    if (left < 0) break
    if (width === 0) marks = character + marks
    else {
      kept = character + marks + kept
      marks = ''
    }
  }
  return kept
}

function columnsOf(character: string): number {
  if (NARROW.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

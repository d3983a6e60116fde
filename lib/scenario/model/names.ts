/** Names in scenario files: what a name may be, and ranges of names. */

/** A name: a letter, then letters, digits, underscores and single hyphens, at most 32 in all. */
export const NAME_PATTERN = '[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*'
/**
 * A name, or a range of names. `expandNames` also refuses ranges that run backwards or have too many names.
 */
export const NAMES_PATTERN = `${NAME_PATTERN}(?:\\.\\.${NAME_PATTERN})?`
const NAME = new RegExp(`^${NAME_PATTERN}$`)

export const NAME_RULE =
  'a letter, then letters, digits, _ and single hyphens, at most 32 in all (h1, spine-2)'

/** The most names that one range may stand for. */
const RANGE_MAX = 4096

export function isName(text: string): boolean {
  return text.length <= 32 && NAME.test(text)
}

/**
 * Returns the names that a range such as `h0..h15` stands for, or the single name. A leading zero keeps its
 * width: `h00..h15`. Returns a description of the mistake if the text is neither.
 */
export function expandNames(text: string): string[] | { wrong: string } {
  if (!text.includes('..')) {
    return isName(text) ? [text] : { wrong: `'${text}' is no name; a name is ${NAME_RULE}` }
  }
  const match = /^([A-Za-z][A-Za-z0-9_-]*?)(\d+)\.\.([A-Za-z][A-Za-z0-9_-]*?)(\d+)$/.exec(text)
  if (match === null || match[1] !== match[3]) {
    return { wrong: `'${text}' is no range of names; a range is written as h0..h15` }
  }
  const [, prefix = '', low = '', , high = ''] = match
  const first = Number(low)
  const last = Number(high)
  if (last < first) return { wrong: `the range '${text}' runs backwards` }
  if (last - first >= RANGE_MAX) return { wrong: `the range '${text}' is longer than ${RANGE_MAX}` }
  const width = low.startsWith('0') ? low.length : 1
  const names: string[] = []
  for (let i = first; i <= last; i++) names.push(prefix + String(i).padStart(width, '0'))
  const last32 = names[names.length - 1]!
  return isName(last32) ? names : { wrong: `'${last32}' is no name; a name is ${NAME_RULE}` }
}

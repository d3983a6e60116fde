/**
 * Globs that another host has sent. A matcher of regular expressions may take hours for a glob such as `*a*a*a*a*a`; this one takes
 * time proportional to the length of the glob times that of the path, at most.
 *
 * | in a component | matches |
 * |---|---|
 * | `*`, `?` | any characters, one character |
 * | `[abc]`, `[a-z]`, `[!a-z]` | one character of them, or none of them |
 * | `\x` | x itself |
 * | `**`, alone | any number of components |
 */
import { TransferFailure } from './failure.js'

type Matches = (character: string) => boolean

/** Each is looked at for each character. */
const RANGES_MAX = 16

/** What one character has to be; null = any number of characters. */
type Token = Matches | null

const ANY: Matches = () => true

/** True if a component has characters by which it may match several names. */
export function isGlob(component: string): boolean {
  return /[*?[]/.test(component)
}

/** A matcher of names for one component. Throws BAD_NAME for braces. */
export function nameMatcher(component: string): (name: string) => boolean {
  const tokens = tokensOf(component)
  return name => matchesAll(tokens, [...name], (token, character) => token(character))
}

/** The same as a shell has it: a name that begins with a dot is matched by a glob that does. */
export function shellMatcher(component: string): (name: string) => boolean {
  const matches = nameMatcher(component)
  const isHidden = component.startsWith('.')
  return name => (isHidden || !name.startsWith('.')) && matches(name)
}

/** A matcher of paths whose components are joined by '/'. Throws BAD_NAME. */
export function pathMatcher(glob: string): (path: string) => boolean {
  const parts = glob.split('/').map(part => (part === '**' ? null : nameMatcher(part)))
  return path => matchesAll(parts, path.split('/'), (part, name) => part(name))
}

/**
 * Whether a sequence matches a pattern, in which null is for any number of items. Of a null only the shortest reach that leads to the next
 * null has to be tried, so nothing is tried twice.
 */
function matchesAll<P, I>(
  pattern: readonly (P | null)[],
  items: readonly I[],
  matches: (part: P, item: I) => boolean,
): boolean {
  let [at, item, star, reach] = [0, 0, -1, 0]
  while (item < items.length) {
    const part = pattern[at]
    if (part === null) {
      star = at++
      reach = item
    } else if (part !== undefined && matches(part, items[item]!)) {
      at++
      item++
    } else if (star >= 0) {
      at = star + 1
      item = ++reach
    } else return false
  }
  while (pattern[at] === null) at++
  return at === pattern.length
}

function tokensOf(component: string): Token[] {
  const tokens: Token[] = []
  const characters = [...component]
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!
    if (character === '{' || character === '}') {
      throw new TransferFailure(
        'BAD_NAME',
        `"${component}": globs of another host have no braces; repeat them instead`,
      )
    }
    if (character === '*') tokens.push(null)
    else if (character === '?') tokens.push(ANY)
    else if (character === '[') {
      const end = classEnd(characters, at)
      if (end < 0) tokens.push(isOne(character))
      else {
        tokens.push(classOf(characters.slice(at + 1, end)))
        at = end
      }
    } else if (character === '\\' && at + 1 < characters.length) tokens.push(isOne(characters[++at]!))
    else tokens.push(isOne(character))
  }
  return tokens
}

function isOne(wanted: string): Matches {
  return character => character === wanted
}

/** Where the class that begins at `at` ends; -1 = it does not, and its bracket is one. A bracket right at its beginning is of the class. */
function classEnd(characters: readonly string[], at: number): number {
  const first = characters[at + 1] === '!' || characters[at + 1] === '^' ? at + 3 : at + 2
  return characters.indexOf(']', first)
}

function classOf(inside: readonly string[]): Matches {
  const isNot = inside[0] === '!' || inside[0] === '^'
  const members = isNot ? inside.slice(1) : inside
  const singles = new Set<string>()
  const ranges: [from: string, to: string][] = []
  for (let at = 0; at < members.length; at++) {
    const from = members[at]!
    if (members[at + 1] === '-' && at + 2 < members.length) {
      ranges.push([from, members[at + 2]!])
      at += 2
    } else singles.add(from)
  }
  if (ranges.length > RANGES_MAX)
    throw new TransferFailure('BAD_NAME', `a class of a glob has at most ${RANGES_MAX} ranges such as a-z`)
  const isIn = (character: string) =>
    singles.has(character) || ranges.some(([from, to]) => from <= character && character <= to)
  return character => isIn(character) !== isNot
}

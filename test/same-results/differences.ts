/** Where two results of `weir run --json` differ. */

/**
 * What depends on the machine, the time or the place of the program, and not on the events in the network.
 */
const NOT_A_RESULT: ReadonlySet<string> = new Set([
  'wallSeconds',
  'version',
  'machine',
  'command',
  'scenario',
])

interface Differences {
  /** Numbers, texts and missing members that differ. */
  count: number
  /** The first of them, as `flows[0].bytes: 5 and 6`, or null. */
  first: string | null
}

/** Compares two parsed results member by member. */
export function differences(before: object, after: object): Differences {
  const found: Differences = { count: 0, first: null }
  compareMembers('', before, after, found, NOT_A_RESULT)
  return found
}

function compare(path: string, before: unknown, after: unknown, found: Differences): void {
  if (isObject(before) && isObject(after) && Array.isArray(before) === Array.isArray(after)) {
    compareMembers(path, before, after, found)
  } else if (!Object.is(before, after)) {
    found.count++
    found.first ??= `${path}: ${shown(before)} and ${shown(after)}`
  }
}

function compareMembers(
  path: string,
  before: object,
  after: object,
  found: Differences,
  left: ReadonlySet<string> = new Set(),
): void {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  for (const name of names) {
    if (left.has(name)) continue
    compare(joined(path, name, before), member(before, name), member(after, name), found)
  }
}

function joined(path: string, name: string, parent: object): string {
  if (Array.isArray(parent)) return `${path}[${name}]`
  return path === '' ? name : `${path}.${name}`
}

function member(of: object, name: string): unknown {
  return (of as Record<string, unknown>)[name]
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

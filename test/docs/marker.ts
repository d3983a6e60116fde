/**
 * What a document says about the code block below: `<!-- example: needs ping, veth; prints 3 received -->`. HACKING.md
 * lists the items.
 */
export interface Marker {
  /** Why the block is not run; absent: it is. */
  notRun?: string
  /** Programs without which it is skipped, and `veth` for labs. */
  needs: string[]
  /** How its commands end. */
  exitCode: number
  /** Each must be in its output. */
  prints: string[]
  /** The whole block runs in the background. */
  background: boolean
  /** The host that it runs on: a home, an inbox and a daemon of its own. */
  host: string
  /** The file that the block is written to, for later commands. */
  file?: string
  /** The block is output of the commands before it; `varies`: numbers may differ. */
  output?: 'same' | 'varies'
  /** A program that is only type-checked. */
  typesOnly: boolean
  /** A program whose beginning is the one before it. */
  continues: boolean
  /** The scenario that a fragment is merged into. */
  base?: string
}

export const HOME_HOST = 'here'

export function noMarker(): Marker {
  return {
    needs: [],
    exitCode: 0,
    prints: [],
    background: false,
    host: HOME_HOST,
    typesOnly: false,
    continues: false,
  }
}

/** By the words that an item begins with; each throws an Error for a value that it does not take. */
const ITEMS: Record<string, (marker: Marker, value: string) => void> = {
  needs: (marker, value) => {
    marker.needs = wanted('needs', value).split(/\s*,\s*/)
  },
  exit: (marker, value) => {
    if (!/^\d{1,3}$/.test(value)) throw new Error(`exit is followed by an exit code, not "${value}"`)
    marker.exitCode = Number(value)
  },
  prints: (marker, value) => {
    marker.prints.push(wanted('prints', value))
  },
  on: (marker, value) => {
    if (!/^[\w-]+$/.test(value)) throw new Error(`on is followed by the name of a host, not "${value}"`)
    marker.host = value
  },
  file: (marker, value) => {
    if (!/^[\w.-]+$/.test(value)) throw new Error(`file is followed by a bare file name, not "${value}"`)
    marker.file = value
  },
  output: (marker, value) => {
    if (value !== '' && value !== 'varies') throw new Error(`output varies, or output alone, not "${value}"`)
    marker.output = value === '' ? 'same' : 'varies'
  },
  base: (marker, value) => {
    marker.base = wanted('base', value)
  },
  background: flag('background', marker => {
    marker.background = true
  }),
  'types only': flag('types only', marker => {
    marker.typesOnly = true
  }),
  continues: flag('continues', marker => {
    marker.continues = true
  }),
}

/** @param text what follows `example:` in the comment. Throws an Error that says what is wrong. */
export function parseMarker(text: string): Marker {
  const marker = noMarker()
  const [, before = '', reason] = /^(.*?)(?:(?:^|;)\s*not run:\s*(.*))?$/s.exec(text.trim()) ?? []
  if (reason !== undefined) marker.notRun = wanted('not run', reason.trim())
  for (const item of before
    .split(';')
    .map(one => one.trim())
    .filter(one => one !== '')) {
    const name = Object.keys(ITEMS).find(one => item === one || item.startsWith(`${one} `))
    if (name === undefined) {
      throw new Error(`"${item}" is unknown; there are ${Object.keys(ITEMS).join(', ')} and not run: REASON`)
    }
    ITEMS[name]!(marker, item.slice(name.length).trim())
  }
  return marker
}

function wanted(name: string, value: string): string {
  if (value === '') throw new Error(`${name} needs a value`)
  return value
}

function flag(name: string, set: (marker: Marker) => void): (marker: Marker, value: string) => void {
  return (marker, value) => {
    if (value !== '') throw new Error(`${name} takes no value, not "${value}"`)
    set(marker)
  }
}

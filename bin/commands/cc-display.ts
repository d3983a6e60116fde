/** Output of `weir cc`. */
import type { Verdict } from '../../lib/cc/about.js'
import type { ControllerDescription } from '../../lib/cc/describe-controller.js'
import type { OptionSpec } from '../../lib/cc/options.js'
import { describeOption } from '../../lib/options/describe.js'
import { idleWords } from '../../lib/options/idle.js'
import { isNumber } from '../../lib/options/option.js'
import { textOf } from '../../lib/options/value.js'
import { fold } from '../../lib/scenario/result/fold.js'

const GAP = 2
const NAME_COLUMNS = 16
/** Columns that the last text of a line needs beside the others; in fewer it stands below them. */
const BESIDE_COLUMNS_LEAST = 30
const BELOW_INDENT = 4
const NOTHING = 'nothing'

/** @param columns of the terminal */
export function controllersText(all: readonly ControllerDescription[], columns: number): string {
  const head = ['controller', 'switches', 'plain networks', 'foreign peers', 'what it is']
  const rows = all.map(one => [
    one.name,
    one.switches || NOTHING,
    one.plainNetworks.works ? 'yes' : 'no',
    one.foreignPeers.works ? 'yes' : 'no',
    one.is,
  ])
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)) + GAP)
  const used = widths.slice(0, -1).reduce((sum, width) => sum + width, 0)
  if (columns - used < BESIDE_COLUMNS_LEAST)
    return `${rows.map(row => folded(head, row, columns)).join('')}${CLOSING}`
  const rules = widths.map(width => '-'.repeat(width - GAP))
  const lines = [head, rules, ...rows].map(row => {
    const line = row.map((text, i) => (i < row.length - 1 ? text.padEnd(widths[i]!) : text)).join('')
    return `${fold(line, columns, used)}\n`
  })
  return lines.join('') + CLOSING
}

const CLOSING = '\n"weir cc show NAME" has the rest.\n'

/** A row below its name, where the terminal is too narrow for a table. */
function folded(head: readonly string[], [name, ...texts]: readonly string[], columns: number): string {
  const lines = texts.map((text, i) =>
    fold(
      `${' '.repeat(GAP)}${i === texts.length - 1 ? text : `${head[i + 1]}: ${text}`}`,
      columns,
      BELOW_INDENT,
    ),
  )
  return `${[name, ...lines].join('\n')}\n`
}

/** @param columns of the terminal */
export function controllerText(one: ControllerDescription, columns: number): string {
  const { foreignRefuses, otherwise } = one
  const without = otherwise === '' ? '' : `; ${otherwise} takes over without`
  const refused = foreignRefuses.length === 0 ? '' : `. They refuse: ${foreignRefuses.join(', ')}`
  const lines: [string, string][] = [
    ['what it is', one.is],
    ['source', one.source ?? 'Weir'],
    ['switches', one.switches || NOTHING],
    ['peer', (one.peer.join(', ') || NOTHING) + without],
    ['own host', one.host || NOTHING],
    ['feedback', one.feedback.join('; ')],
    ['losses', one.loss],
    ['scenarios', one.places.map(place => `--on ${place}`).join(', ')],
    ['plain networks', verdictText(one.plainNetworks)],
    ['foreign peers', verdictText(one.foreignPeers) + refused],
  ]
  const head = lines.filter(([, text]) => text !== '').map(([name, text]) => row(name, text, columns))
  const options = one.options.map(
    option => `${fold(`  ${describeOption(option, one.options)}`, columns, 6)}\n`,
  )
  return `${one.name}\n${head.join('')}\nconstants, --cc-option:\n${options.join('') || '  none\n'}`
}

function row(name: string, text: string, columns: number): string {
  return `${fold(`  ${name.padEnd(NAME_COLUMNS)}${text}`, columns, NAME_COLUMNS + 2)}\n`
}

function verdictText({ works, how }: Verdict): string {
  return `${works ? 'yes' : 'no'}${how === '' ? '' : `: ${how}`}`
}

/** The JSON of a controller. Values of options are in base units: bytes, bit/s, ns. */
export function controllerJson({ options, ...rest }: ControllerDescription): object {
  return { ...rest, options: options.map(option => optionJson(option, options)) }
}

function optionJson(option: OptionSpec, table: readonly OptionSpec[]): object {
  const { name, kind, doc, source, default: standard = null } = option
  return {
    name,
    kind,
    ...(isNumber(option) && { min: option.min, max: option.max }),
    default: standard,
    defaultText: standard === null ? '' : textOf(option, standard),
    doc: source === undefined ? doc : `${doc} (${source})`,
    effect: idleWords(option, table),
  }
}

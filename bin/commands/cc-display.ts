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
const NAME_COLUMNS = 18
/** Columns that a text needs beside its name; in fewer it stands below it. */
const BESIDE_COLUMNS_LEAST = 30
const BELOW_INDENT = 4
const NOTHING = 'nothing'
const LIST_HEAD = ['controller', 'plain', 'foreign', 'what it is']

/** A row for each controller. What is long stands last, so that it alone is broken. @param columns of the terminal */
export function controllersText(all: readonly ControllerDescription[], columns: number): string {
  const rows = all.map(one => [
    one.name,
    yesOrNo(one.plainNetworks.works),
    yesOrNo(one.foreignPeers.works),
    one.switches === '' ? one.is : `${one.is}; switches ${one.switches}`,
  ])
  const widths = LIST_HEAD.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)) + GAP)
  const legend = fold(LEGEND, columns, GAP)
  const used = widths.slice(0, -1).reduce((sum, width) => sum + width, 0)
  if (columns - used < BESIDE_COLUMNS_LEAST)
    return `${rows.map(row => below(row, columns)).join('')}${legend}`
  const rules = LIST_HEAD.map(title => '-'.repeat(title.length))
  const lines = [LIST_HEAD, rules, ...rows].map(row => {
    const line = row.map((text, i) => (i < row.length - 1 ? text.padEnd(widths[i]!) : text)).join('')
    return `${fold(line, columns, used)}\n`
  })
  return lines.join('') + legend
}

const LEGEND = `
plain: of use on networks whose switches do nothing for it
foreign: of use towards RoCEv2 peers other than Weir
"weir cc show NAME" has the rest.
`

/** A row below its name, where the terminal is too narrow for a table. */
function below([name = '', plain = '', foreign = '', text = '']: readonly string[], columns: number): string {
  const lines = [`plain: ${plain}, foreign: ${foreign}`, text]
  return `${[name, ...lines.map(line => fold(`${' '.repeat(GAP)}${line}`, columns, GAP))].join('\n')}\n`
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
  const isNarrow = columns - NAME_COLUMNS < BESIDE_COLUMNS_LEAST
  const print = isNarrow ? rowBelow : row
  const head = lines.map(([name, text]) => print(name, text, columns))
  const options = one.options.map(option =>
    optionText(describeOption(option, one.options), columns, isNarrow),
  )
  return `${one.name}\n${head.join('')}\nconstants, --cc-option:\n${options.join('') || '  none\n'}`
}

function row(name: string, text: string, columns: number): string {
  return `${fold(`  ${name.padEnd(NAME_COLUMNS - GAP)}${text}`, columns, NAME_COLUMNS)}\n`
}

function rowBelow(name: string, text: string, columns: number): string {
  return `  ${name}:\n${fold(`${' '.repeat(BELOW_INDENT)}${text}`, columns, BELOW_INDENT)}\n`
}

/** `  name=range, default: what it is`, which stands below where the terminal is narrow. */
function optionText(text: string, columns: number, isNarrow: boolean): string {
  const [, name = '', doc = ''] = isNarrow ? (/^([^:]*): (.*)$/s.exec(text) ?? []) : []
  if (doc === '') return `${fold(`  ${text}`, columns, BELOW_INDENT + GAP)}\n`
  return `${fold(`  ${name}:`, columns, BELOW_INDENT)}\n${fold(`${' '.repeat(BELOW_INDENT)}${doc}`, columns, BELOW_INDENT)}\n`
}

function yesOrNo(is: boolean): string {
  return is ? 'yes' : 'no'
}

function verdictText({ works, how }: Verdict): string {
  return `${yesOrNo(works)}${how === '' ? '' : `: ${how}`}`
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

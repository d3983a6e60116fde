/** The reference page of the scenario file: every key with its path, value, default, meaning and an example. */
import { stringify } from 'yaml'
import { CONFLICTS, type ConflictRow, subjectOf } from '../../cc/conflicts.js'
import { type Key, type Section, scenarioSections } from './sections.js'

const HEAD = `# Scenario file reference

<!-- Written by "npm run docs" from lib/scenario/schema. Change it there. -->

Every key of a scenario file. A key that is not listed is refused; every problem of a file is reported with file, line, column and the
valid choices. \`schema/scenario.schema.json\` is the same as JSON Schema; an editor with the YAML language server checks and
completes a file that begins with a line such as

\`\`\`text
# yaml-language-server: $schema=../../schema/scenario.schema.json
\`\`\`

| value | written as |
|---|---|
| rate | \`100Mbps\`, \`2.5Gbps\`: bps, Kbps, Mbps, Gbps, Tbps, by 1000 |
| time | \`50us\`, \`1.5ms\`, \`10s\`: ns, us, ms, s, min, h; \`0\` needs no unit |
| size | \`52B\`, \`500KB\`, \`4MiB\`: B; KB, MB, GB, TB by 1000; KiB, MiB, GiB, TiB by 1024; a whole number without a unit is in bytes |
| share | \`20%\` or \`0.2\` |
| name | a letter, then letters, digits, \`_\` and single hyphens, at most 32 in all: \`h1\`, \`spine-2\` |
| range of names | \`h1..h16\`; \`h01..h16\` keeps the width |
| port | \`s1:s2\`, a switch and its neighbour; \`s1:s2#1\`, the second of parallel links; \`s1:0\`, by number |

In paths, \`NAME\` stands for a name of your own and \`[]\` for each item of a list. Examples leave out the keys around them. The smallest file:

\`\`\`yaml
hosts: [h1, h2]
links: [h1--h2]
traffic: [{ from: h1, to: h2, size: 10MB }]
\`\`\`
`

/** The page as Markdown. */
export function scenarioReference(): string {
  const sections = scenarioSections()
  const paths = sections.map(({ path }) => path)
  const isOneOfSeveral = ({ path }: Section) => paths.indexOf(path) !== paths.lastIndexOf(path)
  const pages = sections.map(section => printSection(section, isOneOfSeveral(section)))
  return [HEAD, ...pages, conflictsPage()].join('\n')
}

/** Keys of different sections; those of one section say it in their rows. */
function conflictsPage(): string {
  const rows = CONFLICTS.filter(({ only }) => only !== 'commands').map(conflictRow)
  return `## What has no effect

A file is refused that gives one of these keys while it has no effect.

| key | while | set instead |
|---|---|---|
${rows.join('\n')}
`
}

function conflictRow(row: ConflictRow): string {
  return `| ${subjectOf(row)} | ${row.when} | ${row.mend} |`
}

function printSection(section: Section, isOneOfSeveral: boolean): string {
  const { path, title, about, keys } = section
  const heading = path === '' ? 'Root' : isOneOfSeveral ? `${path}: ${title}` : path
  const lines = [`## ${heading}`, '']
  if (about !== undefined) lines.push(about, '')
  lines.push('| key | value | default | meaning | example |', '|---|---|---|---|---|')
  for (const key of keys) lines.push(row(section, key))
  return `${lines.join('\n')}\n`
}

function row({ path }: Section, key: Key): string {
  const cells = [
    `\`${path === '' ? key.name : `${path}.${key.name}`}\``,
    key.words,
    standard(key),
    key.description,
    `\`${exampleText(key)}\``,
  ]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function standard({ required, default: value, usual = '' }: Key): string {
  if (required) return '**required**'
  return value === undefined ? usual : `\`${flow(value)}\``
}

/**
 * Formats an example such as `every: 10us`, or `{ repeat: 3, every: 10us }` with the other keys that it
 * needs.
 */
function exampleText({ name, example, with: others }: Key): string {
  return others === undefined ? `${name}: ${flow(example)}` : flow({ ...others, [name]: example })
}

/** Formats a YAML value on one line: with blanks only within braces, and with numeric keys without quotes. */
function flow(value: unknown): string {
  const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()
  return text
    .replace(/\[ /g, '[')
    .replace(/ \]/g, ']')
    .replace(/"(\d+)":/g, '$1:')
}

/** How `--help` is laid out: to the width of the terminal, with one form for ranges, choices and defaults. */
import type { Argument, Command, Help, Option } from 'commander'
import { fold } from '../lib/scenario/result/fold.js'

/** Columns that a description needs beside its term; in fewer it stands below. */
const BESIDE_COLUMNS_LEAST = 40
const INDENT = 2
const BELOW_INDENT = 6
const GAP = 2

/** Has a command, and all below it, print its help so. */
export function styleHelp(command: Command): void {
  command.configureHelp({
    argumentTerm: (argument: Argument) => argument.name().toUpperCase() + (argument.variadic ? '…' : ''),
    argumentDescription: withDefault,
    optionDescription: option => (option.negate ? option.description : withDefault(option)),
    subcommandTerm: below => `${below.name()} ${withoutOptions(below.usage())}`.trimEnd(),
    formatItem(this: Help, term, termWidth, description) {
      return itemText(term, description, { termWidth, columns: this.helpWidth ?? 80 })
    },
  })
  for (const below of command.commands) styleHelp(below)
}

/** Columns of what a command writes its help to. */
export function columnsOfHelp(command: Command): number {
  return command.configureOutput().getOutHelpWidth?.() ?? 80
}

/** A heading, and terms with what is said of each, as the lists that commander prints. */
export function termList(
  command: Command,
  heading: string,
  items: readonly (readonly [term: string, about: string])[],
): string {
  const columns = columnsOfHelp(command)
  const termWidth = Math.max(...items.map(([term]) => term.length))
  const lines = items.map(([term, about]) => itemText(term, about, { termWidth, columns }))
  return `\n${fold(heading, columns, INDENT)}\n${lines.join('\n')}`
}

function itemText(
  term: string,
  about: string,
  { termWidth, columns }: { termWidth: number; columns: number },
): string {
  const begin = ' '.repeat(INDENT) + term
  if (about === '') return begin
  const indent = INDENT + termWidth + GAP
  if (columns - indent >= BESIDE_COLUMNS_LEAST) return fold(begin.padEnd(indent) + about, columns, indent)
  return `${begin}\n${fold(' '.repeat(BELOW_INDENT) + about, columns, BELOW_INDENT)}`
}

/** `control socket (default: /run/weir.sock)`. Options of tables say theirs by themselves (`commands/value-options.ts`). */
function withDefault({ description, defaultValue }: Argument | Option): string {
  const isSaid = defaultValue === undefined || typeof defaultValue === 'boolean'
  return isSaid ? description : `${description} (default: ${String(defaultValue)})`
}

function withoutOptions(usage: string): string {
  return usage.replace(/\[options\] ?/, '')
}

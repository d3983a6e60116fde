/**
 * A step of `npm run build`: writes the manual pages of weir and its commands, made from their help, to `dist/man`. The macros are those of
 * man(7).
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Argument, Command, Option } from 'commander'
import { packageFile } from '../lib/package-file.js'

/** Columns of the lists that follow the options of a help: a page is 80 wide, less its margins. */
const LIST_COLUMNS = 72

/** Returns the pages by name of their files: `weir.1`, and `weir-send.1` of each command. */
export function manPages(program: Command): Map<string, string> {
  const names = program.commands.filter(command => command.name() !== 'internal')
  const pages = new Map([['weir.1', page(program, ['weir'], names)]])
  for (const command of names) {
    const path = ['weir', command.name()]
    pages.set(`${path.join('-')}.1`, page(command, path, []))
  }
  return pages
}

function page(command: Command, path: readonly string[], commands: readonly Command[]): string {
  const name = path.join('-')
  const parts = [
    `.TH ${name.toUpperCase()} 1 "" "Weir ${versionOf(command)}" "User Commands"`,
    section('NAME', `${name} \\- ${escaped(command.description())}`),
    section('SYNOPSIS', synopsis(command, path.join(' '))),
    ...(path.length === 1
      ? [
          section(
            'COMMANDS',
            commands.map(each => term(`weir ${each.name()} ${each.usage()}`, each.description())).join('\n'),
          ),
        ]
      : body(command)),
    ...(path.length === 1
      ? body(command)
      : command.commands.flatMap(part => partSections(part, path.join(' ')))),
    lists(command),
    section('SEE ALSO', seeAlso(path, commands)),
  ]
  return `${parts.filter(part => part !== '').join('\n')}\n`
}

function versionOf(command: Command): string {
  return command.version() ?? command.parent?.version() ?? ''
}

/** Arguments, and options by their groups. */
function body(command: Command): string[] {
  const help = command.createHelp()
  const args = command.registeredArguments.filter(({ description }) => description !== '')
  const groups = new Map<string, Option[]>()
  for (const option of help.visibleOptions(command)) {
    const heading = option.helpGroupHeading ?? 'Options:'
    groups.set(heading, [...(groups.get(heading) ?? []), option])
  }
  return [
    args.length === 0 ? '' : section('ARGUMENTS', args.map(argumentTerm).join('\n')),
    ...[...groups].map(([heading, options]) =>
      section(heading.replace(/:$/, '').toUpperCase(), options.map(optionTerm).join('\n')),
    ),
  ]
}

function partSections(part: Command, above: string): string[] {
  const title = `${above} ${part.name()}`
  return [section(title, `${escaped(part.description())}\n.PP\n${synopsis(part, title)}`), ...body(part)]
}

function argumentTerm(argument: Argument): string {
  return term(argument.name().toUpperCase() + (argument.variadic ? '…' : ''), argument.description)
}

function optionTerm(option: Option): string {
  const standard = option.defaultValue
  const isSaid = standard === undefined || typeof standard === 'boolean' || isOfMachine(option)
  return term(
    option.flags,
    isSaid ? option.description : `${option.description} (default: ${String(standard)})`,
  )
}

/** The default is a path of the user who builds the package. */
function isOfMachine({ defaultValue }: Option): boolean {
  return typeof defaultValue === 'string' && defaultValue.startsWith('/')
}

function synopsis(command: Command, path: string): string {
  return `.B ${escaped(path)}\n${escaped(command.usage())}`
}

function term(name: string, about: string): string {
  return `.TP\n.B ${escaped(name)}\n${escaped(about)}`
}

function section(heading: string, text: string): string {
  return `.SH "${escaped(heading)}"\n${text}`
}

/** What a help has behind its options: lists that are laid out already. */
function lists(command: Command): string {
  let printed = ''
  const write = (text: string) => {
    printed += text
  }
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => LIST_COLUMNS })
  command.configureHelp({ ...command.configureHelp(), helpWidth: LIST_COLUMNS })
  command.outputHelp()
  const after = printed.slice(command.helpInformation().length).trim()
  return after === '' ? '' : section('LISTS', `.nf\n${after.split('\n').map(escapedLine).join('\n')}\n.fi`)
}

function seeAlso(path: readonly string[], commands: readonly Command[]): string {
  if (path.length > 1) return '.BR weir (1)'
  return commands.map(each => `.BR weir\\-${each.name()} (1)`).join(',\n')
}

/** A text in one paragraph; a dot or an apostrophe at the beginning of a line would be a request. */
function escaped(text: string): string {
  return escapedLine(text.replace(/\s+/g, ' ').trim())
}

function escapedLine(line: string): string {
  const plain = line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll('…', '\\&...')
  return /^[.']/.test(plain) ? `\\&${plain}` : plain
}

/** Writes them to `dist/man`. */
export function writeManPages(program: Command): void {
  const folder = join(dirname(packageFile('package.json')), 'dist', 'man')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of manPages(program)) writeFileSync(join(folder, name), text)
}

/**
 * The config file of `weir daemon`: YAML, whose keys are the options of the command line without their dashes. What the command line and
 * the environment say has precedence.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { Command, Option } from 'commander'
import { LineCounter, parseDocument } from 'yaml'
import * as z from 'zod'
import { WeirError } from '../../lib/errors.js'
import { whyNotRead } from '../../lib/file-reason.js'
import { offer } from '../../lib/offer.js'
import { type CommandOption, flagOf } from '../../lib/options/option.js'
import { parseValue } from '../../lib/options/parse-options.js'
import { Problems } from '../../lib/scenario/model/problems.js'
import { configPath } from '../../lib/secure/identity-file.js'
import { BY_COMMANDER, defaultTextOf, rowOf } from './value-options.js'

/** It is read if it is there, the user has none of their own, and the command line names no other. */
export const SYSTEM_CONFIG = '/etc/weir.yaml'
export const CONFIG_SCHEMA_FILE = 'schema/daemon.schema.json'

/** They are about the file, so they are not in it. */
const NOT_IN_FILE = new Set(['--config', '--no-config', '--print-config'])

/** A value as YAML has it. */
type Scalar = string | number
type Value = boolean | Scalar | readonly Scalar[] | Readonly<Record<string, Scalar | boolean>>

/**
 * Sets the options of the command that the file has and nobody else. Returns the file that was read, null if there is none. Throws
 * WEIR_NO_FILE, and WEIR_BAD_ARGUMENT with the place of everything that is wrong.
 *
 * @param given a path, false for no file, undefined for the user's own or else the system's
 */
export function applyConfig(command: Command, given: string | false | undefined): string | null {
  const file = given ?? [configPath('daemon.yaml'), SYSTEM_CONFIG].find(path => existsSync(path))
  if (file === undefined || file === false) return null
  const { values, problems } = readConfig(command, file)
  for (const option of optionsInFile(command)) {
    const key = keyOf(option)
    const value = values[key]
    const name = option.attributeName()
    const source = command.getOptionValueSource(name)
    if (value === undefined || (source !== undefined && source !== 'default')) continue
    command.setOptionValueWithSource(name, asTyped(option, value), `${problems.placeOf([key])}: ${key}`)
  }
  return file
}

function readConfig(command: Command, file: string): { values: Record<string, Value>; problems: Problems } {
  const lines = new LineCounter()
  const document = parseDocument(textOf(file), { lineCounter: lines })
  const problems = new Problems(file, lines, 'WEIR_BAD_ARGUMENT')
  problems.document = document
  for (const { pos, message } of document.errors) problems.atOffset(pos[0], message.split('\n', 1)[0]!)
  problems.throwIfAny()
  const options = optionsInFile(command)
  const { error, data } = schemaOf(options).safeParse(document.toJS() ?? {})
  for (const issue of error?.issues ?? []) {
    const path = issue.path as (string | number)[]
    if (issue.code !== 'unrecognized_keys') problems.at(path, issue.message)
    else for (const key of issue.keys) problems.atKey([key], unknown(key, options))
  }
  problems.throwIfAny()
  return { values: data as Record<string, Value>, problems }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new WeirError('WEIR_NO_FILE', `--config ${file}: ${whyNotRead(cause)}`, { cause })
  }
}

function unknown(key: string, options: readonly Option[]): string {
  return `unknown key '${key}'; keys are the options of weir daemon: ${offer(key, options.map(keyOf))}`
}

function optionsInFile(command: Command): Option[] {
  return command.options.filter(({ hidden, long }) => !hidden && !NOT_IN_FILE.has(long!))
}

/** `perf` for `--no-perf`, whose value is false. */
function keyOf(option: Option): string {
  return option.negate ? option.name().replace(/^no-/, '') : option.name()
}

/** What the file may say, of the options of a command. */
function schemaOf(options: readonly Option[]): z.ZodObject {
  return z.strictObject(
    Object.fromEntries(options.map(option => [keyOf(option), fieldOf(option).optional()])),
    {
      error: issue =>
        issue.code === 'invalid_type' ? 'the file is a mapping of options to values' : undefined,
    },
  )
}

function fieldOf(option: Option): z.ZodType {
  const described = { description: aboutOf(option) }
  const scalar = z.union([z.string().min(1), z.number()])
  if (isSwitch(option)) return z.boolean({ error: 'is true or false' }).meta(described)
  if (isList(option)) {
    const forms: [z.ZodType, z.ZodType, ...z.ZodType[]] = [scalar, z.array(scalar)]
    if (takesNames(option)) forms.push(z.record(z.string(), z.union([scalar, z.boolean()])))
    const form = takesNames(option)
      ? 'NAME=VALUE, a list of them, or a mapping'
      : 'a text, or a list of texts'
    return z.union(forms, { error: `is ${form}` }).meta(described)
  }
  const row = rowOf(option)
  const field = z.union([z.string().min(1), z.number()], { error: 'is one value: a text or a number' })
  return (row === undefined ? field : checkedBy(row, field)).meta({ ...described, ...choicesOf(row) })
}

function checkedBy(row: CommandOption, field: z.ZodType): z.ZodType {
  if (row.kind === 'text') return field
  return field.superRefine((value, context) => {
    try {
      parseValue(flagOf(row).replace(/^--/, ''), row, String(value))
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
    }
  })
}

function choicesOf(row: CommandOption | undefined): { examples?: readonly (string | number)[] } {
  return row?.kind === 'choice' ? { examples: row.choices } : {}
}

/** Without the help's words about the command line. */
function aboutOf(option: Option): string {
  const text = option.description
    .replace(/; environment: \w+/, '')
    .replace(/;? ?\(?repeatable\)?/, '')
    .trim()
  return option.negate ? `false: ${text}` : text
}

function isSwitch({ required, optional }: Option): boolean {
  return !required && !optional
}

function isList({ variadic, parseArg }: Option): boolean {
  return variadic || parseArg !== undefined
}

function takesNames({ flags }: Option): boolean {
  return flags.includes('name=value')
}

/** A value as commander has it of a command line. */
function asTyped(option: Option, value: Value): boolean | string | string[] {
  if (typeof value === 'boolean') return value
  if (!isList(option)) return String(value)
  if (Array.isArray(value)) return value.map(String)
  return typeof value === 'object'
    ? Object.entries(value).map(([name, each]) => `${name}=${each}`)
    : [String(value)]
}

/** Says which file had a part in what is wrong, where the message does not. */
export function withConfigFile(error: unknown, file: string | null): unknown {
  const isBad = error instanceof WeirError && error.code === 'WEIR_BAD_ARGUMENT'
  if (!isBad || file === null || error.message.includes(file)) return error
  return new WeirError(error.code, `${error.message} (settings come from ${file} too)`, { cause: error })
}

/** Output of `--print-config`: a config file, with the source of each value. */
export function configText(command: Command): string {
  return optionsInFile(command)
    .flatMap(option => lineOf(command, option))
    .join('')
}

function lineOf(command: Command, option: Option): string[] {
  const key = keyOf(option)
  const name = option.attributeName()
  const value = command.getOptionValue(name) as boolean | string | string[] | undefined
  if (value !== undefined)
    return [
      `${key}: ${JSON.stringify(value)}  # ${sourceWords(command.getOptionValueSource(name), option)}\n`,
    ]
  const row = rowOf(option)
  const standard = row === undefined ? undefined : defaultTextOf(row)
  return standard === undefined ? [] : [`${key}: ${JSON.stringify(standard)}  # default\n`]
}

function sourceWords(source: string | undefined, option: Option): string {
  if (source === 'cli') return 'command line'
  if (source === 'env') return `environment: ${option.envVar}`
  return source === undefined || BY_COMMANDER.has(source) ? 'default' : source.replace(/: [^:]*$/, '')
}

/** The file as JSON Schema (draft 2020-12), for editors. */
export function configJsonSchema(command: Command): string {
  const schema = z.toJSONSchema(schemaOf(optionsInFile(command)), {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
  })
  return `${JSON.stringify({ ...schema, title: 'Config file of weir daemon' }, null, 2)}\n`
}

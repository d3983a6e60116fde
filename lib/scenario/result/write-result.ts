import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { WeirError } from '../../errors.js'
import { whyNotWritten } from '../../file-reason.js'
import type { RunSettings } from '../model/settings.js'
import type { FlowResult, PortResult, RunResult, Series, Summary } from './result.js'

/** Keys in the order in which they are written: all of them. */
const RESULT_KEYS = Object.keys({
  version: true,
  scenario: true,
  on: true,
  seed: true,
  settings: true,
  totals: true,
  flows: true,
  ports: true,
  links: true,
  timeline: true,
  inof: true,
  series: true,
  feedback: true,
  summary: true,
  realTime: true,
  events: true,
  captures: true,
  command: true,
  machine: true,
  wallSeconds: true,
} satisfies Record<keyof RunResult, true>) as (keyof RunResult)[]
const FLOW_KEYS = [
  'name',
  'from',
  'to',
  'bytes',
  'startNs',
  'fctNs',
  'idealFctNs',
  'slowdown',
  'goodputBps',
  'retransmittedBytes',
  'spuriousRetransmissions',
  'timeouts',
  'ackedBytes',
  'paths',
  'refused',
  'failed',
  'digestEqual',
] as const satisfies readonly (keyof FlowResult)[]
const PORT_KEYS = [
  'switch',
  'port',
  'name',
  'peer',
  'rateBps',
  'txBytes',
  'utilization',
  'maxQueueBytes',
  'meanQueueBytes',
  'ecnMarks',
  'pausesSent',
  'pausedNs',
  'drops',
  'deadlocked',
  'watchdog',
  'movedFrames',
] as const satisfies readonly (keyof PortResult)[]
const SERIES_KEYS = ['unit', 'timesNs', 'values'] as const satisfies readonly (keyof Series)[]
const SUMMARY_KEYS = [
  'fromNs',
  'toNs',
  'jainIndex',
  'bottleneck',
  'bottleneckUtilization',
] as const satisfies readonly (keyof Summary)[]

/**
 * Returns the JSON text of a result: one line for each flow, port and series, keys always in the same order,
 * series sorted by name. Equal results give equal bytes.
 */
export function resultJson(result: RunResult): string {
  const rows = RESULT_KEYS.filter(key => result[key] !== undefined).map(key => {
    return `  ${JSON.stringify(key)}: ${section(result, key)}`
  })
  return `{\n${rows.join(',\n')}\n}\n`
}

function section(result: RunResult, key: keyof RunResult): string {
  switch (key) {
    case 'settings':
      return settingsSection(result.settings)
    case 'flows':
      return block(
        '[',
        ']',
        result.flows.map(flow => ordered(flow, FLOW_KEYS)),
      )
    case 'ports':
      return block(
        '[',
        ']',
        result.ports.map(port => ordered(port, PORT_KEYS)),
      )
    case 'links':
    case 'timeline':
      return block(
        '[',
        ']',
        result[key]!.map(item => JSON.stringify(item)),
      )
    case 'series': {
      const names = Object.keys(result.series).sort()
      return block(
        '{',
        '}',
        names.map(name => {
          return `${JSON.stringify(name)}: ${ordered(result.series[name]!, SERIES_KEYS)}`
        }),
      )
    }
    case 'summary':
      return ordered(result.summary!, SUMMARY_KEYS)
    default:
      return JSON.stringify(result[key])
  }
}

/** Writes a line for each setting, and a line for each item of long lists. */
function settingsSection(settings: RunSettings): string {
  const rows = Object.entries(settings).map(([key, value]) => {
    const list = MANY.includes(key) && (value as unknown[]).length > 0
    const items = list ? (value as unknown[]).map(item => `      ${JSON.stringify(item)}`) : []
    return `${JSON.stringify(key)}: ${list ? `[\n${items.join(',\n')}\n    ]` : JSON.stringify(value)}`
  })
  return block('{', '}', rows)
}

const MANY: readonly string[] = [
  'hosts',
  'switches',
  'links',
  'routes',
  'events',
  'flows',
  'workloads',
] satisfies (keyof RunSettings)[]

function block(open: string, close: string, rows: string[]): string {
  return rows.length === 0 ? open + close : `${open}\n    ${rows.join(',\n    ')}\n  ${close}`
}

/** Returns the known keys in their order, then others by name. */
function ordered<T extends object>(value: T, keys: readonly (keyof T & string)[]): string {
  const others = Object.keys(value)
    .filter(key => !(keys as readonly string[]).includes(key))
    .sort()
  const parts = [...keys, ...others]
    .filter(key => value[key as keyof T] !== undefined)
    .map(key => `${JSON.stringify(key)}:${JSON.stringify(value[key as keyof T])}`)
  return `{${parts.join(',')}}`
}

/**
 * Writes a result atomically: to a temporary file beside it, which is synced and renamed. A reader sees the
 * old file or the new one. Something other than a plain file, such as a pipe or /dev/null, is written to
 * directly. Throws WEIR_NO_FILE.
 */
export function writeResult(file: string, result: RunResult): void {
  writeResultText(file, resultJson(result))
}

/** Writes any text about a result in the same way. */
export function writeResultText(file: string, text: string): void {
  try {
    const there = statSync(file, { throwIfNoEntry: false })
    if (there === undefined || there.isFile()) replaceFile(file, text)
    else writeFileSync(file, text)
  } catch (cause) {
    throw cannotWrite(file, cause)
  }
}

/** Throws WEIR_NO_FILE if a result or report cannot be written to `file`. Call it before a run, which may take long. */
export function checkResultFile(file: string): void {
  try {
    const there = statSync(file, { throwIfNoEntry: false })
    if (there?.isDirectory()) throw Object.assign(new Error('EISDIR'), { code: 'EISDIR' })
    accessSync(there === undefined || there.isFile() ? dirname(file) : file, constants.W_OK)
  } catch (cause) {
    throw cannotWrite(file, cause)
  }
}

function cannotWrite(file: string, cause: unknown): WeirError {
  return new WeirError('WEIR_NO_FILE', `the result ${file} cannot be written: ${whyNotWritten(cause)}`, {
    cause,
  })
}

function replaceFile(file: string, text: string): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  const descriptor = openSync(temporary, 'wx')
  try {
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}

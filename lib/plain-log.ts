/** Lines of the log for people: on a terminal a daemon writes them in place of JSON. */
import { Writable } from 'node:stream'
import { printable } from './printable.js'

/** Names of pino's levels. */
const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: '',
  40: 'warning',
  50: 'error',
  60: 'fatal',
}
/** What each line has and people need not read. */
const LEFT_OUT: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg'])

/** One JSON line of the log as text: time, message, and the other fields as NAME VALUE. */
export function plainLine(json: string): string {
  let entry: Record<string, unknown>
  try {
    entry = JSON.parse(json)
  } catch {
    return json
  }
  const { level, time, msg } = entry
  const at = new Date(Number(time)).toTimeString().slice(0, 8)
  const fields = Object.entries(entry)
    .filter(([name, value]) => !LEFT_OUT.has(name) && value !== '' && value !== null)
    .map(([name, value]) => `${name} ${textOf(value)}`)
  const grade = LEVELS[Number(level)] ?? String(level)
  return [at, ...(grade ? [`${grade}:`] : []), printable(String(msg ?? '')), fields.join(', ')]
    .join('  ')
    .trimEnd()
}

/** An error says its code and message; other things are as JSON has them. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return printable(value)
  if (value !== null && typeof value === 'object' && 'message' in value) {
    const { code, message } = value as { code?: unknown; message: unknown }
    return printable(code === undefined ? String(message) : `${message} (${code})`)
  }
  return printable(JSON.stringify(value))
}

/** Takes JSON lines, whole ones, and writes plain ones. */
export function plainStream(write: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write(lines: string | Buffer, _encoding, done) {
      for (const line of String(lines).split('\n')) if (line !== '') write(`${plainLine(line)}\n`)
      done()
    },
  })
}

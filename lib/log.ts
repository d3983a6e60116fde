/** The log of a process, to standard error: pino, one JSON line an event; on a terminal one for people. */
import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { type Logger, pino } from 'pino'
import { WeirError } from './errors.js'
import { plainStream } from './plain-log.js'

export type { Logger } from 'pino'

/** What a log has, from least to most; `silent` is nothing. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Makes the logger. Throws WEIR_BAD_ARGUMENT for a level that does not exist. */
export function createLog(level: string, name: string): Logger {
  if (!(LOG_LEVELS as readonly string[]).includes(level)) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `log level "${level}": choose one of ${LOG_LEVELS.join(', ')}`)
  }
  // Written at once: the last lines of a process that dies are the ones that matter.
  // A thread has no terminal of its own, but writes to that of its process.
  const isPlain = isatty(2)
  return pino({ name, level }, isPlain ? plainStream(write) : pino.destination({ dest: 2, sync: true }))
}

/** A terminal that has gone is no reason to end. */
function write(text: string): void {
  try {
    writeSync(2, text)
  } catch {}
}

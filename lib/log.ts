/** The log of a process: pino, one JSON line an event, to standard error. */
import { type Logger, pino } from 'pino'
import { WeirError } from './errors.js'

export type { Logger } from 'pino'

/** What a log has, from least to most; `silent` is nothing. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Makes the logger. Throws WEIR_BAD_ARGUMENT for a level that does not exist. */
export function createLog(level: string, name: string): Logger {
  if (!(LOG_LEVELS as readonly string[]).includes(level)) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `log level "${level}": choose one of ${LOG_LEVELS.join(', ')}`)
  }
  // Written at once: the last lines of a process that dies are the ones that matter.
  return pino({ name, level }, pino.destination({ dest: 2, sync: true }))
}

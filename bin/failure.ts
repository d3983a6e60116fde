import { constants } from 'node:os'
import type { Command } from 'commander'
import { showBytes } from '../lib/byte-text.js'
import { WeirError } from '../lib/errors.js'
import { whyNotWritten } from '../lib/file-reason.js'
import { nobodyReads } from './closed-pipe.js'
import { folded } from './commands/fit.js'

/** What commands leave behind, for `weir --help`. */
export const EXIT_CODES = [
  ['0', 'done, or the reader of the output has gone, as in weir dump FILE | head'],
  ['1', "failed: a message on standard error says why, and ends with the error's code, as in (WEIR_NO_FILE)"],
  ['130', 'cancelled by Ctrl-C (by another signal: 128 and its number)'],
] as const

let outputFailed = false

/**
 * Reports the failure of a command: one line on stderr for an error that a user can mend, the stack for a
 * defect of Weir.
 */
export function report(error: unknown): void {
  if (nobodyReads() && signalOf(error) === 'SIGHUP') return
  if (isOutputFailure(error)) {
    // Both the command and the stream may report it.
    if (outputFailed) return
    outputFailed = true
    process.stderr.write(`weir: the output cannot be written: ${whyNotWritten(error)} (WEIR_NO_FILE)\n`)
  } else if (lacksDescriptors(error)) {
    process.stderr.write(
      'weir: too many open files: raise the limit of this process (ulimit -n) (WEIR_FULL)\n',
    )
  } else if (error instanceof WeirError && error.code !== 'WEIR_INTERNAL') {
    const text = `weir: ${withoutControls(error.message)} (${error.code})`
    process.stderr.write(`${folded(text, process.stderr)}\n`)
  } else {
    process.stderr.write(`weir: ${error instanceof Error ? error.stack : String(error)}\n`)
  }
  process.exitCode = exitCodeOf(error)
}

/** Makes a command, and all below it, report a wrong command line as `report` does. */
export function reportUsage(command: Command): void {
  command.configureOutput({
    outputError: (text, write) => {
      const line = `weir: ${usageError(text, command)} (WEIR_BAD_ARGUMENT)`
      write(`${folded(line, process.stderr)}\n`)
    },
  })
  for (const below of command.commands) reportUsage(below)
}

/**
 * Merges commander's `error: unknown option '--nme'` and its second line `(Did you mean --name?)` into one
 * line.
 */
function usageError(text: string, command: Command): string {
  const [message = '', suggestion = ''] = text.trim().split('\n')
  const meant = suggestion.replace(/^\(Did you mean (.*)\?\)$/, ' (did you mean $1?)')
  const path = []
  for (let at: Command | null = command; at; at = at.parent) path.unshift(at.name())
  return `${message.replace(/^error: /, '').replace(/\.$/, '')}${meant}: see ${path.join(' ')} --help`
}

/** Errors of other outputs are in a WeirError with their name. */
function isOutputFailure(error: unknown): boolean {
  return !(error instanceof WeirError) && (error as NodeJS.ErrnoException | null)?.syscall === 'write'
}

/**
 * Returns true if the limit of open files stopped a command anywhere. Loading a module takes a descriptor
 * too.
 */
function lacksDescriptors(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EMFILE' || code === 'ENFILE' || /\bE[MN]FILE\b/.test(cause.message)) return true
  }
  return false
}

/** Removes control characters, which names of files may contain. A message may have several lines. */
function withoutControls(message: string): string {
  return showBytes(message).replace(/[^\P{Cc}\n]/gu, '?')
}

/** A cancellation by a signal has the signal as its cause. Any other cancellation is a failure. */
function exitCodeOf(error: unknown): number {
  const signal = signalOf(error)
  return signal === null ? 1 : signalExitCode(signal)
}

function signalOf(error: unknown): NodeJS.Signals | null {
  const cause = error instanceof WeirError && error.code === 'WEIR_CANCELLED' ? error.cause : undefined
  return isSignal(cause) ? cause : null
}

/** Returns the exit code as shells define it: 128 and the signal's number, 130 for SIGINT. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

function isSignal(value: unknown): value is NodeJS.Signals {
  return typeof value === 'string' && Object.hasOwn(constants.signals, value)
}

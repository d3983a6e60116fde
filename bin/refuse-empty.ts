import type { Command } from 'commander'
import { WeirError } from '../lib/errors.js'

/** A shell makes an empty text of `"$FILE"` when FILE is not set. */
const MEND = 'a variable of the shell may not be set'

/**
 * Refuses empty options and arguments. None has a meaning, and many would be taken for the current folder or
 * for everything. Only the words of another program, as in `weir lab exec`, may be empty. Throws
 * WEIR_BAD_ARGUMENT.
 */
export function refuseEmpty(command: Command): void {
  const values = command.opts<Record<string, unknown>>()
  for (const option of command.options) {
    if (values[option.attributeName()] === '') throw empty(`the value of ${option.long}`)
  }
  const own = command.registeredArguments
  for (const [i, word] of command.args.entries()) {
    const argument = own[i] ?? own.at(-1)
    if (argument?.name() === 'command') break
    if (word === '') throw empty(`the argument ${argument?.name()}`)
  }
}

function empty(what: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `${what} is empty: ${MEND}`)
}

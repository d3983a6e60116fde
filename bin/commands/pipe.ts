/** Standard input and standard output as a file of `weir send` and `weir get`. */
import { WeirError } from '../../lib/errors.js'
import { hasTreeOptions, type TreeFlags } from './tree-flags.js'

/** Their name, as other programs have it. A file of that name is `./-`. */
export const PIPE = '-'

/** Throws WEIR_BAD_ARGUMENT for what a pipe cannot have. @param files of the command line */
export function checkPipe(files: readonly unknown[], flags: TreeFlags): void {
  if (files.length > 1)
    throw bad('- moves one file alone: name nothing beside it, or ./- for a file of that name')
  if (hasTreeOptions(flags))
    throw bad('--exclude, --include, --links, --checksum, --delete and --dry-run are for folders, not for -')
  if (flags.yes) throw bad('--yes is for --delete, which - does not have')
  if (flags.retries !== undefined && flags.retries !== '0')
    throw bad('--retries: a pipe cannot be read again, so that a lost connection is the end')
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}

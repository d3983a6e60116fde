/** Options of `weir send` and `weir get` for folders. */
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { EXCLUDE, INCLUDE, LINKS } from '../../lib/transfer/transfer-options.js'
import type { TransferFlags } from './transfer.js'
import { addValueOptions, valuesOf } from './value-options.js'

export interface TreeFlags extends TransferFlags {
  links?: string
  exclude?: string[]
  include?: string[]
  dryRun?: boolean
  checksum?: boolean
  delete?: boolean
  yes?: boolean
}

export function withTreeOptions(command: Command): Command {
  const checksum = 'of folders, or several files: compare what is there by digests, not by times'
  return addValueOptions(command, [EXCLUDE, INCLUDE, LINKS])
    .option('-c, --checksum', checksum)
    .option('-n, --dry-run', 'of folders, or several files: say what would move, and change nothing')
    .option(
      '--delete',
      'of folders: delete there what the source does not have, after asking; what --exclude leaves out stays',
    )
    .option('-y, --yes', 'with --delete: do not ask')
}

/** Options that mean something for what is in a folder. */
export function hasFolderOptions({ links, exclude, include, ...flags }: TreeFlags): boolean {
  return (links ?? exclude ?? include) !== undefined || flags.delete === true
}

/** Options that mean something where several files move together. */
export function hasTreeOptions(flags: TreeFlags): boolean {
  return hasFolderOptions(flags) || (flags.dryRun ?? flags.checksum) === true
}

/** Which things of the folders move, in the form of the daemon's request. */
export function whichOf(flags: TreeFlags) {
  const { links } = valuesOf([LINKS], flags)
  const { exclude = [], include = [], dryRun = false, checksum = false } = flags
  if (flags.yes && !flags.delete) throw new WeirError('WEIR_BAD_ARGUMENT', '--yes is for --delete')
  return { skipLinks: links === 'skip', exclude, include, dryRun, checksum, delete: flags.delete === true }
}

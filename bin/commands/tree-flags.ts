/** Options of `weir send` and `weir get` for folders. */
import type { Command } from 'commander'
import { EXCLUDE, INCLUDE, LINKS } from '../../lib/transfer/transfer-options.js'
import type { TransferFlags } from './transfer.js'
import { addValueOptions, valuesOf } from './value-options.js'

export interface TreeFlags extends TransferFlags {
  links?: string
  exclude?: string[]
  include?: string[]
}

export function withTreeOptions(command: Command): Command {
  return addValueOptions(command, [EXCLUDE, INCLUDE, LINKS])
}

export function hasTreeOptions({ links, exclude, include }: TreeFlags): boolean {
  return (links ?? exclude ?? include) !== undefined
}

/** Which things of the folders move, in the form of the daemon's request. */
export function whichOf(flags: TreeFlags) {
  const { links } = valuesOf([LINKS], flags)
  const { exclude = [], include = [] } = flags
  return { skipLinks: links === 'skip', exclude, include }
}

import type { SessionConfig } from '../mover/endpoint.js'
import { ENTRIES_MAX } from '../protocol/tree-list.js'

/** What a user may choose about a transfer, in either direction. */
export interface TaskOptions {
  /** Name or address of the other end. */
  host: string
  /** UDP port of RoCEv2 there, 1 to 65534. Default 0: that of this host. */
  port?: number
  overwrite?: boolean
  /** 'xxh64' or 'sha256'. Default xxh64. */
  digest?: string
  /** Attempts in a row without progress after the connection was lost, 0 to RETRIES_MAX. Default 0: the loss is the end. */
  retries?: number
  /** Connections that carry one file, 1 to STREAMS_MAX. Default 1; 0 means the same. */
  streams?: number
}

/** What a user may choose about trees too, in either direction. */
export interface TreeTaskOptions extends TaskOptions {
  /** Leaves symbolic links out that lead out of the tree. Default: they are an error. */
  skipLinks?: boolean
  /** Globs of what is left out, and of what is not after all: see path-filter.ts. Default: none. */
  exclude?: readonly string[]
  include?: readonly string[]
  /** Compares files by digests and not by times. Default: false. */
  checksum?: boolean
  /** Moves nothing, and says what would move. Default: false. */
  dryRun?: boolean
  /** Deletes, in the folders that move, what the source does not have. Default: false. */
  delete?: boolean
  /** Files and folders that this may delete, at most: more is an error before anything changes. Default 0. */
  deleteMost?: number
}

/** How many files and folders a transfer may delete. A dry run may name all. */
export function mayDelete({ dryRun = false, deleteMost = 0 }: TreeTaskOptions): number {
  return dryRun ? ENTRIES_MAX : deleteMost
}

/** What all sessions of one transfer have of its daemon. */
export interface Common extends SessionConfig {
  /** Names the transfer to the other end. */
  transfer: Uint8Array
}

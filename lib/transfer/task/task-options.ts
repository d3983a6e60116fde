import type { SessionConfig } from '../mover/endpoint.js'

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
}

/** What all sessions of one transfer have of its daemon. */
export interface Common extends SessionConfig {
  /** Names the transfer to the other end. */
  transfer: Uint8Array
}

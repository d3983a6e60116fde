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

/** What all sessions of one transfer have of its daemon. */
export interface Common extends SessionConfig {
  /** Names the transfer to the other end. */
  transfer: Uint8Array
}

/** What `weir send` and `weir get` move, and what became of it. */
import type {
  DaemonClient,
  TransferOptions,
  TransferReply,
  TreeTotals,
} from '../../lib/client/daemon-client.js'

/** What has moved. */
export interface TransferReport {
  files: FileReport[]
  /** Sum over all files that were delivered. */
  bytes: number
  seconds: number
  /** Present when not everything was delivered. */
  error?: { code: string; message: string; file: string }
}

export interface FileReport extends Omit<TransferReply, 'transferId' | 'digest' | 'digestKind' | 'tree'> {
  /** The file as the command line names it. For `weir get` without the host. */
  file: string
  host: string
  /** The whole file's digest, in hexadecimal. Both ends have computed it. */
  digest: { kind: string; hex: string }
  /** Present when files and folders moved together. */
  tree?: TreeTotals
}

/** One file of the command line. */
export interface Item {
  file: string
  host: string
  /** Asks the user, where there is something to ask. Throws what ends the command. */
  confirm?(client: DaemonClient, options: TransferOptions): Promise<void>
  /** Asks the daemon to move the file. */
  start(client: DaemonClient, options: TransferOptions): Promise<TransferReply>
  /** What to do in its place after such a failure; null = nothing. Default: nothing. */
  instead?(error: unknown): readonly Item[] | null
  /** Nothing moves. */
  isDryRun?: boolean
  /** Describes source and destination for people. */
  describe(path: string): string
}

/** The common parts of `weir send` and `weir get`: options, the bar, the report, Ctrl-C. */
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import {
  connectDaemon,
  type DaemonClient,
  type TransferOptions,
  type TransferReply,
} from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { printable } from '../../lib/printable.js'
import { RETRIES_MAX } from '../../lib/transfer/task/retries.js'
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { whole } from './option-values.js'
import { withSocketOption } from './socket-option.js'
import { transferDisplay } from './transfer-display.js'

export interface TransferFlags {
  socket: string
  port?: string
  overwrite?: boolean
  digest: string
  retries: number
  json?: boolean
}

/** Output of `--json`. */
export interface TransferReport {
  files: FileReport[]
  /** Sum over all files that were delivered. */
  bytes: number
  seconds: number
  /** Present when not everything was delivered. */
  error?: { code: string; message: string; file: string }
}

export interface FileReport extends Omit<TransferReply, 'transferId' | 'digest' | 'digestKind'> {
  /** The file as the command line names it. For `weir get` without the host. */
  file: string
  host: string
  /** The whole file's digest, in hexadecimal. Both ends have computed it. */
  digest: { kind: string; hex: string }
}

/** One file of the command line. */
export interface Item {
  file: string
  host: string
  /** Asks the daemon to move the file. */
  start(client: DaemonClient, options: TransferOptions): Promise<TransferReply>
  /** Describes source and destination for people. */
  describe(path: string): string
}

/** Adds the options of both commands. */
export function withTransferOptions(command: Command): Command {
  return withSocketOption(command)
    .option('-P, --port <n>', "UDP port of the host's daemon (default: that of the daemon on this host)")
    .option('--overwrite', 'replace existing files')
    .addOption(
      new Option('--digest <kind>', 'digest that both ends compare')
        .choices(['xxh64', 'sha256'])
        .default('xxh64'),
    )
    .option(
      '--retries <n>',
      'consecutive attempts without progress after a lost connection; 0: none',
      parseRetries,
      3,
    )
    .option('--json', 'print the outcome as JSON')
}

/** Moves the files one after the other. The first failure ends it. */
export async function runTransfers(items: readonly Item[], flags: TransferFlags): Promise<void> {
  const report: TransferReport = { files: [], bytes: 0, seconds: 0 }
  const cancelled = new AbortController()
  const client = await connectDaemon(flags.socket)
  const removeHandlers = cancelOnSignal(cancelled)
  let file = ''
  try {
    for (const item of items) {
      file = item.file
      const done = await runOne(client, item, flags, cancelled.signal)
      report.files.push(done)
      report.bytes += done.bytes
      report.seconds += done.seconds
      if (!flags.json) process.stdout.write(`${summary(item, done)}\n`)
    }
  } catch (error) {
    const { code, message } = error as WeirError
    report.error = { code, message, file }
    if (code !== 'WEIR_CANCELLED' || !cancelled.signal.aborted) throw error
    throw new WeirError(code, message, { cause: cancelled.signal.reason })
  } finally {
    if (flags.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
    client.close()
    removeHandlers()
  }
}

async function runOne(
  client: DaemonClient,
  item: Item,
  flags: TransferFlags,
  signal: AbortSignal,
): Promise<FileReport> {
  const display = flags.json ? null : transferDisplay(basename(item.file))
  try {
    const outcome = await item.start(client, {
      overwrite: flags.overwrite ?? false,
      digest: flags.digest,
      retries: flags.retries,
      signal,
      onProgress: progress => display?.show(progress),
    })
    const { transferId: _id, digestKind, digest, ...figures } = outcome
    const hex = Buffer.from(digest).toString('hex')
    return { file: item.file, host: item.host, ...figures, digest: { kind: digestKind, hex } }
  } finally {
    display?.stop()
  }
}

/** Parses `--retries`. Throws WEIR_BAD_ARGUMENT. */
export function parseRetries(text: string): number {
  return whole('--retries', text, 0, RETRIES_MAX)
}

export function summary(item: Item, done: FileReport): string {
  const { damagedChunks } = done
  const again =
    damagedChunks === 0 ? '' : `, ${damagedChunks} damaged chunk${damagedChunks === 1 ? '' : 's'} moved again`
  const resumed = done.resumedBytes > 0 ? `, resumed at ${formatBytes(done.resumedBytes)}` : ''
  return (
    `${printable(item.describe(done.path))}  ${formatBytes(done.bytes)} in ${formatDuration(Math.round(done.seconds * 1e9))}, ` +
    `${formatRate(Math.round(done.goodputBps))}, retransmitted ${formatBytes(done.retransmittedBytes)}${again}${resumed}, ` +
    `${done.digest.kind} ${done.digest.hex} at both ends${attemptsOf(done)}${controllerOf(done)}`
  )
}

function controllerOf({ controller, controllerReason }: FileReport): string {
  return controller === '' ? '' : `, ${controller} (${controllerReason})`
}

/** A single attempt needs no summary. */
function attemptsOf({ attempts, restarts }: FileReport): string {
  if (attempts === 1) return ''
  const anew =
    restarts === 0 ? '' : ', started again from byte 0: the part that had arrived was gone or of another file'
  return `, ${attempts} attempts${anew}`
}

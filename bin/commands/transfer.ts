/** The common parts of `weir send` and `weir get`: options, the bar, the report, Ctrl-C. */
import { basename } from 'node:path'
import type { Command } from 'commander'
import {
  connectDaemon,
  type DaemonClient,
  type TransferOptions,
  type TransferReply,
  type TreeTotals,
} from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import type { CommandOption } from '../../lib/options/option.js'
import { printable } from '../../lib/printable.js'
import { DIGEST, RETRIES } from '../../lib/transfer/transfer-options.js'
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { PEER_PORT } from './host-path.js'
import { withSocketOption } from './socket-option.js'
import { transferDisplay } from './transfer-display.js'
import { addValueOptions, valuesOf } from './value-options.js'

export interface TransferFlags {
  socket: string
  port?: string
  overwrite?: boolean
  digest?: string
  retries?: string
  json?: boolean
  quiet?: boolean
}

const OPTIONS = [PEER_PORT, DIGEST, RETRIES] as const satisfies readonly CommandOption[]

/** What `--json` prints. */
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
  /** Asks the daemon to move the file. */
  start(client: DaemonClient, options: TransferOptions): Promise<TransferReply>
  /** What to do in its place after such a failure; null = nothing. Default: nothing. */
  instead?(error: unknown): readonly Item[] | null
  /** Nothing moves. */
  isDryRun?: boolean
  /** Describes source and destination for people. */
  describe(path: string): string
}

/** Adds the options of both commands. */
export function withTransferOptions(command: Command): Command {
  return addValueOptions(withSocketOption(command), OPTIONS)
    .option('--overwrite', 'replace existing files')
    .option('--json', 'print the outcome as JSON')
    .option('-q, --quiet', 'print nothing but errors')
}

/**
 * Makes the transfers one after the other. The first failure ends it.
 * @param output where their lines go
 */
export async function runTransfers(
  items: readonly Item[],
  flags: TransferFlags,
  output: NodeJS.WriteStream = process.stdout,
): Promise<void> {
  if (flags.json && flags.quiet)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      '--quiet prints nothing, --json the outcome: leave one of them out',
    )
  const isSilent = (flags.json ?? flags.quiet) === true
  const values = valuesOf(OPTIONS, flags)
  const asked = { overwrite: flags.overwrite ?? false, digest: values.digest!, retries: values.retries! }
  const report: TransferReport = { files: [], bytes: 0, seconds: 0 }
  const cancelled = new AbortController()
  const client = await connectDaemon(flags.socket)
  const removeHandlers = cancelOnSignal(cancelled)
  let file = ''
  try {
    // What comes to a terminal is not mixed with a line that moves.
    const isMixed = output !== process.stdout && process.stdout.isTTY
    const run = { client, asked, isSilent: isSilent || isMixed, signal: cancelled.signal }
    const toDo = [...items]
    while (toDo.length > 0) {
      const item = toDo.shift()!
      file = item.file
      const done = await runOne(item, run).catch(error => {
        const others = item.instead?.(error) ?? null
        if (others === null) throw error
        toDo.unshift(...others)
        return null
      })
      if (done === null) continue
      report.files.push(done)
      report.bytes += done.bytes
      report.seconds += done.seconds
      if (!isSilent) output.write(`${summary(item, done)}\n`)
    }
  } catch (error) {
    const { code, message } = error as WeirError
    report.error = { code, message, file }
    if (code !== 'WEIR_CANCELLED' || !cancelled.signal.aborted) throw error
    throw new WeirError(code, message, { cause: cancelled.signal.reason })
  } finally {
    if (flags.json) output.write(`${JSON.stringify(report, null, 2)}\n`)
    client.close()
    removeHandlers()
  }
}

/** The other host's version, or that of the daemon here, moves one file a connection. */
export function isTooOld(error: unknown): boolean {
  const { code, message } = error as WeirError
  return code === 'WEIR_REJECTED' && /does not know such (transfers|requests)/.test(message)
}

interface Run {
  client: DaemonClient
  asked: Pick<TransferOptions, 'overwrite' | 'digest' | 'retries'>
  /** Nothing is shown meanwhile. */
  isSilent: boolean
  signal: AbortSignal
}

async function runOne(item: Item, { client, asked, isSilent, signal }: Run): Promise<FileReport> {
  const display = isSilent ? null : transferDisplay(basename(item.file))
  try {
    const outcome = await item.start(client, {
      ...asked,
      signal,
      onProgress: progress => display?.show(progress),
    })
    const { transferId: _id, digestKind, digest, tree, ...figures } = outcome
    const hex = Buffer.from(digest).toString('hex')
    const counts = tree === null ? {} : { tree }
    return { file: item.file, host: item.host, ...figures, digest: { kind: digestKind, hex }, ...counts }
  } finally {
    display?.stop()
  }
}

export function summary(item: Item, done: FileReport): string {
  if (item.isDryRun && done.tree) return wouldBe(item, done.tree)
  const { damagedChunks } = done
  const again =
    damagedChunks === 0 ? '' : `, ${damagedChunks} damaged chunk${damagedChunks === 1 ? '' : 's'} moved again`
  const resumed = done.resumedBytes > 0 ? `, resumed at ${formatBytes(done.resumedBytes)}` : ''
  return (
    `${printable(item.describe(done.path))}  ${countsOf(done)}${formatBytes(done.bytes)} in ${formatDuration(Math.round(done.seconds * 1e9))}, ` +
    `${formatRate(Math.round(done.goodputBps))}, retransmitted ${formatBytes(done.retransmittedBytes)}${again}${resumed}, ` +
    `${done.digest.kind} ${done.digest.hex} at both ends, ${sealOf(done)}${attemptsOf(done)}${controllerOf(done)}`
  )
}

/** `sealed with NAME`, or `in the clear`. */
function sealOf({ sealedWith }: FileReport): string {
  return sealedWith ? `sealed with ${printable(sealedWith)}` : 'in the clear'
}

/** A line a file that would move, and what all of it comes to. */
function wouldBe(
  { file, host }: Item,
  { files, movedFiles, movedBytes, skipped, wouldMove }: TreeTotals,
): string {
  const count = (number: number) => number.toLocaleString('en')
  const more = movedFiles - wouldMove.length
  const lines = wouldMove.map(path => `would move ${printable(path)}`)
  if (more > 0) lines.push(`and ${count(more)} more`)
  const left = skipped === 0 ? '' : `, ${count(skipped)} left out`
  const what = `${printable(file)}, ${host}: ${count(movedFiles)} of ${count(files)} files would move`
  return [...lines, `${what}, ${formatBytes(movedBytes)}${left}. Nothing was changed`].join('\n')
}

/** As in "2,000 files, 12 of them new or changed, ". */
function countsOf({ tree }: FileReport): string {
  if (tree === undefined) return ''
  const { files, movedFiles, skipped } = tree
  const moved = movedFiles === files ? '' : `${movedFiles.toLocaleString('en')} of them new or changed, `
  const left = skipped === 0 ? '' : `${skipped.toLocaleString('en')} left out, `
  return `${files.toLocaleString('en')} file${files === 1 ? '' : 's'}, ${moved}${left}`
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

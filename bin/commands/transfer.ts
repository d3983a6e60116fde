/** The common parts of `weir send` and `weir get`: options, the bar, the report, Ctrl-C. */
import { basename } from 'node:path'
import type { Command } from 'commander'
import {
  connectDaemon,
  type DaemonClient,
  type TransferOptions,
  type TreeTotals,
} from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import type { CommandOption } from '../../lib/options/option.js'
import { printable } from '../../lib/printable.js'
import { DIGEST, RETRIES, STREAMS } from '../../lib/transfer/transfer-options.js'
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { countsOfDeleted } from './deletion.js'
import { folded } from './fit.js'
import { PEER_PORT } from './host-path.js'
import { withSocketOption } from './socket-option.js'
import { transferDisplay } from './transfer-display.js'
import { TransferEvents } from './transfer-events.js'
import type { FileReport, Item, TransferReport } from './transfer-item.js'
import { addValueOptions, valuesOf } from './value-options.js'

export interface TransferFlags {
  socket: string
  port?: string
  overwrite?: boolean
  digest?: string
  retries?: string
  streams?: string
  json?: boolean
  quiet?: boolean
}

const OPTIONS = [PEER_PORT, DIGEST, RETRIES, STREAMS] as const satisfies readonly CommandOption[]

/** Adds the options of both commands. */
export function withTransferOptions(command: Command): Command {
  return addValueOptions(withSocketOption(command), OPTIONS)
    .option('--overwrite', 'replace existing files')
    .option('--json', 'print a line of JSON for each event: start, progress, retry, file, done, failed')
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
      '--quiet prints nothing, --json all that happens: leave one of them out',
    )
  const isSilent = (flags.json ?? flags.quiet) === true
  const values = valuesOf(OPTIONS, flags)
  const { digest, retries, streams } = values
  const asked = {
    overwrite: flags.overwrite ?? false,
    digest: digest!,
    retries: retries!,
    streams: streams!,
  }
  const report: TransferReport = { files: [], bytes: 0, seconds: 0 }
  const events = flags.json ? new TransferEvents(output) : null
  const cancelled = new AbortController()
  const client = await connectDaemon(flags.socket)
  const removeHandlers = cancelOnSignal(cancelled)
  let file = ''
  try {
    // What comes to a terminal is not mixed with a line that moves.
    const isMixed = output !== process.stdout && process.stdout.isTTY
    const run = { client, asked, isSilent: isSilent || isMixed, events, signal: cancelled.signal }
    const toDo = [...items]
    events?.start(items)
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
      events?.file(done)
      report.bytes += done.bytes
      report.seconds += done.seconds
      if (!isSilent) output.write(`${folded(summary(item, done), output)}\n`)
    }
  } catch (error) {
    const { code, message } = error as WeirError
    report.error = { code, message, file }
    if (code !== 'WEIR_CANCELLED' || !cancelled.signal.aborted) throw error
    throw new WeirError(code, message, { cause: cancelled.signal.reason })
  } finally {
    events?.end(report)
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
  asked: Pick<TransferOptions, 'overwrite' | 'digest' | 'retries' | 'streams'>
  /** Nothing is shown meanwhile. */
  isSilent: boolean
  /** Null: nobody hears of them. */
  events: TransferEvents | null
  signal: AbortSignal
}

async function runOne(item: Item, { client, asked, isSilent, events, signal }: Run): Promise<FileReport> {
  await item.confirm?.(client, { ...asked, signal })
  const display = isSilent ? null : transferDisplay(basename(item.file))
  try {
    const outcome = await item.start(client, {
      ...asked,
      signal,
      onProgress: progress => {
        display?.show(progress)
        events?.progress(item, progress)
      },
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
  // What did not move has no rate, and no digest of its own.
  const hasMoved = done.tree === undefined || done.tree.movedFiles > 0
  const rate = hasMoved ? `${formatRate(Math.round(done.goodputBps))}, ` : ''
  const digest = hasMoved ? `${done.digest.kind} ${done.digest.hex} at both ends, ` : ''
  return (
    `${printable(item.describe(done.path))}  ${countsOf(done)}${formatBytes(done.bytes)} in ${formatDuration(Math.round(done.seconds * 1e9))}, ` +
    `${rate}retransmitted ${formatBytes(done.retransmittedBytes)}${movesOf(done)}${again}${resumedOf(done)}, ` +
    `${digest}${sealOf(done)}${streamsOf(done)}${attemptsOf(done)}${controllerOf(done)}`
  )
}

/** `, moved to another path once`, or nothing. */
function movesOf({ pathMoves }: FileReport): string {
  if (pathMoves === 0) return ''
  return `, moved to another path ${pathMoves === 1 ? 'once' : `${pathMoves} times`}`
}

/** `, resumed at SIZE` of what moves, or nothing: files of a folder that the receiver had already do not move. */
function resumedOf({ bytes, resumedBytes, tree }: FileReport): string {
  const at = resumedBytes - (tree === undefined ? 0 : bytes - tree.movedBytes)
  return at > 0 ? `, resumed at ${formatBytes(at)}` : ''
}

/** `sealed with NAME`, or `in the clear`. */
function sealOf({ sealedWith }: FileReport): string {
  return sealedWith ? `sealed with ${printable(sealedWith)}` : 'in the clear'
}

function streamsOf({ streams }: FileReport): string {
  return streams > 1 ? `, ${streams} streams` : ''
}

/** A line a file that would move, and what all of it comes to. */
function wouldBe({ file, host }: Item, tree: TreeTotals): string {
  const { files, movedFiles, movedBytes, skipped, wouldMove, wouldDelete } = tree
  const count = (number: number) => number.toLocaleString('en')
  const more = movedFiles - wouldMove.length
  const lines = wouldMove.map(path => `would move ${printable(path)}`)
  if (more > 0) lines.push(`and ${count(more)} more`)
  lines.push(...wouldDelete.map(path => `would delete ${printable(path)}`))
  const deletions = tree.deletedFiles + tree.deletedFolders
  if (deletions > wouldDelete.length) lines.push(`and ${count(deletions - wouldDelete.length)} more`)
  const left = skipped === 0 ? '' : `, ${count(skipped)} left out`
  const what = `${printable(file)}, ${host}: ${count(movedFiles)} of ${count(files)} files would move`
  const gone = deletions === 0 ? '' : `, ${countsOfDeleted(tree)} would be deleted`
  return [...lines, `${what}, ${formatBytes(movedBytes)}${left}${gone}. Nothing was changed`].join('\n')
}

/** As in "2,000 files, 12 of them new or changed, ". */
function countsOf({ tree }: FileReport): string {
  if (tree === undefined) return ''
  const { files, movedFiles, skipped } = tree
  const moved = movedFiles === files ? '' : `${movedFiles.toLocaleString('en')} of them new or changed, `
  const left = skipped === 0 ? '' : `${skipped.toLocaleString('en')} left out, `
  const gone = tree.deletedFiles + tree.deletedFolders === 0 ? '' : `${countsOfDeleted(tree)} deleted, `
  return `${files.toLocaleString('en')} file${files === 1 ? '' : 's'}, ${moved}${left}${gone}`
}

function controllerOf({ controller, controllerReason }: FileReport): string {
  return controller === '' ? '' : `, ${controller} (${controllerReason})`
}

/** A single attempt needs no summary. */
function attemptsOf({ attempts, restarts }: FileReport): string {
  if (attempts === 1) return ''
  const anew =
    restarts === 0
      ? ''
      : ', started again from byte 0: what had arrived was no whole chunk, gone, or of another file'
  return `, ${attempts} attempts${anew}`
}

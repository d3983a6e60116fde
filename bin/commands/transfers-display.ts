/** Output of `weir transfers`. */
import type { Progress, TransferInfo } from '../../lib/client/daemon-client.js'
import { printable } from '../../lib/printable.js'
import { table } from '../../lib/scenario/result/table.js'
import { fit, widthOf } from '../../lib/text-width.js'
import { formatBytes, formatRate } from '../../lib/units/units.js'
import { columnsOf } from './fit.js'

/** Output of `--json`. */
export interface TransfersReport {
  transfers: TransferInfo[]
}

const HEAD = ['id', 'state', 'done', 'size', 'rate', 'file']
const GAP_COLUMNS = 2
/** The head of a table, and the line below it. */
const HEAD_ROWS = 2
/** If fewer columns than this remain beside the others, file and peer are below them. */
const LAST_COLUMNS_MIN = 16

/** @param rows of the terminal: some of the transfers stand for all where these would take more */
export function transfersText(
  transfers: readonly TransferInfo[],
  columns: number = columnsOf(process.stdout),
  rows = Number.POSITIVE_INFINITY,
): string {
  if (transfers.length === 0) return 'no transfers\n'
  const all = tableOf(transfers, columns)
  const lines = linesOf(all)
  if (lines <= rows) return all
  // A table that is folded has several bands, each with all of the transfers, and an empty line between two of them.
  const bands = Math.round((lines + 1) / (transfers.length + HEAD_ROWS + 1))
  const most = Math.max(1, Math.floor(rows / bands) - HEAD_ROWS - 1)
  const left = transfers.length - most
  const listed = tableOf(transfers.slice(0, most), columns)
  return left <= 0 ? listed : `${listed}… ${left} more ${left === 1 ? 'transfer' : 'transfers'}\n`
}

function tableOf(transfers: readonly TransferInfo[], columns: number): string {
  const cells = transfers.map(cellsOf)
  const used = HEAD.slice(0, -1).map((title, i) =>
    Math.max(title.length, ...cells.map(row => row[i]!.length)),
  )
  const beside = columns - used.reduce((sum, width) => sum + width + GAP_COLUMNS, 0)
  const left = beside >= LAST_COLUMNS_MIN ? beside : columns - used[0]! - GAP_COLUMNS
  const rows = transfers.map((transfer, i) => [...cells[i]!, fileAndPeer(transfer, left)])
  return table(HEAD, rows, 2, columns, true)
}

function linesOf(text: string): number {
  return text.trimEnd().split('\n').length
}

function cellsOf({ transferId, progress }: TransferInfo): string[] {
  if (progress === null) return [transferId, '-', '-', '-', '-']
  const { bytes, totalBytes, goodputBps } = progress
  return [
    transferId,
    stateOf(progress),
    totalBytes > 0 ? `${Math.floor((bytes / totalBytes) * 100)}%` : '-',
    totalBytes > 0 ? formatBytes(totalBytes) : '-',
    goodputBps > 0 ? formatRate(Math.round(goodputBps)) : '-',
  ]
}

/** `streaming`, `waiting 1/5`, `streaming, 1 move`. */
function stateOf({ state, retry, retries, pathMoves }: Progress): string {
  const tried = retry > 0 ? ` ${retry}/${retries}` : ''
  return `${state}${tried}${pathMoves > 0 ? `, ${pathMoves} ${pathMoves === 1 ? 'move' : 'moves'}` : ''}`
}

/** Formats `big.iso to 10.0.0.7`. The peer is never cut; the file gets the remaining columns. */
function fileAndPeer({ direction, name, peer, progress }: TransferInfo, columns: number): string {
  const outwards = direction === 'send' || direction === 'serve'
  const where = ` ${outwards ? 'to' : 'from'} ${printable(peer)}${progress?.sealedWith ? ' (sealed)' : ''}`
  return fit(fit(printable(name) || '-', Math.max(1, columns - widthOf(where))) + where, columns)
}

/** Output of `weir transfers`. */
import type { Progress, TransferInfo } from '../../lib/client/daemon-client.js'
import { printable } from '../../lib/printable.js'
import { table } from '../../lib/scenario/result/table.js'
import { formatBytes, formatRate } from '../../lib/units/units.js'
import { columnsOf, fit } from './fit.js'

/** Output of `--json`. */
export interface TransfersReport {
  transfers: TransferInfo[]
}

const HEAD = ['id', 'state', 'done', 'size', 'rate', 'file']
const GAP_COLUMNS = 2
/** If fewer columns than this remain beside the others, file and peer are below them. */
const LAST_COLUMNS_MIN = 16

export function transfersText(
  transfers: readonly TransferInfo[],
  columns: number = columnsOf(process.stdout),
): string {
  if (transfers.length === 0) return 'no transfers\n'
  const cells = transfers.map(cellsOf)
  const used = HEAD.slice(0, -1).map((title, i) =>
    Math.max(title.length, ...cells.map(row => row[i]!.length)),
  )
  const beside = columns - used.reduce((sum, width) => sum + width + GAP_COLUMNS, 0)
  const left = beside >= LAST_COLUMNS_MIN ? beside : columns - used[0]! - GAP_COLUMNS
  const last = transfers.map(transfer => fileAndPeer(transfer, left))
  const width = Math.max(HEAD.at(-1)!.length, ...last.map(text => [...text].length))
  const rows = cells.map((row, i) => [...row, last[i]!.padEnd(width)])
  return table([...HEAD.slice(0, -1), HEAD.at(-1)!.padEnd(width)], rows, 2, columns)
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
  return fit(fit(printable(name) || '-', Math.max(1, columns - where.length)) + where, columns)
}

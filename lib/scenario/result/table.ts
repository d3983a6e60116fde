/** Tables for people. */
import Table from 'cli-table3'
import { widthOf } from '../../text-width.js'
import { fold } from './fold.js'

const GAP = '  '
/** From so many rows on, a band of zeros is worth a line only. */
const ROWS_OF_ZEROS = 3
/** As in `0`, `0B`, `0.0%`. */
const ZERO = /^0(\.0+)?[a-zA-Z%]*$/

/** Lines above and below the head only. This reads well in a terminal, a pipe and a diff. */
const LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: GAP,
}

/** A table, whatever it is shown in. */
export interface TableData {
  head: readonly string[]
  rows: readonly (readonly string[])[]
  /** Number of columns with words, aligned left; the others are figures. */
  leftColumns: number
}

/** Formats a table as `table` does. */
export function tableText({ head, rows, leftColumns }: TableData, columns: number): string {
  return table(head, rows, leftColumns, columns)
}

/**
 * Formats a table as plain text. A table that is wider than the terminal is folded into bands, one below the
 * other, because lines that the terminal breaks are unreadable. Each band begins with the first column. Figures that would be in another band
 * and are zero in all rows are in a line below.
 *
 * @param leftColumns number of columns with words, aligned left; the others are figures
 * @param columns of the terminal
 * @param endsWithWords the last column has words too
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  leftColumns: number,
  columns = Number.POSITIVE_INFINITY,
  endsWithWords = false,
): string {
  const isLeft = (i: number) => i < leftColumns || (endsWithWords && i === head.length - 1)
  const widths = head.map((title, i) => Math.max(widthOf(title), ...rows.map(row => widthOf(row[i]!))))
  const rules = widths.map(width => '-'.repeat(width))
  const text = (shown: readonly number[]) =>
    bandsOf(shown, widths, columns)
      .map(band => bandText(band, [head, rules, ...rows], isLeft))
      .join('\n')
  const isZero = (i: number) => !isLeft(i) && rows.every(row => row[i] === rows[0]![i] && ZERO.test(row[i]!))
  const [, ...others] = rows.length < ROWS_OF_ZEROS ? [] : bands(widths, columns)
  const zeros = others.flatMap(band => band.slice(1)).filter(isZero)
  const shown = [...head.keys()].filter(i => !zeros.includes(i))
  if (zeros.length === 0) return text(shown)
  const said = zeros.map(i => `${head[i]} ${rows[0]![i]}`).join(', ')
  return `${text(shown)}${fold(`in all rows: ${said}`, columns, GAP.length)}\n`
}

/** As `bands`, of some columns. */
function bandsOf(shown: readonly number[], widths: readonly number[], columns: number): number[][] {
  const among = shown.map(i => widths[i]!)
  return bands(among, columns).map(band => band.map(i => shown[i]!))
}

/**
 * Returns the indices of the columns of each band: as many as fit, but at least the first column and another
 * one.
 */
export function bands(widths: readonly number[], columns: number): number[][] {
  const first = widths[0] ?? 0
  const all: number[][] = [[0]]
  let used = first
  for (let i = 1; i < widths.length; i++) {
    const needed = GAP.length + widths[i]!
    if (used + needed > columns && all.at(-1)!.length > 1) {
      all.push([0])
      used = first
    }
    all.at(-1)!.push(i)
    used += needed
  }
  return all
}

function bandText(
  band: readonly number[],
  lines: readonly (readonly string[])[],
  isLeft: (column: number) => boolean,
): string {
  const [head, ...rest] = lines.map(line => band.map(i => line[i]!))
  const printed = new Table({
    head: head!,
    colAligns: band.map(i => (isLeft(i) ? 'left' : 'right')),
    chars: LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  printed.push(...rest)
  const text = printed.toString().split('\n')
  return `${text.map(line => line.trimEnd()).join('\n')}\n`
}

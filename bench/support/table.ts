/** Tables of benchmarks, as wide as the terminal. */
import { table as tableFor } from '../../lib/scenario/result/table.js'
import { columnsMost } from '../../lib/text-width.js'

/** As the table of results. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  leftColumns: number,
): string {
  return tableFor(head, rows, leftColumns, columnsMost(process.stdout))
}

/** `--watch`: what a command prints, again every second. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EndSignal } from '../../lib/end-signals.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { nobodyReads } from '../closed-pipe.js'
import { signalExitCode } from '../failure.js'
import { liveLines } from '../progress/live-lines.js'
import { untilAborted } from '../until-aborted.js'
import { columnsOf } from './fit.js'

const EVERY_MS = 1000
const QUIET_LOOKS_MAX = 10
/** Rows of a terminal that does not report them. */
const ROWS_USUAL = 24

interface Watching<Report extends object> {
  ask: () => Promise<Report>
  /** One line of JSON each time. */
  json: boolean
  /** The report for people, with a line end. One that has more lines than `rows` is cut. */
  text: (report: Report, columns: number, rows?: number) => string
  /** What of the report counts as a change, in a pipe. Default: all that people read. */
  changing?: (report: Report) => Report
}

/**
 * Prints a report every second until a signal. A terminal shows one block that changes in place. A pipe gets a block, and an empty line
 * behind it, whenever something has changed, and after QUIET_LOOKS_MAX looks: only who writes notices that nobody reads any more.
 */
export async function watch<Report extends object>(watching: Watching<Report>): Promise<void> {
  const { ask, json, text, changing = report => report } = watching
  const cancelled = new AbortController()
  const { signal } = cancelled
  const removeHandlers = cancelOnSignal(cancelled)
  const stream = process.stdout
  const lines = json ? null : liveLines(stream)
  let before = ''
  let quiet = 0
  try {
    for (;;) {
      const report = await untilAborted(ask(), signal)
      if (report === null) break
      if (json) stream.write(`${JSON.stringify(report)}\n`)
      else if (lines !== null) {
        const rows = rowsFor(stream.rows)
        lines.drawNow(columns => shown(text(report, columns, rows), rows))
      } else {
        const columns = columnsOf(stream)
        const key = text(changing(report), columns)
        quiet = key === before ? quiet + 1 : 0
        if (quiet % QUIET_LOOKS_MAX === 0) stream.write(`${text(report, columns)}\n`)
        before = key
      }
      await sleep(EVERY_MS, undefined, { signal }).catch(() => {})
    }
    if (!nobodyReads()) process.exitCode = signalExitCode(signal.reason as EndSignal)
  } finally {
    lines?.leave()
    removeHandlers()
  }
}

/** Rows for a block: what has scrolled out of a terminal cannot be overwritten. */
function rowsFor(terminal: number | undefined): number {
  return Math.max(2, terminal || ROWS_USUAL) - 1
}

/** The lines of a block, at most so many. */
export function shown(block: string, most: number): string[] {
  const all = block.trimEnd().split('\n')
  if (all.length <= most) return all
  return [...all.slice(0, most - 1), `… ${all.length - most + 1} more lines`]
}

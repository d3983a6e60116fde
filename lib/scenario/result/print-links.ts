/** What was set of links, and what became of their frames, for people. */
import { formatDuration } from '../../units/units.js'
import type { LinkResult, RunResult, TimelineEntry } from './result.js'
import { type TableData, tableText } from './table.js'

/** Entries of the timeline that are shown. The JSON has more. */
const TIMELINE_ROWS_MAX = 20

/** Formats directions of links. @param columns of the terminal; wider tables are folded */
export function linkTable(links: readonly LinkResult[], columns: number): string {
  return links.length === 0 ? '' : tableText(linkRows(links), columns)
}

/** What was set of directions of links, and what became of their frames. */
export function linkRows(links: readonly LinkResult[]): TableData {
  const head = ['link', 'frames', 'lost', 'cut', 'corrupted', 'duplicated', 'reordered', 'set']
  const rows = links.map(({ from, to, link, frames, lost, cut, corrupted, duplicated, reordered, set }) => [
    `${from} > ${to}${link.includes('#') ? link.slice(link.indexOf('#')) : ''}`,
    ...[frames, lost, cut, corrupted, duplicated, reordered].map(String),
    set === '' ? '-' : set,
  ])
  return { head, rows, leftColumns: 1 }
}

/** What happened to the network, all that the result has. */
export function timelineRows(timeline: readonly TimelineEntry[]): TableData {
  const rows = timeline.map(({ atNs, event }) => [formatDuration(atNs), event])
  return { head: ['at', 'event'], rows, leftColumns: 2 }
}

/** Formats what happened to the network. Empty: nothing did. */
export function timelineText({ timeline = [] }: Pick<RunResult, 'timeline'>): string {
  if (timeline.length === 0) return ''
  const lines = timeline
    .slice(0, TIMELINE_ROWS_MAX)
    .map(({ atNs, event }) => `  ${formatDuration(atNs).padEnd(10)} ${event}`)
  const rest = timeline.length - TIMELINE_ROWS_MAX
  return `Events:\n${lines.join('\n')}\n${rest > 0 ? `  and ${rest} more\n` : ''}`
}

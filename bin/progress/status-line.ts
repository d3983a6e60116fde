/** One line with the progress of something: a bar, and as many figures as fit the terminal. */
import { padded, widthOf, within } from '../../lib/text-width.js'

/** A figure of the line. */
export interface Part {
  text: string
  /** Parts with a lower rank remain longer when there is little room. */
  rank: number
  /** A sentence. It is cut rather than omitted. */
  message?: boolean
}

export interface Status {
  /** The first part. It is cut when it is too long. */
  name?: string
  /** What is done, 0 to 1. Absent: no bar. */
  share?: number
  /** In their order. */
  parts: readonly Part[]
}

const GAP = '  '
const BAR_LEAST = 8
const BAR_MOST = 50
/** The bar is omitted when parts with a lower rank need its room. */
const BAR_RANK = 3
const NAME_LEAST = 8
/** A shorter part of a sentence is useless. */
const MESSAGE_LEAST = 10
/** A name takes at most this share of the line. */
const NAME_SHARE = 1 / 3

/**
 * Lays lines out for a width. It remembers the width of each part, so that figures do not move while their
 * numbers change.
 */
export class StatusLine {
  #columns = 0
  #widths: number[] = []

  layout(columns: number, status: Status): string {
    const { share, parts } = status
    if (columns !== this.#columns || parts.length !== this.#widths.length) this.#widths = []
    this.#columns = columns
    const name = nameOf(columns, status)
    const widths = parts.map(({ text }, i) => Math.max(this.#widths[i] ?? 0, widthOf(text)))
    this.#widths = widths
    const chosen = choose(columns - (name === '' ? 0 : widthOf(name) + GAP.length), parts, widths, share)
    const texts = parts.flatMap(({ text }, i) => (chosen.parts[i] ? [padded(text, widths[i]!)] : []))
    const bar = share === undefined || chosen.bar === 0 ? [] : [drawBar(chosen.bar, share)]
    return within(columns, [...(name === '' ? [] : [name]), ...bar, ...texts].join(GAP).trimEnd())
  }
}

function nameOf(columns: number, { name = '', parts }: Status): string {
  if (name === '') return ''
  const most = Math.max(NAME_LEAST, Math.floor(columns * NAME_SHARE))
  const first = parts.reduce((least, part) => (part.rank < least.rank ? part : least), {
    text: '',
    rank: 1e9,
  })
  const room = columns - widthOf(first.text) - GAP.length
  return room < NAME_LEAST ? '' : within(Math.min(most, room), name)
}

/** Chooses which parts have room, by rank, and the width of the bar. */
function choose(
  columns: number,
  parts: readonly Part[],
  widths: readonly number[],
  share: number | undefined,
): { parts: boolean[]; bar: number } {
  const wanted = parts.map(({ rank }, i) => ({ rank, i, width: widths[i]! }))
  if (share !== undefined) wanted.push({ rank: BAR_RANK, i: -1, width: BAR_LEAST })
  const chosen = parts.map(() => false)
  let left = columns + GAP.length
  let bar = 0
  for (const { i, width } of wanted.sort((a, b) => a.rank - b.rank)) {
    const isCut = width + GAP.length > left && parts[i]?.message === true && left > MESSAGE_LEAST
    if (width + GAP.length > left && !isCut) break
    left = Math.max(0, left - width - GAP.length)
    if (i < 0) bar = width
    else chosen[i] = true
  }
  if (bar > 0) bar = Math.min(BAR_MOST, bar + left)
  return { parts: chosen, bar }
}

function drawBar(width: number, share: number): string {
  const done = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(done) + '░'.repeat(width - done)
}

/** Formats ` 61%` in whole percents. 100 means that all is done. */
export function percentOf(share: number): string {
  return `${Math.min(share >= 1 ? 100 : 99, Math.floor(share * 100))}%`.padStart(4)
}

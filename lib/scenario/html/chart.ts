/** One graph over time: SVG that stretches with the window, labels of its axes beside it, a legend above. */
import { escaped } from './page.js'

export interface Line {
  name: string
  timesNs: readonly number[]
  values: readonly number[]
  /** A value holds until the next one. Else lines join them. */
  steps?: boolean
  /** What is below it is filled. */
  area?: boolean
  /** Dashed, because another line may lie on it. */
  dashed?: boolean
}

/** A time at which something happened. */
export interface Mark {
  atNs: number
  text: string
  /** One of the legend. Absent: an event. */
  kind?: string
}

export interface Chart {
  title: string
  lines: readonly Line[]
  marks: readonly Mark[]
  fromNs: number
  toNs: number
  /** Formats a value of the vertical axis. */
  format: (value: number) => string
  /** The top is no less. */
  least?: number
  /** The axis is logarithmic from this value on; smaller values are drawn at the bottom. */
  logFrom?: number
  /** rem. */
  height?: number
}

/** Units of the picture, which is stretched. */
const WIDTH = 1000
const HEIGHT = 200
/** A line has at most so many pieces: the least and greatest value of each. */
const PIECES = 500
const COLOURS = 8
/** Marks have the colours behind those of the first lines. */
const KIND_COLOURS_FROM = 3
/** A value that is higher by so much of a step does not add a row. */
const STEP_TOLERANCE = 0.1
/** More marks of one kind are a band at the top: lines of the whole height would hide the graph. */
const MARKS_MAX = 40
const BAND_HEIGHT = 12
/** Marks of a band that are no farther apart are one. */
const BAND_STEP = 2
const HEIGHT_REM = 11
const ROWS = 4
const TICKS = 5

/** @param formatTime of the horizontal axis */
export function chartHtml(chart: Chart, formatTime: (ns: number) => string): string {
  const { title, lines, marks, fromNs, toNs, format, height = HEIGHT_REM } = chart
  const scale = scaleOf(chart)
  const x = (ns: number) => round(((ns - fromNs) / Math.max(1, toNs - fromNs)) * WIDTH)
  const y = (value: number) => round(HEIGHT * (1 - scale.shareOf(value)))
  const kinds = [...new Set(marks.flatMap(({ kind }) => (kind === undefined ? [] : [kind])))]
  const colour = (i: number) => `c${(i % COLOURS) + 1}`
  const kindColour = (kind: string) => colour(KIND_COLOURS_FROM + kinds.indexOf(kind))
  const rules = scale.labels.map(value => `<line x1="0" x2="${WIDTH}" y1="${y(value)}" y2="${y(value)}"/>`)
  const drawnMarks = [undefined, ...kinds].flatMap((kind, row) => {
    const own = marks
      .filter(one => one.kind === kind)
      .map(({ atNs, text }) => ({ x: x(atNs), texts: [text] }))
    const classes = kind === undefined ? 'event' : `mark ${kindColour(kind)}`
    const isBand = own.length > MARKS_MAX
    const band = isBand ? ' band' : ''
    const [top, bottom] = isBand ? [row * BAND_HEIGHT, (row + 1) * BAND_HEIGHT - 2] : [0, HEIGHT]
    return (isBand ? together(own) : own).map(
      ({ x: at, texts: [first, ...rest] }) =>
        `<line class="${classes}${band}" x1="${at}" x2="${at}" y1="${top}" y2="${bottom}"><title>${escaped(`${first}${rest.length > 0 ? ` and ${rest.length} more` : ''}`)}</title></line>`,
    )
  })
  const paths = lines.map((line, i) => {
    const points = pathOf(line, fromNs, toNs, x, y)
    if (points === null) return ''
    const area = line.area
      ? `<path class="area ${colour(i)}" d="${points.d}L${points.lastX} ${HEIGHT}L${points.firstX} ${HEIGHT}Z"/>`
      : ''
    const classes = line.dashed ? `dashed ${colour(i)}` : colour(i)
    return `${area}<path class="${classes}" d="${points.d}"/>`
  })
  const labels = scale.labels.map(
    value => `<span style="top:${round(100 * (1 - scale.shareOf(value)))}%">${escaped(format(value))}</span>`,
  )
  const ticks = Array.from({ length: TICKS }, (_, i) => fromNs + ((toNs - fromNs) * i) / (TICKS - 1))
  const names = [
    ...lines.map(({ name }, i) => ({ name, classes: colour(i) })),
    ...kinds.map(kind => ({ name: kind, classes: kindColour(kind) })),
    ...(marks.some(({ kind }) => kind === undefined) ? [{ name: 'event', classes: 'event' }] : []),
  ]
  const legend = names.map(
    ({ name, classes }) => `<span class="${classes}"><i></i><span>${escaped(name)}</span></span>`,
  )
  return `<h3>${escaped(title)}</h3>
<div class="legend">${legend.join('')}</div>
<div class="chart"><div class="y" style="height:${height}rem">${labels.join('')}</div>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" style="height:${height}rem" role="img" aria-label="${escaped(title)}">
${[...rules, ...drawnMarks, ...paths].join('\n')}
</svg>
<div class="x">${ticks.map(ns => `<span>${escaped(formatTime(Math.round(ns)))}</span>`).join('')}</div></div>
`
}

interface PlacedMark {
  x: number
  texts: string[]
}

/** Joins marks that lie together. They are sorted first: decisions of several features come feature by feature. */
function together(marks: readonly PlacedMark[]): PlacedMark[] {
  const joined: PlacedMark[] = []
  for (const mark of [...marks].sort((a, b) => a.x - b.x)) {
    const last = joined.at(-1)
    if (last !== undefined && mark.x - last.x < BAND_STEP) last.texts.push(...mark.texts)
    else joined.push({ x: mark.x, texts: [...mark.texts] })
  }
  return joined
}

interface Scale {
  /** 0 at the bottom, 1 at the top. */
  shareOf(value: number): number
  labels: number[]
}

function scaleOf({ lines, least = 0, logFrom }: Chart): Scale {
  const highest = lines.reduce((top, { values }) => values.reduce((a, b) => Math.max(a, b), top), least)
  if (logFrom !== undefined) {
    const decades = Math.max(1, Math.ceil(Math.log10(Math.max(highest, logFrom) / logFrom)))
    return {
      shareOf: value => Math.min(1, Math.max(0, Math.log10(Math.max(value, logFrom) / logFrom) / decades)),
      labels: Array.from({ length: decades + 1 }, (_, i) => logFrom * 10 ** i),
    }
  }
  const step = roundStep(highest / ROWS)
  const rows = Math.max(1, Math.ceil(highest / step - STEP_TOLERANCE))
  return {
    shareOf: value => Math.min(1, Math.max(0, value / (rows * step))),
    labels: Array.from({ length: rows + 1 }, (_, i) => i * step),
  }
}

/** Returns the least 1, 2 or 5 times a power of ten that is no less. */
function roundStep(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map(one => one * power).find(one => one >= value * (1 - 1e-9))!
}

function pathOf(
  { timesNs, values, steps = false }: Line,
  fromNs: number,
  toNs: number,
  x: (ns: number) => number,
  y: (value: number) => number,
): { d: string; firstX: number; lastX: number } | null {
  const points: [number, number][] = []
  const spanNs = Math.max(1, toNs - fromNs)
  let piece = -1
  let least = 0
  let most = 0
  const end = () => {
    if (piece < 0) return
    // The extremes of a piece in the order of their times, so that no peak is lost.
    for (const i of least === most ? [least] : [Math.min(least, most), Math.max(least, most)])
      points.push([x(timesNs[i]!), y(values[i]!)])
  }
  for (const [i, at] of timesNs.entries()) {
    if (at < fromNs || at > toNs) continue
    const own = Math.floor(((at - fromNs) / spanNs) * PIECES)
    if (own !== piece) {
      end()
      piece = own
      least = i
      most = i
      continue
    }
    if (values[i]! < values[least]!) least = i
    if (values[i]! > values[most]!) most = i
  }
  end()
  if (points.length === 0) return null
  const d = points.map(([px, py], i) => (i === 0 ? `M${px} ${py}` : steps ? `H${px}V${py}` : `L${px} ${py}`))
  return { d: d.join(''), firstX: points[0]![0], lastX: points.at(-1)![0] }
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

import { formatBytes, formatRate } from '../../lib/units/units.js'
import { type FilesView, type FileTransfer, flowName } from '../../switch-emu/real-time/send-files.js'
import { type LiveLines, liveLines } from '../progress/live-lines.js'
import { type Part, percentOf, StatusLine } from '../progress/status-line.js'

/** Shows the state of transfers. */
interface DemoDisplay {
  show(view: FilesView): void
  close(): void
}

interface DisplaySettings {
  transfers: readonly FileTransfer[]
  /** Bytes of each transfer. */
  sizes: readonly number[]
  /** Name of the port whose queue it shows. */
  bottleneck: string
  /** Queue length at which the bar is full, bytes. */
  queueBytesFull: number
}

/** Shows bars on a terminal. Elsewhere it prints a line at intervals. */
export function demoDisplay(
  settings: DisplaySettings,
  stream: NodeJS.WriteStream = process.stdout,
): DemoDisplay {
  const lines = liveLines(stream)
  return lines === null ? new Lines(settings, stream) : new Bars(settings, lines)
}

class Bars implements DemoDisplay {
  readonly #settings: DisplaySettings
  readonly #lines: LiveLines
  readonly #layouts: readonly StatusLine[]
  readonly #nameColumns: number
  #last: FilesView | null = null

  constructor(settings: DisplaySettings, lines: LiveLines) {
    this.#settings = settings
    this.#lines = lines
    this.#layouts = [...settings.transfers, null].map(() => new StatusLine())
    const names = [settings.bottleneck, ...settings.transfers.map(flowName)]
    this.#nameColumns = Math.max(...names.map(name => name.length))
  }

  show(view: FilesView): void {
    this.#last = view
    this.#lines.draw(columns => this.#draw(columns, view))
  }

  close(): void {
    const last = this.#last
    if (last !== null) this.#lines.drawNow(columns => this.#draw(columns, last))
    this.#lines.leave()
  }

  #draw(columns: number, view: FilesView): string[] {
    const { transfers, sizes, bottleneck, queueBytesFull } = this.#settings
    const { now, peak, marks, drops } = queueOf(view, bottleneck)
    const statuses = [
      ...transfers.map((one, i) => {
        const { bytes, parts } = describe(view, i)
        return { name: flowName(one), share: bytes / Math.max(1, sizes[i]!), parts }
      }),
      {
        name: bottleneck,
        share: now / queueBytesFull,
        parts: [
          { text: `queue ${formatBytes(now)}`, rank: 0 },
          { text: `peak ${formatBytes(peak)}`, rank: 1 },
          { text: `${marks} marks`, rank: 4 },
          { text: `${drops} drops`, rank: 2 },
        ],
      },
    ]
    return statuses.map((status, i) =>
      this.#layouts[i]!.layout(columns, { ...status, name: status.name.padEnd(this.#nameColumns) }),
    )
  }
}

/** Views between two printed lines. */
const VIEWS_A_LINE = 8

class Lines implements DemoDisplay {
  readonly #settings: DisplaySettings
  readonly #stream: NodeJS.WriteStream
  #views = 0

  constructor(settings: DisplaySettings, stream: NodeJS.WriteStream) {
    this.#settings = settings
    this.#stream = stream
  }

  show(view: FilesView): void {
    if (this.#views++ % VIEWS_A_LINE !== 0) return
    const parts = this.#settings.transfers.map((one, i) => {
      return [flowName(one), ...describe(view, i).parts.map(({ text }) => text.trim())].join(' ')
    })
    const { bottleneck } = this.#settings
    parts.push(`${bottleneck} queue ${formatBytes(queueOf(view, bottleneck).now)}`)
    this.#stream.write(`${view.seconds.toFixed(1).padStart(5)} s  ${parts.join('  |  ')}\n`)
  }

  close(): void {}
}

function describe(view: FilesView, index: number): { bytes: number; parts: Part[] } {
  const progress = view.transfers[index]
  if (progress === null || progress === undefined) return { bytes: 0, parts: [{ text: 'waits', rank: 0 }] }
  const { bytes, totalBytes, goodputBps, state } = progress
  const share = totalBytes > 0 ? bytes / totalBytes : 1
  // A transfer that has ended has no rate: the last known one is long out of date.
  const rate = goodputBps > 0 ? `at ${formatRate(Math.round(goodputBps))}` : state
  return {
    bytes,
    parts: [
      { text: percentOf(share), rank: 0 },
      { text: `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`, rank: 2 },
      { text: bytes === totalBytes ? 'sent' : rate, rank: 1 },
    ],
  }
}

function queueOf(view: FilesView, name: string) {
  const index = view.ports.findIndex(port => port.name === name)
  const port = view.ports[index]
  return {
    now: view.queueBytes[index] ?? 0,
    peak: port?.maxQueueBytes ?? 0,
    marks: port?.ecnMarks ?? 0,
    drops: port?.drops ?? 0,
  }
}

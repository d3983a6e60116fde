import cliProgress from 'cli-progress'
import { formatBytes, formatRate } from '../../lib/units/units.js'
import { type FilesView, type FileTransfer, flowName } from '../../switch-emu/real-time/send-files.js'

/** Shows how transfers stand. */
export interface DemoDisplay {
  show(view: FilesView): void
  close(): void
}

export interface DisplaySettings {
  transfers: readonly FileTransfer[]
  /** Bytes of each. */
  sizes: readonly number[]
  /** Name of the port whose queue is shown. */
  bottleneck: string
  /** Queue at which its bar is full. */
  queueBytesFull: number
}

/** Bars on a terminal, a line now and then elsewhere. */
export function demoDisplay(
  settings: DisplaySettings,
  stream: NodeJS.WriteStream = process.stdout,
): DemoDisplay {
  return stream.isTTY ? new Bars(settings, stream) : new Lines(settings, stream)
}

class Bars implements DemoDisplay {
  readonly #settings: DisplaySettings
  readonly #bars: cliProgress.MultiBar
  readonly #transfers: cliProgress.SingleBar[]
  readonly #queue: cliProgress.SingleBar

  constructor(settings: DisplaySettings, stream: NodeJS.WriteStream) {
    this.#settings = settings
    this.#bars = new cliProgress.MultiBar(
      { stream, format: '{name} {bar} {text}', hideCursor: true, barsize: 20, clearOnComplete: false },
      cliProgress.Presets.shades_classic,
    )
    const width = Math.max(settings.bottleneck.length, ...settings.transfers.map(one => flowName(one).length))
    const bar = (total: number, name: string) =>
      this.#bars.create(Math.max(1, total), 0, { name: name.padEnd(width), text: '' })
    this.#transfers = settings.transfers.map((one, i) => bar(settings.sizes[i]!, flowName(one)))
    this.#queue = bar(settings.queueBytesFull, settings.bottleneck)
  }

  show(view: FilesView): void {
    for (const [i, bar] of this.#transfers.entries()) {
      const { bytes, text } = describe(view, i)
      bar.update(Math.min(bytes, bar.getTotal()), { text })
    }
    const { now, peak, marks, drops } = queueOf(view, this.#settings.bottleneck)
    const text = `queue ${formatBytes(now)}, peak ${formatBytes(peak)}, ${marks} marks, ${drops} drops`
    this.#queue.update(Math.min(now, this.#queue.getTotal()), { text })
  }

  close(): void {
    this.#bars.stop()
  }
}

/** Views between two lines. */
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
    const parts = this.#settings.transfers.map((one, i) => `${flowName(one)} ${describe(view, i).text}`)
    const { bottleneck } = this.#settings
    parts.push(`${bottleneck} queue ${formatBytes(queueOf(view, bottleneck).now)}`)
    this.#stream.write(`${view.seconds.toFixed(1).padStart(5)} s  ${parts.join('  |  ')}\n`)
  }

  close(): void {}
}

function describe(view: FilesView, index: number): { bytes: number; text: string } {
  const progress = view.transfers[index]
  if (progress === null || progress === undefined) return { bytes: 0, text: 'waits' }
  const { bytes, totalBytes, goodputBps, state } = progress
  const at = `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`
  // Of one that has ended no rate is told any more: its last was of a moment that has long been over.
  if (bytes === totalBytes) return { bytes, text: `${at}, sent` }
  return {
    bytes,
    text: goodputBps > 0 ? `${at} at ${formatRate(Math.round(goodputBps))}` : `${at}, ${state}`,
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

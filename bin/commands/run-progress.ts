/** What a terminal shows while a scenario runs. */
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import type { RunView } from '../../switch-emu/run-view.js'
import { type LiveLines, liveLines } from '../progress/live-lines.js'
import { percentOf, type Status, StatusLine } from '../progress/status-line.js'

/** Shows on stderr how a run stands. */
interface RunProgress {
  /** Says what is waited for, before the traffic begins. */
  wait(what: string): void
  show(view: RunView): void
  /** Takes the line away while others are written. */
  clear(): void
  /** Leaves nothing behind. */
  stop(): void
}

/** Before that the time left is a guess. */
const SURE_AFTER_MS = 1000

/** On a terminal a line, elsewhere null. */
export function runProgress(stream: NodeJS.WriteStream = process.stderr): RunProgress | null {
  const lines = liveLines(stream)
  return lines === null ? null : new Shown(lines)
}

class Shown implements RunProgress {
  readonly #lines: LiveLines
  readonly #line = new StatusLine()
  #beganMs = 0
  /** What the drawing before this one showed: rates are those since then. */
  #last = { ms: 0, timeNs: 0, ackedBytes: 0 }
  #rates: { bps: number; speed: number } | null = null

  constructor(lines: LiveLines) {
    this.#lines = lines
  }

  wait(what: string): void {
    this.#lines.drawNow(columns => [
      this.#line.layout(columns, { parts: [{ text: what, rank: 0, message: true }] }),
    ])
  }

  show(view: RunView): void {
    const ms = performance.now()
    if (this.#beganMs === 0) this.#beganMs = ms
    this.#lines.draw(columns => {
      this.#measure(ms, view)
      return [this.#line.layout(columns, this.#status(ms, view))]
    })
  }

  clear(): void {
    this.#lines.clear()
  }

  stop(): void {
    this.#lines.close()
  }

  #measure(ms: number, { timeNs, ackedBytes }: RunView): void {
    const last = this.#last
    const ns = timeNs - last.timeNs
    if (last.ms > 0 && ns > 0) {
      this.#rates = { bps: ((ackedBytes - last.ackedBytes) * 8e9) / ns, speed: ns / 1e6 / (ms - last.ms) }
    }
    this.#last = { ms, timeNs, ackedBytes }
  }

  #status(ms: number, { timeNs, durationNs, flows, done, ackedBytes, bytes, on }: RunView): Status {
    const share = Math.max(bytes > 0 ? ackedBytes / bytes : 0, durationNs ? timeNs / durationNs : 0)
    const elapsedMs = ms - this.#beganMs
    const leftMs = share > 0 && elapsedMs >= SURE_AFTER_MS ? (elapsedMs * (1 - share)) / share : null
    const rates = this.#rates
    return {
      share,
      parts: [
        { text: percentOf(share), rank: 0 },
        { text: `${formatBytes(ackedBytes)} of ${formatBytes(bytes)}`, rank: 2 },
        { text: rates === null ? '-' : formatRate(Math.round(rates.bps)), rank: 6 },
        { text: `at ${formatDuration(Math.round(timeNs))}`, rank: 4 },
        ...(on === 'virtual' && rates !== null
          ? [{ text: `${Number(rates.speed.toPrecision(2))}x real time`, rank: 7 }]
          : []),
        { text: `${done}/${flows} flows`, rank: 5 },
        { text: leftMs === null ? '- left' : `${Math.ceil(leftMs / 1000)}s left`, rank: 1 },
      ],
    }
  }
}

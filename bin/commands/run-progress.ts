/** Progress of a scenario on a terminal. */
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import type { RunView } from '../../switch-emu/results/run-view.js'
import { type LiveLines, liveLines } from '../progress/live-lines.js'
import { percentOf, type Status, StatusLine } from '../progress/status-line.js'
import { timeLeft } from '../progress/time-left.js'

/** Shows the progress of a run on stderr. */
interface RunProgress {
  /** Says what the run waits for, before the traffic begins. */
  wait(what: string): void
  show(view: RunView): void
  /** Removes the line while others are written. */
  clear(): void
  /** Removes the line for good. */
  stop(): void
}

/** Before this time the remaining time is not shown, because it is a guess. */
const SURE_AFTER_MS = 1000

/** Returns a line on a terminal. Elsewhere null. */
export function runProgress(stream: NodeJS.WriteStream = process.stderr): RunProgress | null {
  const lines = liveLines(stream)
  return lines === null ? null : new Shown(lines)
}

class Shown implements RunProgress {
  readonly #lines: LiveLines
  readonly #line = new StatusLine()
  #beganMs = 0
  /** Values of the previous drawing. Rates are relative to it. */
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
        { text: timeLeft(leftMs === null ? null : leftMs / 1000), rank: 1 },
      ],
    }
  }
}

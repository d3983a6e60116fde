import { Presets, SingleBar } from 'cli-progress'
import type { Nanos } from '../../lib/time/nanos.js'
import { formatDuration } from '../../lib/units/units.js'

/** Tells on stderr how a run stands. */
export interface RunProgress {
  /** Says what is waited for, before the traffic begins. */
  wait(what: string): void
  /** Time since the traffic's start, flows that have ended, flows in all. */
  show(timeNs: Nanos, done: number, flows: number): void
  /** Leaves nothing behind. */
  stop(): void
}

/** On a terminal a bar, elsewhere null. */
export function runProgress(stream: NodeJS.WriteStream = process.stderr): RunProgress | null {
  if (!stream.isTTY) return null
  const bar = new SingleBar(
    { format: '{bar} {text}', barsize: 24, clearOnComplete: true, hideCursor: true, stream },
    Presets.shades_classic,
  )
  const update = (flows: number, done: number, text: string) => {
    if (!bar.isActive) bar.start(flows, done, { text })
    bar.setTotal(flows)
    bar.update(done, { text })
  }
  return {
    wait: what => update(1, 0, what),
    show: (timeNs, done, flows) =>
      update(flows, done, `${done}/${flows} flows  at ${formatDuration(timeNs)}`),
    stop: () => bar.stop(),
  }
}

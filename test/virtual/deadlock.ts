/** Rings of lossless switches in virtual time, with and without a watchdog. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { packageFile } from '../../lib/package-file.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import type { RunResult, Series } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

export const MS = 1_000_000
/** Interval of the samples. */
const EVERY = 10 * MS
export const DETECTION = 100 * MS
export const RESTORATION = 200 * MS
/**
 * The transport retransmits at most this long after a loss: 4 x the timeout, 4.096 us x 2^17 (IBA 9.7.6.1.3).
 */
const RESEND = 4 * 536.870912 * MS
export const RING = ['s1:s2', 's2:s3', 's3:s4', 's4:s1']

export function text(name: string): string {
  return readFileSync(packageFile('bench', 'scenarios', `${name}.yaml`), 'utf8')
}

export function run(yaml: string, file = 'ring.yaml'): RunResult {
  return new VirtualRun(parseScenario(yaml, file)).run()
}

export function runFile(name: string): RunResult {
  return run(text(name), `${name}.yaml`)
}

/** The scenario with `from` replaced, which must be there. */
export function changed(yaml: string, from: string, to: string): string {
  if (!yaml.includes(from)) throw new Error(`the scenario has no "${from}"`)
  return yaml.replace(from, to)
}

export const portsOf = (result: RunResult) => result.ports.filter(port => RING.includes(port.name))
export const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
export const drops = (result: RunResult) => sum(result.ports.map(port => port.drops))
type Watchdog = NonNullable<RunResult['ports'][number]['watchdog']>
export const watchdogs = (result: RunResult): Watchdog[] => result.ports.map(port => port.watchdog!)
export const detected = (result: RunResult) => sum(watchdogs(result).map(w => w.detected))
export const acked = (result: RunResult, flow: string): Series => result.series[`acked/${flow}`]!

export function finished(result: RunResult): boolean {
  return result.flows.every(flow => flow.fctNs !== null && flow.ackedBytes === flow.bytes)
}

/** Time of the sample in which a series last grew before `untilNs`. */
export function lastGrowth({ timesNs, values }: Series, untilNs: number): number {
  let last = 0
  for (let i = 1; i < values.length && timesNs[i]! <= untilNs; i++) {
    if (values[i]! > values[i - 1]!) last = timesNs[i]!
  }
  return last
}

/** Time of the sample by which a series has grown since `sinceNs`. */
function nextGrowth({ timesNs, values }: Series, sinceNs: number): number {
  const from = timesNs.findIndex(time => time >= sinceNs)
  const at = values.findIndex((value, i) => i > from && value > values[from]!)
  return at < 0 ? Number.POSITIVE_INFINITY : timesNs[at]!
}

export const CYCLE = text('deadlock-cycle')
/** The cycle with a watchdog of these settings. */
export const dogged = (settings: string) =>
  changed(
    CYCLE,
    'pfc: { xoff: 100KB }',
    `pfc: { xoff: 100KB, watchdog: { detectionTime: 100ms, restorationTime: 200ms, ${settings} } }`,
  )

/** Tests that a watchdog with that action makes the ring move again. */
export function testRecovery(action: 'forward' | 'drop'): void {
  t.test(`the watchdog recovers it by ${action}`, async t => {
    const yaml = changed(text('deadlock-ring-watchdog'), 'action: forward', `action: ${action}`)
    const result = run(yaml)
    t.ok(finished(result), 'every byte arrived')
    t.ok(detected(result) >= 1)
    t.equal(sum(watchdogs(result).map(w => w.restored)), detected(result))
    const first = Math.min(...watchdogs(result).flatMap(w => w.events.map(e => e.atNs)))
    // The ring as a whole stood still for the detection time, within a sample, and no longer.
    const stopped = Math.max(...RING.map(name => lastGrowth(result.series[`tx/${name}`]!, first - EVERY)))
    t.ok(first - stopped <= DETECTION + EVERY, `it stood still from ${stopped / MS} to ${first / MS} ms`)
    const moves = (series: Series) => nextGrowth(series, stopped)
    for (const name of ['s2:s3', 's3:s4']) {
      const at = moves(result.series[`tx/${name}`]!)
      t.ok(at <= stopped + DETECTION + RESTORATION, `${name} moves again at ${at / MS} ms`)
    }
    const other = moves(acked(result, 'flow1'))
    t.ok(other <= stopped + DETECTION + RESTORATION, `flow1 moves again at ${other / MS} ms`)
    // Packets of flow0 that expired in the loop, or were dropped, are retransmitted when the timer expires.
    const looped = moves(acked(result, 'flow0'))
    t.ok(looped <= stopped + DETECTION + RESTORATION + RESEND, `flow0 moves again at ${looped / MS} ms`)
    t.ok(result.ports.every(port => port.deadlocked === undefined))
    const dropped = sum(watchdogs(result).map(w => w.droppedFrames))
    const forwarded = sum(watchdogs(result).map(w => w.forwardedFrames))
    t.equal(dropped > 0, action === 'drop')
    t.equal(forwarded > 0, action === 'forward')
    t.match(printTables(result), /PFC watchdog: \d+ deadlocks? detected/)
    t.notMatch(printTables(result), /DEADLOCK/)
  })
}

/**
 * What flows have after an outage of their only link, in virtual time, beside what they had before it. The timers decide when the first packet
 * is retransmitted. From then on a flow has its share again within some tens of round trips, whatever its controller has seen before.
 */
import t from 'tap'
import { ccNames, ccTakesFairRates } from '../../lib/cc/catalogue.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { variants } from '../support/long.js'

const OUTAGE_MS = 2000
const DOWN_MS = 1000
const UP_MS = DOWN_MS + OUTAGE_MS
/** A retransmission timeout that backs off, and as much again. Round trips of the idle path are 6.5 ms. */
const RECOVERED_MS = 400
const MEASURED_MS = 500

/** Two flows of so many bytes whose link is down from `downMs` on. */
function scenario(cc: string, start: string, downMs: number, size: string, durationMs: number): Scenario {
  const rates = ccTakesFairRates(cc) ? 'rocc: {}, ' : ''
  const text = `
link: { rate: 50Mbps, delay: 1ms }
hosts: [h1..h4]
switches: { s1..s2: { ${rates}buffer: 1MB, ecn: { kmin: 20KB, kmax: 80KB, pmax: 0.2 } } }
links: [h1..h2--s1, s1--s2, s2--h3..h4]
cc: ${cc}
transport: { pathMtu: 1024, ackTimeout: 400ms, start: ${start} }
events: [{ at: ${downMs}ms, for: ${OUTAGE_MS}ms, link: s1--s2, down: true }]
traffic:
  - { name: a, from: h1, to: h3, size: ${size} }
  - { name: b, from: h2, to: h4, size: ${size} }
watch: { flows: true, every: 10ms }
duration: ${durationMs}ms
`
  return parseScenario(text, 'outage.yaml')
}

/** Payload of each flow before the outage and after it, bytes. */
function run(cc: string, start: string): { before: number; after: number }[] {
  const durationMs = UP_MS + RECOVERED_MS + MEASURED_MS
  const { series } = new VirtualRun(scenario(cc, start, DOWN_MS, '1GB', durationMs)).run()
  return ['a', 'b'].map(name => {
    const { timesNs, values } = series[seriesName('acked', name)]!
    const at = (ms: number) => values[timesNs.findLastIndex(ns => ns <= ms * 1e6)]!
    return {
      before: at(DOWN_MS) - at(DOWN_MS - MEASURED_MS),
      after: at(UP_MS + RECOVERED_MS + MEASURED_MS) - at(UP_MS + RECOVERED_MS),
    }
  })
}

/** These once crawled: timeouts that were taken for false ones, paces by round trips from before, and telemetry that one flow found later. */
const ONCE_SLOW = [
  ['auto', 'line-rate'],
  ['dcqcn', 'line-rate'],
  ['rocc', 'line-rate'],
  ['swift', 'careful'],
  ['timely', 'careful'],
] as const
const others = ccNames()
  .flatMap(cc => [[cc, 'line-rate'] as const, [cc, 'careful'] as const])
  .filter(([cc, start]) => !ONCE_SLOW.some(slow => slow[0] === cc && slow[1] === start))

for (const [cc, start] of variants([...ONCE_SLOW, ...others], ONCE_SLOW.length)) {
  t.test(`${cc}, flows that begin ${start}: after an outage of ${OUTAGE_MS / 1000} s`, async t => {
    const flows = run(cc, start)
    const sum = (bytes: number[]) => bytes.reduce((a, b) => a + b, 0)
    const [before, after] = [sum(flows.map(one => one.before)), sum(flows.map(one => one.after))]
    t.comment(flows.map(one => `${one.before} and ${one.after} bytes`).join(', '))
    t.ok(after > 0.9 * before, 'both together have what they had')
    for (const one of flows) t.ok(one.after > 0.5 * one.before, 'neither is left behind')
  })
}

/** After the outage's end: a retransmission timeout of 537 ms, and 1 MB for each flow at 25 Mbit/s. */
const DONE_MS = 1000

for (const [cc, start] of [
  ['dcqcn', 'careful'],
  ['dcqcn', 'line-rate'],
  ['cubic', 'careful'],
] as const)
  t.test(`${cc}, ${start}: an outage within the first round trips measures none of them`, async t => {
    for (const downMs of variants([4, 7, 11, 16, 6, 8, 10, 12, 14, 18, 20], 4)) {
      const endMs = downMs + OUTAGE_MS + DONE_MS
      const { flows } = new VirtualRun(scenario(cc, start, downMs, '1MB', endMs)).run()
      const all = flows.every(({ fctNs }) => fctNs !== null)
      t.ok(all, `down after ${downMs} ms: both are done within ${DONE_MS} ms of its end`)
    }
  })

/** CUBIC flows through one bottleneck in virtual time, and what they make of it. */
import t, { type Test } from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

export const RATE_MBPS = 20
export const RTT_MS = 20
export const MTU = 1024
/** Product of the bottleneck's rate and the round trip: 50,000 bytes. */
export const BDP_BYTES = (RATE_MBPS * 1e6 * RTT_MS) / 8e3

interface Bottleneck {
  flows: number
  /** Size of the queue, as a share of the bandwidth-delay product. */
  buffer: number
  seconds: number
  /** When flow i begins, ms. Default: one after the other. */
  startMs?: (i: number) => number
  /** Controller of flow i. Default cubic. */
  cc?: (i: number) => string
  rateMbps?: number
  /** The bottleneck writes telemetry. Default: no switch does. */
  telemetry?: boolean
}

/**
 * Hosts on links of ten times the rate, with different delays, so that their packets do not arrive in step.
 */
export function run({
  flows,
  buffer,
  seconds,
  startMs = i => 37 * i,
  cc = () => 'cubic',
  rateMbps = RATE_MBPS,
  telemetry,
}: Bottleneck): RunResult {
  const hosts = Array.from({ length: flows }, (_, i) => `h${i + 1}`)
  const links = hosts.map((host, i) => `{ ends: ${host}--s1, delay: ${1 + 13 * i}us }`)
  const silent = telemetry ? '' : 'telemetry: off, '
  const text = `
name: bottleneck
link: { rate: ${10 * rateMbps}Mbps, delay: 1us }
hosts: [${hosts.join(', ')}, sink]
switches: { s1: { telemetry: off }, s2: { ${silent}queueBytesMax: ${Math.round((buffer * BDP_BYTES * rateMbps) / RATE_MBPS)}B } }
links: [${links.join(', ')}, s1--s2, { ends: s2--sink, rate: ${rateMbps}Mbps, delay: ${RTT_MS * 500}us }]
transport: { pathMtu: ${MTU}, ackEvery: 16, start: careful }
traffic:
${hosts.map((host, i) => `  - { name: f${i}, from: ${host}, to: sink, size: 1GB, start: ${startMs(i)}ms, cc: ${cc(i)} }`).join('\n')}
watch: { queues: [s2:sink], every: 100ms }
duration: ${seconds}s
`
  return new VirtualRun(parseScenario(text, 'bottleneck.yaml')).run()
}

/** Mbit/s of each flow between two times, by acknowledged bytes. */
export function ratesMbps(result: RunResult, fromSeconds: number, toSeconds: number): number[] {
  return result.flows.map(({ name }) => {
    const { timesNs, values } = result.series[`acked/${name}`]!
    const at = (seconds: number) => values[timesNs.findLastIndex(ns => ns <= seconds * 1e9)] ?? 0
    return ((at(toSeconds) - at(fromSeconds)) * 8) / (toSeconds - fromSeconds) / 1e6
  })
}

export function jain(rates: readonly number[]): number {
  const sum = rates.reduce((a, b) => a + b)
  return sum ** 2 / rates.length / rates.reduce((a, b) => a + b * b, 0)
}

export const bottleneckOf = ({ ports }: RunResult) => ports.find(({ name }) => name === 's2:sink')!

/** Dropped bytes are retransmitted, and not much else. */
export function retransmitsWhatWasDropped(t: Test, result: RunResult): void {
  const dropped = bottleneckOf(result).drops * MTU
  const retransmitted = result.flows.reduce((sum, flow) => sum + flow.retransmittedBytes, 0)
  t.ok(
    retransmitted <= 1.2 * dropped + 20 * MTU,
    `${retransmitted} bytes retransmitted of ${dropped} dropped`,
  )
}

/**
 * Tests that this many flows share a queue of one bandwidth-delay product, fill the link, and lose no more
 * than `dropsMost` of it.
 */
export function testShared(flows: number, rateMbps: number, seconds: number, dropsMost: number): void {
  t.test(`${flows} CUBIC flows share a drop-tail queue, fill the link, and lose little`, async t => {
    const result = run({ flows, buffer: 1, seconds, rateMbps })
    const rates = ratesMbps(result, seconds / 2, seconds)
    const port = bottleneckOf(result)
    t.ok(jain(rates) > 0.9, `Jain ${jain(rates)}: ${rates.map(rate => rate.toFixed(1))}`)
    // 58 bytes of headers and a shim of 8 for 1,024 of payload.
    const sum = rates.reduce((a, b) => a + b)
    t.ok(sum > 0.95 * rateMbps * (MTU / (MTU + 66)), `${sum} Mbit/s of payload`)
    const share = (port.drops * MTU) / port.txBytes
    t.ok(share < dropsMost, `${share} of all packets are dropped`)
    retransmitsWhatWasDropped(t, result)
    t.equal(
      result.flows.reduce((count, flow) => count + flow.timeouts, 0),
      0,
      'no timeouts',
    )
  })
}

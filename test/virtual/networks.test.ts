/**
 * Networks of which senders know nothing, in virtual time: CUBIC flows on a drop-tail queue, alone, together and beside HPCC++,
 * with random loss, small and large buffers, and auto on paths whose switches begin and cease to write telemetry.
 */
import t, { type Test } from 'tap'
import { parseScenario } from '../../lib/scenario/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const RATE_MBPS = 20
const RTT_MS = 20
const MTU = 1024
/** Of the bottleneck and the round trip: 50,000 bytes. */
const BDP_BYTES = (RATE_MBPS * 1e6 * RTT_MS) / 8e3

interface Bottleneck {
  flows: number
  /** Of the queue, as a share of the bandwidth-delay product. */
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

/** Hosts on links of ten times the rate, a little apart, so that their packets do not come in step. */
function run({
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

/** Mbit/s of each flow between two times, by what was acknowledged. */
function ratesMbps(result: RunResult, fromSeconds: number, toSeconds: number): number[] {
  return result.flows.map(({ name }) => {
    const { timesNs, values } = result.series[`acked/${name}`]!
    const at = (seconds: number) => values[timesNs.findLastIndex(ns => ns <= seconds * 1e9)] ?? 0
    return ((at(toSeconds) - at(fromSeconds)) * 8) / (toSeconds - fromSeconds) / 1e6
  })
}

function jain(rates: readonly number[]): number {
  const sum = rates.reduce((a, b) => a + b)
  return sum ** 2 / rates.length / rates.reduce((a, b) => a + b * b, 0)
}

const bottleneckOf = ({ ports }: RunResult) => ports.find(({ name }) => name === 's2:sink')!

/** What was dropped is retransmitted, and not much else. */
function retransmitsWhatWasDropped(t: Test, result: RunResult): void {
  const dropped = bottleneckOf(result).drops * MTU
  const retransmitted = result.flows.reduce((sum, flow) => sum + flow.retransmittedBytes, 0)
  t.ok(
    retransmitted <= 1.2 * dropped + 20 * MTU,
    `${retransmitted} bytes retransmitted of ${dropped} dropped`,
  )
}

for (const [flows, rateMbps, seconds, dropsMost] of [
  [2, RATE_MBPS, 20, 0.01],
  [5, RATE_MBPS, 20, 0.02],
  // Fewer than ten packets a flow are no window to be fair with.
  [20, 3 * RATE_MBPS, 10, 0.04],
] as const) {
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

t.test('a flow that comes late gets its share', async t => {
  const result = run({ flows: 2, buffer: 1, seconds: 28, startMs: i => 4000 * i })
  const [first] = ratesMbps(result, 3, 4)
  t.ok(first! > 0.8 * RATE_MBPS, `alone the first one has ${first} Mbit/s`)
  const rates = ratesMbps(result, 16, 28)
  t.ok(Math.min(...rates) > Math.max(...rates) / 3, `12 s later ${rates}`)
})

for (const [buffer, least, queueMost] of [
  [0.1, 0.8, 0.1],
  [0.5, 0.95, 0.5],
  [1, 0.95, 1],
  [4, 0.95, 4],
] as const) {
  t.test(`one CUBIC flow and a buffer of ${buffer} BDP`, async t => {
    const result = run({ flows: 1, buffer, seconds: 10 })
    const [rate] = ratesMbps(result, 3, 10)
    t.ok(rate! > least * RATE_MBPS * (MTU / (MTU + 66)), `${rate} Mbit/s`)
    const port = bottleneckOf(result)
    t.ok(port.maxQueueBytes <= queueMost * BDP_BYTES, `queue ${port.maxQueueBytes}`)
    t.ok((port.drops * MTU) / port.txBytes < 0.02, `${port.drops} drops`)
    retransmitsWhatWasDropped(t, result)
  })
}

t.test(
  'on a shared queue CUBIC fills the buffer, and HPCC++ keeps to the rate that it may not go below',
  async t => {
    // Not fair, and it cannot be: HPCC++ gives way while any link is full, and CUBIC fills it. Hosts that run auto do not meet
    // like that, as all of them have the same telemetry.
    const result = run({ flows: 2, buffer: 1, seconds: 12, cc: i => ['cubic', 'hpcc'][i]!, telemetry: true })
    const [cubic, hpcc] = ratesMbps(result, 4, 12)
    t.ok(cubic! + hpcc! > 0.9 * RATE_MBPS, `${cubic} and ${hpcc} Mbit/s`)
    t.ok(hpcc! > 0, 'HPCC++ goes on')
    retransmitsWhatWasDropped(t, result)
  },
)

t.test('auto where the bottleneck writes telemetry: equal shares, no queue, no drop', async t => {
  const result = run({ flows: 3, buffer: 1, seconds: 12, cc: () => 'auto', telemetry: true })
  const rates = ratesMbps(result, 4, 12)
  t.ok(jain(rates) > 0.95, `${rates}`)
  // Each packet has 8 + 2 x 24 bytes of telemetry or more, and HPCC++ leaves a twentieth of the link free.
  t.ok(rates.reduce((a, b) => a + b) > 0.75 * RATE_MBPS, `${rates}`)
  const port = bottleneckOf(result)
  t.equal(port.drops, 0)
  t.ok(port.meanQueueBytes < 0.1 * BDP_BYTES, `${port.meanQueueBytes} bytes wait on average`)
})

/** From 4 s to 8 s, and from 12 s on, the way leads through a switch that writes telemetry. */
const HANDOVER = `
name: handover
link: { rate: 200Mbps, delay: 1us }
hosts: [h1, sink]
switches: { s1: { telemetry: off }, silent: { telemetry: off }, telling: {}, s2: { telemetry: off } }
links: [h1--s1, s1--silent, s1--telling, { ends: silent--s2, rate: 20Mbps, delay: 5ms }, { ends: telling--s2, rate: 20Mbps, delay: 5ms }, { ends: s2--sink, delay: 5ms }]
routes:
  - { switch: s1, to: sink, via: silent, start: 0s, duration: 4s }
  - { switch: s1, to: sink, via: telling, start: 4s, duration: 4s }
  - { switch: s1, to: sink, via: silent, start: 8s, duration: 4s }
  - { switch: s1, to: sink, via: telling, start: 12s }
  - { switch: s2, to: h1, via: silent }
cc: auto
transport: { pathMtu: 1024, ackEvery: 16, start: careful }
traffic: [{ name: f0, from: h1, to: sink, size: 1GB }]
watch: { queues: ['silent:s2', 'telling:s2'], every: 20ms }
duration: 16s
`

t.test('auto hands over as telemetry appears and goes, without a burst and without a pause', async t => {
  const result = new VirtualRun(parseScenario(HANDOVER, 'handover.yaml')).run()
  for (let second = 1; second < 16; second++) {
    const [rate] = ratesMbps(result, second, second + 1)
    t.ok(rate! > 0.7 * RATE_MBPS, `second ${second}: ${rate} Mbit/s`)
  }
  t.equal(result.flows[0]!.timeouts, 0)
  const longest = (port: string, from: number, to: number) => {
    const { timesNs, values } = result.series[`queue/${port}`]!
    return Math.max(...values.filter((_, i) => timesNs[i]! >= from * 1e9 && timesNs[i]! < to * 1e9))
  }
  for (const [from, to] of [
    [4, 8],
    [12, 16],
  ] as const) {
    const before = longest('silent:s2', from - 2, from)
    const after = longest('telling:s2', from, to)
    // CUBIC's window grows until the telemetry is back, which takes as long as the queue is.
    t.ok(
      after <= 1.25 * before,
      `${before} bytes waited for CUBIC, ${after} as HPCC++ takes over at ${from} s`,
    )
    t.ok(longest('telling:s2', from + 1, to) < 0.1 * BDP_BYTES, 'and a second later nothing does')
  }
  // Back on the silent way CUBIC begins with HPCC++'s window: the queue grows as it does in congestion avoidance.
  t.ok(longest('silent:s2', 8, 8.5) < 0.5 * BDP_BYTES, `${longest('silent:s2', 8, 8.5)} bytes`)
})

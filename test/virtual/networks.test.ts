/**
 * Networks that report nothing to senders, in virtual time: CUBIC flows on a drop-tail queue, alone, together
 * and beside HPCC++, with random loss, small and large buffers, and auto on paths whose switches begin and
 * cease to write telemetry.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual, variants } from '../support/long.js'
import {
  BDP_BYTES,
  bottleneckOf,
  jain,
  MTU,
  RATE_MBPS,
  RTT_MS,
  ratesMbps,
  retransmitsWhatWasDropped,
  run,
  testShared,
} from './networks.js'

testShared(5, RATE_MBPS, 12, 0.02)

long('a flow that comes late gets its share', async t => {
  const result = run({ flows: 2, buffer: 1, seconds: 28, startMs: i => 4000 * i })
  const [first] = ratesMbps(result, 3, 4)
  t.ok(first! > 0.8 * RATE_MBPS, `alone the first one has ${first} Mbit/s`)
  const rates = ratesMbps(result, 16, 28)
  t.ok(Math.min(...rates) > Math.max(...rates) / 3, `12 s later ${rates}`)
})

for (const [buffer, least, queueMost] of variants(
  [
    [0.5, 0.95, 0.5],
    [0.1, 0.8, 0.1],
    [1, 0.95, 1],
    [4, 0.95, 4],
  ] as const,
  1,
)) {
  t.test(`one CUBIC flow and a buffer of ${buffer} BDP`, async t => {
    const result = run({ flows: 1, buffer, seconds: 7 })
    const [rate] = ratesMbps(result, 3, 7)
    t.ok(rate! > least * RATE_MBPS * (MTU / (MTU + 66)), `${rate} Mbit/s`)
    const port = bottleneckOf(result)
    t.ok(port.maxQueueBytes <= queueMost * BDP_BYTES, `queue ${port.maxQueueBytes}`)
    t.ok((port.drops * MTU) / port.txBytes < 0.02, `${port.drops} drops`)
    retransmitsWhatWasDropped(t, result)
  })
}

long(
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

usual('auto where the bottleneck writes telemetry: equal shares, no queue, no drop', async t => {
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

usual('auto hands over as telemetry appears and goes, without a burst and without a pause', async t => {
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
  t.ok(longest('silent:s2', 8, 8.5) < 0.75 * BDP_BYTES, `${longest('silent:s2', 8, 8.5)} bytes`)
})

const FLAPS = 10
const FLAP_FLOWS = 64
const FLAP_MBPS = 200
/** Round trips behind a change for which it is looked at. */
const FLAP_ROUNDS = 5

/** In each even second the way leads through a switch that writes telemetry, in each odd one through one that does not. */
function flapping(): string {
  const queue = `queueBytesMax: ${(FLAP_MBPS * 1e6 * RTT_MS) / 8e3}B`
  const routes = Array.from({ length: 2 * FLAPS }, (_, second) => {
    const via = second % 2 === 0 ? 'telling' : 'silent'
    return `  - { switch: s1, to: sink, via: ${via}, start: ${second}s, duration: 1s }`
  })
  const flows = Array.from(
    { length: FLAP_FLOWS },
    (_, i) => `  - { name: f${i}, from: h${i + 1}, to: sink, size: 1GB, start: ${3700 * i}us }`,
  )
  const slow = `rate: ${FLAP_MBPS}Mbps, delay: 5ms`
  return `
link: { rate: ${10 * FLAP_MBPS}Mbps, delay: 1us }
hosts: [h1..h${FLAP_FLOWS}, sink]
switches: { s1: { telemetry: off }, silent: { telemetry: off, ${queue} }, telling: { ${queue} }, s2: { telemetry: off } }
links: [h1..h${FLAP_FLOWS}--s1, s1--silent, s1--telling, { ends: silent--s2, ${slow} }, { ends: telling--s2, ${slow} }, { ends: s2--sink, delay: 5ms }]
routes:
${routes.join('\n')}
  - { switch: s2, to: h1..h${FLAP_FLOWS}, via: silent }
cc: auto
transport: { pathMtu: ${MTU}, ackEvery: 16, start: careful }
traffic:
${flows.join('\n')}
watch: { every: 10ms }
duration: ${2 * FLAPS}s
`
}

/** The longest time without progress of any flow once it has begun, ms. */
function longestPauseMs({ flows, series }: RunResult): number {
  const pauses = flows.map(({ name }) => {
    const { timesNs, values } = series[`acked/${name}`]!
    const moved = timesNs.filter((_, i) => i > 0 && values[i]! > values[i - 1]!)
    return Math.max(...moved.slice(1).map((at, i) => at - moved[i]!), timesNs.at(-1)! - moved.at(-1)!)
  })
  return Math.max(...pauses) / 1e6
}

long('64 flows of auto lose the telemetry of their path ten times: no stall, no burst', async t => {
  const result = new VirtualRun(parseScenario(flapping(), 'flapping.yaml')).run()
  t.equal(
    result.flows.reduce((sum, { timeouts }) => sum + timeouts, 0),
    0,
    'no timeouts',
  )
  const pauseMs = longestPauseMs(result)
  t.ok(pauseMs < 5 * RTT_MS, `a flow has paused for ${pauseMs} ms`)
  const samples = result.flows.map(({ name }) => result.series[`inflight/${name}`]!)
  /** The most that all flows had in flight together in a time, bytes. */
  const mostInFlight = (fromMs: number, untilMs: number) => {
    const sums = samples[0]!.timesNs.map((at, i) => ({
      at: at / 1e6,
      bytes: samples.reduce((all, { values }) => all + values[i]!, 0),
    }))
    return Math.max(...sums.filter(({ at }) => at >= fromMs && at < untilMs).map(({ bytes }) => bytes))
  }
  for (let second = 1; second < 2 * FLAPS; second++) {
    const rates = ratesMbps(result, second, second + 1)
    const sum = rates.reduce((a, b) => a + b)
    t.ok(sum > 0.8 * FLAP_MBPS, `second ${second}: ${sum} Mbit/s`)
    t.ok(
      Math.min(...rates) > (0.3 * FLAP_MBPS) / FLAP_FLOWS,
      `the slowest flow: ${Math.min(...rates)} Mbit/s`,
    )
    const [before, after] = [
      mostInFlight(1000 * second - 500, 1000 * second),
      mostInFlight(1000 * second, 1000 * second + FLAP_ROUNDS * RTT_MS),
    ]
    // CUBIC adds a packet in a round trip here, until the flow hears of telemetry or after it has taken over; a slow start would double.
    const most = before + FLAP_ROUNDS * FLAP_FLOWS * MTU
    t.ok(after < most, `${before} bytes in flight before second ${second}, ${after} after`)
  }
})

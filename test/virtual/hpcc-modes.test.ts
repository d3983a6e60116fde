/**
 * Modes of HPCC++ on whole networks: their costs, and their bounds. The figures are those of `npm run bench
 * -- hpcc-modes`.
 */
import type { TxCounters } from '../../lib/nic/tx/tx-pipeline.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { seriesName } from '../../lib/scenario/result/series.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'

interface Settings {
  cc?: string
  telemetry?: string
  s1?: string
  ackEvery?: number
  hopDelay?: string
  baseRtt?: string
  duration?: string
  every?: string
}

/** Two senders at 100 Gbit/s, one of them 300 us later, whose bottleneck is the first hop of three: s1:s2. */
function run(settings: Settings = {}): { result: RunResult; sum: (name: keyof TxCounters) => number } {
  const { cc = 'hpcc', telemetry = '', s1 = '', ackEvery = 1 } = settings
  const { hopDelay = '1us', baseRtt = '8.32us', duration = '2ms', every = '500ns' } = settings
  const text = `
link: { rate: 100Gbps, delay: ${hopDelay} }
hosts: [h1, h2, h3]
switches: { s1: { ${s1} }, s2: {}, s3: {} }
links: [h1--s1, h2--s1, s1--s2, s2--s3, s3--h3]
cc: { name: ${cc}, eta: 0.95, maxStage: 0, wAi: 52B, minRate: 1Gbps }
transport: { pathMtu: 1024, ackEvery: ${ackEvery} }
int: { format: wide, hops: 5 }
telemetry: { ${telemetry} }
baseRtt: ${baseRtt}
traffic:
  - { name: flow0, from: h1, to: h3, size: 2GB }
  - { name: flow1, from: h2, to: h3, size: 2GB, start: 300us }
watch: { queues: [s1:s2], every: ${every} }
duration: ${duration}
`
  const virtual = new VirtualRun(parseScenario(text, 'modes.yaml'))
  const result = virtual.run()
  return { result, sum: name => virtual.hostCounters.reduce((all, host) => all + host[name], 0) }
}

/** With the settings above, for all tests that compare with it. */
const base = run()

function utilization(result: RunResult): number {
  return result.summary!.bottleneckUtilization!
}

function peak(result: RunResult): number {
  return result.ports.find(({ name }) => name === 's1:s2')!.maxQueueBytes
}

usual('probes cost less than 2 % of the bytes, and fill the link nearly as well', async t => {
  const probes = run({ telemetry: 'collect: probe' })
  const share = (of: typeof probes) =>
    (of.sum('telemetryBytes') + of.sum('echoBytes') + of.sum('vendorBytes')) / of.sum('dataBytes')
  t.ok(share(probes) < 0.02, `${share(probes)}`)
  t.ok(share(base) > 0.1, `${share(base)}, 5 wide records in every packet`)
  t.ok(utilization(probes.result) > utilization(base.result) - 0.03)
  // One in a round trip: a flow has its share of 104 packets in T.
  const probeShare = probes.sum('vendorFrames') / 2 / probes.sum('dataFrames')
  t.ok(probeShare > 0.5 / 104 && probeShare < 4 / 104, `${probeShare}`)
  t.equal(
    probes.result.flows.reduce((all, flow) => all + flow.retransmittedBytes, 0),
    0,
  )
})

usual('receiver-based: a fifth of the feedback packets at most, within 3 points of utilization', async t => {
  const receiver = run({ cc: 'rx-hpcc', ackEvery: 16 })
  t.ok(base.sum('ackFrames') / base.sum('dataFrames') > 0.98, 'an ACK a packet')
  const feedback = (receiver.sum('ackFrames') + receiver.sum('vendorFrames')) / receiver.sum('dataFrames')
  t.ok(feedback < 0.2, `${feedback}`)
  const difference = utilization(base.result) - utilization(receiver.result)
  t.ok(difference < 0.03, `${difference}`)
  t.ok(receiver.result.summary!.jainIndex! > 0.95)
})

long('notifications acknowledge: hardly any ACKs beside them, and every byte is there', async t => {
  const { result, sum } = run({ telemetry: 'everyPackets: 8, answer: notify', ackEvery: 64 })
  t.ok(sum('ackFrames') / sum('dataFrames') < 0.05)
  const notified = sum('vendorFrames') / sum('dataFrames')
  t.ok(Math.abs(notified - 1 / 8) < 0.01, `${notified}`)
  t.equal(sum('echoBytes'), 0, 'ACKs carry no telemetry then')
  t.ok(utilization(result) > 0.93)
})

usual('direct responses: the first slow-down within half a round trip, and a shorter queue', async t => {
  // The way from s1 to the receiver is long: T = 2 x (1 + 3 x 10) us and some.
  const settings = { hopDelay: '10us', baseRtt: '80.4us', duration: '700us', every: '100ns' }
  const slowDown = (direct: boolean) => {
    const threshold = 50_000
    const { result } = run({
      ...settings,
      ...(direct && { s1: `telemetry: { direct: { threshold: ${threshold}B } }` }),
    })
    const queue = result.series[seriesName('queue', 's1:s2')]!
    const congestedNs = queue.timesNs[queue.values.findIndex(bytes => bytes >= threshold)]!
    const first = ['flow0', 'flow1'].map(name => {
      const rate = result.series[seriesName('rate', name)]!
      const before = rate.values[rate.timesNs.findIndex(at => at >= congestedNs)]!
      return rate.timesNs[
        rate.values.findIndex((bps, i) => rate.timesNs[i]! > congestedNs && bps < 0.95 * before)
      ]!
    })
    return { afterNs: Math.min(...first) - congestedNs, peak: peak(result) }
  }
  const without = slowDown(false)
  const direct = slowDown(true)
  t.ok(direct.afterNs < 80_400 / 2, `${direct.afterNs} ns`)
  t.ok(without.afterNs > 80_400 / 2, `${without.afterNs} ns by way of the receiver`)
  t.ok(direct.peak < without.peak, `${direct.peak} beside ${without.peak}`)
})

usual('subscribed by flag or by DSCP, with probes: switches answer those that ask', async t => {
  const s1 = 'telemetry: { direct: { threshold: 20KB, of: subscribed } }'
  const duration = '1ms'
  // Its first packet asks, and finds no queue.
  const seldom = 'collect: probe, subscribe: flag, subscribeEvery: 65536'
  const silent = run({ telemetry: seldom, s1, duration })
  for (const subscribe of ['flag', 'dscp']) {
    const { result } = run({ telemetry: `collect: probe, subscribe: ${subscribe}`, s1, duration })
    t.ok(result.ports.find(({ name }) => name === 's1:s2')!.directResponses! > 0, subscribe)
    t.ok(peak(result) < peak(silent.result), subscribe)
  }
  t.equal(silent.result.ports.find(({ name }) => name === 's1:s2')!.directResponses, 0, 'nobody asks')
})

long('a window smaller than the packets between two ACKs does not stall', async t => {
  const text = `
link: { rate: 100Gbps, delay: 1us }
hosts: [h0..h16]
switches: [s1]
links: [h0..h16--s1]
cc: { name: hpcc, maxStage: 0, wAi: 26B, minRate: 1Gbps }
transport: { pathMtu: 1024, ackEvery: 16 }
baseRtt: 4.16us
traffic: [{ name: incast, incast: [h0..h15], to: h16, size: 500KB }]
`
  const result = new VirtualRun(parseScenario(text, 'incast.yaml')).run()
  t.ok(result.flows.every(({ fctNs }) => fctNs !== null))
  // 8 MB take 640 us at 100 Gbit/s. The timeout, for which no flow must wait, is 67 ms.
  t.ok(Math.max(...result.flows.map(({ fctNs }) => fctNs!)) < 2e6)
  t.equal(
    result.flows.reduce((all, flow) => all + flow.timeouts, 0),
    0,
  )
})

/** A flow of priority 3, and unless that is alone one of priority 5, over one link of 100 Gbit/s: Gbit/s of payload from 0.5 to 1 ms. */
function shares(scheduler: string, telemetry: string, alone = false) {
  const text = `
link: { rate: 100Gbps, delay: 1us }
hosts: [h1, h2, h3]
switches: { s1: { scheduler: ${scheduler}, telemetry: ${telemetry} } }
links: [h1--s1, h2--s1, s1--h3]
cc: { name: hpcc, maxStage: 0, wAi: 26B }
baseRtt: 4.16us
traffic:
  - { name: low, from: h1, to: h3, size: 2GB, priority: 3 }
${alone ? '' : '  - { name: high, from: h2, to: h3, size: 2GB, priority: 5, start: 100us }'}
watch: { queues: [s1:h3], every: 1us }
duration: 1ms
`
  const result = new VirtualRun(parseScenario(text, 'qos.yaml')).run()
  const moved = (name: string) => {
    const { timesNs, values } = result.series[seriesName('acked', name)]!
    return ((values.at(-1)! - values[timesNs.findIndex(at => at >= 5e5)]!) * 8) / 5e5
  }
  const { timesNs, values } = result.series[seriesName('queue', 's1:h3')]!
  const queues = values.filter((_, i) => timesNs[i]! >= 5e5).sort((a, b) => a - b)
  return {
    low: moved('low'),
    high: alone ? 0 : moved('high'),
    queue: queues[Math.floor(queues.length * 0.95)]!,
  }
}

long('deficit round robin: with its guaranteed share as rate each priority gets eta of it', async t => {
  // A packet of 1,114 bytes on the wire (54 of headers, 4 of ICRC, 32 of telemetry) carries 1,024 of payload.
  const payload = 1024 / 1114
  for (const queue of ['port', 'own', 'sojourn']) {
    for (const alone of [false, true]) {
      const what = `${queue}, ${alone ? 'alone' : 'both'}`
      const of = shares('{ 3: 30, 5: 70 }', `{ rate: share, queue: ${queue} }`, alone)
      t.ok(Math.abs(of.low / (30 * 0.95 * payload) - 1) < 0.05, `${what}: ${of.low}`)
      if (!alone) t.ok(Math.abs(of.high / (70 * 0.95 * payload) - 1) < 0.05, `${what}: ${of.high}`)
      t.ok(of.queue <= 3 * 1114, `${what}: a queue of ${of.queue}`)
    }
  }
})

usual(
  'strict priority: by sojourn time the higher one does not yield to a queue that does not delay it',
  async t => {
    const { high: byLength } = shares('strict', '{ queue: port }')
    const { low, high } = shares('strict', '{ queue: sojourn }')
    t.ok(high > 2 * low, `${high} beside ${low}`)
    t.ok(high > 1.5 * byLength, `${high}, by the length of all queues ${byLength}`)
  },
)

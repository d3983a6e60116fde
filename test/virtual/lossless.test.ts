/**
 * Whole networks in virtual time: the effect of a scenario's PFC, ECN, priorities and weights on its traffic.
 */
import { packageFile } from '../../lib/package-file.js'
import { loadScenario, parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { PortResult, RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'

function bench(name: string): RunResult {
  return new VirtualRun(loadScenario(packageFile('bench', 'scenarios', `${name}.yaml`))).run()
}

function runText(text: string): RunResult {
  return new VirtualRun(parseScenario(text, 'test.yaml')).run()
}

function total(result: RunResult, figure: 'drops' | 'pausesSent' | 'pausedNs' | 'ecnMarks'): number {
  return result.ports.reduce((sum, port) => sum + port[figure], 0)
}

function portOf(result: RunResult, name: string): PortResult {
  return result.ports.find(port => port.name === name)!
}

function allExact(result: RunResult): boolean {
  return result.flows.every(flow => flow.fctNs !== null && flow.ackedBytes === flow.bytes)
}

long(
  'incast of eight with a fixed window: PFC loses nothing, without it much is lost, HPCC++ needs neither',
  async t => {
    const on = bench('incast-pfc')
    t.ok(allExact(on), 'bytes exact')
    t.equal(on.flows.length, 8)
    t.equal(total(on, 'drops'), 0)
    t.ok(total(on, 'pausesSent') > 0)
    t.equal(
      on.flows.reduce((sum, flow) => sum + flow.retransmittedBytes, 0),
      0,
    )
    for (const port of on.ports.filter(({ peer }) => peer !== 'h8')) {
      t.ok(port.pausesSent > 0, `${port.name} paused its sender`)
      t.ok(port.pfc!.maxIngressBytes > 40_000, 'above xoff')
      t.equal(port.pausedNs, 0, 'hosts pause nobody')
    }
    t.equal(portOf(on, 's1:h8').pausesSent, 0)
    t.ok(portOf(on, 's1:h8').utilization! > 0.99, 'and the link is never idle')

    const off = bench('incast-pfc-off')
    t.ok(allExact(off), 'bytes exact all the same')
    t.ok(total(off, 'drops') > 0)
    t.equal(total(off, 'pausesSent'), 0)
    t.same(Object.keys(portOf(off, 's1:h8').dropsByReason!), ['bufferFull'])
    t.equal(portOf(off, 's1:h8').pfc, undefined)

    const hpcc = bench('incast-pfc-hpcc')
    t.ok(allExact(hpcc))
    t.equal(total(hpcc, 'drops'), 0)
    t.equal(total(hpcc, 'pausesSent'), 0)
    const peak = portOf(hpcc, 's1:h8').maxQueueBytes
    t.ok(
      peak * 5 <= portOf(on, 's1:h8').maxQueueBytes,
      `${peak} against ${portOf(on, 's1:h8').maxQueueBytes}`,
    )
  },
)

usual('pauses go upstream, switch by switch, to the host', async t => {
  const result = runText(`
link: { rate: 10Gbps, delay: 1us }
hosts: [h1, h2]
switches: { s1..s3: { buffer: 2MB, pfc: { xoff: 50KB } } }
links: [h1--s1, s1--s2, s2--s3, { ends: s3--h2, rate: 1Gbps }]
cc: { name: fixed-window, window: 1MB }
transport: { ackTimeout: 100ms }
traffic: [{ from: h1, to: h2, size: 3MB }]
`)
  t.ok(allExact(result))
  t.equal(total(result, 'drops'), 0)
  t.equal(result.flows[0]!.retransmittedBytes, 0)
  for (const [down, up] of [
    ['s3:s2', 's2:s3'],
    ['s2:s1', 's1:s2'],
  ] as const) {
    t.ok(portOf(result, down).pausesSent > 0, `${down} pauses`)
    t.ok(portOf(result, up).pausedNs > 0, `${up} is paused`)
    t.equal(portOf(result, up).pfc!.pausedNsByPriority[3], portOf(result, up).pausedNs, 'in priority 3 alone')
    t.ok(portOf(result, up).maxQueueBytes > 40_000, `${up} fills up`)
  }
  t.ok(portOf(result, 's1:h1').pausesSent > 0, 'the host is paused last')
  // 3 MB at 1 Gbit/s take 24 ms. The hosts' window alone would have been sent in 0.8 ms.
  t.ok(portOf(result, 's3:h2').utilization! > 0.98)
  const paused = portOf(result, 's2:s3').pausedNs
  t.ok(paused > 0.5 * 24e6, `a link of ten times the rate is paused most of the time: ${paused} ns`)
})

usual(
  'a lossy priority beside a lossless one: only the lossless one is paused, only the lossy one loses',
  async t => {
    const result = runText(`
link: { rate: 1Gbps, delay: 5us }
hosts: [h1..h5]
switches:
  s1: { buffer: 1MB, queueBytesMax: 100KB, pfc: { xoff: 50KB, priorities: [3] }, scheduler: { 0: 50, 3: 50 } }
links: [h1..h5--s1]
cc: { name: fixed-window, window: 200KB }
transport: { ackTimeout: 50ms }
traffic:
  - { name: safe, incast: [h1, h2], to: h5, size: 2MB }
  - { name: risky, incast: [h3, h4], to: h5, size: 2MB, priority: 0 }
`)
    t.ok(allExact(result))
    const lost = (name: string) =>
      result.flows
        .filter(flow => flow.name.startsWith(name))
        .reduce((sum, flow) => sum + flow.retransmittedBytes, 0)
    // A probe is a retransmission without a loss: some flows send one when the queue grows within a round
    // trip.
    t.ok(lost('safe') < 0.005 * 4e6, `${lost('safe')} bytes`)
    t.ok(lost('risky') > 0)
    t.same(Object.keys(portOf(result, 's1:h5').dropsByReason!), ['queueFull'])
    t.ok(portOf(result, 's1:h1').pausesSent > 0)
    t.equal(portOf(result, 's1:h3').pausesSent, 0)
  },
)

usual('DWRR weights of a scenario: flows share the link as their priorities are weighted', async t => {
  const result = runText(`
link: { rate: 1Gbps, delay: 5us }
hosts: [h1..h3]
switches: { s1: { scheduler: { 1: 20, 2: 60 } } }
links: [h1..h3--s1]
cc: { name: fixed-window, window: 1MB }
transport: { ackTimeout: 500ms }
traffic:
  - { name: one, from: h1, to: h3, size: 20MB, priority: 1 }
  - { name: two, from: h2, to: h3, size: 20MB, priority: 2 }
duration: 60ms
`)
  const [one, two] = result.flows.map(flow => flow.ackedBytes)
  t.ok(Math.abs(two! / one! - 3) < 0.6, `${one} and ${two}`)
})

usual("a map of its own: hosts send the DSCP that leads to the flow's priority", async t => {
  const result = runText(`
hosts: [h1..h3]
switches: { s1: { buffer: 500KB, dscpToTc: { 26: 3, 48: 6 }, pfc: { xoff: 20KB } } }
links: [h1..h3--s1]
cc: { name: fixed-window, window: 1MB }
transport: { ackTimeout: 500ms }
traffic: [{ incast: [h1, h2], to: h3, size: 1MB }]
`)
  t.ok(allExact(result))
  t.equal(total(result, 'drops'), 0)
  t.ok(portOf(result, 's1:h1').pausesSent > 0, 'its packets are in the lossless priority')
})

usual('Fast ECN marks by the queue that a packet leaves behind, ECN by the one that it finds', async t => {
  const marks = (at: string) => {
    const result = runText(`
link: { rate: 1Gbps, delay: 5us }
hosts: [h1..h3]
switches: { s1: { ecn: { kmin: 20KB, kmax: 20KB, pmax: 1, at: ${at} } } }
links: [h1..h3--s1]
cc: { name: fixed-window, window: 40KB }
transport: { pathMtu: 1024 }
traffic: [{ incast: [h1, h2], to: h3, size: 40KB }]
`)
    t.ok(allExact(result))
    const { maxQueueBytes, ecnMarks, txBytes } = portOf(result, 's1:h3')
    return { maxQueueBytes, ecnMarks, txBytes }
  }
  // Two bursts of 40 packets of 1082 B arrive together at twice the rate: the queue rises by a packet for every packet
  // sent, to about 40, and then falls to none. A threshold of 20 KB is 18.5 packets.
  const enqueue = marks('enqueue')
  const dequeue = marks('dequeue')
  t.equal(enqueue.maxQueueBytes, dequeue.maxQueueBytes, 'marking changes no fixed window')
  t.ok(enqueue.maxQueueBytes > 38 * 1082 && enqueue.maxQueueBytes <= 40 * 1082, `${enqueue.maxQueueBytes}`)
  // At enqueue: the packets that arrive while more than 18 wait, two for each one by which the queue rises from 19 to 40.
  t.ok(Math.abs(enqueue.ecnMarks - 2 * (40 - 19)) <= 3, `${enqueue.ecnMarks} marked on entry`)
  // At dequeue: those that leave 19 or more behind, on the way up, one for each, and again on the way down.
  t.ok(Math.abs(dequeue.ecnMarks - 2 * (40 - 19)) <= 3, `${dequeue.ecnMarks} marked on leaving`)
})

usual('marks of one priority only', async t => {
  const result = runText(`
link: { rate: 1Gbps, delay: 5us }
hosts: [h1..h5]
switches: { s1: { ecn: [{ kmin: 5KB, kmax: 5KB, priorities: [4] }], scheduler: { 3: 1, 4: 1 } } }
links: [h1..h5--s1]
cc: { name: fixed-window, window: 40KB }
traffic:
  - { incast: [h1, h2], to: h4, size: 400KB, priority: 3 }
  - { incast: [h2, h3], to: h5, size: 400KB, priority: 4 }
`)
  t.equal(portOf(result, 's1:h4').ecnMarks, 0)
  t.ok(portOf(result, 's1:h5').ecnMarks > 0)
})

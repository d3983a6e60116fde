/**
 * N compared with the number of flows that have data outstanding, which the starts and ends in results of
 * virtual time show.
 */
import t from 'tap'
import type { Flow } from '../../lib/nic/flow/flow.js'
import { ConcurrentFlows } from '../../lib/nic/rx/concurrent-flows.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'

const T_NS = 8000
const DELAY_NS = 1000

/** N at each data packet, and the number of flows that were open then or had ended less than 4 T before. */
interface Count {
  now: number
  n: number
  open: number
  lately: number
}

/** One switch, many hosts that send to h0: the scenario's traffic is given. */
function counts(traffic: string, ackEvery = 1): Count[] {
  const seen: { now: number; n: number }[] = []
  const { onData } = ConcurrentFlows.prototype
  ConcurrentFlows.prototype.onData = function (now, ...more) {
    onData.call(this, now, ...more)
    seen.push({ now, n: this.count })
  }
  t.teardown(() => {
    ConcurrentFlows.prototype.onData = onData
  })
  const text = `
link: { rate: 100Gbps, delay: ${DELAY_NS}ns }
hosts: [h0..h20]
switches: [s1]
links: [h0..h20--s1]
cc: { name: hpcc, countFlows: true }
transport: { ackEvery: ${ackEvery} }
baseRtt: ${T_NS}ns
traffic: ${traffic}
`
  const { flows } = new VirtualRun(parseScenario(text, 'n.yaml')).run()
  ConcurrentFlows.prototype.onData = onData
  const ends = flows.map(({ startNs, fctNs }) => startNs + fctNs!)
  const openAt = (now: number, lateNs: number) =>
    flows.filter(({ startNs }, i) => startNs <= now && now <= ends[i]! + lateNs).length
  // The first packet of a run, of a flow that starts at 0, has come over two links.
  const startNs = seen[0]!.now - 2 * DELAY_NS
  return seen.map(({ now: at, n }) => {
    const now = at - startNs
    return { now, n, open: openAt(now, 0), lately: openAt(now, 4 * T_NS) }
  })
}

const sequence = Array.from(
  { length: 20 },
  (_, i) => `{ from: h${i + 1}, to: h0, size: 100KB, start: ${i * 100}us }`,
).join(', ')

usual('twenty flows one after another: one at a time', async t => {
  const all = counts(`[${sequence}]`)
  t.equal(Math.max(...all.map(({ open }) => open)), 1)
  t.equal(Math.max(...all.map(({ n }) => n)), 1)
})

long(
  'flows that begin and end beside each other: those that are open, and those that ended just now',
  async t => {
    const traffic = `[{ incast: [h1..h12], to: h0, size: 200KB }, { from: h13, to: h0, size: 3MB }, { from: h14, to: h0, size: 3MB, start: 50us }]`
    for (const ackEvery of [1, 16]) {
      const all = counts(traffic, ackEvery)
      t.equal(Math.max(...all.map(({ n }) => n)), 14)
      for (const { now, n, lately } of all)
        if (n > lately) t.fail(`${now} ns: ${n}, at most ${lately} are open`)
      // From the arrival of the first packets of all flows on, those that have not ended count.
      const later = all.filter(({ now }) => now > 60_000 + 2 * T_NS)
      t.ok(later.length > 100)
      // To its sender a flow is open until its acknowledgement has arrived. So N may be smaller by these few.
      const fewer = later.filter(({ n, open }) => n < open - 1)
      t.ok(fewer.length < later.length / 100, `${fewer.length} of ${later.length}`)
      t.equal(all.at(-1)!.n <= 2, true, 'the long ones are the last')
    }
  },
)

usual('with FNCC N is right when a flow starts, and within a round trip after it stops', async t => {
  const all: { now: number; n: number; flow: number }[] = []
  const { onData } = ConcurrentFlows.prototype
  ConcurrentFlows.prototype.onData = function (now, one, ...more) {
    onData.call(this, now, one, ...more)
    all.push({ now, n: this.count, flow: one.index })
  }
  t.teardown(() => {
    ConcurrentFlows.prototype.onData = onData
  })
  const traffic = Array.from(
    { length: 16 },
    (_, i) =>
      `{ from: h${i + 1}, to: h0, size: ${i % 2 === 0 ? 100 : 400}KB, start: ${(i % 4) * 60 + 5 * i}us }`,
  )
  new VirtualRun(
    parseScenario(
      `
link: { rate: 100Gbps, delay: ${DELAY_NS}ns }
hosts: [h0..h16]
switches: [s1]
links: [h0..h16--s1]
cc: fncc
baseRtt: ${T_NS}ns
traffic: [${traffic.join(', ')}]
`,
      'n.yaml',
    ),
  ).run()
  const spans = [...new Set(all.map(({ flow }) => flow))].map(flow => {
    const of = all.filter(one => one.flow === flow)
    return { fromNs: of[0]!.now, untilNs: of.at(-1)!.now }
  })
  t.equal(spans.length, 16)
  const openAt = (now: number, afterNs: number) =>
    spans.filter(({ fromNs, untilNs }) => fromNs <= now && now <= untilNs + afterNs).length
  t.ok(Math.max(...all.map(({ n }) => n)) > 4)
  const few = all.filter(({ now, n }) => n < openAt(now, 0))
  const many = all.filter(({ now, n }) => n > openAt(now, T_NS))
  t.same([few.length, many.length], [0, 0], `of ${all.length} packets`)
})

/** A flow as the receiver's NIC sees it: the first PSN that it does not have in order. */
function flow(index: number, nextReceiveSeq: number): Flow {
  return {
    index,
    receiver: { control: null },
    handshake: { roundTripNs: 0 },
    stats: { baseRttNs: T_NS },
    qp: { nextReceiveSeq },
  } as unknown as Flow
}

usual('a packet that is missing keeps a flow open behind the end of its message', async t => {
  const concurrent = new ConcurrentFlows(0, 8)
  const holed = flow(2, 5)
  const other = flow(3, 1)
  // Packets 0 to 4 and 6 to 9 have come, and the last one ends the message.
  concurrent.onData(0, holed, 9, true, false)
  concurrent.onData(10 * T_NS, other, 0, false, false)
  t.equal(concurrent.count, 2)
  // The gap is closed by packet 5, which ends no message.
  ;(holed.qp as unknown as { nextReceiveSeq: number }).nextReceiveSeq = 10
  concurrent.onData(10 * T_NS, holed, 5, false, false)
  concurrent.onData(11 * T_NS, other, 0, false, false)
  t.equal(concurrent.count, 2, 'another message may be on its way')
  concurrent.onData(13 * T_NS, other, 0, false, false)
  t.equal(concurrent.count, 1)
})

usual('a READ behind a message whose gap is closed leaves the flow whole', async t => {
  const concurrent = new ConcurrentFlows(0, 8)
  const reading = flow(2, 5)
  const other = flow(3, 1)
  concurrent.onData(0, reading, 9, true, false)
  // Packet 5 has come, and behind the message the request of a READ, 10, which has no payload.
  ;(reading.qp as unknown as { nextReceiveSeq: number }).nextReceiveSeq = 11
  concurrent.onData(T_NS, reading, 5, false, false)
  concurrent.onData(T_NS, other, 0, false, false)
  t.equal(concurrent.count, 2)
  concurrent.onData(4 * T_NS, other, 0, false, false)
  t.equal(concurrent.count, 1)
})

usual(
  'a flow whose host falls silent amid a message, and one whose connection ends, count no more',
  async t => {
    const concurrent = new ConcurrentFlows(0, 8)
    const [silent, closed, running] = [flow(2, 3), flow(3, 3), flow(4, 3)]
    for (const one of [silent, closed, running]) concurrent.onData(0, one, 2, false, false)
    t.equal(concurrent.count, 3)
    concurrent.end(closed)
    concurrent.end(closed)
    t.equal(concurrent.count, 2)
    concurrent.onData(50e6, running, 2, false, false)
    t.equal(concurrent.count, 2)
    concurrent.onData(101e6, running, 2, false, false)
    t.equal(concurrent.count, 1)
  },
)

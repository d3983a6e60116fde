/**
 * A paused host: the priority stops between two packets, including acknowledgements, and continues exactly on
 * time.
 */
import t from 'tap'
import { telemetrySettings } from '../../lib/cc/telemetry-settings.js'
import type { NicConfig } from '../../lib/nic/config.js'
import type { Nic } from '../../lib/nic/nic.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import {
  App,
  connected,
  DELAY_NS,
  frameName,
  makePair,
  memoryOf,
  type Pair,
  PORT,
  pattern,
  RATE_BPS,
} from './pair.js'

const CC = { name: 'fixed-window', options: { window: 1_000_000 } }
const QUANTUM_NS = (512 * 1e9) / RATE_BPS // 51.2 ns
const BYTES = 2_000_000

interface Seen {
  now: number
  fromA: boolean
  name: string
  dscp: number
}

/** Two hosts, and everything that passes between them. */
function hosts(more: { a?: Partial<NicConfig>; b?: Partial<NicConfig>; v6?: boolean } = {}) {
  const common = { cc: CC, baseRttNs: 10_000, ackTimeoutNs: 1e9 }
  const pair = makePair({ v6: more.v6, a: { ...common, ...more.a }, b: { ...common, ...more.b } })
  const seen: Seen[] = []
  pair.tap.watch = (frame, now, fromA) => {
    const { view, l3 } = frame
    const dscp = ipv4.version(view, l3) === 4 ? ipv4.dscp(view, l3) : ipv6.dscp(view, l3)
    seen.push({ now, fromA, name: frameName(frame), dscp })
    return true
  }
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  return { pair, seen }
}

/** A connection of this priority from a to b that writes BYTES at once. */
function writer(pair: Pair, priority: number | undefined): App {
  const app = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, app, { priority })
  if (!pair.until(() => app.log.includes('established'))) throw new Error('not established')
  const into = memoryOf(pair.b, Buffer.alloc(BYTES))
  app.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region: memoryOf(pair.a, pattern(1, BYTES)),
    offset: 0,
    length: BYTES,
    remoteAddress: into.address,
    rkey: into.key,
  })
  pair.kick()
  return app
}

/** Time on the line of a full data packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, payload 1024, ICRC 4. */
const PACKET_NS = Math.ceil((1082 * 8e9) / RATE_BPS)
const isData = (frame: Seen) => frame.fromA && frame.name.includes('WRITE')
/** When a frame that the tap saw began to leave the host. */
const startOf = (frame: Seen) => frame.now - DELAY_NS - PACKET_NS

/** The host's switch sends it a PFC frame, which arrives now. */
function pause(pair: Pair, nic: Nic, vector: number, quanta: number): void {
  const frame = pair.pool.take()!
  pfc.write(frame.view, 0, 1, vector, quanta)
  frame.length = pfc.BYTES
  frame.wireLength = pfc.BYTES
  nic.onFrame(pair.network.now, 0, frame)
  pair.kick()
}

t.test(
  'a paused priority stops after the packet on the line; others go on; it resumes by itself',
  async t => {
    const { pair, seen } = hosts()
    const three = writer(pair, 3)
    const five = writer(pair, 5)
    pair.network.runUntil(pair.network.now + 50_000)
    const from = pair.network.now
    pause(pair, pair.a, 1 << 3, 1000)
    const until = from + Math.ceil(1000 * QUANTUM_NS)
    t.ok(
      pair.until(
        () => three.log.includes('completion 1 SUCCESS') && five.log.includes('completion 1 SUCCESS'),
      ),
    )
    const starts = (dscp: number) => seen.filter(frame => isData(frame) && frame.dscp === dscp).map(startOf)
    t.equal(starts(24).filter(at => at > from && at < until).length, 0, 'nothing of priority 3 begins')
    t.ok(starts(24).some(at => at < from) && starts(24).some(at => at >= until))
    const others = starts(40).filter(at => at > from && at < until).length
    t.ok(
      others >= Math.floor((until - from) / PACKET_NS) - 2,
      `${others} packets of priority 5 have the link to themselves`,
    )
    t.equal(pair.a.counters.pause.pauses, 1)
    t.equal(pair.a.pfc.clock.totalNs(pair.network.now, 3), until - from)
    t.equal(pair.a.pfc.clock.anyTotalNs(pair.network.now), until - from)
  },
)

t.test('the end of a pause is a deadline, met to the nanosecond, and until then the NIC sleeps', async t => {
  const { pair, seen } = hosts()
  writer(pair, 3)
  pair.network.runUntil(pair.network.now + 50_000)
  const from = pair.network.now
  pause(pair, pair.a, 0xff, 65_535)
  const until = from + Math.ceil(65_535 * QUANTUM_NS)
  pair.network.runUntil(from + 100_000) // what is under way comes to rest
  const events = pair.network.events
  t.equal(pair.a.nextTimeout(), until)
  pair.network.runUntil(until - 1)
  t.ok(pair.network.events - events <= 2, `${pair.network.events - events} events in 3 ms`)
  const before = seen.length
  pair.network.runUntil(until + 10_000)
  t.equal(startOf(seen[before]!), until)
})

t.test('acknowledgements of a paused priority wait too, and a time of 0 lets them go', async t => {
  const { pair, seen } = hosts()
  const app = writer(pair, 3)
  pair.network.runUntil(pair.network.now + 50_000)
  const from = pair.network.now
  pause(pair, pair.b, 1 << 3, 65_535)
  pair.network.runUntil(from + 1_000_000)
  const acks = (after: number, before: number) =>
    seen.filter(frame => !frame.fromA && frame.now > after + DELAY_NS + 100 && frame.now < before).length
  t.equal(acks(from, from + 1_000_000), 0)
  t.equal(app.log.includes('completion 1 SUCCESS'), false, 'the sender runs out of window')
  pause(pair, pair.b, 1 << 3, 0)
  t.ok(pair.until(() => app.log.includes('completion 1 SUCCESS')))
  t.ok(acks(from + 1_000_000 - 100, from + 1_000_000 + DELAY_NS + 200) > 0, 'at once')
})

for (const v6 of [false, true]) {
  t.test(`DSCP: both ends of a connection send the one of its priority (IPv${v6 ? 6 : 4})`, async t => {
    const { pair, seen } = hosts({
      v6,
      a: { dscpOfPriority: [0, 8, 16, 26, 32, 46, 48, 56], priority: 1, baseRttNs: undefined },
    })
    const app = writer(pair, 3)
    t.ok(pair.until(() => app.log.includes('completion 1 SUCCESS')))
    const names = new Set(
      seen.filter(({ dscp }) => dscp === 26).map(({ name, fromA }) => (fromA ? '>' : '<') + name),
    )
    for (const name of ['>PROBE', '<NOTIFY', '>RC_RDMA_WRITE_MIDDLE', '<RC_ACKNOWLEDGE'])
      t.ok(names.has(name), name)
    const others = seen.filter(({ dscp }) => dscp !== 26)
    t.same(
      new Set(others.filter(frame => frame.fromA).map(({ dscp }) => dscp)),
      new Set([8]),
      "the NIC's own",
    )
    t.same(new Set(others.map(({ name }) => name)), new Set(['REQ', 'REP', 'RTU']), 'management alone')
    // The passive side learns the DSCP from the request's traffic class, as with librdmacm.
    t.ok(
      seen.filter(frame => !frame.fromA && frame.name === 'RC_ACKNOWLEDGE').every(({ dscp }) => dscp === 26),
    )
  })
}

t.test('management datagrams and probes wait as well', async t => {
  const { pair, seen } = hosts({ a: { priority: 2, baseRttNs: undefined } })
  pause(pair, pair.a, 1 << 2, 1000)
  const until = pair.network.now + Math.ceil(1000 * QUANTUM_NS)
  const app = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, app, { priority: 6 })
  pair.kick()
  pair.network.runUntil(until - 1)
  t.equal(seen.length, 0)
  t.equal(pair.a.nextTimeout(), until)
  t.ok(pair.until(() => app.log.includes('established')))
  pause(pair, pair.a, 1 << 6, 1000)
  const again = pair.network.now + Math.ceil(1000 * QUANTUM_NS)
  const before = seen.filter(({ name }) => name === 'PROBE').length
  pair.network.runUntil(again - 1)
  t.ok(seen.filter(({ name }) => name === 'PROBE').length <= before + 1, 'but for the one on the line')
  t.ok(pair.until(() => app.connection!.stats.baseRttNs > 0))
})

t.test('what is no PFC is counted, and pauses nothing', async t => {
  const { pair } = hosts()
  const arrive = (change: (view: DataView) => number) => {
    const frame = pair.pool.take()!
    pfc.write(frame.view, 0, 1, 0xff, 65_535)
    frame.length = change(frame.view)
    frame.wireLength = frame.length
    pair.a.onFrame(pair.network.now, 0, frame)
  }
  arrive(() => 33)
  arrive(view => {
    view.setUint16(14, pfc.PAUSE_OPCODE)
    return 60
  })
  arrive(view => {
    view.setUint8(0, 0x02)
    return 60
  })
  t.same(pair.a.counters.pause, { pauses: 0, resumes: 0, malformed: 2, globalPauses: 1 })
  const app = writer(pair, 3)
  t.ok(pair.until(() => app.log.includes('completion 1 SUCCESS')))
  t.equal(pair.a.pfc.clock.anyTotalNs(pair.network.now), 0)
})

t.test('T is measured although the answer to a probe took the place of the acknowledgement', async t => {
  const nic = { telemetry: telemetrySettings({ collect: 'probe' }) }
  const pair = makePair({ a: nic, b: nic })
  const { left, right } = connected(pair)
  const say = (app: App, nic: Nic, text: string) =>
    app.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.SEND,
      region: memoryOf(nic, Buffer.from(text)),
      offset: 0,
      length: text.length,
    })
  right.onDone = (_now, _connection, completion) => {
    if (completion.isReceive) say(right, pair.b, 'pong')
  }
  say(left, pair.a, 'ping')
  // The message and a's probe both wait for an answer. When b may send again, it answers the probe first.
  t.ok(
    pair.until(() => pair.passed.at(-1)?.endsWith('SEND_ONLY') === true),
    'ping is under way',
  )
  pause(pair, pair.b, 0xff, 200)
  t.ok(
    pair.until(() => right.log.includes('received ping')),
    'ping is there',
  )
  t.notOk(
    pair.passed.some(name => name.endsWith('ACKNOWLEDGE')),
    'and not acknowledged yet',
  )
  t.ok(
    pair.until(() => left.log.includes('received pong')),
    `${left.log} | ${pair.passed}`,
  )
  t.equal(
    pair.passed.some(name => name.endsWith('ACKNOWLEDGE')),
    false,
    'the answer to the probe acknowledged it',
  )
})

/** IPCC: how many CNPs a queue's state is worth, who gets them, and what they are, byte by byte. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { caseOf, cnpCount } from '../../switch-emu/core/ipcc/cnp-count.js'
import type { IpccOptions, IpccReport } from '../../switch-emu/core/ipcc/ipcc.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { HOST, seeded, starSwitch } from './helpers.js'

const OPTIONS = { few: 0.25, more: 1, high: 0.4, least: 0.1 }

t.test('the four cases of the paper', async t => {
  const count = (queue: number, before: number, flows = 10) =>
    cnpCount(caseOf(queue, before, 1000, OPTIONS.high), flows, OPTIONS)
  t.equal(count(200, 100), 3, 'rising, low: a small number')
  t.equal(count(500, 300), 10, 'rising, high: more')
  t.equal(count(200, 300), 0, 'falling, low: none')
  t.equal(count(500, 700), 3, 'falling, high: a small number')
  t.equal(count(200, 200), 0, 'a standing queue does not rise')
  t.equal(count(400, 0, 1), 1)
  t.equal(count(399, 0, 0), 0, 'no flows, no CNPs')
})

const RECEIVER = 3
/** QPNs of host n, which sends, and of the receiver, which gets its data: the c-th connection of them. */
const OWN = (n: number, c = 0) => 0x10000 * (n + 1) + c
const THERE = (n: number, c = 0) => 0x1000000 - 0x10000 * (n + 1) - c - 1
const DATA_TOS = (24 << 2) | 2

interface Cnp {
  now: number
  port: number
  bytes: Buffer
  l3: number
  bth: number
  destQpn: number
}

/** Hosts 0 to 2 send to host 3. A packet of 1,000 bytes leaves in 80 ns. */
function congested(options: Partial<IpccOptions> = {}) {
  const ports = Array.from({ length: 4 }, () => ({ rateBps: 100e9 }))
  const dscp = Object.fromEntries(Array.from({ length: 64 }, (_, d) => [d, d >> 3]))
  const ipcc = {
    ...OPTIONS,
    fullBytes: 100_000,
    intervalNs: 2000,
    flowIntervalNs: 50_000,
    most: 64,
    dscp: 48,
    priorities: [3],
    flows: 64,
    ageNs: 1e9,
    ...options,
  }
  const { node, pool } = starSwitch({ ports, classifier: { dscp }, features: { ipcc } })
  const cnps: Cnp[] = []
  const see = (now: number, frame: Frame) => {
    const { view, bth: at, l3, port } = frame
    if (bth.opcode(view, at) === Opcode.CNP) {
      if (!icrc.verify(frame)) t.fail('a CNP has a wrong ICRC')
      const bytes = Buffer.from(frame.bytes.subarray(0, frame.length))
      cnps.push({ now, port, bytes, l3, bth: at, destQpn: bth.destQpn(view, at) })
    }
    pool.give(frame)
  }
  const drive = (until: number) => {
    for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
      node.onTimeout(now)
      for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) see(now, frame)
    }
  }
  const pass = (now: number, ingress: number, spec: FrameSpec) => {
    drive(now)
    node.onFrame(now, ingress, buildFrame(pool, { tos: DATA_TOS, ...spec }))
  }
  const data = (now: number, n: number, psn: number, more: Partial<FrameSpec> & { c?: number } = {}) => {
    const { c = 0, ...spec } = more
    const of = { from: HOST(n), to: HOST(RECEIVER), destQpn: THERE(n, c), sourcePort: 0xc000 + n }
    pass(now, n, { ...of, wireBytes: 1000, psn, ...spec })
  }
  const ack = (now: number, n: number, psn: number, more: Partial<FrameSpec> & { c?: number } = {}) => {
    const { c = 0, ...spec } = more
    const of = { from: HOST(RECEIVER), to: HOST(n), destQpn: OWN(n, c), sourcePort: 0xc000 + n }
    pass(now, RECEIVER, { ...of, opcode: Opcode.RC_ACKNOWLEDGE, psn, ...spec })
  }
  /** Two requests with their answers, by which the switch knows the sender. */
  const show = (now: number, n: number, c = 0) => {
    for (const psn of [5, 6]) {
      data(now + psn, n, psn, { c })
      ack(now + psn + 100, n, psn, { c })
    }
  }
  /** So many packets at once. */
  const burst = (now: number, n: number, packets = 80, c = 0) => {
    for (let i = 0; i < packets; i++) data(now, n, 1000 + i, { c })
  }
  const report = (port = RECEIVER): IpccReport => node.report(1e9, port).ipcc!
  return { node, pool, cnps, drive, pass, data, ack, show, burst, report }
}

t.test('the source gets a CNP as hardware sends it, once its QPN is known from answers', async t => {
  const it = congested()
  it.show(0, 1)
  it.burst(20_000, 1)
  it.drive(1e6)
  t.equal(it.cnps.length, 1)
  const { port, bytes, now, l3, bth: at } = it.cnps[0]!
  t.equal(port, 1)
  t.ok(now <= 22_010, `${now} ns: an interval after the congestion began`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  t.equal(ipv4.source(view, l3), HOST(RECEIVER), 'in the name of the receiver')
  t.equal(ipv4.destination(view, l3), HOST(1))
  t.equal(ipv4.dscp(view, l3), 48)
  t.ok(ipv4.verifyChecksum(view, l3))
  // UDP: source port of the flow, 4791, length 40, no checksum. BTH (IBA annex A17.9.3): opcode, MigReq and pad 0, partition key, BECN, QPN,
  // PSN 0. 16 reserved bytes.
  t.equal(
    bytes.subarray(at - 8, bytes.length - 4).toString('hex'),
    `c00112b7002800008100ffff4002000000000000${'00'.repeat(16)}`,
  )
  const { list, ...counts } = it.report()
  t.match(counts, { sent: 1, cases: { risingHigh: 1 }, unknownSender: 0, missed: 0 })
  t.same(list, [{ from: '10.0.0.1', to: '10.0.0.3', qpn: THERE(1), senderQpn: OWN(1), cnps: 1 }])
  t.match(it.report(1), { sent: 0, byAnswers: 1, byCm: 0, forged: 0, list: [] })
})

t.test('IPv6 hosts get them too', async t => {
  const it = congested()
  const address = (n: number) =>
    Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 0xfd : i === 15 ? n : 0))
  for (let n = 0; n < 4; n++) it.node.routes.set(HostAddress.fromGid(address(n)), [n])
  const there = { from: address(1), to: address(3) }
  for (const psn of [5, 6]) {
    it.data(psn, 1, psn, there)
    it.ack(psn + 100, 1, psn, { from: address(3), to: address(1) })
  }
  for (let i = 0; i < 80; i++) it.data(20_000, 1, 1000 + i, there)
  it.drive(1e6)
  t.equal(it.cnps.length, 1)
  const { port, bytes, l3, destQpn } = it.cnps[0]!
  t.equal(port, 1)
  t.equal(destQpn, OWN(1))
  t.same([...bytes.subarray(l3 + 8, l3 + 40)], [...address(3), ...address(1)])
})

t.test('a READ: the responder of the data gets the CNPs, at the QPN that its requester names', async t => {
  const it = congested()
  // Host 3 reads from host 1: its requests go there, and the data comes back with their PSNs.
  for (const psn of [5, 6]) {
    const to = { from: HOST(3), to: HOST(1), destQpn: 0x111, opcode: Opcode.RC_RDMA_READ_REQUEST }
    it.pass(psn, 3, { ...to, psn })
    it.data(psn + 100, 1, psn, { destQpn: 0x333, opcode: Opcode.RC_RDMA_READ_RESPONSE_ONLY })
  }
  for (let i = 0; i < 80; i++)
    it.data(20_000, 1, 7 + i, { destQpn: 0x333, opcode: Opcode.RC_RDMA_READ_RESPONSE_MIDDLE })
  it.drive(1e6)
  t.same(
    it.cnps.map(({ port, destQpn }) => [port, destQpn]),
    [[1, 0x111]],
  )
})

t.test(
  'a sender whose QPN nobody has shown gets none; one forged answer, or others by a wrong port, show nothing',
  async t => {
    const it = congested()
    for (const psn of [5, 6]) it.data(1000, 1, psn)
    for (const psn of [5, 6]) it.pass(1500, 2, answer(1, psn, 0x666))
    it.ack(2000, 1, 5, { destQpn: 0x777 })
    it.burst(20_000, 1)
    it.drive(1e6)
    t.equal(it.cnps.length, 0)
    t.match(it.report(), { sent: 0, unknownSender: 1 })
    t.equal(it.report(2).forged, 2)
    // Its right ones do.
    it.show(1_100_000, 1)
    it.burst(1_120_000, 1)
    it.drive(2e6)
    t.same(
      it.cnps.map(({ destQpn }) => destQpn),
      [OWN(1)],
    )
  },
)

function answer(n: number, psn: number, destQpn: number): FrameSpec {
  return { from: HOST(RECEIVER), to: HOST(n), destQpn, opcode: Opcode.RC_ACKNOWLEDGE, psn }
}

t.test('a flow gets one CNP in its interval at most, a queue as many as may be', async t => {
  const it = congested({ most: 1, flowIntervalNs: 25_000 })
  for (const n of [0, 1, 2]) it.show(0, n)
  for (let round = 0; round < 4; round++) for (const n of [0, 1, 2]) it.burst(20_000 + round * 10_000, n)
  it.drive(1e6)
  const { sent, spaced } = it.report()
  t.equal(sent, it.cnps.length)
  t.ok(sent >= 2, `${sent} CNPs`)
  t.ok(spaced > 0, `${spaced} had one a short time ago`)
  t.equal(new Set(it.cnps.map(({ now }) => Math.floor(now / 2000))).size, sent, 'one in each interval')
  for (const { port, now } of it.cnps)
    for (const other of it.cnps.filter(other => other.port === port && other.now > now))
      t.ok(other.now - now >= 25_000 - 1000, `${now} and ${other.now}`)
})

t.test('those that have sent most get the few CNPs', async t => {
  const it = congested({ few: 0.3, high: 1 })
  for (const n of [0, 1, 2]) it.show(0, n)
  it.burst(20_000, 0, 10)
  it.burst(20_000, 2, 60)
  it.burst(20_000, 1, 20)
  it.drive(1e6)
  // ceil(0.3 x 3), as the queue rises below its bound.
  t.match(it.report(), { sent: 1, cases: { risingLow: 1 } })
  t.same(
    it.cnps.map(({ port }) => port),
    [2],
  )
})

t.test('what a queue was before it rested is no trend', async t => {
  const it = congested({ high: 1, flowIntervalNs: 1000 })
  it.show(0, 1)
  // 80 KB, of which 25 KB leave in an interval.
  it.burst(20_000, 1, 80)
  it.drive(500_000)
  t.match(it.report().cases, { risingLow: 1, fallingLow: 0 }, 'falling at low utilization is worth none')
  // Much later a smaller one. It rises, whatever the last one was.
  it.burst(1_000_000, 1, 60)
  it.drive(2e6)
  t.equal(it.report().cases.risingLow, 2)
})

t.test('after a restart of the switch nothing is known', async t => {
  const it = congested()
  it.show(0, 1)
  it.burst(20_000, 1)
  it.drive(20_500)
  it.node.restart(20_500)
  it.drive(1e6)
  t.equal(it.cnps.length, 0, 'its timers have stopped')
  t.equal(it.report().flows, 0)
  it.burst(1_100_000, 1)
  it.drive(2e6)
  t.match(it.report(), { sent: 0, unknownSender: 1 })
  it.show(2_100_000, 1)
  it.burst(2_120_000, 1)
  it.drive(3e6)
  t.equal(it.cnps.length, 1)
})

t.test('whatever comes and goes in a small table, no CNP goes to another host or queue pair', async t => {
  const random = seeded(t, 18)
  const it = congested({ flows: 6, intervalNs: 2000, flowIntervalNs: 1000, ageNs: 20_000, least: 0 })
  let now = 0
  const live = Array.from({ length: 9 }, (_, i) => ({ n: i % 3, c: i }))
  let psn = 0
  for (let step = 0; step < 30_000; step++) {
    const i = random.below(live.length)
    const { n, c } = live[i]!
    now += random.below(300)
    if (random.below(400) === 0) live[i] = { n: random.below(3), c: 100 + step }
    const packets = 1 + random.below(4)
    for (let k = 0; k < packets; k++) it.data(now, n, psn++ & 0xffffff, { c })
    if (random.below(3) > 0) it.ack(now + 50, n, (psn - 1) & 0xffffff, { c })
    now += 50
  }
  it.drive(now + 1e6)
  const { sent, replaced } = it.report()
  t.ok(sent > 300, `${sent} CNPs`)
  t.ok(replaced > 300, `${replaced} places changed hands early`)
  let wrong = 0
  for (const { port, bytes, l3, destQpn } of it.cnps) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const isRight =
      ipv4.destination(view, l3) === HOST(port) &&
      ipv4.source(view, l3) === HOST(RECEIVER) &&
      Math.floor(destQpn / 0x10000) === port + 1
    if (!isRight) wrong++
  }
  t.equal(wrong, 0)
})

t.test('forged sources take no place; a host that forges its own flows leaves room for others', async t => {
  const it = congested({ flows: 32 })
  it.show(0, 1)
  // 20,000 packets of as many flows, from a source behind another port.
  for (let c = 1; c <= 20_000; c++) it.data(1000 + 20 * c, 0, 1, { c, from: HOST(2), wireBytes: 64 })
  t.equal(it.report(0).forged, 20_000)
  t.equal(it.report().flows, 1)
  t.equal(it.report().replaced, 0)
  // The same from its own.
  for (let c = 1; c <= 20_000; c++) it.data(500_000 + 20 * c, 0, 1, { c, wireBytes: 64 })
  t.ok(it.report().flows <= 17, 'half of the places at most')
  // A newcomer behind another port finds a place, and the old one has kept its own.
  it.show(1_000_000, 2)
  it.burst(1_020_000, 1)
  it.burst(1_020_000, 2)
  it.drive(2e6)
  t.same(it.cnps.map(({ port }) => port).sort(), [1, 2])
})

t.test(
  'two hosts that show each other as many live flows as they like leave others their share of the table',
  async t => {
    const it = congested({ flows: 32 })
    // Hosts 0 and 2 send to each other and answer: all flows of both are live.
    const between = (now: number, from: number, to: number, c: number) => {
      for (const psn of [2 * c, 2 * c + 1]) {
        it.data(now, from, psn, { to: HOST(to), c, wireBytes: 64 })
        it.pass(now + 20, to, { ...answer(from, psn, OWN(from, c)), from: HOST(to) })
      }
    }
    for (let c = 0; c < 2000; c++) {
      between(100 * c, 0, 2, c)
      between(100 * c + 50, 2, 0, c)
    }
    t.equal(it.report().flows, 32, 'the table is full of them')
    // Each of the three ports may have a third.
    for (let c = 0; c < 10; c++) it.show(300_000 + 1000 * c, 1, c)
    for (let c = 0; c < 10; c++) it.burst(400_000, 1, 10, c)
    it.drive(1e6)
    t.equal(it.cnps.length, 10)
    t.same(
      it.cnps.map(({ destQpn }) => destQpn).sort(),
      Array.from({ length: 10 }, (_, c) => OWN(1, c)),
    )
  },
)

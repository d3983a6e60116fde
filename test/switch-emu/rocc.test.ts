/** RoCC's congestion point: fair rates of ports, and who gets them (Taheri et al., CoNEXT 2020). */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { TagVerdict } from '../../lib/nic/keys/feedback-guard.js'
import { SwitchGuard } from '../../lib/nic/keys/switch-guard.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as pauseFrame from '../../lib/wire/net/pfc.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'
import * as directTag from '../../lib/wire/weir/direct-tag.js'
import * as fairRate from '../../lib/wire/weir/fair-rate.js'
import type { PfcOptions } from '../../switch-emu/core/pfc/ingress-accounting.js'
import { Pfc } from '../../switch-emu/core/pfc/pfc.js'
import type { SwitchOptions } from '../../switch-emu/core/switch.js'
import {
  FairRatePi,
  fairRateConstants,
  fairRateContradictions,
} from '../../switch-emu/core/telemetry/fair-rate-pi.js'
import type { RoccOptions } from '../../switch-emu/core/telemetry/rocc.js'
import { problemsOf } from '../scenario/problems-at.js'
import { fixedSeed } from '../support/seeds.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { HOST, starSwitch } from './helpers.js'
import { PAPER_40G, PAPER_100G, paperRate } from './rocc-paper.js'

for (const paper of [PAPER_40G, PAPER_100G])
  for (const qLow of [0, paper.qRef / 8]) {
    const which = qLow === 0 ? 'algorithm 1 as printed' : 'with full gains for a queue that is nearly empty'
    t.test(`${paper.bps / 1e9} Gbit/s, ${which}: the fair rate, whatever the queue does`, async t => {
      const random = new Random(fixedSeed(t, 7))
      const pi = new FairRatePi(fairRateConstants(paper.bps, qLow === 0 ? { qLowBytes: 0 } : {}))
      let f: number = paper.fMax
      let qOld = 0
      let off = 0
      const seen = { least: 0, most: 0, between: 0, low: 0 }
      for (let step = 0; step < 20_000; step++) {
        // Now a queue that stays short, now one that wanders, now jumps.
        const most = Math.floor((Math.floor(step / 500) % 2 === 0 ? 0.6 : 2.8) * paper.qRef)
        const isJump = random.below(12) === 0
        const q = isJump ? random.below(most) : Math.max(0, Math.min(most, qOld + random.below(121) - 60))
        f = paperRate(paper, f, q, qOld, qLow)
        if (q < paper.qRef / 8 && f < paper.fMax / 2) seen.low++
        qOld = q
        pi.update(q * 600)
        off = Math.max(off, Math.abs(pi.rateBps / 10e6 - f) / f)
        seen[f === paper.fMin ? 'least' : f === paper.fMax ? 'most' : 'between']++
      }
      t.ok(off < 1e-9, `relative difference ${off}`)
      for (const [name, times] of Object.entries(seen)) t.ok(times > 100, `${name}: ${times}`)
    })
  }

t.test('other links have the constants of the nearer one, with queues in proportion', async t => {
  const of = (rateBps: number) => fairRateConstants(rateBps, {})
  t.match(of(40e9), {
    qLowBytes: 18_750,
    qRefBytes: 150e3,
    qMidBytes: 300e3,
    qMaxBytes: 360e3,
    intervalNs: 40_000,
  })
  t.match(of(100e9), { qRefBytes: 300e3, qMidBytes: 600e3, qMaxBytes: 660e3, intervalNs: 40_000 })
  t.match(of(400e9), { alpha: 0.45, beta: 2.25, qRefBytes: 1.2e6, minBps: 100e6, intervalNs: 40_000 })
  t.same([of(400e9).unitBps, of(400e9).unitBytes], [40e6, 2400])
  t.match(of(10e9), { alpha: 0.3, beta: 1.5, qRefBytes: 37_500, minBps: 25e6, intervalNs: 40_000 })
  // A queue of 15 KB at 200 Mbit/s drains in 600 us, one of 150 KB at 40 Gbit/s in 30 us: both 3/4 of the interval.
  const slow = of(200e6)
  t.match(slow, { qRefBytes: 15_000, qMaxBytes: 36_000, intervalNs: 800_000, minBps: 500_000 })
})

t.test('whatever is given of the queues, Q_ref < Q_mid < Q_max', async t => {
  const values = [undefined, 1000, 100_000, 200_000, 5e6]
  for (const qRefBytes of values)
    for (const qMidBytes of values)
      for (const qMaxBytes of values) {
        const given = { qRefBytes, qMidBytes, qMaxBytes }
        if (fairRateContradictions(given, [40e9]).length > 0) continue
        const made = fairRateConstants(40e9, given)
        t.ok(made.qRefBytes < made.qMidBytes && made.qMidBytes < made.qMaxBytes, JSON.stringify(given))
        for (const [name, value] of Object.entries(given))
          if (value !== undefined) t.equal(made[name as keyof typeof given], value)
      }
  const all = { alpha: 1, beta: 2, qLowBytes: 0, qRefBytes: 1, qMidBytes: 2, qMaxBytes: 3, intervalNs: 4 }
  t.match(fairRateConstants(100e9, { ...all, minRate: 5, maxRate: 6 }), { ...all, minBps: 5, maxBps: 6 })
})

t.test('options that contradict each other, or do nothing, are refused in files', async t => {
  const base = 'hosts: [h1, h2]\nlinks: [{ends: h1--s1, rate: 10Gbps}, {ends: s1--h2, rate: 1Gbps}]\n'
  const flows = 'cc: rocc\ntraffic: [{from: h1, to: h2, size: 1MB}]\n'
  for (const [options, wrong] of [
    ['qLow: 300KB, qRef: 300KB', /qLow is below qRef/],
    ['qRef: 300KB, qMid: 200KB', /qMid is above qRef/],
    ['qRef: 300KB, qMax: 300KB', /qMax is above qRef and qMid/],
    ['qMid: 300KB, qMax: 200KB', /qMax is above qRef and qMid/],
    ['minRate: 100Mbps, maxRate: 100Mbps', /minRate is below maxRate/],
    ['minRate: 1Gbps', /the slowest of which has 1Gbps/],
    ['maxRate: 10Gbps', /maxRate has no effect while no link of the switch is faster than 10Gbps/],
    ['alpha: 0', /alpha/],
  ] as const) {
    const problems = problemsOf(`${base}switches: {s1: {rocc: {${options}}}}\n${flows}`)
    t.equal(problems.length, 1, problems.join(' | '))
    t.match(problems[0], /^x.yaml:\d+:\d+: /)
    t.match(problems[0], wrong, options)
  }
  for (const options of [
    'qRef: 300KB',
    'qLow: 0B',
    'qMid: 1KB',
    'qMax: 1KB',
    'qRef: 1KB, qMax: 5MB',
    'maxRate: 9Gbps',
  ])
    t.same(problemsOf(`${base}switches: {s1: {rocc: {${options}}}}\n${flows}`), [], options)
})

const RATE = 40e9
const LOW = PAPER_40G.qRef / 8
/** Hosts 0 to 3 send to host 4. */
function congested(
  options: Partial<RoccOptions> = {},
  bufferBytes = 1 << 24,
  lossless: Pick<SwitchOptions, 'classifier'> & { pfc?: PfcOptions } = {},
) {
  const { pfc, ...classifier } = lossless
  const ports = Array.from({ length: 5 }, () => ({ rateBps: RATE }))
  const features = { rocc: { flows: 16, ...options }, ...(pfc !== undefined && { pfc }) }
  const { node, pool } = starSwitch({ ports, bufferBytes, features, ...classifier })
  const sent: { now: number; port: number; bytes: Buffer }[] = []
  const drive = (until: number) => {
    for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
      node.onTimeout(now)
      for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) {
        if (frame.bth >= 0 && bth.opcode(frame.view, frame.bth) === Opcode.FAIR_RATE) {
          sent.push({ now, port: frame.port, bytes: Buffer.from(frame.bytes.subarray(0, frame.length)) })
        }
        pool.give(frame)
      }
    }
  }
  const data = (now: number, from: number, spec: Partial<FrameSpec> = {}) => {
    drive(now)
    node.onFrame(now, from, buildFrame(pool, { from: HOST(from), to: HOST(4), wireBytes: 1000, ...spec }))
  }
  const parsed = (bytes: Buffer): Frame => {
    const frame = pool.take()!
    frame.bytes.set(bytes)
    frame.length = bytes.length
    frame.wireLength = bytes.length
    frame.l3 = -1
    t.equal(parseFrame(frame), WireError.OK)
    return frame
  }
  return { node, pool, sent, drive, data, parsed }
}

/** 280 packets at once of each of two flows: more than Q_mid. They take 112 us to leave. */
function burst(it: ReturnType<typeof congested>, now: number): void {
  for (let n = 0; n < 280; n++)
    for (const from of [0, 1]) it.data(now, from, { psn: 100 + n, sourcePort: 0xc000 + from })
}

t.test('each interval the sources of the queue get the fair rate, in the name of their receiver', async t => {
  const it = congested()
  const { node, pool, sent, drive, parsed } = it
  burst(it, 1000)
  drive(1e6)
  // 41 us: 560,000 - 200,000 bytes wait, which is Q_max: F_min, to both. 81 us: 160,000; from then on nothing waits.
  t.same(
    sent.map(({ now }) => now),
    [41_000, 41_000, 81_000, 81_000],
  )
  t.same(sent.map(({ port }) => port).sort(), [0, 0, 1, 1])
  const first = paperRate(PAPER_40G, 4000, 600, 0, LOW)
  t.equal(first, 10)
  const second = paperRate(PAPER_40G, first, 160_000 / 600, 600, LOW)
  const fields = { switchId: 0, port: 0, rateBps: 0, intervalNs: 0 }
  for (const { port, bytes, now } of sent) {
    const frame = parsed(bytes)
    const { view, l3, l4, bth: at, payload } = frame
    fairRate.read(view, payload - fairRate.BYTES, fields)
    t.match(fields, { switchId: 7, port: 4, intervalNs: 40_000 })
    t.equal(fields.rateBps, Math.round((now === 41_000 ? first : second) * 10_000) * 1000)
    t.equal(fairRate.kind(view, payload - fairRate.BYTES), fairRate.KIND_REQUEST)
    t.ok(icrc.isPresent(frame) && icrc.verify(frame), 'with a right ICRC')
    t.ok(ipv4.verifyChecksum(view, l3))
    t.equal(ipv4.source(view, l3), HOST(4), 'as its receiver would answer')
    t.equal(ipv4.destination(view, l3), HOST(port))
    t.same([udp.sourcePort(view, l4), udp.destinationPort(view, l4)], [0xc000 + port, 4791])
    t.ok(bth.becn(view, at))
    t.equal(bth.psn(view, at), 379, 'of the newest packet')
    t.match(printFrame(frame), /FAIR_RATE .*fair rate \d+ kbit\/s of 7:4 each 40000 ns/)
    pool.give(frame)
  }
  t.match(node.report(1e6, 4).rocc, { sent: 4, missed: 0 })
  t.match(node.report(1e6, 0).rocc, { sent: 0, missed: 0, fairRateBps: RATE })
  // F climbs on its own while the queue is empty, and the port rests at F_max.
  drive(1e9)
  t.match(node.report(1e9, 4).rocc, { fairRateBps: RATE })
  t.equal(node.nextTimeout(), Number.POSITIVE_INFINITY)
  t.equal(pool.inUse, 0)
})

t.test('the table is bounded, and forgets flows that send nothing', async t => {
  const it = congested({ flows: 2, ageNs: 60_000 })
  const { node, pool, sent, drive, data } = it
  burst(it, 0)
  for (let n = 0; n < 5; n++) data(0, 2, { psn: n, sourcePort: 0xc002 })
  drive(40_000)
  t.equal(sent.length, 2)
  t.match(node.report(40_000, 4).rocc, { sent: 2, missed: 5 })
  // At 80 us the two have sent nothing for more than 60 us, and a third one has.
  data(70_000, 3, { psn: 9, sourcePort: 0xc003 })
  drive(80_000)
  t.same(
    sent.slice(2).map(({ port }) => port),
    [3],
  )
  node.resetWindow(80_000)
  t.match(node.report(80_000, 4).rocc, { sent: 0, missed: 0 })
  drive(1e9)
  t.equal(pool.inUse, 0)
})

t.test('a buffer that data has filled drops no fair rates', async t => {
  const it = congested({}, 300_000)
  burst(it, 1000)
  // Until then hosts 2 and 3 fill again what leaves.
  for (let now = 2000; now < 82_000; now += 200) for (const from of [2, 3]) it.data(now, from, { psn: now })
  t.ok(it.node.buffer.usedBytes > 298_000)
  t.ok(it.node.report(82_000, 4).dropsByReason.bufferFull! > 100)
  t.same(
    it.sent.map(({ port, now }) => `${port} at ${now}`).sort(),
    [0, 1, 2, 3].flatMap(port => [`${port} at 41000`, `${port} at 81000`]),
  )
  it.drive(1e9)
  t.equal(it.node.buffer.usedBytes, 0)
  t.equal(it.pool.inUse, 0)
})

t.test('no peer is paused for fair rates that wait: their sender is the switch itself', async t => {
  const pfc = {
    priorities: [3],
    xoffBytes: 100,
    xonBytes: 50,
    headroomBytes: new Array<number>(5).fill(600_000),
  }
  const it = congested({}, 1 << 24, { classifier: { dscp: { 24: 3 } }, pfc })
  const { node, pool } = it
  const pause = pool.take()!
  pauseFrame.write(pause.view, 0, 0x02_00_00_00_00_99, 1 << 3, 65_535)
  pause.length = pause.wireLength = pauseFrame.BYTES
  node.onFrame(0, 0, pause) // for 839 us
  for (let n = 0; n < 560; n++) it.data(1000, 0, { psn: n, tos: 24 << 2 })
  it.drive(400_000)
  t.equal(it.sent.length, 0)
  const { count, bytes } = node.ports[0]!.queues[3]!
  t.ok(count >= 2 && bytes > pfc.xoffBytes, `${count} fair rates wait, ${bytes} B`)
  t.equal(node.ownMemory.usedBytes, bytes)
  const { accounting } = node.find(Pfc)!
  t.equal(accounting.bytesOf(0, 3), 0, 'the data has left')
  t.equal(accounting.xoffMask(0), 0)
  it.drive(1e9)
  t.equal(it.sent.length, count)
  t.equal(node.ownMemory.usedBytes, 0)
  t.equal(pool.inUse, 0)
})

t.test('the memory of own packets is bounded too', async t => {
  const it = congested({
    flows: 4096,
    intervalNs: 1000,
    ageNs: 1e6,
    qRefBytes: 1000,
    qMidBytes: 1e6,
    qMaxBytes: 2e6,
  })
  for (let n = 0; n < 2000; n++) it.data(0, 0, { psn: n, sourcePort: 0xc000 + n })
  it.drive(10_000)
  const { bufferFull } = it.node.report(10_000, 0).dropsByReason
  t.ok(bufferFull! > 0, `${bufferFull} fair rates found no room`)
  const waits = it.node.ownMemory.usedBytes
  t.ok(waits > 50_000 && waits <= 51_200, `${waits} B wait at the port: 50 KiB at most`)
  it.drive(1e9)
  t.equal(it.pool.inUse, 0)
})

t.test('acknowledgements and other traffic get none', async t => {
  const it = congested()
  for (let n = 0; n < 3000; n++) it.data(0, 0, { wireBytes: 0, psn: n })
  it.drive(1e6)
  t.equal(it.sent.length, 0)
  t.equal(it.pool.inUse, 0)
})

t.test('with a key each carries a tag of the domain, and a number above the last', async t => {
  const secret = Buffer.from('correct horse battery staple')
  const key = directTag.directKey(secret)
  const it = congested({ key })
  burst(it, 1000)
  it.drive(1e6)
  const guard = new SwitchGuard(key)
  const wrong = new SwitchGuard(directTag.directKey(Buffer.from('another secret of the domain')))
  const verdicts = it.sent
    .filter(({ port }) => port === 0)
    .flatMap(({ bytes }) =>
      [wrong, guard, guard].map(each => {
        const frame = it.parsed(bytes)
        const verdict = each.open(frame)
        it.pool.give(frame)
        return verdict
      }),
    )
  const each = [TagVerdict.FORGED, TagVerdict.OK, TagVerdict.REPLAYED]
  t.same(verdicts, [...each, ...each])
  t.equal(it.pool.inUse, 0)
})

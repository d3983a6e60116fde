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
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'
import * as directTag from '../../lib/wire/weir/direct-tag.js'
import * as fairRate from '../../lib/wire/weir/fair-rate.js'
import { FairRatePi, fairRateConstants } from '../../switch-emu/core/telemetry/fair-rate-pi.js'
import type { RoccOptions } from '../../switch-emu/core/telemetry/rocc.js'
import { fixedSeed } from '../support/seeds.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { HOST, starSwitch } from './helpers.js'

const GAINS = { alpha: 0.3, beta: 1.5 }

/** The paper's controller in its own units: F in 10 Mbit/s, Q in 600 B, for 40 Gbit/s. */
function paperRate(f: number, q: number, qOld: number): number {
  const [fMin, fMax, qRef, qMid, qMax] = [10, 4000, 250, 500, 600]
  let next: number
  if (q >= qMax && f > fMax / 8) next = fMin
  else if (q - qOld >= qMid && f > fMax / 8) next = f / 2
  else {
    let level = 2
    while (f < fMax / level && level < 64) level *= 2
    const ratio = level / 2
    next = f - (GAINS.alpha / ratio) * (q - qRef) - (GAINS.beta / ratio) * (q - qOld)
  }
  return Math.min(fMax, Math.max(fMin, next))
}

t.test('the fair rate after each interval is that of the paper, whatever the queue does', async t => {
  const random = new Random(fixedSeed(t, 7))
  const pi = new FairRatePi(fairRateConstants(40e9, GAINS))
  let f = 4000
  let qOld = 0
  let off = 0
  const seen = { least: 0, most: 0, between: 0 }
  for (let step = 0; step < 20_000; step++) {
    // Now a queue that stays short, now one that wanders, now jumps.
    const most = Math.floor(step / 500) % 2 === 0 ? 150 : 700
    const isJump = random.below(12) === 0
    const q = isJump ? random.below(most) : Math.max(0, Math.min(most, qOld + random.below(121) - 60))
    f = paperRate(f, q, qOld)
    qOld = q
    pi.update(q * 600)
    off = Math.max(off, Math.abs(pi.rateBps / 10e6 - f) / f)
    seen[f === 10 ? 'least' : f === 4000 ? 'most' : 'between']++
  }
  t.ok(off < 1e-9, `relative difference ${off}`)
  for (const [name, times] of Object.entries(seen)) t.ok(times > 100, `${name}: ${times}`)
})

t.test(
  'constants follow the rate of the link; below 4 Gbit/s the interval grows, not the queue falls',
  async t => {
    const { unitBps, unitBytes, ...hundred } = fairRateConstants(100e9, GAINS)
    t.match(hundred, { qRefBytes: 375_000, qMidBytes: 750_000, qMaxBytes: 900_000, intervalNs: 40_000 })
    t.match(hundred, { minBps: 250e6, maxBps: 100e9 })
    t.same([unitBps, unitBytes], [25e6, 1500])
    const slow = fairRateConstants(200e6, GAINS)
    t.match(slow, { qRefBytes: 15_000, qMaxBytes: 36_000, intervalNs: 800_000, minBps: 500_000 })
    // A queue of 15 KB at 200 Mbit/s drains in 600 us, one of 150 KB at 40 Gbit/s in 30 us: both 3/4 of the interval.
    const given = {
      ...GAINS,
      qRefBytes: 1,
      qMidBytes: 2,
      qMaxBytes: 3,
      intervalNs: 4,
      minRate: 5,
      maxRate: 6,
    }
    t.match(fairRateConstants(100e9, given), {
      qRefBytes: 1,
      qMidBytes: 2,
      qMaxBytes: 3,
      intervalNs: 4,
      minBps: 5,
      maxBps: 6,
    })
  },
)

const RATE = 40e9
/** Hosts 0 to 3 send to host 4. */
function congested(options: Partial<RoccOptions> = {}) {
  const ports = Array.from({ length: 5 }, () => ({ rateBps: RATE }))
  const { node, pool } = starSwitch({ ports, features: { rocc: { ...GAINS, flows: 16, ...options } } })
  const sent: { now: number; port: number; bytes: Buffer }[] = []
  const drive = (until: number) => {
    for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
      node.onTimeout(now)
      for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) {
        if (bth.opcode(frame.view, frame.bth) === Opcode.FAIR_RATE) {
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
  const first = paperRate(4000, 600, 0)
  t.equal(first, 10)
  const second = paperRate(first, 160_000 / 600, 600)
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

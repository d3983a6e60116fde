/** Direct responses of a congested switch (draft-01 of HPCC++, section 6.3). */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { BloomFilter } from '../../switch-emu/core/telemetry/bloom-filter.js'
import type { DirectResponseOptions } from '../../switch-emu/core/telemetry/direct-responses.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { drain, HOST, seeded, starSwitch } from './helpers.js'

const RATE = 100e9

/** Three hosts; hosts 0 and 1 send to host 2. `sent`: the responses that left, by port. */
function congested(direct: DirectResponseOptions) {
  const ports = [{ rateBps: RATE }, { rateBps: RATE }, { rateBps: RATE }]
  const { node, pool } = starSwitch({ ports, features: { direct } })
  const sent: { port: number; now: number; frame: Buffer; psn: number }[] = []
  const data = (now: number, spec: Partial<FrameSpec> = {}) => {
    const from = spec.from ?? HOST(0)
    const frame = buildFrame(pool, {
      from,
      to: HOST(2),
      wireBytes: 1000,
      int: { format: 0, slots: 3 },
      ...spec,
    })
    node.onFrame(now, (from as number) - HOST(0), frame)
  }
  const run = (until: number) =>
    drain(node, until, (frame: Frame, now) => {
      if (bth.opcode(frame.view, frame.bth) === Opcode.DIRECT_NOTIFY) {
        const psn = bth.psn(frame.view, frame.bth)
        sent.push({ port: frame.port, now, frame: Buffer.from(frame.bytes.subarray(0, frame.length)), psn })
      }
      pool.give(frame)
    })
  return { node, pool, sent, data, run }
}

t.test(
  'the packet that finds the queue at the threshold is answered, to its sender, with its number',
  async t => {
    const { node, pool, sent, data, run } = congested({ thresholdBytes: 2500 })
    // The line is free: three packets are queued at once, of which the third finds 3,000 bytes, itself included.
    for (let n = 0; n < 4; n++) data(1000, { psn: 100 + n, sourcePort: 0xc123 })
    run(2000)
    t.equal(sent.length, 1, 'the fourth is of the same flow')
    t.equal(sent[0]!.port, 0)
    t.equal(sent[0]!.psn, 102)
    t.equal(sent[0]!.now, 1000, 'at once, ahead of the queue')
    t.equal(node.report(2000, 2).directResponses, 1)
    t.equal(node.report(2000, 0).directResponses, 0, 'counted where the congestion is')
    const frame = pool.take()!
    frame.bytes.set(sent[0]!.frame)
    frame.length = sent[0]!.frame.length
    frame.wireLength = frame.length
    t.equal(parseFrame(frame), WireError.OK)
    t.ok(icrc.isPresent(frame) && icrc.verify(frame), 'with a right ICRC')
    t.ok(ipv4.verifyChecksum(frame.view, frame.l3))
    t.equal(ipv4.source(frame.view, frame.l3), HOST(2), 'as its receiver would answer')
    t.equal(ipv4.destination(frame.view, frame.l3), HOST(0))
    t.equal(udp.sourcePort(frame.view, frame.l4), 0xc123, "the flow's entropy")
    t.ok(bth.becn(frame.view, frame.bth) && !bth.fecn(frame.view, frame.bth))
    const hops = new HopRecords()
    intShim.read(frame.view, frame.shim, frame.bth, hops)
    t.ok(intShim.isEcho(frame.view, frame.shim), 'not to be stamped on the way')
    t.equal(hops.count, 1)
    t.same(
      [hops.switchId[0], hops.port[0], hops.rateBps[0], hops.tsNs[0], hops.qlenBytes[0]],
      [7, 2, RATE, 1000, 3000],
    )
    pool.give(frame)
    run(1e6)
    t.equal(pool.inUse, 0)
  },
)

t.test('the hops that the packet has behind it come first', async t => {
  const { pool, sent, node, run } = congested({ thresholdBytes: 1 })
  const frame = buildFrame(pool, {
    from: HOST(0),
    to: HOST(2),
    wireBytes: 1000,
    int: { format: 0, slots: 3 },
  })
  intShim.stamp(frame.view, frame.shim, frame.length, {
    switchId: 0x55,
    egressPort: 4,
    rateBps: 25e9,
    startNs: 500,
    txBytes: 600,
    qlenBytes: 700,
  })
  node.onFrame(1000, 0, frame)
  run(1e6)
  const view = new DataView(sent[0]!.frame.buffer, sent[0]!.frame.byteOffset)
  const hops = new HopRecords()
  intShim.read(view, 42, sent[0]!.frame.length, hops)
  t.same([...hops.switchId.subarray(0, 2)], [0x55, 7])
  t.same([...hops.qlenBytes.subarray(0, 2)], [700, 1000])
  t.equal(hops.pathId, 0x55 ^ 7)
})

t.test('a burst is not answered by a burst: once a flow in an interval, each flow for itself', async t => {
  const { sent, data, run } = congested({ thresholdBytes: 1000, intervalNs: 10_000 })
  for (let n = 0; n < 50; n++) {
    data(1000 + n, { psn: n })
    data(1000 + n, { psn: n, from: HOST(1) })
    data(1000 + n, { psn: n, sourcePort: 0xc001 })
  }
  run(9000)
  t.equal(sent.length, 3, 'three flows')
  t.same(sent.map(({ port }) => port).sort(), [0, 0, 1])
  data(11_500, { psn: 60 })
  data(11_500, { psn: 61 })
  run(1e6)
  t.equal(sent.length, 4, 'the interval is over')
})

t.test('who is answered: all with telemetry, or those that ask, by flag or by DSCP', async t => {
  const cases: [string, Partial<FrameSpec>, boolean, boolean][] = [
    ['with telemetry', {}, true, false],
    ['with an empty shim', { int: { format: 0, slots: 0, flags: intShim.FLAG_ECHO } }, false, false],
    ['plain', { int: undefined }, false, false],
    ['that asks by flag', { int: { format: 0, slots: 3, flags: intShim.FLAG_SUBSCRIBED } }, true, true],
    [
      'with an empty shim that asks',
      { int: { format: 0, slots: 0, flags: intShim.FLAG_ECHO | intShim.FLAG_SUBSCRIBED } },
      true,
      true,
    ],
    ['plain with the DSCP', { int: undefined, tos: 25 << 2 }, true, true],
    ['plain with another DSCP', { int: undefined, tos: 26 << 2 }, false, false],
    ['an acknowledgement, no payload', { wireBytes: 0 }, false, false],
  ]
  for (const [what, spec, all, subscribed] of cases) {
    for (const of of ['all', 'subscribed'] as const) {
      const { sent, data, run } = congested({ thresholdBytes: 1, of, subscribedDscp: 25 })
      data(1000, spec)
      run(1e6)
      t.equal(sent.length === 1, of === 'all' ? all : subscribed, `${what}, ${of}`)
    }
  }
})

t.test('to the receiver, where that works out the window', async t => {
  const { sent, data, run } = congested({ thresholdBytes: 1, to: 'receiver' })
  data(1000, { psn: 5 })
  run(1e6)
  t.equal(sent[0]!.port, 2)
  const view = new DataView(sent[0]!.frame.buffer, sent[0]!.frame.byteOffset)
  t.equal(ipv4.source(view, 14), HOST(0))
  t.equal(ipv4.destination(view, 14), HOST(2))
  const at = 42 + intShim.totalBytes(view, 42)
  t.ok(bth.fecn(view, at) && !bth.becn(view, at))
})

t.test('the filter has no false negatives, and few false positives', async t => {
  const random = seeded(t, 3)
  const filter = new BloomFilter(4096)
  const keys = Array.from({ length: 200 }, () => random.u32())
  let wronglyKnown = 0
  for (const key of keys) if (!filter.add(key)) wronglyKnown++
  for (const key of keys) if (filter.add(key)) t.fail(`${key} was forgotten`)
  // 400 of 4,096 bits are set at the end: a new key meets two of them with probability under 1 %.
  t.ok(wronglyKnown <= 6, `${wronglyKnown} of 200`)
  filter.clear()
  t.ok(filter.add(keys[0]!))
  for (const bits of [0, 31, 33, 100]) t.throws(() => new BloomFilter(bits), { code: 'WEIR_BAD_ARGUMENT' })
})

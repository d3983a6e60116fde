/**
 * A third party that forges fair rates of RoCC, in the name of a flow's receiver. Each test says how many packets it sends, and what they
 * cost the flow.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { MILLISECOND, type Nanos, SECOND } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as fairRate from '../../lib/wire/weir/fair-rate.js'
import { connected, frameName, makePair, memoryOf, type PairOptions, RATE_BPS } from '../nic/pair.js'
import { send } from './third-party.js'

const SECRET = Buffer.from('correct horse battery staple')
const BYTES = 4_000_000
/** The worst that a packet can say: 1 kbit/s, for the longest interval. */
const WORST = { switchId: 7, port: 1, rateBps: 1000, intervalNs: 0xffff_ffff }

/** `a` writes to `b` by RoCC. What the attacker has seen: an acknowledgement, and the last data packet's numbers. */
function attacked(options: Partial<NonNullable<PairOptions['a']>> = {}) {
  const cc = { name: 'rocc', options: {} }
  const pair = makePair({ a: { cc, baseRttNs: 20_000, ...options }, b: { ...options } })
  const { left } = connected(pair)
  let ack: Uint8Array | null = null
  let last = { qpn: 0, psn: 0 }
  pair.tap.watch = (frame, _now, fromA) => {
    const { view } = frame
    if (fromA && frame.payloadLength > 0)
      last = { qpn: bth.destQpn(view, frame.bth), psn: bth.psn(view, frame.bth) }
    if (!fromA && frameName(frame) === 'RC_ACKNOWLEDGE')
      ack = Uint8Array.from(frame.bytes.subarray(0, frame.length))
    return true
  }
  const region = memoryOf(pair.a, Buffer.alloc(BYTES))
  const there = memoryOf(pair.b, Buffer.alloc(BYTES))
  const remote = { remoteAddress: there.address, rkey: there.key }
  const startNs = pair.network.now
  left.connection!.postSend(startNs, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region,
    offset: 0,
    length: BYTES,
    ...remote,
  })
  const forge = () => send(pair, pair.a, ack!, frame => intoFairRate(frame, last))
  const passed = (ns: Nanos) => pair.network.now - startNs >= ns
  const done = () => left.log.includes('completion 1 SUCCESS')
  return { pair, left, forge, passed, done, startNs }
}

/** Makes the worst fair rate of an acknowledgement that took the same way. */
function intoFairRate(frame: Frame, { qpn, psn }: { qpn: number; psn: number }): void {
  const { view, l3, l4 } = frame
  bth.write(view, frame.bth, new bth.Bth({ opcode: Opcode.FAIR_RATE, destQpn: qpn, psn }))
  bth.setBecn(view, frame.bth, true)
  fairRate.write(view, frame.bth + bth.BYTES, fairRate.KIND_REQUEST, WORST)
  frame.length = frame.bth + bth.BYTES + fairRate.BYTES + icrc.BYTES
  frame.wireLength = frame.length
  ipv4.setTotalLength(view, l3, frame.length - l3)
  ipv4.updateChecksum(view, l3)
  view.setUint16(l4 + 4, frame.length - l4)
  view.setUint16(l4 + 6, 0)
}

t.test('without a key one forged fair rate costs a flow half a second: 1 packet', async t => {
  const { pair, left, forge, passed, done, startNs } = attacked()
  t.ok(pair.until(() => passed(MILLISECOND)))
  forge()
  const { rateBps } = left.connection!.stats
  const { pathMtu } = left.connection!
  // A packet each 100 ms; from there 1.375 x 20 ms for each doubling.
  t.equal(Math.round(rateBps), pathMtu * 80)
  t.ok(pair.until(done), 'the transfer goes on')
  const spentNs = pair.network.now - startNs
  const doublings = Math.ceil(Math.log2(RATE_BPS / rateBps))
  t.ok(spentNs < 1.375 * 20 * MILLISECOND * doublings + 10 * MILLISECOND, `${spentNs / 1e6} ms`)
  t.ok(spentNs < 0.6 * SECOND)
})

t.test('to hold a flow takes a forged fair rate in each 27 ms: 40 packets a second', async t => {
  const { pair, left, forge, passed, done } = attacked()
  for (let ms = 1; ms < 1000; ms += 25) {
    t.ok(pair.until(() => passed(ms * MILLISECOND)))
    forge()
  }
  t.notOk(done(), 'as long as they come')
  t.equal(Math.round(left.connection!.stats.rateBps), left.connection!.pathMtu * 80)
  t.ok(pair.until(done), 'and not for longer')
})

t.test('with a key they are refused and counted: 100 packets', async t => {
  const { pair, left, forge, passed, done, startNs } = attacked({ secret: SECRET })
  t.ok(pair.until(() => passed(MILLISECOND)))
  const before = left.connection!.stats.rateBps
  for (let n = 0; n < 100; n++) forge()
  t.equal(left.connection!.stats.rateBps, before)
  const { untaggedFeedback, forgedFeedback } = pair.a.counters.rx
  t.equal(untaggedFeedback + forgedFeedback, 100)
  t.ok(pair.until(done))
  t.ok(pair.network.now - startNs < 10 * MILLISECOND)
})

/** Congestion notification packets: when they leave, to whom, with which headers, and who obeys them (RoCEv2, IBA annex A17.9.3). */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { Receiver } from '../../lib/nic/flow/receiver.js'
import { TelemetryEcho } from '../../lib/nic/telemetry/telemetry-echo.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { NeedId } from '../../lib/wire/weir/needs.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { intoCnp, setIpChecksum } from './into-cnp.js'
import { connected, frameName, makePair, memoryOf, type PairOptions } from './pair.js'

const US = 1000
const BYTES = 400_000

const receiver = (intervalNs: number) => {
  const made = new Receiver(new TelemetryEcho(false, null), false, 16)
  made.serve([{ id: NeedId.CNPS, value: intervalNs }])
  return made
}

t.test('the first mark is answered at once, later ones when an interval ends that has seen any', async t => {
  const np = receiver(50 * US)
  t.equal(np.nextTimeout(), Number.POSITIVE_INFINITY)
  t.equal(np.onMarked(100 * US, 1), true)
  t.equal(np.onMarked(101 * US, 1), false)
  t.equal(np.onMarked(149 * US, 1), false)
  t.equal(np.nextTimeout(), 150 * US, 'one is due for both of them')
  t.equal(np.takeCnp(150 * US - 1), false)
  t.equal(np.takeCnp(150 * US), true)
  t.equal(np.nextTimeout(), Number.POSITIVE_INFINITY)
  t.equal(np.takeCnp(300 * US), false, 'no mark, no CNP')
  t.equal(np.onMarked(301 * US, 1), true)
  t.equal(np.markedPackets, 4)
})

t.test('at most one in an interval, whatever arrives, and one for every interval with marks', async t => {
  const np = receiver(50 * US)
  const left: number[] = []
  for (let now = 0; now < 1000 * US; now += 7 * US) {
    if (np.takeCnp(now)) left.push(now)
    if (np.onMarked(now, 1)) left.push(now)
  }
  for (const [i, now] of left.entries()) if (i > 0) t.ok(now - left[i - 1]! >= 50 * US)
  t.ok(left.length >= 17, `${left.length} in a millisecond`)
})

t.test('a peer that has not asked gets none', async t => {
  const np = new Receiver(new TelemetryEcho(false, null), false, 16)
  t.equal(np.onMarked(0, 1), false)
  t.equal(np.nextTimeout(), Number.POSITIVE_INFINITY)
})

/** Marks a data packet, as a switch does. */
function mark(frame: Frame): void {
  const { view, l3 } = frame
  const tos = view.getUint8(l3 + 1)
  t.not(tos & 3, 0, 'it is ECN-capable')
  view.setUint8(l3 + 1, tos | 3)
  setIpChecksum(frame)
}

interface Cnp {
  now: number
  fromA: boolean
  bytes: Buffer
}

/** `a` writes to `b`, or reads from `b`; each data packet is marked. @param plain `b` says nothing of itself */
function exchange(options: PairOptions, opcode: WorkOpcode, plain: boolean) {
  const pair = makePair(options)
  const change = (frame: Frame) => {
    if (plain) takeWordsOut(frame)
  }
  pair.tap.watch = frame => {
    change(frame)
    return true
  }
  const { left, right } = connected(pair)
  const cnps: Cnp[] = []
  let qpnOfA = -1
  pair.tap.watch = (frame, now, fromA) => {
    change(frame)
    const name = frameName(frame)
    if (name === 'RC_ACKNOWLEDGE' && !fromA) qpnOfA = bth.destQpn(frame.view, frame.bth)
    if (name === 'CNP') cnps.push({ now, fromA, bytes: Buffer.from(frame.bytes.subarray(0, frame.length)) })
    if (frame.payloadLength > 0 && bth.opcode(frame.view, frame.bth) < Opcode.CNP) {
      mark(frame)
    }
    return true
  }
  const region = memoryOf(pair.a, Buffer.alloc(BYTES))
  const there = memoryOf(pair.b, Buffer.alloc(BYTES))
  const remote = { remoteAddress: there.address, rkey: there.key }
  left.connection!.postSend(pair.network.now, { id: 1, opcode, region, offset: 0, length: BYTES, ...remote })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  return { left, right, cnps, qpnOfA }
}

const DCQCN = { cc: { name: 'dcqcn', options: {} }, baseRttNs: 10 * US }
const SILENT = { cc: { name: 'fixed-window', options: {} }, recovery: 'goBackN' as const, baseRttNs: 10 * US }

/** What hardware sends (IBA annex A17.9.3): 60 bytes behind Ethernet, of which 16 are reserved, and the ICRC. */
function checkBytes(t: Test, { bytes }: Cnp, qpn: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const at = 14 + 20 + 8
  t.equal(bytes.length, at + 12 + 16 + icrc.BYTES)
  t.equal(view.getUint16(14 + 20 + 2), 4791, 'UDP port of RoCEv2')
  t.equal(view.getUint8(at), 0x81, 'opcode')
  t.equal(view.getUint8(at + 1), 0, 'no solicited event, MigReq, pad or version')
  t.equal(view.getUint16(at + 2), 0xffff, 'partition key')
  t.equal(view.getUint8(at + 4), 0x40, 'BECN alone')
  t.equal(view.getUint32(at + 4) & 0xffffff, qpn, 'the sender of the data')
  t.equal(view.getUint32(at + 8), 0, 'no AckReq, PSN 0')
  t.ok(
    bytes.subarray(at + 12, at + 28).every(byte => byte === 0),
    'reserved',
  )
}

t.test('WRITE: the receiver of the data sends them, 50 us apart, and the rate falls', async t => {
  const { cnps, left, qpnOfA } = exchange({ a: DCQCN, b: SILENT }, WorkOpcode.RDMA_WRITE, false)
  t.ok(cnps.length > 3, `${cnps.length} CNPs`)
  for (const [i, { now, fromA }] of cnps.entries()) {
    t.notOk(fromA)
    if (i > 0) t.ok(now - cnps[i - 1]!.now >= 50 * US - 1)
  }
  checkBytes(t, cnps[0]!, qpnOfA)
  t.ok(left.connection!.stats.rateBps < 5e9, `${left.connection!.stats.rateBps}`)
  t.match(left.connection!.stats.feedbackGranted, ['reports of CE marks', 'CNPs each 50 us'])
})

t.test('their interval is the sender’s to say', async t => {
  const often = { ...DCQCN, cc: { name: 'dcqcn', options: { cnpInterval: 5 * US } } }
  const { cnps, left } = exchange({ a: often, b: SILENT }, WorkOpcode.RDMA_WRITE, false)
  t.match(left.connection!.stats.feedbackGranted, ['reports of CE marks', 'CNPs each 5 us'])
  t.ok(cnps.length > 30, `${cnps.length} CNPs`)
  t.ok(cnps.some(({ now }, i) => i > 0 && now - cnps[i - 1]!.now < 10 * US))
})

t.test('READ: the requester of the data sends them, and the responder obeys', async t => {
  const { cnps, right } = exchange({ a: SILENT, b: DCQCN }, WorkOpcode.RDMA_READ, false)
  t.ok(cnps.length > 3, `${cnps.length} CNPs`)
  for (const { fromA } of cnps) t.ok(fromA)
  t.ok(right.connection!.stats.rateBps < 5e9, `${right.connection!.stats.rateBps}`)
})

t.test('a plain RoCEv2 peer gets CNPs, and those that it sends are obeyed', async t => {
  const plain = exchange({ a: DCQCN, b: { ...SILENT, cc: DCQCN.cc } }, WorkOpcode.RDMA_WRITE, true)
  // Both ends take each other for plain: each sends CNPs because a plain peer knows nothing else.
  t.ok(plain.cnps.length > 3)
  t.equal(plain.left.connection!.stats.controller, 'dcqcn')
  t.ok(plain.left.connection!.stats.rateBps < 5e9)
  const read = exchange({ a: SILENT, b: DCQCN }, WorkOpcode.RDMA_READ, true)
  t.ok(read.cnps.length > 3 && read.cnps.every(({ fromA }) => fromA))
  t.ok(read.right.connection!.stats.rateBps < 5e9)
})

t.test('in a priority of their own', async t => {
  const { cnps } = exchange({ a: DCQCN, b: { ...SILENT, cnpPriority: 6 } }, WorkOpcode.RDMA_WRITE, false)
  t.ok(cnps.length > 3)
  for (const { bytes } of cnps) t.equal(bytes[15]! >>> 2, 48, 'the class selector of priority 6')
  t.throws(() => makePair({ a: { cnpPriority: 8 } }), { code: 'WEIR_BAD_ARGUMENT', message: /cnpPriority/ })
})

t.test('acknowledgements count marked packets, whatever their ratio', async t => {
  for (const ackEveryPackets of [1, 16]) {
    const dctcp = { cc: { name: 'dctcp', options: {} }, baseRttNs: 10 * US, ackEveryPackets }
    let counted = 0
    const pair = makePair({ a: dctcp, b: { ...SILENT, ackEveryPackets } })
    const { left } = connected(pair)
    let marked = 0
    let data = 0
    pair.tap.watch = (frame, _now, fromA) => {
      if (!fromA && frameName(frame) === 'RC_ACKNOWLEDGE') counted = bth.marks(frame.view, frame.bth)
      if (fromA && frame.payloadLength > 0 && data++ % 3 === 0) {
        mark(frame)
        marked++
      }
      return true
    }
    const region = memoryOf(pair.a, Buffer.alloc(BYTES))
    const there = memoryOf(pair.b, Buffer.alloc(BYTES))
    const remote = { remoteAddress: there.address, rkey: there.key }
    left.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.RDMA_WRITE,
      region,
      offset: 0,
      length: BYTES,
      ...remote,
    })
    t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
    t.ok(marked > 100)
    t.equal(counted, marked % 64, `with an acknowledgement for ${ackEveryPackets}`)
  }
})

/** `a` and `b` have a key, and every other acknowledgement becomes a CNP that nobody proves. */
function forged(untaggedCnps: number) {
  const secret = Buffer.alloc(32, 3)
  // Acknowledgements that turn into CNPs are lost.
  const cc = { name: 'dcqcn', options: { lossReaction: false } }
  const pair = makePair({ a: { ...DCQCN, cc, secret, untaggedCnps }, b: { ...SILENT, secret } })
  const { left } = connected(pair)
  let acks = 0
  pair.tap.watch = (frame, _now, fromA) => {
    if (!fromA && frameName(frame) === 'RC_ACKNOWLEDGE' && acks++ % 2 === 0) intoCnp(frame)
    return true
  }
  const region = memoryOf(pair.a, Buffer.alloc(BYTES))
  const there = memoryOf(pair.b, Buffer.alloc(BYTES))
  const remote = { remoteAddress: there.address, rkey: there.key }
  let least = Number.POSITIVE_INFINITY
  left.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region,
    offset: 0,
    length: BYTES,
    ...remote,
  })
  const done = pair.until(() => {
    least = Math.min(least, left.connection!.stats.rateBps || least)
    return left.log.includes('completion 1 SUCCESS')
  })
  t.ok(done)
  return { least, counters: pair.a.counters.rx, acks }
}

t.test('on a connection with a key a CNP without a tag changes nothing', async t => {
  const { least, counters, acks } = forged(0)
  t.ok(acks > 100)
  t.ok(counters.untaggedFeedback > 50)
  t.equal(counters.untaggedCnps, 0)
  t.equal(least, 10e9)
})

t.test('unless the user allows it, and then not below a share of the line rate, less one cut', async t => {
  const { least, counters } = forged(0.4)
  t.ok(counters.untaggedCnps > 0)
  t.ok(counters.untaggedFeedback > 0, 'below that rate they do not count')
  t.ok(least >= 0.2 * 10e9 && least <= 0.4 * 10e9, `${least}`)
  t.throws(() => makePair({ a: { untaggedCnps: 0.1 } }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /untaggedCnps has no effect without a key/,
  })
})

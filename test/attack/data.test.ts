/**
 * A third party that forges the address of a peer and sends data in its name: packets that it has seen, and
 * packets that it invents. Each test says how many it sends.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as udp from '../../lib/wire/net/udp.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as rate from '../../lib/wire/weir/rate.js'
import { connected, makePair, memoryOf, type PairOptions, RATE_BPS } from '../nic/pair.js'
import { fixedSeed } from '../support/seeds.js'
import { send, works } from './third-party.js'

const SECRET = Buffer.from('correct horse battery staple')
const KEYED: PairOptions = { a: { secret: SECRET }, b: { secret: SECRET } }

/** A link without a queue stamps passing packets. All data packets from `a` are recorded. */
function watched(options: PairOptions) {
  const pair = makePair(options)
  const { left } = connected(pair)
  const data: Uint8Array[] = []
  let txBytes = 0
  pair.tap.watch = (frame, now, fromA) => {
    if (fromA && frame.shim >= 0 && frame.payloadLength > 0 && !intShim.isEcho(frame.view, frame.shim)) {
      data.push(Uint8Array.from(frame.bytes.subarray(0, frame.length)))
      intShim.stamp(frame.view, frame.shim, frame.bth, {
        switchId: 1,
        egressPort: 1,
        rateBps: RATE_BPS,
        startNs: now,
        txBytes,
        qlenBytes: 0,
      })
    }
    txBytes += frame.wireLength
    return true
  }
  return { pair, left, data }
}

/** The same packet, as if it had met a queue of 5 MB just now. */
const withQueue = (now: number) => (frame: Frame) => {
  intShim.stamp(frame.view, frame.shim, frame.bth, {
    switchId: 1,
    egressPort: 1,
    rateBps: RATE_BPS,
    startNs: now,
    txBytes: 3_000_000,
    qlenBytes: 5_000_000,
  })
}

const BTH_AT = 14 + 20 + 8

/** Where the BTH of a recorded packet is, after its shim. */
function viewOf(bytes: Uint8Array): [DataView, number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const shimBytes = udp.destinationPort(view, 34) === udp.PORT_ROCE ? 0 : intShim.totalBytes(view, BTH_AT)
  return [view, BTH_AT + shimBytes]
}

for (const [name, options] of [
  ['with a key', KEYED],
  ['without one', {}],
] as [string, PairOptions][]) {
  t.test(`data that came before brings no telemetry, ${name}: 100 packets`, async t => {
    const { pair, left, data } = watched(options)
    t.ok(works(pair, left, 1))
    const before = { ...left.connection!.stats }
    const { duplicates } = pair.b.table.find(bth.destQpn(...viewOf(data[0]!)))!.qp.counters
    for (let n = 0; n < 100; n++) send(pair, pair.b, data[n % data.length]!, withQueue(pair.network.now))
    const flow = pair.b.table.find(bth.destQpn(...viewOf(data[0]!)))!
    t.equal(flow.qp.counters.duplicates - duplicates, 100)
    t.equal(flow.receiver.echo.bytes, 0, 'nothing waits to be sent back')
    pair.settle()
    const { windowBytes, rateBps, pathQueueBytes } = left.connection!.stats
    t.same(
      [windowBytes, rateBps, pathQueueBytes],
      [before.windowBytes, before.rateBps, before.pathQueueBytes],
    )
    t.ok(works(pair, left, 2), 'and the connection goes on')
  })
}

t.test('forged numbers of windows on packets that came before move no window: 128 packets', async t => {
  const { pair, left, data } = watched({ a: { cc: { name: 'rx-hpcc', options: {} }, baseRttNs: 20_000 } })
  t.ok(works(pair, left, 1))
  pair.settle()
  const flow = pair.b.table.find(bth.destQpn(...viewOf(data[0]!)))!
  const before = [flow.receiver.control!.windowBytes(), flow.windows.given]
  for (let number = 0; number < 128; number++)
    send(pair, pair.b, data[number % data.length]!, frame => {
      withQueue(pair.network.now)(frame)
      bth.setWindowNumber(frame.view, frame.bth, number)
    })
  t.same([flow.receiver.control!.windowBytes(), flow.windows.given], before)
  t.ok(works(pair, left, 2), 'and the connection goes on')
})

/**
 * A receiver-based pair without keys, and a function that forges a window of 64 bytes, with a number that is
 * this far ahead of the last one.
 */
function forgedWindows() {
  const pair = makePair({ a: { cc: { name: 'rx-hpcc', options: {} }, baseRttNs: 20_000 } })
  const { left } = connected(pair)
  const sender = pair.a.table.find(left.connection!.id)!
  let seen: Uint8Array | null = null
  let txBytes = 0
  pair.tap.watch = (frame, now, fromA) => {
    if (fromA && frame.shim >= 0 && !intShim.isEcho(frame.view, frame.shim))
      intShim.stamp(frame.view, frame.shim, frame.bth, {
        switchId: 1,
        egressPort: 1,
        rateBps: RATE_BPS,
        startNs: now,
        txBytes,
        qlenBytes: 0,
      })
    if (fromA) txBytes += frame.wireLength
    else if (bth.opcode(frame.view, frame.bth) === Opcode.RATE)
      seen = Uint8Array.from(frame.bytes.subarray(0, frame.length))
    return true
  }
  const forge = (number: number) =>
    send(pair, pair.a, seen!, frame => {
      bth.setPsn(frame.view, frame.bth, number & 0xffffff)
      rate.write(frame.view, frame.payload - rate.BYTES, 1, 64)
    })
  return { pair, left, forge, sender, receiver: pair.b.table.find(sender.qp.remoteQpn)! }
}

t.test('one forged window with a number far ahead is ignored: 8 packets, one at a time', async t => {
  const { pair, left, forge, sender } = forgedWindows()
  for (let n = 1; n <= 8; n++) {
    t.ok(works(pair, left, n))
    const before = [sender.windows.inForce, left.connection!.stats.windowBytes]
    forge(sender.windows.inForce + n * 100_000)
    t.same([sender.windows.inForce, left.connection!.stats.windowBytes], before)
  }
})

for (const [ahead, packets] of [
  [1, 1],
  [20, 1],
  [1_000_000, 2],
] as const) {
  t.test(`a forged window, ${ahead} ahead, is replaced by the receiver's: ${packets} packets`, async t => {
    const { pair, left, forge, sender, receiver } = forgedWindows()
    t.ok(works(pair, left, 1))
    pair.settle()
    const forged = sender.windows.inForce + ahead
    for (let n = 0; n < packets; n++) forge(forged)
    t.equal(sender.windows.inForce, forged, 'nothing tells it from a real one')
    t.ok(works(pair, left, 2, 400_000))
    pair.settle()
    t.equal(sender.windows.inForce, receiver.windows.given)
    t.ok(left.connection!.stats.windowBytes > 10_000, `${left.connection!.stats.windowBytes}`)
  })
}

t.test(
  'telemetry that claims to come back in data leaves the plausibility check alone: 27 packets',
  async t => {
    const { pair, left, data } = watched(KEYED)
    t.ok(works(pair, left, 1))
    const { implausibleTelemetry } = pair.b.counters.rx
    for (let n = 0; n < 27; n++)
      send(pair, pair.b, data[n % data.length]!, frame => {
        withQueue(pair.network.now)(frame)
        intShim.setFlags(frame.view, frame.shim, intShim.FLAG_ECHO)
      })
    t.equal(pair.b.counters.rx.implausibleTelemetry, implausibleTelemetry)
    t.ok(works(pair, left, 2))
  },
)

t.test('a forged source port moves nobody to another path: 10 packets', async t => {
  const { pair, left, data } = watched({})
  t.ok(works(pair, left, 1))
  const flow = pair.b.table.find(bth.destQpn(...viewOf(data[0]!)))!
  const ports = [flow.path.sourcePort, flow.path.peerSourcePort]
  for (let n = 0; n < 10; n++)
    send(pair, pair.b, data[n % data.length]!, frame => udp.setSourcePort(frame.view, frame.l4, 0xc123))
  t.same([flow.path.sourcePort, flow.path.peerSourcePort], ports)
  t.equal(pair.b.counters.rx.wrongSource, 10)
  t.ok(works(pair, left, 2))
})

t.test(
  'made-up packets by who knows the QPN, and neither PSN nor port: 20,000 packets, none is kept',
  async t => {
    const { pair, left, data } = watched({})
    t.ok(works(pair, left, 1))
    const random = new Random(fixedSeed(t, 1))
    const flow = pair.b.table.find(bth.destQpn(...viewOf(data[0]!)))!
    const { receivedPackets } = flow.qp.counters
    const forge = (port: number) => (frame: Frame) => {
      udp.setSourcePort(frame.view, frame.l4, port)
      frame.view.setUint32(frame.bth + 8, random.u32() & 0xffffff)
    }
    for (let n = 0; n < 20_000; n++)
      send(
        pair,
        pair.b,
        data[0]!,
        forge(0xc000 + ((flow.path.keptPort + 1 + (random.u32() % 0x3fff)) & 0x3fff)),
      )
    t.equal(flow.qp.counters.receivedPackets, receivedPackets)
    t.equal(flow.qp.counters.outOfSequence, 0)
    t.ok(works(pair, left, 2))
    // One in 2,048 passes, including the port: docs/security.md.
    const passed = () => flow.qp.counters.droppedBeyondWindow + flow.qp.counters.duplicates
    const before = passed()
    for (let n = 0; n < 20_000; n++) send(pair, pair.b, data[0]!, forge(flow.path.keptPort))
    const kept = 20_000 - (passed() - before)
    t.ok(kept > 0 && kept < 30, `${kept} of 20000 are kept`)
  },
)

t.test('a PSN beyond what the host lets its peer send is dropped and counted: 20,000 packets', async t => {
  const BUDGET = 600_000
  const { pair, left, data } = watched({
    a: { receiveBudgetBytes: BUDGET },
    b: { receiveBudgetBytes: BUDGET },
  })
  t.ok(works(pair, left, 1))
  const flow = pair.b.table.find(bth.destQpn(...viewOf(data[0]!)))!
  const { counters } = flow.qp
  const next = () => bth.psn(...viewOf(data.at(-1)!)) + 1
  // What both hosts can receive at once, in packets.
  const granted = Math.ceil((2 * BUDGET) / flow.peer.pathMtu)
  const forge = (psn: number) =>
    send(pair, pair.b, data[0]!, frame => {
      udp.setSourcePort(frame.view, frame.l4, flow.path.keptPort)
      frame.view.setUint32(frame.bth + 8, psn & 0xffffff)
    })
  const { duplicates } = counters
  for (let time = 0; time < 2; time++) forge(next() + granted)
  t.same([counters.duplicates, counters.droppedBeyondWindow], [duplicates, 2], 'it is not kept')
  const random = new Random(fixedSeed(t, 1))
  for (let n = 0; n < 20_000; n++) forge(next() + granted + random.below(0x7f0000))
  t.same([counters.duplicates, counters.droppedBeyondWindow], [duplicates, 20_002])
  t.equal(pair.b.dropTotals.sum(pair.b.table.flows).droppedBeyondWindow, 20_002)
  t.ok(works(pair, left, 2), 'and the connection goes on')
  const before = counters.duplicates
  for (let time = 0; time < 2; time++) forge(next() + granted - 1)
  t.equal(counters.droppedBeyondWindow, 20_002)
  t.equal(counters.duplicates - before, 1, 'the last PSN that the peer may have sent is kept')
})

t.test(
  'acknowledgements from another port than the peer keeps to are not the peer: 1 packet each',
  async t => {
    const pair = makePair()
    const { left } = connected(pair)
    const acks: Uint8Array[] = []
    pair.tap.watch = (frame, _now, fromA) => {
      if (!fromA && bth.opcode(frame.view, frame.bth) === Opcode.RC_ACKNOWLEDGE)
        acks.push(Uint8Array.from(frame.bytes.subarray(0, frame.length)))
      return true
    }
    t.ok(works(pair, left, 1))
    // From now on the peer is silent, and the attacker acknowledges in its place.
    pair.tap.watch = (_frame, _now, fromA) => fromA
    const region = memoryOf(pair.a, Buffer.alloc(1000))
    left.connection!.postSend(pair.network.now, {
      id: 9,
      opcode: WorkOpcode.SEND,
      region,
      offset: 0,
      length: 1000,
    })
    pair.kick()
    pair.network.runUntil(pair.network.now + 10_000)
    const next = (view: DataView, at: number) => view.setUint32(at, (view.getUint32(at) + 1) & 0xffffff)
    const forge = (port: number) => (frame: Frame) => {
      udp.setSourcePort(frame.view, frame.l4, port)
      next(frame.view, frame.bth + 8)
    }
    send(pair, pair.a, acks.at(-1)!, forge(0xc001))
    t.notOk(left.log.includes('completion 9 SUCCESS'))
    t.equal(pair.a.counters.rx.wrongSource, 1)
  },
)

/**
 * The way of telemetry and of congestion marks: from the packet that met them, by the receiver's ACK, to the
 * sender.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { type App, connected, makePair, memoryOf, type Pair, RATE_BPS } from './pair.js'

interface Seen {
  kind: 'data' | 'ack'
  destinationPort: number
  /** Bytes of the shim, 0 = none. */
  shimBytes: number
  echo: boolean
  becn: boolean
  flows: number
  hops: HopRecords
}

function describe(frame: Frame): Seen | null {
  if (frame.payload < 0) return null
  const opcode = bth.opcode(frame.view, frame.bth)
  const isAck = opcode === Opcode.RC_ACKNOWLEDGE
  if (!isAck && opcode > Opcode.RC_RDMA_WRITE_ONLY) return null
  const hops = new HopRecords()
  if (frame.shim >= 0) intShim.read(frame.view, frame.shim, frame.bth, hops)
  return {
    kind: isAck ? 'ack' : 'data',
    destinationPort: udp.destinationPort(frame.view, frame.l4),
    shimBytes: frame.shim < 0 ? 0 : frame.bth - frame.shim,
    echo: frame.shim >= 0 && intShim.isEcho(frame.view, frame.shim),
    becn: bth.becn(frame.view, frame.bth),
    flows: hops.flows,
    hops,
  }
}

/** Watches data and ACKs; `onData` may stamp and mark the n-th data packet before it goes on. */
function watch(pair: Pair, onData: (frame: Frame, n: number, now: number) => void = () => {}): Seen[] {
  const seen: Seen[] = []
  let n = 0
  pair.tap.watch = (frame, now) => {
    const before = describe(frame)
    if (before === null) return true
    if (before.kind === 'data') onData(frame, n++, now)
    seen.push(describe(frame)!)
    return true
  }
  return seen
}

function write(pair: Pair, app: App, id: number, bytes: number): void {
  const here = memoryOf(pair.a, Buffer.alloc(bytes))
  const there = memoryOf(pair.b, Buffer.alloc(bytes))
  const remote = { remoteAddress: there.address, rkey: there.key }
  const work = { id, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: bytes, ...remote }
  if (!app.connection!.postSend(pair.network.now, work)) throw new Error('send queue full')
}

for (const [format, shim, slot] of [
  ['wide', 8 + 3 * 24, 24],
  ['compact', 8 + 3 * 8, 8],
] as const) {
  t.test(`${format}: a data packet's telemetry comes back on its ACK, with the hops it met`, async t => {
    const int: NicConfig['int'] = { format, hops: 3 }
    const pair = makePair({ a: { int } })
    const { left } = connected(pair)
    let txBytes = 0
    const seen = watch(pair, (frame, n, now) => {
      // Two hops; the second has the longer queue.
      const { view, shim: at, bth: end } = frame
      intShim.stamp(view, at, end, {
        switchId: 0x11,
        egressPort: 3,
        rateBps: RATE_BPS,
        startNs: now,
        txBytes,
        qlenBytes: 640,
      })
      intShim.stamp(view, at, end, {
        switchId: 0x22,
        egressPort: 4,
        rateBps: RATE_BPS,
        startNs: now + 100,
        txBytes,
        qlenBytes: 64 * n,
      })
      txBytes += frame.wireLength
    })
    write(pair, left, 1, 10 * 1024)
    t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
    const data = seen.filter(({ kind }) => kind === 'data')
    const acks = seen.filter(({ kind }) => kind === 'ack')
    t.equal(data.length, 10)
    t.equal(acks.length, 10, 'an ACK a packet')
    t.ok(
      data.every(
        ({ shimBytes, echo, destinationPort }) => shimBytes === shim && !echo && destinationPort === 4792,
      ),
    )
    t.ok(
      acks.every(({ shimBytes, echo }) => shimBytes === 8 + 2 * slot && echo),
      'without the empty slots',
    )
    t.ok(acks.every(({ destinationPort }) => destinationPort === 4792))
    for (const [n, { hops }] of acks.entries()) {
      t.equal(hops.count, 2)
      t.equal(hops.pathId, 0x11 ^ 0x22)
      t.same([...hops.qlenBytes.subarray(0, 2)], [640, 64 * n])
      t.same(
        hops.tsNs.subarray(0, 2),
        data[n]!.hops.tsNs.subarray(0, 2),
        'the stamps are those of its packet',
      )
    }
    t.equal(left.connection!.stats.pathHops, 2)
    t.equal(left.connection!.stats.pathQueueBytes, 640, 'the fullest hop of the last one')
    for (const { rx } of [pair.a.counters, pair.b.counters])
      t.equal(rx.badIcrc, 0, 'stamps do not hurt the ICRC')
  })
}

t.test('the controller acts on it: a queue of two bandwidth-delay products slows the flow down', async t => {
  const pair = makePair()
  const { left } = connected(pair)
  t.ok(pair.until(() => left.connection!.stats.baseRttNs > 0))
  const { baseRttNs, windowBytes } = left.connection!.stats
  t.equal(windowBytes, (RATE_BPS * baseRttNs) / 8e9, 'it starts with one')
  let txBytes = 0
  watch(pair, (frame, _n, now) => {
    intShim.stamp(frame.view, frame.shim, frame.bth, {
      switchId: 1,
      egressPort: 1,
      rateBps: RATE_BPS,
      startNs: now,
      txBytes,
      qlenBytes: 2 * windowBytes,
    })
    txBytes += frame.wireLength
  })
  write(pair, left, 1, 100 * 1024)
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.ok(left.connection!.stats.windowBytes < windowBytes / 2)
  t.ok(left.connection!.stats.rateBps < RATE_BPS / 2)
})

t.test('a controller that wants no telemetry sends no shim, and gets none', async t => {
  const pair = makePair({ a: { cc: { name: 'fixed-window', options: {} } } })
  const { left } = connected(pair)
  const seen = watch(pair)
  write(pair, left, 1, 5 * 1024)
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.equal(seen.length, 10)
  t.ok(seen.every(({ shimBytes, destinationPort }) => shimBytes === 0 && destinationPort === 4791))
})

t.test(
  'one ACK for several packets has the stamps of the last one, and the mean over time of the queues that two met',
  async t => {
    // T is so long that the window requests no more ACKs than these.
    const pair = makePair({ a: { baseRttNs: 100_000 }, b: { ackEveryPackets: 4 } })
    const { left } = connected(pair)
    const seen = watch(pair, (frame, n) => {
      intShim.stamp(frame.view, frame.shim, frame.bth, {
        switchId: 1,
        egressPort: 1,
        rateBps: RATE_BPS,
        startNs: 1000 * n,
        txBytes: 1000 * n,
        qlenBytes: 8000 * n,
      })
    })
    write(pair, left, 1, 8 * 1024)
    t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
    const acks = seen.filter(({ kind }) => kind === 'ack')
    t.same(
      acks.map(({ hops }) => hops.qlenBytes[0]),
      // Queues of 8,000 x n, a packet in 1,000 ns: min(0, 1), min(1, 2), min(2, 3), and then min(3, 4) to min(6, 7).
      [(8000 * (0 + 1 + 2)) / 3, (8000 * (3 + 4 + 5 + 6)) / 4],
    )
    t.same(
      acks.map(({ hops }) => hops.txBytes[0]),
      [3000, 7000],
    )
    t.ok(acks.every(({ hops }) => hops.accumulated))
  },
)

t.test('a CE mark comes back as BECN, once', async t => {
  for (const ackEveryPackets of [1, 4]) {
    const pair = makePair({ a: { baseRttNs: 100_000 }, b: { ackEveryPackets } })
    const { left } = connected(pair)
    const seen = watch(pair, (frame, n) => {
      if (n === 5) ipv4.markCe(frame.view, frame.l3)
    })
    write(pair, left, 1, 16 * 1024)
    t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
    const marked = seen.filter(({ kind }) => kind === 'ack').map(({ becn }) => becn)
    t.same(
      marked.map((becn, n) => (becn ? n : -1)).filter(n => n >= 0),
      [Math.floor(5 / ackEveryPackets)],
    )
  }
})

t.test('N, the flows that send to the receiver, is in the echo', async t => {
  const pair = makePair()
  const apps = [0, 1, 2].map(() => {
    pair.b.unlisten(7000)
    return connected(pair).left
  })
  const seen = watch(pair)
  const told = () => {
    const acks = seen.splice(0).filter(({ kind }) => kind === 'ack')
    return acks.at(-1)!.flows
  }
  write(pair, apps[0]!, 1, 4096)
  t.ok(pair.until(() => apps[0]!.log.includes('completion 1 SUCCESS')))
  t.equal(told(), 1)
  for (const [i, app] of apps.entries()) write(pair, app, 2 + i, 200_000)
  t.ok(pair.until(() => apps.every((app, i) => app.log.includes(`completion ${2 + i} SUCCESS`))))
  t.equal(told(), 3)
  pair.network.runUntil(pair.network.now + 100_000_000)
  write(pair, apps[1]!, 9, 4096)
  t.ok(pair.until(() => apps[1]!.log.includes('completion 9 SUCCESS')))
  t.equal(told(), 1, 'flows that have fallen silent do not count')
})

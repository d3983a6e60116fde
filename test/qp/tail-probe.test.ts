/**
 * Tail-loss probes (RFC 8985, section 7) between two queue pairs with selective repeat, over a pipe with a
 * constant delay: the cost of a lost end, no needless retransmission, and what a silent peer gets.
 */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { type QpConfig, TxKind } from '../../lib/qp/queue-pair.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { WorkStatus } from '../../lib/qp/queues/work-status.js'
import { RoundTrips } from '../../lib/qp/recovery/round-trips.js'
import { TailProbe } from '../../lib/qp/recovery/tail-probe.js'
import { ackTimeoutNs } from '../../lib/qp/requester/timers.js'
import { MILLISECOND, NEVER } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { isRequest, Opcode } from '../../lib/wire/ib/opcode.js'
import { Host, Pipe } from './pipe.js'

const MTU = 256
const DELAY_NS = 500_000
const RTT_NS = 2 * DELAY_NS
const PACKETS = 16
/** 268 ms. */
const TIMEOUT_EXPONENT = 16

interface World {
  a: Host
  b: Host
  pipe: Pipe
  /** Faults of the pipe: may be changed. */
  faults: { delayNs: number }
  source: MemoryRegion
  target: MemoryRegion
  /** Returns true for packets to drop, by sender, opcode, and PSN relative to the first one. */
  drops: (from: Host, opcode: number, n: number) => boolean
  /** Request packets in the order of sending: PSN relative to the first one, and time. */
  requests: { n: number; atNs: number; asks: boolean }[]
}

/** A pipe that loses the packets that it must lose: their chance is 1. */
function world(config: Partial<QpConfig> = {}): World {
  const settings = { selectiveRepeat: true, pathMtu: MTU, ackTimeoutExponent: TIMEOUT_EXPONENT, ...config }
  const a = new Host(17, settings)
  const b = new Host(18, settings)
  a.connect(18, 100, 100)
  b.connect(17, 100, 100)
  a.qp.baseRttNs = RTT_NS
  let dropsThis = false
  // The pipe draws a number for loss first, then for doubling, pausing and reordering, whose chances are 0.
  const faults = { loss: 0.5, duplicate: 0, reorder: 0, delayNs: DELAY_NS, pause: 0 }
  const pipe = new Pipe(a, b, faults, () => (dropsThis ? 0 : 0.9))
  const bytes = Buffer.from(Array.from({ length: 64 * MTU }, (_, i) => (i * 13 + (i >> 8)) & 0xff))
  const rights = Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC | Access.LOCAL_WRITE
  const it: World = {
    a,
    b,
    pipe,
    faults,
    source: a.memory.register(bytes, bytes.length, rights),
    target: b.memory.register(Buffer.alloc(bytes.length), bytes.length, rights),
    drops: () => false,
    requests: [],
  }
  pipe.onPacket = (from: Host, frame: Frame) => {
    const opcode = bth.opcode(frame.view, frame.bth)
    const n = bth.psn(frame.view, frame.bth) - 100
    if (from === a && isRequest(opcode)) {
      it.requests.push({ n, atNs: pipe.now, asks: bth.ackRequest(frame.view, frame.bth) })
    }
    dropsThis = it.drops(from, opcode, n)
  }
  return it
}

/** Posts one message of `packets`, and runs until it is complete. Returns how long that took. */
function send({ a, pipe, source, target }: World, opcode: WorkOpcode, packets = PACKETS): number {
  const start = pipe.now
  const length = opcode >= WorkOpcode.COMPARE_AND_SWAP ? 8 : packets * MTU
  const remote = { remoteAddress: target.address, rkey: target.key, compareOrAdd: 1n }
  a.qp.postSend(start, { id: 1, opcode, region: source, offset: 0, length, ...remote })
  while (a.qp.sendPending > 0 && pipe.step()) {
    // goes on
  }
  return pipe.now - start
}

/** Drops the packets of the host, one of these opcodes, with these PSNs, the first `times` times each is sent. */
function dropping(from: Host, psns: readonly number[], times = 1, opcodes?: readonly number[]) {
  const seen = new Map<number, number>()
  return (sender: Host, opcode: number, n: number): boolean => {
    if (sender !== from || !psns.includes(n) || (opcodes !== undefined && !opcodes.includes(opcode)))
      return false
    const count = (seen.get(n) ?? 0) + 1
    seen.set(n, count)
    return count <= times
  }
}

t.test('without a loss: one round trip, and nothing twice, over many messages', async t => {
  const it = world()
  for (let i = 0; i < 200; i++) t.equal(send(it, WorkOpcode.RDMA_WRITE), RTT_NS)
  t.equal(it.a.qp.counters.tailProbes, 0)
  t.equal(it.requests.length, 200 * PACKETS)
  t.equal(it.b.qp.counters.duplicates, 0)
  t.equal(it.a.qp.nextTimeout(), NEVER, 'an idle queue pair waits for nothing')
})

for (const [what, lost] of [
  ['the last packet', [15]],
  ['the last three', [13, 14, 15]],
  ['the last one and one before', [4, 15]],
  ['all', [...Array(PACKETS).keys()]],
] as const) {
  t.test(`${what} of a WRITE lost: found out after two round trips`, async t => {
    const it = world()
    it.drops = dropping(it.a, lost)
    const tookNs = send(it, WorkOpcode.RDMA_WRITE)
    // The last one alone: two round trips of silence and one for the probe. Earlier losses take one more.
    t.ok(tookNs <= (lost.length === 1 ? 3 : 4) * RTT_NS, `${tookNs / RTT_NS} round trips`)
    t.equal(it.requests.length, PACKETS + lost.length, 'each of them is sent again once')
    t.equal(it.a.qp.counters.timeouts, 0)
    t.equal(it.a.qp.inFlightBytes, 0)
    t.equal(it.a.ackedBytes, PACKETS * MTU)
    t.ok(it.target.buffer!.subarray(0, PACKETS * MTU).equals(it.source.buffer!.subarray(0, PACKETS * MTU)))
  })
}

t.test('the ACK lost: the probe is a duplicate, is counted as one, and answered', async t => {
  const it = world()
  it.drops = dropping(it.b, [15])
  const tookNs = send(it, WorkOpcode.RDMA_WRITE)
  t.ok(tookNs <= 3 * RTT_NS, `${tookNs / RTT_NS} round trips`)
  t.equal(it.b.qp.counters.duplicates, 1)
  t.equal(it.a.qp.counters.tailProbes, 1)
  t.same(
    it.requests.at(-1),
    { n: 15, atNs: 2 * RTT_NS, asks: true },
    'the last packet, and it asks for an answer',
  )
})

t.test('a retransmission is lost, with nothing after it', async t => {
  const it = world()
  it.drops = dropping(it.a, [5], 2)
  const tookNs = send(it, WorkOpcode.RDMA_WRITE)
  t.ok(tookNs <= 5 * RTT_NS, `${tookNs / RTT_NS} round trips`)
  t.equal(it.requests.length, PACKETS + 2)
})

t.test('READs: the request lost, the last responses lost, all of them lost', async t => {
  const last = Opcode.RC_RDMA_READ_RESPONSE_LAST
  for (const [what, drops] of [
    ['request', (it: World) => dropping(it.a, [0])],
    ['last response', (it: World) => dropping(it.b, [15], 1, [last])],
    ['last responses', (it: World) => dropping(it.b, [12, 13, 14, 15])],
    ['all responses', (it: World) => dropping(it.b, [...Array(PACKETS).keys()])],
  ] as const) {
    const it = world()
    it.drops = drops(it)
    const expected = Buffer.from(Array.from({ length: PACKETS * MTU }, (_, i) => (i * 31) & 0xff))
    expected.copy(it.target.buffer!)
    const tookNs = send(it, WorkOpcode.RDMA_READ)
    t.ok(tookNs <= 4 * RTT_NS, `${what}: ${tookNs / RTT_NS} round trips`)
    t.equal(it.a.qp.counters.timeouts, 0, what)
    t.ok(it.source.buffer!.subarray(0, expected.length).equals(expected), `${what}: exact`)
    t.equal(it.a.reorderPool.inUse, 0)
  }
})

t.test('of a READ only responses that have not come are asked for again', async t => {
  const it = world()
  const drops = dropping(it.b, [12, 13, 14, 15])
  const sent: number[] = []
  it.drops = (from, opcode, n) => {
    if (from === it.b) sent.push(n)
    return drops(from, opcode, n)
  }
  send(it, WorkOpcode.RDMA_READ)
  t.same(sent.slice(PACKETS), [15, 12, 13, 14], 'the last one tells of the others')
})

t.test('nothing lost, but a READ is answered late: next to nothing is retransmitted', async t => {
  const begun = 2 * PACKETS + 5
  for (const [what, late] of [
    ['held before it begins', (it: World, from: Host) => from === it.a && hold(it)],
    ['held in the middle', (it: World, from: Host, n: number) => from === it.b && n === begun && hold(it)],
    [
      'late from the first response on',
      (it: World, from: Host, n: number) => delay(it, from === it.b && n >= begun - 5),
    ],
    [
      'by a way that has become long',
      (it: World, from: Host, n: number) => delay(it, from === it.b && n > begun),
    ],
  ] as const) {
    const it = world()
    send(it, WorkOpcode.RDMA_WRITE)
    send(it, WorkOpcode.RDMA_WRITE)
    let responses = 0
    it.drops = (from, _opcode, n) => {
      if (from === it.b) responses++
      late(it, from, n)
      return false
    }
    send(it, WorkOpcode.RDMA_READ, 64)
    const probes = it.a.qp.counters.tailProbes
    t.ok(probes > 0, `${what}: it was silent for long`)
    t.ok(responses <= 64 + probes, `${what}: ${responses} responses of 64, ${probes} probes`)
    t.ok(it.source.buffer!.equals(it.target.buffer!))
  }
})

/** The responder sends nothing for 20 round trips, once. */
function hold(it: World): void {
  if (it.b.pausedUntil === 0) it.b.pausedUntil = it.pipe.now + 20 * RTT_NS
}

function delay(it: World, long: boolean): void {
  it.faults.delayNs = long ? 8 * DELAY_NS : DELAY_NS
}

t.test('an atomic whose answer is lost is carried out once', async t => {
  const it = world()
  it.drops = dropping(it.b, [0])
  const tookNs = send(it, WorkOpcode.FETCH_AND_ADD)
  t.ok(tookNs <= 3 * RTT_NS, `${tookNs / RTT_NS} round trips`)
  t.equal(it.target.buffer!.readBigUInt64LE(0), 1n)
})

t.test(
  'a peer that is silent is sent one packet at a time, each after twice as long, and costs no retry',
  async t => {
    const it = world({ retryCount: 1 })
    it.drops = from => from === it.b
    send(it, WorkOpcode.RDMA_WRITE)
    const probes = it.requests.slice(PACKETS).filter(({ atNs }) => atNs < ackTimeoutNs(TIMEOUT_EXPONENT))
    t.same(
      probes.map(({ n, atNs }) => [n, atNs / RTT_NS]),
      [2, 6, 14, 30, 62, 126, 254].map((at, i) => [i % 2 === 0 ? 15 : 0, at]),
      'until the transport timer would be first: 268 round trips',
    )
    t.equal(it.a.error, WorkStatus.RETRY_EXC_ERR)
    t.equal(it.a.qp.counters.timeouts, 2, 'as many as retryCount allows, and the one that ends it')
    t.equal(it.pipe.now, 2 * ackTimeoutNs(TIMEOUT_EXPONENT), 'as late as without probes')
  },
)

t.test('nothing lost, but a queue has become long: only probes retransmit what waits there', async t => {
  for (const roundTrips of [5, 9, 20, 45]) {
    const it = world()
    send(it, WorkOpcode.RDMA_WRITE)
    send(it, WorkOpcode.RDMA_WRITE)
    it.faults.delayNs = (roundTrips - 1) * RTT_NS + DELAY_NS
    it.drops = from => {
      // The way back is as short as before, and packets do not overtake each other.
      it.faults.delayNs = from === it.b ? DELAY_NS : (roundTrips - 1) * RTT_NS + DELAY_NS
      return false
    }
    send(it, WorkOpcode.RDMA_WRITE, 64)
    const probes = it.a.qp.counters.tailProbes
    t.ok(probes > 0, `${roundTrips} round trips: it was silent for long`)
    t.equal(it.requests.length, 2 * PACKETS + 64 + probes, `${roundTrips} round trips, ${probes} probes`)
    t.equal(it.a.qp.counters.timeouts, 0)
  }
})

t.test('a peer without room out of order is sent the first missing packet by the second probe', async t => {
  const it = world({ reorderPackets: 2 })
  const lost = [dropping(it.a, [12], 2), dropping(it.a, [15])]
  it.drops = (...packet) => lost.map(drops => drops(...packet)).includes(true)
  const tookNs = send(it, WorkOpcode.RDMA_WRITE)
  t.ok(tookNs < ackTimeoutNs(TIMEOUT_EXPONENT) / 4, `${tookNs / RTT_NS} round trips`)
  t.equal(it.a.qp.counters.timeouts, 0)
  t.ok(it.b.qp.counters.droppedReorder > 0, 'the last packet found no room')
  t.ok(it.source.buffer!.subarray(0, PACKETS * MTU).equals(it.target.buffer!.subarray(0, PACKETS * MTU)))
})

t.test('go-back-N sends no probes, nor who turned them off', async t => {
  for (const config of [{ selectiveRepeat: false }, { probeTimeoutLeastNs: NEVER }]) {
    const it = world(config)
    it.drops = dropping(it.a, [15])
    const tookNs = send(it, WorkOpcode.RDMA_WRITE)
    t.ok(tookNs > ackTimeoutNs(TIMEOUT_EXPONENT))
    t.equal(it.a.qp.counters.tailProbes, 0)
  }
})

t.test('a probe goes though the window is full, and takes no room in it', async t => {
  const it = world()
  const { a, source, target } = it
  const remote = { remoteAddress: target.address, rkey: target.key }
  a.qp.postSend(0, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region: source,
    offset: 0,
    length: 4 * MTU,
    ...remote,
  })
  const frame = new Frame(0, Buffer.alloc(1024))
  const sendAll = () => {
    let packets = 0
    while (a.qp.pollTransmit(0, frame, 64, a.qp.inFlightBytes < 4 * MTU) !== TxKind.NONE) packets++
    return packets
  }
  t.equal(sendAll(), 4)
  t.equal(a.qp.peekTransmit(false), TxKind.NONE)
  a.qp.onTimeout(2 * RTT_NS)
  t.equal(a.qp.peekTransmit(false), TxKind.REQUEST)
  t.equal(sendAll(), 1)
  t.equal(a.qp.inFlightBytes, 4 * MTU)
})

/** A probe and its round trips, as the requester combines them. */
class Tail {
  readonly trips = new RoundTrips()
  readonly tail: TailProbe

  constructor(leastNs: number, expectedNs = 0) {
    this.trips.expectedNs = expectedNs
    this.tail = new TailProbe(this.trips, leastNs)
  }

  sent(now: number, seq: number, isNew = true): void {
    this.trips.onSent(now, seq, isNew)
    this.tail.onSent(now, seq, true, NEVER)
  }

  news(now: number, timed: boolean, awaited = false): void {
    this.tail.onNews(now, this.trips.onNews(now, timed, 0), awaited, NEVER)
  }
}

t.test('PTO is two round trips, more where they vary, and never less than the least', async t => {
  const probe = (leastNs: number, ...rttsNs: number[]) => {
    const it = new Tail(leastNs)
    let now = 0
    it.news(now, false)
    for (const [i, rttNs] of rttsNs.entries()) {
      it.sent(now, i)
      now += rttNs
      it.news(now, true)
    }
    return it.tail.timeoutNs
  }
  t.equal(probe(0), NEVER, 'nothing is known')
  t.equal(probe(0, 1000), 2000)
  t.equal(probe(5000, 1000), 5000)
  t.equal(probe(0, ...Array(50).fill(1000)), 2000)
  // RFC 6298: RTTVAR = 250 + (|1000 - 5000| - 250) / 4, SRTT = 1000 + 4000 / 8.
  t.equal(probe(0, 1000, 5000), 1500 + 4 * 1188)
})

t.test('no answer to a retransmitted packet is timed (Karn), and the next waits as long', async t => {
  const it = new Tail(0, MILLISECOND)
  const { tail } = it
  it.news(0, false)
  it.sent(0, 1)
  t.ok(tail.takeDue(2 * MILLISECOND))
  tail.pending = true
  it.sent(2 * MILLISECOND, 1, false)
  it.news(2 * MILLISECOND + 100, true)
  t.equal(tail.timeoutNs, 4 * MILLISECOND, 'RFC 6298, section 5.7')
  it.sent(3 * MILLISECOND, 2)
  it.news(3 * MILLISECOND + 5000, true)
  t.equal(tail.timeoutNs, 10_000, 'this one was sent once')
})

t.test('before a round trip has been measured, that of the idle path is not trusted', async t => {
  const it = new Tail(0, 4000)
  const { tail } = it
  // A first window of two packets: the first of them meets a shorter queue than the second.
  it.sent(0, 1)
  it.sent(100, 2)
  it.news(4000, true, true)
  t.ok(tail.timeoutNs >= MILLISECOND)
  it.sent(4000, 3)
  it.news(904_000, true)
  t.equal(tail.timeoutNs, 1_800_000)
})

t.test('a round trip that has become much longer is learned, not taken for losses', async t => {
  const it = world()
  for (let i = 0; i < 20; i++) send(it, WorkOpcode.RDMA_WRITE, 1)
  t.equal(it.a.qp.counters.tailProbes, 0)
  it.faults.delayNs *= 100
  for (let i = 0; i < 50; i++) send(it, WorkOpcode.RDMA_WRITE, 1)
  // PTO doubles from 2 to beyond 100 of the old round trips: 2 + 4 + 8 + 16 + 32 < 100.
  t.ok(it.a.qp.counters.tailProbes <= 6, `${it.a.qp.counters.tailProbes} probes for 50 packets`)
  t.equal(it.a.qp.counters.timeouts, 0)
})

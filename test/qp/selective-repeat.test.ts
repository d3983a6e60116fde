/**
 * Selective repeat between two queue pairs: what is retransmitted, and nothing else; SACKs that report it;
 * and malicious SACKs. The packets of one direction are handled by hand here, so that the test chooses each
 * loss.
 */
import t, { type Test } from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { type QpConfig, TxKind } from '../../lib/qp/queue-pair.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { MILLISECOND, NEVER } from '../../lib/time/nanos.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'
import * as sack from '../../lib/wire/weir/sack.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'
import { Host, randomSource } from './pipe.js'

const MTU = 256
const AT = 64
const SACK_AT = AT + bth.BYTES + aeth.BYTES
/** The third packet is the last one before the PSN wraps. */
const FIRST_PSN = 0xfffffd

interface Two {
  a: Host
  b: Host
  source: MemoryRegion
  target: MemoryRegion
}

function two(config: Partial<QpConfig> = {}): Two {
  const all = { pathMtu: MTU, selectiveRepeat: true, ...config }
  const a = new Host(17, all)
  const b = new Host(18, all)
  a.connect(18, FIRST_PSN, 5)
  b.connect(17, 5, FIRST_PSN)
  const bytes = Buffer.from(Array.from({ length: 1 << 16 }, (_, i) => (i * 7 + (i >> 8)) & 0xff))
  const rights = Access.REMOTE_READ | Access.REMOTE_WRITE | Access.LOCAL_WRITE
  return {
    a,
    b,
    source: a.memory.register(bytes, bytes.length, Access.LOCAL_WRITE),
    target: b.memory.register(Buffer.alloc(1 << 16), 1 << 16, rights),
  }
}

function work(pair: Two, opcode: WorkOpcode, packets: number, id = 1): SendWork {
  const { source, target } = pair
  const remote = { remoteAddress: target.address, rkey: target.key }
  return { id, opcode, region: source, offset: 0, length: packets * MTU, ...remote }
}

/**
 * Returns everything that the host sends now, at most `most` packets: copies, by PSN relative to the first
 * one.
 */
function drain(
  host: Host,
  first: number,
  now = 0,
  most = Number.POSITIVE_INFINITY,
): { n: number; frame: Frame }[] {
  const out: { n: number; frame: Frame }[] = []
  while (out.length < most) {
    const frame = new Frame(0, Buffer.alloc(1024))
    if (host.qp.pollTransmit(now, frame, AT) === TxKind.NONE) return out
    out.push({ n: (bth.psn(frame.view, AT) - first) & 0xffffff, frame })
  }
  return out
}

const requests = (pair: Two, now = 0) => drain(pair.a, FIRST_PSN, now)

/** Delivers these packets to the peer, and returns its answers after each. */
function deliver(pair: Two, packets: { frame: Frame }[], now = 0): void {
  for (const { frame } of packets) {
    pair.b.qp.onPacket(now, frame)
    for (const answer of drain(pair.b, FIRST_PSN, now)) pair.a.qp.onPacket(now, answer.frame)
  }
}

type Sent = { n: number; frame: Frame }

const numbers = (packets: { n: number }[]) => packets.map(({ n }) => n)

t.test('missing packets are retransmitted, each once, and nothing else', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 60))
  const sent = requests(pair)
  t.equal(sent.length, 60)
  // The first, a run, one alone, and the last but one.
  const lost = new Set([0, 7, 8, 9, 30, 58])
  deliver(
    pair,
    sent.filter(({ n }) => !lost.has(n)),
  )
  t.equal(pair.a.qp.inFlightBytes, 0, 'what has arrived and what is lost are not in flight')
  t.equal(pair.a.ackedBytes, 54 * MTU)
  t.equal(pair.a.lostBytes, 6 * MTU, 'the observer is told of each loss once')
  const again = requests(pair)
  t.same(numbers(again), [...lost])
  t.equal(pair.a.qp.inFlightBytes, 6 * MTU)
  t.equal(pair.a.qp.sendPending, 1, 'nothing is complete before all has arrived')
  deliver(pair, again)
  t.equal(pair.a.qp.sendPending, 0)
  t.equal(pair.a.qp.inFlightBytes, 0)
  t.equal(pair.a.ackedBytes, 60 * MTU)
  t.same(numbers(requests(pair)), [])
  t.equal(pair.a.qp.counters.retransmittedBytes, 6 * MTU)
  t.equal(pair.b.qp.counters.duplicates, 0)
  t.ok(pair.target.buffer!.subarray(0, 60 * MTU).equals(pair.source.buffer!.subarray(0, 60 * MTU)))
  t.equal(pair.b.reorderPool.inUse, 0)
})

t.test('the observer hears which of the lost packets was sent last', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 20))
  const sent = requests(pair)
  deliver(
    pair,
    sent.filter(({ n }) => n !== 4 && n !== 9),
  )
  t.equal(pair.a.newestLostSeq, FIRST_PSN + 9)
  // Both are lost again, with one more of the new packets after them: packet 9 left before that one.
  requests(pair)
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 8, 2))
  deliver(
    pair,
    requests(pair).filter(({ n }) => n !== 21),
  )
  t.equal(pair.a.newestLostSeq, FIRST_PSN + 21)
  // These and the next new packets. The last of the retransmitted ones is the newest, though its PSN is
  // lower.
  const again = requests(pair)
  t.same(numbers(again), [4, 9, 21])
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 8, 3))
  deliver(pair, [again[2]!, ...requests(pair)])
  t.equal(pair.a.newestLostSeq, FIRST_PSN + 9)
})

t.test('a packet may be overtaken by two, and is lost when three have passed it', async t => {
  for (const [late, repeats] of [
    [2, []],
    [3, [4]],
  ] as const) {
    const pair = two()
    pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 30))
    const sent = requests(pair)
    deliver(pair, [...sent.slice(0, 4), ...sent.slice(5, 5 + late)])
    t.same(numbers(requests(pair)), repeats, `overtaken by ${late}`)
    deliver(pair, [sent[4]!, ...sent.slice(5 + late)])
    t.same(numbers(requests(pair)), [])
    t.equal(pair.a.qp.sendPending, 0)
  }
})

/** A round trip has been measured: it took 1000 ns. */
function timed(config: Partial<QpConfig> = {}): Two {
  const pair = two(config)
  for (const at of [0, 1000]) {
    pair.a.qp.postSend(at, work(pair, WorkOpcode.RDMA_WRITE, 1, at))
    deliver(pair, requests(pair, at), at + 1000)
  }
  return pair
}

t.test('one packet that overtakes is not enough, until a quarter of a round trip has passed', async t => {
  for (const [late, repeats] of [
    [249, []],
    [250, [3]],
  ] as const) {
    const pair = timed()
    pair.a.qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 5, 2))
    const sent = requests(pair, 2000).map(({ n, frame }) => ({ n: n - 2, frame }))
    deliver(
      pair,
      [0, 1, 2, 4].map(n => sent[n]!),
      3000,
    )
    t.same(numbers(requests(pair, 3000)), [])
    t.equal(pair.a.qp.nextTimeout(), 3250)
    pair.a.qp.onTimeout(3000 + late)
    t.same(
      numbers(requests(pair, 3000 + late)).map(n => n - 2),
      repeats,
      `after ${late} ns`,
    )
  }
})

t.test('once a packet has been overtaken, time alone tells, and more of it after a false alarm', async t => {
  const pair = timed()
  const { qp } = pair.a
  qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 40, 2))
  const sent = requests(pair, 2000)
  deliver(
    pair,
    [0, 1, 3, 2].map(n => sent[n]!),
    3000,
  )
  deliver(
    pair,
    [5, 6, 7, 8, 9].map(n => sent[n]!),
    3000,
  )
  t.same(numbers(requests(pair, 3000)), [], 'five have passed the packet')
  t.equal(qp.nextTimeout(), 3250)
  qp.onTimeout(3250)
  const again = requests(pair, 3250)
  t.same(numbers(again), [6])
  // Both arrive: the peer reports that one retransmission was needless.
  deliver(pair, [sent[4]!, ...again], 4250)
  t.equal(qp.counters.spuriousPackets, 1)
  t.equal(qp.counters.spuriousBytes, MTU)
  deliver(
    pair,
    [11, 12, 13, 14].map(n => sent[n]!),
    4250,
  )
  qp.postSend(4250, work(pair, WorkOpcode.RDMA_WRITE, 4, 3))
  const more = requests(pair, 4250)
  deliver(pair, [...sent.slice(15), sent[10]!, more[1]!], 5250)
  t.equal(qp.nextTimeout(), 5250 + 500, 'half a round trip')
})

/** 60 packets left at 2000; those have arrived at 3000, and the missing ones have been retransmitted. */
function afterRepeats(arrived: (n: number) => boolean): { pair: Two; sent: Sent[]; again: Sent[] } {
  const pair = timed()
  pair.a.qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 60, 2))
  const sent = requests(pair, 2000)
  deliver(
    pair,
    sent.filter((_, i) => arrived(i)),
    3000,
  )
  return { pair, sent, again: requests(pair, 3000) }
}

t.test(
  'the original of a retransmitted packet comes: the recovery is spurious before the peer counts',
  async t => {
    const { pair, sent, again } = afterRepeats(i => i < 6 && i !== 2)
    t.same(numbers(again), [4])
    deliver(pair, [sent[2]!], 3100)
    t.same(pair.a.observed.filter(what => what === 'spurious').length, 1)
    t.equal(pair.a.qp.counters.spuriousPackets, 0, 'the retransmission is under way')
    deliver(pair, [...sent.slice(6), ...again], 4000)
    t.equal(pair.a.qp.counters.spuriousPackets, 1)
    t.same(pair.a.observed.filter(what => what === 'spurious').length, 1, 'and nothing is taken back twice')
    t.equal(pair.a.qp.sendPending, 0)
  },
)

t.test(
  'a packet was lost beside one that was overtaken: nothing is taken back, also once the peer counts',
  async t => {
    const { pair, sent, again } = afterRepeats(i => i < 14 && i !== 2 && i !== 10)
    t.same(numbers(again), [4, 12])
    deliver(pair, [sent[2]!], 3100)
    deliver(pair, [...sent.slice(14), ...again], 4000)
    t.equal(pair.a.qp.counters.spuriousPackets, 1)
    t.notOk(pair.a.observed.includes('spurious'))
  },
)

t.test(
  'a queue has drained, and the retransmission comes soon: what left before it has come too',
  async t => {
    const { pair, again } = afterRepeats(i => i !== 2)
    deliver(pair, again, 3100)
    t.notOk(pair.a.observed.includes('spurious'))
    t.equal(pair.a.qp.sendPending, 0)
  },
)

t.test('after a recovery that was refuted the next loss begins another one', async t => {
  const { pair, sent, again } = afterRepeats(i => i < 6 && i !== 2)
  deliver(pair, [sent[2]!], 3100)
  deliver(
    pair,
    sent.filter((_, i) => i >= 6 && i !== 20),
    3200,
  )
  pair.a.qp.onTimeout(3450)
  const more = requests(pair, 3450)
  t.same(numbers(more), [22])
  deliver(pair, [...again, ...more], 4450)
  t.equal(pair.a.qp.counters.spuriousPackets, 1)
  t.same(pair.a.observed.filter(what => what === 'spurious').length, 1, 'that packet had been lost')
})

t.test('a packet that is lost again is retransmitted when a newer one has arrived', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 10))
  deliver(
    pair,
    requests(pair).filter(({ n }) => n !== 2),
  )
  t.same(numbers(requests(pair)), [2], 'and is lost')
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 4, 2))
  const more = requests(pair)
  t.same(numbers(more), [10, 11, 12, 13])
  t.same(numbers(requests(pair)), [], 'what left before it tells nothing')
  deliver(pair, more.slice(0, 1))
  const again = requests(pair)
  t.same(numbers(again), [2])
  deliver(pair, [...again, ...more.slice(1)])
  t.equal(pair.a.qp.sendPending, 0)
  t.equal(pair.a.qp.counters.timeouts, 0)
})

t.test('a retransmission shows the losses before it, when nothing new is sent', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 12))
  const lost = new Set([2, 5, 10, 11])
  deliver(
    pair,
    requests(pair).filter(({ n }) => !lost.has(n)),
  )
  const first = requests(pair)
  t.same(numbers(first), [2, 5], 'of the last two nothing can tell yet')
  deliver(pair, [first[1]!])
  const second = requests(pair)
  t.same(numbers(second), [2, 10, 11], 'the one sent again before it, and those at the end')
  deliver(pair, second)
  t.equal(pair.a.qp.sendPending, 0)
  t.equal(pair.a.qp.counters.timeouts, 0)
  t.equal(pair.b.qp.counters.duplicates, 0)
})

t.test('after silence the oldest goes alone, and then all that is not known to have arrived', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 8))
  deliver(
    pair,
    requests(pair).filter(({ n }) => n !== 1 && n < 6),
  )
  t.same(numbers(requests(pair)), [1], 'and is lost, as the last two')
  const due = pair.a.qp.nextTimeout()
  pair.a.qp.onTimeout(due)
  t.same(numbers(requests(pair)), [1])
  pair.a.qp.onTimeout(pair.a.qp.nextTimeout())
  const [again] = requests(pair)
  t.equal(again!.n, 1, 'after silence once more')
  t.equal(pair.a.ackedBytes, 5 * MTU)
  t.equal(pair.a.qp.inFlightBytes, MTU)
  deliver(pair, [again!])
  t.same(numbers(requests(pair)), [6, 7])
  t.equal(pair.a.ackedBytes, 6 * MTU)
  t.equal(pair.a.qp.inFlightBytes, 2 * MTU)
})

t.test('after silence once more the peer is not believed to have kept anything', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 8))
  deliver(
    pair,
    requests(pair).filter(({ n }) => n !== 1 && n < 6),
  )
  pair.a.qp.onTimeout(pair.a.qp.nextTimeout())
  requests(pair)
  pair.a.qp.onTimeout(pair.a.qp.nextTimeout())
  requests(pair)
  // It has dropped what it kept, so it acknowledges only this one.
  pair.a.qp.onPacket(0, acknowledgement(1))
  t.same(numbers(requests(pair)), [2, 3, 4, 5, 6, 7])
})

t.test(
  'a false silence: packets that were sent before it are in flight, and are not retransmitted',
  async t => {
    for (const arrive of [1, 3]) {
      const pair = timed({ ackEveryPackets: arrive })
      const { qp } = pair.a
      qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 8, 2))
      const sent = requests(pair, 2000)
      let now = 2000
      while (qp.counters.timeouts === 0) {
        now = qp.nextTimeout()
        qp.onTimeout(now)
        // Tail probes, and the single packet after the timeout.
        requests(pair, now)
      }
      const repeated = qp.counters.retransmittedPackets
      deliver(pair, sent.slice(0, arrive), now + 10)
      t.same(numbers(requests(pair, now + 10)), [])
      t.equal(qp.inFlightBytes, (8 - arrive) * MTU)
      t.ok(pair.a.observed.includes('spurious'), 'the observer hears that nothing was lost')
      deliver(pair, sent.slice(arrive), now + 20)
      t.equal(qp.sendPending, 0)
      t.equal(qp.inFlightBytes, 0)
      t.equal(qp.counters.retransmittedPackets, repeated)
    }
  },
)

/** Runs the timers of the host until one expires. Nobody gets what leaves then. Returns when that was. */
function untilTimeout(pair: Two): { now: number; alone: { n: number; frame: Frame }[] } {
  const { qp } = pair.a
  const before = qp.counters.timeouts
  for (;;) {
    const now = qp.nextTimeout()
    qp.onTimeout(now)
    const alone = requests(pair, now)
    if (qp.counters.timeouts > before) return { now, alone }
  }
}

t.test('after an outage the answer names what had arrived before it: the rest was lost', async t => {
  const pair = timed()
  const { qp } = pair.a
  qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 8, 2))
  // Three arrive, and their acknowledgements are lost, as all that leaves until the timeout.
  for (const { frame } of requests(pair, 2000).slice(0, 3)) pair.b.qp.onPacket(3000, frame)
  drain(pair.b, FIRST_PSN, 3000)
  const { now, alone } = untilTimeout(pair)
  t.same(numbers(alone), [2])
  deliver(pair, alone, now + 1000)
  const rest = requests(pair, now + 1000)
  t.same(numbers(rest), [5, 6, 7, 8, 9])
  t.notOk(pair.a.observed.includes('spurious'), 'the silence was no false one')
  deliver(pair, rest, now + 2000)
  t.equal(qp.sendPending, 0)
  t.equal(qp.counters.timeouts, 1)
})

t.test('a false silence: the late answer to a tail probe names what was sent once before it', async t => {
  const pair = timed()
  const { qp } = pair.a
  qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 8, 2))
  const sent = requests(pair, 2000)
  const probes: Sent[] = []
  let now = 2000
  for (;;) {
    now = qp.nextTimeout()
    qp.onTimeout(now)
    if (qp.counters.timeouts > 0) break
    probes.push(...requests(pair, now))
  }
  t.same(numbers(requests(pair, now)), [2], 'after silence the first leaves alone')
  const probe = probes.find(({ n }) => n === 2)!
  // All are in a queue. Of the answers to the first three none comes; that to a probe from before the silence is the first.
  for (const { frame } of sent.slice(0, 3)) pair.b.qp.onPacket(now, frame)
  drain(pair.b, FIRST_PSN, now)
  deliver(pair, [probe], now + 100)
  t.ok(pair.a.observed.includes('spurious'), 'nothing was lost (RFC 5682, section 2.1, step 3)')
  t.same(numbers(requests(pair, now + 100)), [])
  t.equal(qp.inFlightBytes, 5 * MTU)
  deliver(pair, sent.slice(3), now + 200)
  t.equal(qp.sendPending, 0)
})

t.test('an outage is no round trip that losses after it wait for', async t => {
  const pair = timed()
  const { qp } = pair.a
  qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 12, 2))
  for (const { frame } of requests(pair, 2000).slice(0, 3)) pair.b.qp.onPacket(3000, frame)
  drain(pair.b, FIRST_PSN, 3000)
  const { now, alone } = untilTimeout(pair)
  // This answer is a little quicker than any before, and names packets that were sent once, before the outage.
  deliver(pair, alone, now + 999)
  const rest = requests(pair, now + 1000)
  t.same(numbers(rest), [5, 6, 7, 8, 9, 10, 11, 12, 13])
  deliver(
    pair,
    rest.filter(({ n }) => n !== 5),
    now + 2000,
  )
  // The reordering window is half of a round trip, as a packet has arrived twice.
  qp.onTimeout(now + 2500)
  t.same(numbers(requests(pair, now + 2500)), [5])
  t.equal(qp.counters.timeouts, 1)
})

t.test('an answer that came early is not believed once silence has followed it', async t => {
  const pair = timed({ selectiveRepeat: false })
  const { qp } = pair.a
  qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 8, 2))
  // All are lost. The path had a queue when it was measured. Now a round trip takes at most 10 ns.
  requests(pair, 2000)
  const first = untilTimeout(pair)
  deliver(pair, first.alone, first.now + 10)
  t.same(numbers(requests(pair, first.now + 10)), [], 'the seven others are taken to be on their way')
  const second = untilTimeout(pair)
  t.equal(second.alone.length, 1)
  deliver(pair, second.alone, second.now + 9)
  const rest = requests(pair, second.now + 10)
  t.same(numbers(rest), [4, 5, 6, 7, 8, 9], 'they are sent again')
  deliver(pair, rest, second.now + 20)
  t.equal(qp.sendPending, 0)
  t.equal(qp.counters.timeouts, 2)
})

t.test('what a NAK asks for had been dropped, however early the answer', async t => {
  const pair = timed({ selectiveRepeat: false })
  const { qp } = pair.a
  qp.postSend(2000, work(pair, WorkOpcode.RDMA_WRITE, 8, 2))
  deliver(pair, requests(pair, 2000).slice(1), 3000)
  const again = requests(pair, 3000)
  t.same(numbers(again), [2, 3, 4, 5, 6, 7, 8, 9])
  deliver(pair, again, 3010)
  t.equal(qp.sendPending, 0)
  t.equal(qp.counters.retransmittedPackets, 8)
  t.equal(qp.counters.spuriousPackets, 0)
})

t.test('responses of a READ: those that came are kept, the others are asked for by run', async t => {
  const pair = two()
  const expected = Buffer.from(Array.from({ length: 20 * MTU }, (_, i) => (i * 31) & 0xff))
  expected.copy(pair.target.buffer!, 0)
  const landing = pair.a.memory.register(Buffer.alloc(20 * MTU), 20 * MTU, Access.LOCAL_WRITE)
  pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_READ, 20), region: landing })
  const [request] = requests(pair)
  pair.b.qp.onPacket(0, request!.frame)
  const responses = drain(pair.b, FIRST_PSN)
  t.same(numbers(responses), [...Array(20).keys()])
  for (const { n, frame } of responses) {
    if (n !== 3 && n !== 4 && n !== 12) pair.a.qp.onPacket(0, frame)
  }
  const again = requests(pair)
  t.same(numbers(again), [3, 12], 'two requests, of two packets and of one')
  t.equal(pair.a.qp.sendPending, 1)
  for (const { frame } of again) pair.b.qp.onPacket(0, frame)
  const rest = drain(pair.b, FIRST_PSN)
  t.same(numbers(rest), [3, 4, 12], 'and no response that had come')
  for (const { frame } of rest) pair.a.qp.onPacket(0, frame)
  t.equal(pair.a.qp.sendPending, 0)
  t.ok(landing.buffer!.equals(expected))
  t.equal(pair.a.reorderPool.inUse, 0)
})

/** A responder that has sent a READ of 20 packets, and how the requester requests some of them again. */
function askedAgain() {
  const pair = two()
  const { qp } = pair.b
  const landing = pair.a.memory.register(Buffer.alloc(20 * MTU), 20 * MTU, Access.LOCAL_WRITE)
  pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_READ, 20), region: landing })
  const { frame } = requests(pair)[0]!
  qp.onPacket(0, frame)
  const address = reth.address(frame.view, AT + bth.BYTES)
  const ask = (n: number, packets: number) => {
    bth.setPsn(frame.view, AT, (FIRST_PSN + n) & 0xffffff)
    reth.setAddress(frame.view, AT + bth.BYTES, address + n * MTU)
    reth.setLength(frame.view, AT + bth.BYTES, packets * MTU)
    qp.onPacket(0, frame)
  }
  return {
    ask,
    restFrom: (n: number) => ask(n, 20 - n),
    sent: (most?: number) => numbers(drain(pair.b, FIRST_PSN, 0, most)),
  }
}

t.test('responses that are asked for again leave in the order in which each was asked for last', async t => {
  const { ask, restFrom, sent } = askedAgain()
  t.equal(sent().length, 20)
  restFrom(15)
  t.same(sent(), [19], 'the rest may be on its way: the last one tells')
  restFrom(15)
  ask(3, 1)
  ask(7, 2)
  t.same(sent(), [15, 16, 17, 18, 19, 3, 7, 8])
  restFrom(15)
  ask(3, 1)
  restFrom(15)
  t.same(sent(), [3, 15, 16, 17, 18, 19], 'the rest, asked for again and again, holds up no other')
})

t.test(
  'what is asked for once more waits at its new place alone, and so does not wait for itself',
  async t => {
    const { ask, restFrom, sent } = askedAgain()
    sent()
    restFrom(19)
    sent()
    ask(3, 2)
    ask(6, 13)
    // One response leaves at a time, and the first two are lost.
    for (const n of [3, 4, 6]) t.same(sent(1), [n])
    restFrom(3)
    t.same(sent(1), [3], 'what lies behind it in the READ does not go first')
    ask(10, 2)
    ask(4, 1)
    t.same(sent(), [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 10, 11, 4])
  },
)

t.test('what has not left yet is not sent twice when it is asked for too early', async t => {
  const { ask, sent } = askedAgain()
  t.same(sent(5), [0, 1, 2, 3, 4])
  ask(3, 4)
  ask(8, 2)
  t.same(sent(), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
})

t.test('a response that was in flight when it was requested again shows no other to be lost', async t => {
  const pair = two()
  const { qp } = pair.a
  qp.baseRttNs = MILLISECOND
  const landing = pair.a.memory.register(Buffer.alloc(10 * MTU), 10 * MTU, Access.LOCAL_WRITE)
  qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_READ, 10), region: landing })
  pair.b.qp.onPacket(0, requests(pair)[0]!.frame)
  const responses = drain(pair.b, FIRST_PSN)
  qp.onPacket(MILLISECOND, responses[1]!.frame)
  const probe = (now: number) => {
    qp.onTimeout(now)
    return numbers(requests(pair, now))
  }
  t.same(probe(qp.nextTimeout()), [9], 'the last response')
  const secondNs = qp.nextTimeout()
  t.same(probe(secondNs), [0], 'the first one')
  qp.onPacket(secondNs + 1000, responses[0]!.frame)
  t.same(numbers(requests(pair, secondNs + 1000)), [], 'no round trip has passed')
})

t.test('the transport timer does not run out while responses come, though the first is missing', async t => {
  // 33.6 ms.
  const pair = two({ ackTimeoutExponent: 13, probeTimeoutLeastNs: NEVER })
  const landing = pair.a.memory.register(Buffer.alloc(20 * MTU), 20 * MTU, Access.LOCAL_WRITE)
  pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_READ, 20), region: landing })
  for (const { frame } of requests(pair)) pair.b.qp.onPacket(0, frame)
  const [, ...responses] = drain(pair.b, FIRST_PSN)
  let now = 0
  for (const { frame } of responses) {
    now += 10 * MILLISECOND
    pair.a.qp.onTimeout(now)
    pair.a.qp.onPacket(now, frame)
    // The request for the first one is lost again.
    requests(pair)
  }
  t.equal(pair.a.qp.counters.timeouts, 0)
  pair.a.qp.onTimeout(now + 34 * MILLISECOND)
  t.equal(pair.a.qp.counters.timeouts, 1, 'it does when nothing comes any more')
  for (const { frame } of requests(pair)) pair.b.qp.onPacket(0, frame)
  for (const { frame } of drain(pair.b, FIRST_PSN)) pair.a.qp.onPacket(0, frame)
  for (const { frame } of requests(pair)) pair.b.qp.onPacket(0, frame)
  for (const { frame } of drain(pair.b, FIRST_PSN)) pair.a.qp.onPacket(0, frame)
  t.equal(pair.a.qp.sendPending, 0)
  t.equal(pair.a.error, null)
})

t.test(
  'a response that is lost again is asked for again when one that was asked for later has come',
  async t => {
    const pair = two()
    const landing = pair.a.memory.register(Buffer.alloc(20 * MTU), 20 * MTU, Access.LOCAL_WRITE)
    pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_READ, 20), region: landing })
    for (const { frame } of requests(pair)) pair.b.qp.onPacket(0, frame)
    for (const { n, frame } of drain(pair.b, FIRST_PSN)) {
      if (n !== 3 && n !== 8 && n !== 12) pair.a.qp.onPacket(0, frame)
    }
    for (const { frame } of requests(pair)) pair.b.qp.onPacket(0, frame)
    const rest = drain(pair.b, FIRST_PSN)
    t.same(numbers(rest), [3, 8, 12])
    pair.a.qp.onPacket(0, rest[1]!.frame)
    const again = requests(pair)
    t.same(numbers(again), [3], 'not 12: it may be on its way')
    for (const { frame } of again) pair.b.qp.onPacket(0, frame)
    for (const { frame } of [rest[2]!, ...drain(pair.b, FIRST_PSN)]) pair.a.qp.onPacket(0, frame)
    t.equal(pair.a.qp.sendPending, 0)
    t.equal(pair.a.qp.counters.timeouts, 0)
  },
)

t.test('what is kept is bounded; without room the peer comes again', async t => {
  const pair = two({ reorderPackets: 3 })
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 12))
  let sent = requests(pair).filter(({ n }) => n !== 0)
  for (let round = 0; pair.a.qp.sendPending > 0 && round < 12; round++) {
    deliver(pair, sent)
    t.ok(pair.b.reorderPool.inUse <= 3)
    sent = requests(pair)
    if (sent.length > 0) continue
    pair.a.qp.onTimeout(pair.a.qp.nextTimeout())
    sent = requests(pair)
  }
  t.ok(pair.b.qp.counters.droppedReorder > 0)
  t.equal(pair.a.qp.sendPending, 0)
  t.ok(pair.target.buffer!.subarray(0, 12 * MTU).equals(pair.source.buffer!.subarray(0, 12 * MTU)))
})

/** Delivers packets in a random order by a seed, and checks every answer. Returns the number of SACKs. */
function sacksOf(t: Test, seed: number): number {
  const random = randomSource(seed)
  const pair = two({ ackEveryPackets: 1 })
  const total = 180
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, total))
  const sent = requests(pair)
  // In any order, not far from each other, some of them twice.
  const order = sent.flatMap(packet => (random() < 0.1 ? [packet, packet] : [packet]))
  order.sort((x, y) => x.n + 40 * random() - (y.n + 40 * random()))
  const arrived = new Set<number>()
  const wrong: string[] = []
  let sacks = 0
  for (const { n, frame } of order) {
    arrived.add(n)
    pair.b.qp.onPacket(0, frame)
    let next = 0
    while (arrived.has(next)) next++
    for (const { n: cumulative, frame: answer } of drain(pair.b, FIRST_PSN)) {
      if (cumulative !== ((next - 1) & 0xffffff)) wrong.push(`acknowledges ${cumulative} before ${next}`)
      if (bth.opcode(answer.view, AT) !== Opcode.SACK) continue
      sacks++
      const base = (sack.basePsn(answer.view, SACK_AT) - FIRST_PSN) & 0xffffff
      const told = Array.from({ length: sack.BITS }, (_, bit) => bit)
        .filter(bit => sack.has(answer.view, SACK_AT, bit))
        .map(bit => base + bit)
      const kept = [...arrived].filter(psn => psn > next).sort((x, y) => x - y)
      if (told.join() !== kept.join()) wrong.push(`tells ${told}, not ${kept}`)
    }
  }
  t.same(wrong, [], `SEED=${seed}`)
  t.ok(pair.target.buffer!.subarray(0, total * MTU).equals(pair.source.buffer!.subarray(0, total * MTU)))
  return sacks
}

t.test('SACKs say what has arrived, and only that', async t => {
  const sacks = sacksOf(t, fixedSeed(t, 1))
  if (!isReplay) t.ok(sacks > 10, `${sacks} SACKs`)
  sacksOf(t, drawnSeed(t))
})

t.test('a gap longer than a bitmap: it shows what came last', async t => {
  const pair = two({ maxPacketsInFlight: 1024 })
  pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_WRITE, 256) })
  pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_WRITE, 256, 2) })
  const sent = requests(pair)
  for (const n of [1, 400]) pair.b.qp.onPacket(0, sent[n]!.frame)
  const [, answer] = drain(pair.b, FIRST_PSN)
  t.equal((sack.basePsn(answer!.frame.view, SACK_AT) - FIRST_PSN) & 0xffffff, 145)
  t.equal(sack.lastBit(answer!.frame.view, SACK_AT), 255)
})

t.test('packets far apart that arrive at once: a SACK for each', async t => {
  const pair = two({ maxPacketsInFlight: 1024, ackEveryPackets: 16 })
  pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_WRITE, 256) })
  pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.RDMA_WRITE, 256, 2) })
  const sent = requests(pair)
  for (const n of [5, 400, 20, 500]) pair.b.qp.onPacket(0, sent[n]!.frame)
  for (const { frame } of drain(pair.b, FIRST_PSN)) pair.a.qp.onPacket(0, frame)
  t.equal(pair.a.ackedBytes, 4 * MTU, 'all four are known to have arrived')
})

/** An ACK for the host. */
function acknowledgement(n: number): Frame {
  const frame = forged(n, n + 1, [])
  bth.setOpcode(frame.view, AT, Opcode.RC_ACKNOWLEDGE)
  return frame
}

/** A SACK for the host with these fields; PSNs relative to its first one. */
function forged(cumulative: number, base: number, bits: number[], syndrome = aeth.ACK_UNLIMITED): Frame {
  const frame = new Frame(0, Buffer.alloc(256))
  const { view } = frame
  bth.write(
    view,
    AT,
    new bth.Bth({ opcode: Opcode.SACK, migrated: false, destQpn: 17, psn: FIRST_PSN + cumulative }),
  )
  aeth.write(view, AT + bth.BYTES, syndrome, 0)
  sack.write(view, SACK_AT, FIRST_PSN + base)
  for (const bit of bits) sack.add(view, SACK_AT, bit)
  frame.bth = AT
  frame.payload = SACK_AT + sack.BYTES
  frame.length = frame.payload
  frame.wireLength = frame.length
  return frame
}

t.test('SACKs that cannot be are counted, and nothing comes of them', async t => {
  const forgeries: [string, Frame][] = [
    ['bits beyond what was sent', forged(1, 2, [0, 18])],
    ['the last bit', forged(1, 2, [255])],
    ['acknowledges what was not sent', forged(20, 22, [0])],
    ['base beyond what was sent', forged(1, 21, [])],
    ['base far outside of the window', forged(1, 0x400000, [3])],
    ['base at what it acknowledges', forged(5, 5, [1])],
    ['base before what it acknowledges', forged(5, 2, [8])],
    ['base half the number space away', forged(1, 0x800001, [3])],
    ['with the syndrome of a NAK', forged(1, 3, [0], aeth.NAK_PSN_SEQUENCE_ERROR)],
    ['with the syndrome of an RNR NAK', forged(1, 3, [0], 0x2c)],
    ['with a reserved syndrome', forged(1, 3, [0], 0x40)],
  ]
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 20))
  t.equal(requests(pair).length, 20)
  const { qp } = pair.a
  const state = () => [
    qp.sndUna,
    qp.sndNxt,
    qp.inFlightBytes,
    qp.peekTransmit(),
    qp.nextTimeout(),
    pair.a.observed,
  ]
  const before = JSON.stringify(state())
  for (const [index, [what, frame]] of forgeries.entries()) {
    qp.onPacket(1000, frame)
    t.equal(qp.counters.droppedSack, index + 1, what)
    t.equal(JSON.stringify(state()), before, what)
  }
})

t.test('SACKs that are late or repeat tell nothing new', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 20))
  requests(pair)
  const { qp } = pair.a
  qp.onPacket(0, forged(9, 11, [0]))
  t.equal(qp.inFlightBytes, 9 * MTU)
  t.equal(pair.a.ackedBytes, 11 * MTU)
  qp.onPacket(0, forged(9, 11, [0]))
  qp.onPacket(0, forged(3, 5, [0, 2, 6]))
  t.equal(qp.inFlightBytes, 9 * MTU)
  t.equal(pair.a.ackedBytes, 11 * MTU)
  t.equal(qp.sndUna - FIRST_PSN, 10)
  t.equal(qp.counters.droppedSack, 0)
})

t.test('a SACK of the responses of a READ, which are no requests, changes nothing of it', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_READ, 10))
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 10, 2))
  requests(pair)
  pair.a.qp.onPacket(0, forged(-1, 1, [0, 1, 2, 3]))
  t.equal(pair.a.qp.sndUna, FIRST_PSN)
  t.equal(pair.a.qp.inFlightBytes, 10 * MTU)
  t.same(numbers(requests(pair)), [])
})

t.test('a queue pair that has not agreed takes no SACK and sends none', async t => {
  const pair = two({ selectiveRepeat: false })
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 20))
  const sent = requests(pair)
  pair.a.qp.onPacket(0, forged(1, 3, [0]))
  t.equal(pair.a.qp.counters.droppedOpcode, 1)
  t.equal(pair.a.qp.counters.otherService, 0)
  t.equal(pair.a.qp.sndUna, FIRST_PSN)
  for (const { n, frame } of sent) if (n !== 2) pair.b.qp.onPacket(0, frame)
  const answers = drain(pair.b, FIRST_PSN)
  t.same(
    answers.map(({ frame }) => bth.opcode(frame.view, AT)),
    [Opcode.RC_ACKNOWLEDGE],
  )
  t.equal(pair.b.reorderPool.inUse, 0)
})

t.test('an end by error gives back what is kept', async t => {
  const pair = two()
  pair.a.qp.postSend(0, work(pair, WorkOpcode.RDMA_WRITE, 20))
  for (const { n, frame } of requests(pair)) if (n !== 2) pair.b.qp.onPacket(0, frame)
  t.equal(pair.b.reorderPool.inUse, 17)
  pair.b.qp.modify(0, 6)
  t.equal(pair.b.reorderPool.inUse, 0)
})

t.test(
  'a packet that was kept, and shows a defect when its turn comes, is given back with the others',
  async t => {
    for (const opcode of [WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ]) {
      const isRead = opcode === WorkOpcode.RDMA_READ
      const pair = two()
      pair.a.qp.postSend(0, work(pair, opcode, 20))
      const sent = requests(pair)
      for (const { frame } of sent) if (isRead) pair.b.qp.onPacket(0, frame)
      const [taker, region] = isRead ? [pair.a, pair.source] : [pair.b, pair.target]
      const packets = isRead ? drain(pair.b, FIRST_PSN) : sent
      for (const { n, frame } of packets) if (n !== 2) taker.qp.onPacket(0, frame)
      t.equal(taker.reorderPool.inUse, 17)
      const { allows } = region
      let packetsBefore = 1
      region.allows = rights => {
        if (packetsBefore-- === 0) throw new Error('broken by the test')
        return allows.call(region, rights)
      }
      t.throws(() => taker.qp.onPacket(0, packets[2]!.frame), { message: 'broken by the test' })
      taker.qp.modify(0, 6)
      t.equal(taker.reorderPool.inUse, 0)
    }
  },
)

t.test('a SEND that is kept and finds no receive is refused once each time it arrives', async t => {
  const pair = two()
  const { qp } = pair.b
  const receive = (id: number) => qp.postReceive({ id, region: pair.target, offset: 0, length: MTU })
  for (const id of [1, 2, 3]) pair.a.qp.postSend(0, { ...work(pair, WorkOpcode.SEND, 1), id })
  const sent = requests(pair)
  receive(1)
  for (const n of [1, 2, 0]) qp.onPacket(0, sent[n]!.frame)
  t.equal(qp.counters.rnrNaksSent, 1)
  qp.onPacket(0, sent[1]!.frame)
  t.equal(qp.counters.rnrNaksSent, 2)
  t.equal(pair.b.reorderPool.inUse, 2)
  receive(2)
  receive(3)
  qp.onPacket(0, sent[1]!.frame)
  t.equal(qp.counters.rnrNaksSent, 2)
  t.equal(pair.b.receiveCq.pending, 3)
  t.equal(pair.b.reorderPool.inUse, 0)
})

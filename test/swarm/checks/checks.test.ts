/** Each check of the swarm gets something right, which it accepts, and something wrong, which it reports. */
import t, { type Test } from 'tap'
import { WeirError } from '../../../lib/errors.js'
import { Access, MemoryTable } from '../../../lib/qp/memory/memory.js'
import { checkBalance, checkNic, checkPool, checkSwitches } from './balance.js'
import { checkBounds } from './bounds.js'
import { ReceiveCount, SendOrder } from './completions.js'
import { checkClosed, checkEnding } from './ends.js'
import type { Fail } from './fail.js'
import { checkFairness } from './fairness.js'
import { checkInvalidated, checkKept } from './invalidation.js'
import { checkLossless } from './lossless.js'
import { type Arrival, checkArrival, checkBytes } from './messages.js'
import { checkEnded, checkEvents, EVENTS_MAX } from './progress.js'
import { checkPeak, checkQueues } from './queues.js'
import { checkRetransmissions, isUndisturbed, type Retransmissions } from './retransmissions.js'
import { checkFound, checkWords, WordModel } from './words.js'

/** Reports of a check. */
function complaints(check: (fail: Fail) => void): string[] {
  const found: string[] = []
  check(what => found.push(what))
  return found
}

function passes(t: Test, what: string, check: (fail: Fail) => void): void {
  t.same(complaints(check), [], what)
}

/** Exactly one complaint, which matches. */
function complains(t: Test, message: RegExp, check: (fail: Fail) => void): void {
  const found = complaints(check)
  t.equal(found.length, 1, found.join(' · '))
  t.match(found[0], message)
}

t.test('completions: once, in order, of posted work, none missing', async t => {
  const order =
    (posted: number, completions: [id: number, good: boolean][], ends = true) =>
    (fail: Fail) => {
      const sends = new SendOrder(fail)
      sends.posted = posted
      for (const [id, good] of completions) sends.onCompletion(id, good)
      if (ends) sends.onEnd()
    }
  passes(
    t,
    'all succeed',
    order(2, [
      [0, true],
      [1, true],
    ]),
  )
  passes(
    t,
    'the last is flushed',
    order(2, [
      [0, true],
      [1, false],
    ]),
  )
  complains(t, /request 1 completed in place of 0/, order(2, [[1, true]], false))
  complains(
    t,
    /request 0 completed in place of 1/,
    order(
      2,
      [
        [0, true],
        [0, true],
      ],
      false,
    ),
  )
  complains(
    t,
    /request 1 completed before it was posted/,
    order(
      1,
      [
        [0, true],
        [1, true],
      ],
      false,
    ),
  )
  complains(
    t,
    /request 1 succeeded after a failed one/,
    order(2, [
      [0, false],
      [1, true],
    ]),
  )
  complains(
    t,
    /posted 3 work requests, 2 have completed/,
    order(3, [
      [0, true],
      [1, true],
    ]),
  )
  const receives = (posted: number, completed: number) => (fail: Fail) => {
    const count = new ReceiveCount(fail)
    count.posted = posted
    for (let n = 0; n < completed; n++) count.onCompletion()
    count.onEnd()
  }
  passes(t, 'receives', receives(2, 2))
  complains(t, /posted 2 receives, 1 have completed/, receives(2, 1))
  t.match(complaints(receives(1, 2)), [/2 receives completed, 1 were posted/, /posted 1 receives, 2/])
})

t.test('messages: their kind, number, length and every byte', async t => {
  const sent = Buffer.from('contents')
  const completion = { byteLength: 8, hasImmediate: true, immediate: 3 }
  const arrival: Arrival = { id: 3, sent, immediate: true, completion, there: Buffer.from(sent) }
  const having = (change: Partial<Arrival>) => (fail: Fail) => checkArrival({ ...arrival, ...change }, fail)
  passes(t, 'exact', having({}))
  complains(t, /message 3 is of another kind/, having({ immediate: false }))
  complains(t, /message 4 arrived in place of 3/, having({ completion: { ...completion, immediate: 4 } }))
  complains(t, /message 3 has 7 bytes, not 8/, having({ completion: { ...completion, byteLength: 7 } }))
  complains(t, /message 3 is not exact/, having({ there: Buffer.from('contentz') }))
  complains(t, /message 3 is not exact/, having({ there: Buffer.from('content') }))
  passes(t, 'nothing is exact', fail => checkBytes('READ 1', Buffer.alloc(0), Buffer.alloc(0), fail))
  complains(t, /READ 1 is not exact/, fail => checkBytes('READ 1', Buffer.of(1), Buffer.of(0), fail))
})

t.test('atomics: what each finds, and what all leave', async t => {
  const model = new WordModel()
  t.equal(model.add().found, 0n)
  t.equal(model.add().found, 0x8000_0001_8000_0001n)
  t.equal(model.add().found, 0x1_0000_0003_0000_0002n % 2n ** 64n, 'the sum wraps around')
  const first = model.swap(0, true)
  t.match(first, { word: 1, compareOrAdd: 0n, found: 0n })
  const failed = model.swap(1, false)
  t.equal(failed.found, first.swap)
  t.not(failed.compareOrAdd, failed.found)
  t.equal(model.swap(2, true).found, first.swap, 'what did not match has changed nothing')
  passes(t, 'found', fail => checkFound('atomic 0', 5n, 5n, fail))
  complains(t, /atomic 0 found 6, not 5/, fail => checkFound('atomic 0', 5n, 6n, fail))
  const memory = Buffer.alloc(16)
  for (const [i, word] of model.words.entries()) memory.writeBigUInt64LE(word, 8 * i)
  passes(t, 'left', fail => checkWords(model, memory, fail))
  memory[0]! ^= 1
  complains(t, /word 0 is \d+ after all atomics/, fail => checkWords(model, memory, fail))
})

t.test('SEND with invalidate: the region that it names, and no other', async t => {
  let key = 7
  const table = new MemoryTable(4, () => key++)
  const [named, other] = [1, 2].map(() => table.register(null, 8, Access.REMOTE_WRITE)) as [never, never]
  const region = named as ReturnType<MemoryTable['register']>
  const kept = other as ReturnType<MemoryTable['register']>
  complains(t, /left its region valid/, fail => checkInvalidated('message 0', region.key, region, fail))
  table.deregister(region)
  passes(t, 'taken back', fail => checkInvalidated('message 0', region.key, region, fail))
  complains(t, /took back key 0, not 7/, fail => checkInvalidated('message 0', 0, region, fail))
  complains(t, /took back key 8, not 0/, fail => checkInvalidated('message 0', kept.key, null, fail))
  passes(t, 'kept', fail => checkKept([region, kept], 1, fail))
  complains(t, /1 regions are invalid/, fail => checkKept([kept, region], 1, fail))
})

t.test('ends: once, with a code, and an error only where there may be one', async t => {
  const lost = new WeirError('WEIR_CONNECTION_LOST', 'gone')
  const refused = new WeirError('WEIR_NOT_ADMITTED', 'every path to 10.0.0.1 is used too much')
  const heard = new WeirError(
    'WEIR_CONNECTION_LOST',
    '10.0.0.2 gave up: every path to 10.0.0.1 is used too much',
  )
  const strict = { excused: false, mayBeRefused: false, peerError: null }
  passes(t, 'in order', fail => checkClosed(1, null, fail))
  passes(t, 'with a code', fail => checkClosed(1, lost, fail))
  complains(t, /told of its end twice/, fail => checkClosed(2, null, fail))
  complains(t, /ended with Error: x, which has no code/, fail => checkClosed(1, new Error('x'), fail))
  passes(t, 'done', fail => checkEnding(null, true, strict, fail))
  passes(t, 'excused', fail => checkEnding(lost, false, { ...strict, excused: true }, fail))
  complains(t, /ended: WEIR_CONNECTION_LOST gone/, fail => checkEnding(lost, true, strict, fail))
  complains(t, /ended in order before its work was done/, fail => checkEnding(null, false, strict, fail))
  const waits = { ...strict, mayBeRefused: true }
  for (const error of [refused, heard]) passes(t, 'refused', fail => checkEnding(error, false, waits, fail))
  passes(t, 'the peer was', fail => checkEnding(lost, false, { ...waits, peerError: refused }, fail))
  complains(t, /ended: WEIR_NOT_ADMITTED/, fail => checkEnding(refused, false, strict, fail))
  complains(t, /ended: WEIR_CONNECTION_LOST/, fail => checkEnding(lost, false, waits, fail))
})

t.test('bounds: window, rate, bytes in flight, T', async t => {
  const stats = { windowBytes: 1, rateBps: 1e9, inFlightBytes: 100, baseRttNs: 5, ackedBytes: 7 }
  const having = (change: Partial<typeof stats>) => (fail: Fail) =>
    checkBounds({ ...stats, ...change }, 1e9, 100, fail)
  passes(t, 'within', having({}))
  complains(t, /window -1/, having({ windowBytes: -1 }))
  complains(t, /window NaN/, having({ windowBytes: Number.NaN }))
  complains(t, /window Infinity/, having({ windowBytes: Number.POSITIVE_INFINITY }))
  complains(t, /rate 1010000000 of 1000000000/, having({ rateBps: 1.01e9 }))
  complains(t, /rate NaN/, having({ rateBps: Number.NaN }))
  complains(t, /101 bytes in flight, 100 at most/, having({ inFlightBytes: 101 }))
  complains(t, /-1 bytes in flight/, having({ inFlightBytes: -1 }))
  complains(t, /T -1/, having({ baseRttNs: -1 }))
  complains(t, /-2 bytes acknowledged/, having({ ackedBytes: -2 }))
})

t.test(
  'queues: the gauge as its queues, the memory as all queues, within it, and within the windows',
  async t => {
    const queued = { name: 's1', gauges: [10, 20], queues: [10, 20], usedBytes: 30, bufferBytes: 30 }
    const having = (change: Partial<typeof queued>) => (fail: Fail) =>
      checkQueues({ ...queued, ...change }, fail)
    passes(t, 'right', having({}))
    complains(t, /port 1: 21 bytes wait, its queues have 20/, having({ gauges: [10, 21] }))
    complains(t, /31 bytes in use, its ports have 30/, having({ usedBytes: 31, bufferBytes: 40 }))
    complains(t, /30 bytes in use of 29/, having({ bufferBytes: 29 }))
    passes(t, 'windows', fail => checkPeak('s1', 2200, 2, 1000, 0.1, fail))
    complains(t, /s1: 2201 bytes waited, windows allow 2200/, fail =>
      checkPeak('s1', 2201, 2, 1000, 0.1, fail),
    )
  },
)

t.test('frames: each has an end, at links, switches, NICs and in the pool', async t => {
  const counts = { sent: 10, made: 2, copied: 1, received: 7, consumed: 2, dropped: 2, lost: 1, unplugged: 1 }
  passes(t, 'all', fail => checkBalance(counts, fail))
  for (const name of Object.keys(counts) as (keyof typeof counts)[])
    complains(t, /frames were sent or made/, fail =>
      checkBalance({ ...counts, [name]: counts[name] + 1 }, fail),
    )
  const switches = { received: 10, made: 2, sent: 8, consumed: 3, drops: 1 }
  passes(t, 'switches', fail => checkSwitches(switches, fail))
  for (const name of Object.keys(switches) as (keyof typeof switches)[])
    complains(t, /does not add up/, fail => checkSwitches({ ...switches, [name]: switches[name] + 1 }, fail))
  passes(t, 'NIC', fail => checkNic({ rx: 5, control: 1, tx: 3 }, 6, 3, fail))
  complains(t, /counts 3 frames sent, not 4/, fail => checkNic({ rx: 5, control: 1, tx: 3 }, 6, 4, fail))
  complains(t, /counts 6 frames received, not 7/, fail => checkNic({ rx: 5, control: 1, tx: 3 }, 7, 3, fail))
  passes(t, 'pool', fail => checkPool(0, fail))
  complains(t, /1 frames have not been given back/, fail => checkPool(1, fail))
})

t.test('a lossless network loses nothing for want of room', async t => {
  passes(t, 'nothing', fail => checkLossless('s1', { headroomFull: 0, malformed: 3, ttlExpired: 1 }, fail))
  for (const reason of ['headroomFull', 'bufferFull', 'queueFull', 'wred'])
    complains(t, new RegExp(`s1: 2 lossless frames dropped, ${reason}`), fail =>
      checkLossless('s1', { [reason]: 2 }, fail),
    )
})

t.test('a retransmission has a reason', async t => {
  const still = { faults: 0, drops: 0, stops: 0, reroutes: 0 }
  t.ok(isUndisturbed(still))
  for (const what of Object.keys(still)) t.notOk(isUndisturbed({ ...still, [what]: 1 }), what)

  const judged = (what: Partial<Retransmissions>) => (fail: Fail) =>
    checkRetransmissions('a', { packets: 0, tailProbes: 0, timeouts: 0, rnrNaks: 0, ...what }, fail)
  passes(t, 'nothing', judged({}))
  passes(t, 'a tail probe', judged({ packets: 1, tailProbes: 1 }))
  passes(t, 'a timeout', judged({ packets: 9, timeouts: 1 }))
  passes(t, 'a receiver was not ready', judged({ packets: 9, rnrNaks: 1 }))
  complains(t, /a: 3 packets were retransmitted/, judged({ packets: 3 }))
})

t.test('flows that share everything have like shares', async t => {
  passes(t, 'equal', fail => checkFairness([10, 10], 1, fail))
  passes(t, 'nearly', fail => checkFairness([10, 8], 0.9, fail))
  // (10 + 2)^2 / (2 * 104) = 0.692
  complains(t, /Jain's index is 0\.692, below 0\.7: 10, 2 bytes/, fail => checkFairness([10, 2], 0.7, fail))
  complains(t, /Jain's index is NaN/, fail => checkFairness([0, 0], 0.5, fail))
})

t.test('a run ends in time, and in a bounded number of events', async t => {
  passes(t, 'few', fail => checkEvents(EVENTS_MAX, fail))
  complains(t, /events: something goes round in circles/, fail => checkEvents(EVENTS_MAX + 1, fail))
  passes(t, 'all', fail => checkEnded('has not ended', [], 1e9, fail))
  complains(t, /a, b: has not ended after 1 s/, fail => checkEnded('has not ended', ['a', 'b'], 1e9, fail))
})

/**
 * Windows that the receiver computes: requested until they come, sent with the acknowledgement, refused when
 * nonsense.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { WindowSequence } from '../../lib/nic/feedback/window-sequence.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as rate from '../../lib/wire/weir/rate.js'
import { connected, frameName, makePair, memoryOf, type Pair, RATE_BPS } from './pair.js'

const BYTES = 400 * 1024

function pairOf(): Pair {
  const cc = { name: 'rx-hpcc', options: { eta: 0.9 } }
  return makePair({ a: { cc, baseRttNs: 20_000 }, b: { ackEveryPackets: 256 } })
}

function send(pair: Pair, change: (name: string, frame: Parameters<Pair['tap']['watch']>[0]) => boolean) {
  const { left } = connected(pair)
  const here = memoryOf(pair.a, Buffer.alloc(BYTES))
  const there = memoryOf(pair.b, Buffer.alloc(BYTES))
  const names: string[] = []
  let txBytes = 0
  pair.tap.watch = (frame, now) => {
    const name = frameName(frame)
    names.push(name)
    if (frame.shim >= 0 && name.startsWith('RC_RDMA_WRITE')) {
      // A switch with a queue of one bandwidth-delay product: U = 2.
      intShim.stamp(frame.view, frame.shim, frame.bth, {
        switchId: 1,
        egressPort: 1,
        rateBps: RATE_BPS,
        startNs: now,
        txBytes,
        qlenBytes: 25_000,
      })
      txBytes += frame.wireLength
    }
    return change(name, frame)
  }
  const remote = { remoteAddress: there.address, rkey: there.key }
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: BYTES, ...remote }
  left.connection!.postSend(pair.network.now, work)
  const done = pair.until(() => left.log.includes('completion 1 SUCCESS'))
  return { left, names, done }
}

t.test('the receiver slows the sender down, and its windows acknowledge', async t => {
  const pair = pairOf()
  const { left, names, done } = send(pair, () => true)
  t.ok(done)
  t.ok(left.connection!.stats.rateBps < RATE_BPS / 1.5, `${left.connection!.stats.rateBps} of ${RATE_BPS}`)
  t.ok(names.filter(name => name === 'RATE_REQUEST').length <= 1)
  t.ok(names.filter(name => name === 'RATE').length > 5)
  pair.settle()
  t.equal(pair.pool.inUse, 0)
})

t.test('a lost request is retransmitted', async t => {
  const pair = pairOf()
  let lost = 0
  // The first ones may leave while the connection is made.
  pair.tap.watch = frame => frameName(frame) !== 'RATE_REQUEST' || ++lost > 2
  const { done, names } = send(pair, name => name !== 'RATE_REQUEST' || ++lost > 2)
  t.ok(done)
  t.ok(lost > 2, `${lost} were sent`)
  t.ok(names.includes('RATE'))
})

t.test('nonsense in a request is counted, and answered by nothing', async t => {
  const pair = pairOf()
  const spoil = (frame: Parameters<Pair['tap']['watch']>[0]) => {
    if (bth.opcode(frame.view, frame.bth) !== Opcode.RATE_REQUEST) return true
    frame.view.setFloat64(frame.bth + bth.BYTES, Number.NaN)
    icrc.write(frame)
    return true
  }
  pair.tap.watch = spoil
  const { done, names } = send(pair, (_name, frame) => spoil(frame))
  t.ok(done, 'at the rate that the flow began with')
  t.ok(pair.b.counters.feedback.badRequests > 0)
  t.notOk(names.includes('RATE'))
})

interface Numbers {
  /** Windows as they passed: number and bytes. */
  given: [number: number, bytes: number][]
  /** Numbers that data packets carried, each run once. */
  carried: number[]
  /** Windows that passed before data with the window before them. */
  early: number[]
}

/**
 * Watches windows and the numbers in data.
 *
 * @param change may drop a frame
 */
function numbered(pair: Pair, change: (name: string, frame: Frame) => boolean = () => true) {
  const seen: Numbers = { given: [], carried: [], early: [] }
  const outcome = send(pair, (name, frame) => {
    if (!change(name, frame)) return false
    const { view } = frame
    if (name === 'RATE') {
      const number = bth.psn(view, frame.bth)
      seen.given.push([number, rate.windowBytes(view, frame.payload - rate.BYTES)])
      if (number > 1 && !seen.carried.includes(number - 1)) seen.early.push(number)
    }
    if (name.startsWith('RC_RDMA_WRITE')) {
      const number = bth.windowNumber(view, frame.bth)
      if (seen.carried.at(-1) !== number) seen.carried.push(number)
    }
    return true
  })
  return { ...outcome, ...seen }
}

t.test(
  'data says with which window it was sent, and each window waits for data with the one before',
  async t => {
    const { done, carried, early } = numbered(pairOf())
    t.ok(done)
    t.ok(carried.length > 5, `${carried}`)
    t.same(
      carried,
      carried.map((_, i) => carried[0]! + i),
      'one after the other',
    )
    t.same(early, [])
  },
)

t.test('no window is repeated where none is lost', async t => {
  const { done, given } = numbered(pairOf())
  t.ok(done)
  const numbers = given.map(([number]) => number)
  t.same(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  )
})

t.test('a lost window is repeated under its number', async t => {
  const lost = new Set<number>()
  const { done, given, carried } = numbered(pairOf(), (name, frame) => {
    const number = bth.psn(frame.view, frame.bth)
    if (name !== 'RATE' || number % 2 === 0 || lost.has(number)) return true
    lost.add(number)
    return false
  })
  t.ok(done)
  t.ok(lost.size > 2, `${[...lost]}`)
  // Only the last ones may still have been in flight.
  for (const number of [...lost].slice(0, -1)) t.ok(carried.includes(number), `${number} came into force`)
  const bytes = new Map<number, number>()
  for (const [number, window] of given) {
    t.equal(bytes.get(number) ?? window, window, 'the same window under the same number')
    bytes.set(number, window)
  }
})

t.test('windows that come twice or late are ignored', async t => {
  const windows = new WindowSequence()
  t.equal(windows.inForce, 0)
  t.ok(windows.take(0), 'the answer to a request, when no window was given')
  t.notOk(windows.take(0))
  for (const number of [1, 2, 5]) t.ok(windows.take(number))
  for (const number of [5, 4, 1, 0, 0xffffff]) t.notOk(windows.take(number), `${number}`)
  t.equal(windows.inForce, 5)
  for (let number = 5; number < 0x1000005; number += 0x400000) windows.take(number & 0xffffff)
  t.ok(windows.take(6), 'numbers wrap')
})

t.test('a number is compared by the seven bits that data carries', async t => {
  const windows = new WindowSequence()
  t.ok(windows.isLast(0), 'no window was given, and none was taken')
  for (let n = 0; n < 300; n++) windows.next()
  t.equal(windows.given, 300)
  t.ok(windows.isLast(300 & 0x7f))
  t.notOk(windows.isLast(299 & 0x7f))
})

t.test('an older peer, which says nothing of numbers, is slowed down as well', async t => {
  const pair = pairOf()
  const older = (frame: Frame) => {
    if (frameName(frame) === 'REQ') {
      const at = frame.bytes.subarray(0, frame.length).indexOf('WEIR', frame.l4) + 8
      t.equal(frame.view.getUint8(at) & 16, 16, 'numbers of windows')
      frame.view.setUint8(at, frame.view.getUint8(at) & ~16)
      icrc.write(frame)
    }
    return true
  }
  pair.tap.watch = older
  const { left, done, given } = numbered(pair, (name, frame) => {
    if (name.startsWith('RC_RDMA_WRITE')) {
      bth.setWindowNumber(frame.view, frame.bth, 0)
      icrc.write(frame)
    }
    return true
  })
  t.ok(done)
  t.notOk(pair.b.table.flows.some(flow => flow?.peer.numbersWindows))
  t.ok(given.length > 5, `${given.length} windows`)
  t.ok(left.connection!.stats.rateBps < RATE_BPS / 1.5, `${left.connection!.stats.rateBps} of ${RATE_BPS}`)
})

/** Acknowledgements in packets with payload: two Weir hosts agree on it at connect, and an answer then acknowledges its question. */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConfig } from '../../lib/nic/config.js'
import type { Completion } from '../../lib/qp/queues/completion-queue.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { WorkStatus } from '../../lib/qp/queues/work-status.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import * as carriedAck from '../../lib/wire/weir/carried-ack.js'
import { say } from '../attack/third-party.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { type App, connected, frameName, makePair, memoryOf, type Pair, type PairOptions } from './pair.js'

const ROUNDS = 200
/** Data packets have empty shims, as on networks whose switches write no telemetry. */
const CARRIES: Partial<NicConfig> = {
  carriesAcks: true,
  cc: { name: 'auto', options: {} },
  start: 'careful',
  ackEveryPackets: 16,
  baseRttNs: 10_000,
  ackTimeoutNs: 1_000_000,
}
const ALONE = { ...CARRIES, carriesAcks: false }

/** Messages from `a` and answers of `b`, one at a time. Packets with payload, those that carry, and acknowledgements are counted. */
function pingPong(options: PairOptions, change: (frame: Frame, name: string) => void = () => {}) {
  const pair = makePair(options)
  const seen = { messages: 0, carried: 0, acks: 0, collected: 0 }
  pair.tap.watch = frame => {
    const name = frameName(frame)
    change(frame, name)
    if (name === 'RC_SEND_ONLY') seen.messages++
    if (carriedAck.isIn(frame)) seen.carried++
    if (name === 'RC_ACKNOWLEDGE') seen.acks++
    if (frame.shim >= 0 && !telemetry.isEcho(frame)) seen.collected++
    return true
  }
  const { left, right } = connected(pair)
  const ping = sender(pair, left, 'a')
  const pong = sender(pair, right, 'b')
  let answers = 0
  const isMessage = ({ isReceive, status }: Completion) => isReceive && status === WorkStatus.SUCCESS
  right.onDone = (now, _connection, completion) => isMessage(completion) && pong(now)
  left.onDone = (now, _connection, completion) => isMessage(completion) && ++answers < ROUNDS && ping(now)
  ping(pair.network.now)
  const ok = pair.until(() => answers === ROUNDS)
  pair.settle()
  const received = [left, right].map(({ log }) => log.filter(line => line.startsWith('received')))
  const completed = [left, right].map(({ log }) => log.filter(line => /^completion .* SUCCESS$/.test(line)))
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  t.same([left.closed, right.closed, pair.pool.inUse], [1, 1, 0])
  return { ok, seen, received, completed, pair }
}

/** Sends a text that no other message of this end has. */
function sender(pair: Pair, app: App, end: 'a' | 'b'): (now: number) => void {
  const region = memoryOf(pair[end], Buffer.alloc(16))
  let sent = 0
  return now => {
    const length = region.buffer!.write(`${end} ${++sent}`)
    const work = { id: sent, opcode: WorkOpcode.SEND, region, offset: 0, length }
    if (!app.connection!.postSend(now, work)) throw new Error('the send queue is full')
  }
}

/** Each message arrived once, in order, and completed. */
function expectAll(t: Test, { ok, received, completed }: ReturnType<typeof pingPong>): void {
  t.ok(ok)
  const texts = (end: string) => Array.from({ length: ROUNDS }, (_, i) => `received ${end} ${i + 1}`)
  t.same(received, [texts('b'), texts('a')])
  t.same(
    completed.map(({ length }) => length),
    [ROUNDS, ROUNDS],
  )
}

t.test('an answer acknowledges its question', async t => {
  for (const v6 of [false, true]) {
    const result = pingPong({ v6, a: CARRIES, b: CARRIES })
    expectAll(t, result)
    const { messages, carried, acks, collected } = result.seen
    t.equal(messages, 2 * ROUNDS)
    // A packet that collects telemetry has no room for one, and nothing answers the last message. Few do.
    t.ok(carried > 1.9 * ROUNDS, `${carried} carried`)
    t.ok(acks < 0.1 * ROUNDS, `${acks} alone`)
    t.ok(collected > 0 && collected < 0.1 * ROUNDS, `${collected} collected telemetry`)
  }
})

t.test('one end does not, or has a key, or is no Weir host, or an older one: none is carried', async t => {
  const secret = new Uint8Array(16).fill(3)
  const plain = { ...CARRIES, recovery: 'goBackN' } as const
  const older = (frame: Frame, name: string) => {
    if (name === 'REP') say(frame, words => ({ ...words, carriesAcks: false }))
  }
  const cases: [string, PairOptions, Parameters<typeof pingPong>[1]][] = [
    ['the active end', { a: ALONE, b: CARRIES }, undefined],
    ['the passive end', { a: CARRIES, b: ALONE }, undefined],
    ['a key', { a: { ...CARRIES, secret }, b: { ...CARRIES, secret } }, undefined],
    ['plain peers', { a: plain, b: plain }, takeWordsOut],
    ['an older peer', { a: CARRIES, b: ALONE }, older],
  ]
  for (const [what, options, change] of cases) {
    const result = pingPong(options, change)
    expectAll(t, result)
    t.equal(result.seen.carried, 0, what)
  }
})

t.test('what is lost is retransmitted and acknowledged', async t => {
  for (const recovery of ['selective', 'goBackN'] as const) {
    for (let seed = 1; seed <= 5; seed++) {
      const rates = { loss: 0.05, duplication: 0.02 }
      const random = new Random(seed)
      const [ab, ba] = [0, 1].map(() => new LinkFaults(rates, () => random.next()))
      const end = { ...CARRIES, recovery }
      const result = pingPong({ a: end, b: end, faults: { ab, ba }, seed })
      expectAll(t, result)
      t.ok(result.seen.carried > 0)
    }
  }
})

t.test('it tells how many packets came twice, so that the number is not lost with an ACK', async t => {
  const random = new Random(1)
  const ab = new LinkFaults({ duplication: 0.2 }, () => random.next())
  const told: number[] = []
  const result = pingPong({ a: CARRIES, b: CARRIES, faults: { ab } }, frame => {
    if (carriedAck.isIn(frame)) told.push(carriedAck.duplicates(frame))
  })
  expectAll(t, result)
  t.ok(new Set(told).size > 5, `${Math.max(...told)} of them`)
})

t.test('one of what was not sent is counted, and does nothing', async t => {
  let forged = 0
  const result = pingPong({ a: CARRIES, b: CARRIES }, frame => {
    if (!carriedAck.isIn(frame) || forged === 3) return
    forged++
    carriedAck.setPsn(frame, carriedAck.psn(frame) + 1000, 0)
    icrc.write(frame)
  })
  expectAll(t, result)
  t.equal(forged, 3)
})

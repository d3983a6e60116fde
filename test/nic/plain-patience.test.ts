/**
 * How long a plain RoCEv2 peer may be silent: the handshake says what it takes to answer (IBA 12.7.34, Local ACK Timeout), and its silence
 * ends the connection only after as many of those times as there are tries (IBA 9.9.2.1).
 */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { MILLISECOND, NEVER, SECOND } from '../../lib/time/nanos.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { connected, makePair, memoryOf, pattern } from './pair.js'

/** As a daemon has it: 268 ms and eight tries. */
const OWN = { ackTimeoutNs: 268 * MILLISECOND, retryCount: 7, retransmitTimeoutLeastNs: 30 * MILLISECOND }
/** `a` says 2^19: 2.1 s a try. As librdmacm does. */
const PEER = { ackTimeoutNs: 4096 * 2 ** 19 }

/** `b`, which was asked, sends; the network is dead for so long. Whether the message arrives, and when the connection has ended. */
function silentFor(ns: number, { plain = true, own = OWN as object, peer = PEER as object } = {}) {
  const pair = makePair({ a: peer, b: own })
  let isSilent = false
  pair.tap.watch = frame => {
    if (plain) takeWordsOut(frame)
    return !isSilent
  }
  const { left, right } = connected(pair)
  const region = memoryOf(pair.b, pattern(1, 100))
  const into = memoryOf(pair.a, Buffer.alloc(100))
  left.connection!.postReceive({ id: 1, region: into, offset: 0, length: 100 })
  isSilent = true
  const from = pair.network.now
  const work = { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 100 }
  right.connection!.postSend(from, work)
  pair.kick()
  pair.network.runUntil(from + ns)
  isSilent = false
  pair.until(() => right.log.includes('completion 1 SUCCESS') || right.closed > 0)
  return { log: right.log.at(-1), afterNs: pair.network.now - from }
}

t.test('a peer that says 2.1 s may be silent for eight times as long', async t => {
  const { log, afterNs } = silentFor(12 * SECOND)
  t.equal(log, 'completion 1 SUCCESS')
  t.ok(afterNs < 15 * SECOND, `${afterNs / SECOND} s`)
  t.match(silentFor(60 * SECOND).log, /^closed/)
})

t.test('what it says is believed up to 4.3 s', async t => {
  const slow = { ackTimeoutNs: 4096 * 2 ** 23 }
  t.equal(silentFor(25 * SECOND, { peer: slow }).log, 'completion 1 SUCCESS')
  t.match(silentFor(100 * SECOND, { peer: slow }).log, /^closed/)
})

t.test(
  'between Weir hosts, and where only the timer of the standard runs, the own timeout counts',
  async t => {
    t.match(silentFor(12 * SECOND, { plain: false }).log, /^closed/)
    t.match(silentFor(12 * SECOND, { own: { ...OWN, retransmitTimeoutLeastNs: NEVER } }).log, /^closed/)
  },
)

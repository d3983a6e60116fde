/**
 * In which order the two ends of a connection learn that it is over, and why. Whatever the network loses,
 * duplicates or reorders: an end whose request was refused learns this before it learns that the peer is
 * gone. So does an end whose message was delivered.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Recovery } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import type { Pipe } from '../../lib/sim/pipe.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { connected, frameName, makePair, memoryOf } from './pair.js'
import { clean, completions, post } from './refusals.js'

const HELD_BACK_NS = MILLISECOND

/** Delays acknowledgements so much that everything that leaves after them overtakes them. */
class OvertakesAcks extends LinkFaults {
  constructor() {
    super({}, () => 0)
  }

  override apply(frame: Frame, arrivalNs: number, pipe: Pipe, _pool: FramePool): void {
    pipe.push(frame, frameName(frame) === 'RC_ACKNOWLEDGE' ? arrivalNs + HELD_BACK_NS : arrivalNs)
  }
}

function isNak(frame: Frame): boolean {
  if (frameName(frame) !== 'RC_ACKNOWLEDGE') return false
  return !aeth.isAck(aeth.syndrome(frame.view, frame.bth + bth.BYTES))
}

t.test('a receiver that leaves when it has its message: the sender hears that it arrived', async t => {
  for (const faults of [undefined, { ba: new OvertakesAcks() }]) {
    const pair = makePair({ faults })
    const { left, right } = connected(pair)
    right.onDone = (now, connection) => connection.disconnect(now)
    post(pair, left, 1, WorkOpcode.SEND)
    t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
    t.same(completions(left), ['completion 1 SUCCESS'])
    t.equal(left.error, null)
    t.equal(right.error, null)
    clean(t, pair)
  }
})

t.test('work that nobody answers does not keep an end from closing when its peer has left', async t => {
  const pair = makePair()
  const { left, right } = connected(pair)
  pair.tap.watch = (frame, _now, fromA) => !fromA || frameName(frame) === 'DREP'
  post(pair, left, 1, WorkOpcode.SEND)
  right.connection!.disconnect(pair.network.now)
  const from = pair.network.now
  t.ok(pair.until(() => left.closed === 1))
  t.ok(pair.network.now - from < 100 * MILLISECOND)
  t.same(completions(left), ['completion 1 WR_FLUSH_ERR'])
  t.equal(left.error, null)
  post(pair, left, 2, WorkOpcode.SEND)
  t.same(completions(left), ['completion 1 WR_FLUSH_ERR'], 'a closed connection takes no work')
  clean(t, pair)
})

/** Passes datagrams of the connection manager only. */
function passesOnlyMads(frame: Frame): boolean {
  return bth.destQpn(frame.view, frame.bth) === deth.QPN_GSI
}

t.test('an end that gives up tells its peer why, however often that has to be said', async t => {
  for (const losses of [0, 2]) {
    const pair = makePair({ a: { retryCount: 1 } })
    const { left, right } = connected(pair)
    let dreqs = 0
    pair.tap.watch = frame => passesOnlyMads(frame) && (frameName(frame) !== 'DREQ' || dreqs++ >= losses)
    post(pair, left, 1, WorkOpcode.SEND)
    t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
    t.match(left.error, { code: 'WEIR_CONNECTION_LOST', message: /RETRY_EXC_ERR/ })
    t.match(right.error, {
      code: 'WEIR_CONNECTION_LOST',
      message: /^10\.0\.0\.1 gave .* up: .*RETRY_EXC_ERR/,
    })
    t.ok(dreqs > losses)
    clean(t, pair)
  }
})

t.test('so does one whose peer still waits for answers', async t => {
  const pair = makePair({ a: { retryCount: 1 } })
  const { left, right } = connected(pair)
  pair.tap.watch = passesOnlyMads
  post(pair, left, 1, WorkOpcode.SEND)
  pair.until(() => left.log.some(line => line.includes('RETRY_EXC_ERR')))
  const region = memoryOf(pair.b, Buffer.alloc(100))
  const work = { id: 2, opcode: WorkOpcode.SEND, region, offset: 0, length: 100, remoteAddress: 0, rkey: 0 }
  t.ok(right.connection!.postSend(pair.network.now, work))
  t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
  t.same(completions(right), ['completion 2 WR_FLUSH_ERR'])
  t.match(right.error, { code: 'WEIR_CONNECTION_LOST', message: /RETRY_EXC_ERR/ })
  clean(t, pair)
})

t.test('both ends refuse at once: neither waits for the other', async t => {
  const pair = makePair()
  const { left, right } = connected(pair)
  let naks = 0
  pair.tap.watch = frame => {
    if (isNak(frame)) naks++
    return true
  }
  post(pair, left, 1, WorkOpcode.RDMA_WRITE)
  post(pair, right, 2, WorkOpcode.RDMA_WRITE)
  const from = pair.network.now
  t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
  t.ok(pair.network.now - from < 100 * MILLISECOND, `${pair.network.now - from} ns`)
  t.ok(naks >= 2, 'each has refused')
  t.match(left.error, { code: 'WEIR_CONNECTION_LOST', message: /LOC_ACCESS_ERR/ })
  t.match(right.error, { code: 'WEIR_CONNECTION_LOST', message: /LOC_ACCESS_ERR/ })
  clean(t, pair)
})

for (const recovery of ['selective', 'goBackN'] as Recovery[]) {
  t.test(`${recovery}: the refusing application leaves at once`, async t => {
    const pair = makePair({ b: { recovery } })
    const { left, right } = connected(pair)
    right.onDone = (now, connection) => connection.disconnect(now)
    post(pair, left, 1, WorkOpcode.RDMA_WRITE)
    t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
    t.same(completions(left), ['completion 1 REM_ACCESS_ERR'])
    t.match(left.error?.message, /REM_ACCESS_ERR/)
    clean(t, pair)
  })

  t.test(`${recovery}: the NAK is lost, once and again`, async t => {
    for (let losses = 1; losses <= 3; losses++) {
      const pair = makePair({ b: { recovery } })
      const { left, right } = connected(pair)
      let naks = 0
      pair.tap.watch = (frame, _now, fromA) => fromA || !isNak(frame) || naks++ >= losses
      post(pair, left, 1, WorkOpcode.RDMA_WRITE)
      t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
      t.same(completions(left), ['completion 1 REM_ACCESS_ERR'])
      t.match(left.error?.message, /REM_ACCESS_ERR/)
      t.equal(right.error?.code, 'WEIR_CONNECTION_LOST')
      clean(t, pair)
    }
  })

  t.test(`${recovery}: the peer never leaves: the refusing end does, after a bounded time`, async t => {
    const cm = { responseTimeoutExponent: 8, packetLifeTimeExponent: 6, maxCmRetries: 2 }
    const pair = makePair({ a: { cm }, b: { cm, recovery } })
    const { left, right } = connected(pair)
    pair.tap.watch = (frame, _now, fromA) => fromA && bth.opcode(frame.view, frame.bth) < Opcode.CNP
    post(pair, left, 1, WorkOpcode.RDMA_WRITE)
    const from = pair.network.now
    t.ok(pair.until(() => right.closed === 1))
    t.ok(pair.network.now - from < 10 * SECOND)
    t.equal(right.error?.code, 'WEIR_CONNECTION_LOST')
    clean(t, pair)
  })
}

t.test('work that fails in its turn to send completes although nothing else happens', async t => {
  const pair = makePair()
  const { left } = connected(pair)
  pair.settle()
  const region = memoryOf(pair.a, Buffer.alloc(100))
  pair.a.memory.deregister(region)
  const { now } = pair.network
  left.connection!.postSend(now, { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 100 })
  while (pair.a.nextTimeout() > now || pair.a.pollTransmit(now) !== null);
  t.ok(pair.a.nextTimeout() <= now, 'it asks for a turn')
  pair.a.onTimeout(now)
  t.ok(left.log.includes('completion 1 LOC_PROT_ERR'), left.log.join())
})

/** Windows worked out at the receiver: asked for until they come, sent with the acknowledgement, refused when nonsense. */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/work.js'
import * as bth from '../../lib/wire/bth.js'
import * as icrc from '../../lib/wire/icrc.js'
import * as intShim from '../../lib/wire/int-shim.js'
import { Opcode } from '../../lib/wire/opcode.js'
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
      intShim.stamp(frame.view, frame.shim, frame.bth, 1, 1, RATE_BPS, now, txBytes, 25_000)
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

t.test('a request that is lost is sent again', async t => {
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

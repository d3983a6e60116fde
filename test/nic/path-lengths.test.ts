/**
 * A path with more switches than the telemetry has slots: the next connection to that peer has more, as far
 * as packets have room.
 */
import t from 'tap'
import { PathLengths } from '../../lib/nic/flow/path-lengths.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { App, makePair, memoryOf, PORT, pattern } from './pair.js'

const SWITCHES = [101, 102, 103]

/** Two connections one after the other over three switches; the slots of each one's telemetry. */
function slotsOfTwo(intHopsMax: number): number[] {
  const config = { cc: { name: 'hpcc', options: {} }, int: { format: 'wide' as const, hops: 1 }, intHopsMax }
  const pair = makePair({ a: config, b: config })
  const slots: number[] = []
  const told: number[] = []
  pair.tap.watch = (frame, now) => {
    const { view, shim, length } = frame
    if (shim < 0 || intShim.isEcho(view, shim)) return true
    for (const id of SWITCHES)
      intShim.stamp(view, shim, length, {
        switchId: id,
        egressPort: 1,
        rateBps: 10e9,
        startNs: now,
        txBytes: 0,
        qlenBytes: 0,
      })
    slots.push(intShim.slots(view, shim))
    return true
  }
  const right = { accept: () => new App(pair.b) }
  pair.b.listen(PORT, right)
  for (const id of [1, 2]) {
    const left = new App(pair.a)
    pair.a.connect(pair.network.now, pair.b.address, PORT, left)
    pair.until(() => left.log.includes('established'))
    const source = memoryOf(pair.a, pattern(1, 20_000))
    const target = memoryOf(pair.b, Buffer.alloc(20_000))
    const work = { opcode: WorkOpcode.RDMA_WRITE, region: source, offset: 0, length: 20_000 }
    slots.length = 0
    left.connection!.postSend(pair.network.now, {
      id,
      ...work,
      remoteAddress: target.address,
      rkey: target.key,
    })
    pair.until(() => left.log.includes(`completion ${id} SUCCESS`))
    told.push(Math.max(...slots))
    left.connection!.disconnect(pair.network.now)
    pair.settle()
  }
  return told
}

t.test('the second connection has a slot for each switch', async t => {
  t.same(slotsOfTwo(15), [1, 3])
})

t.test('it has no more than packets have room for, and none more where that is not wanted', async t => {
  t.same(slotsOfTwo(2), [1, 2])
  t.same(slotsOfTwo(1), [1, 1])
})

t.test('peers that are known are bounded in number', async t => {
  const lengths = new PathLengths(5, 15)
  const peer = (n: number) => HostAddress.parse(`10.1.${n >> 8}.${n & 255}`)
  lengths.learn(peer(0), 4)
  t.equal(lengths.slotsTo(peer(0)), 5, 'fewer are no news')
  for (let n = 0; n < 1024; n++) lengths.learn(peer(n), 7)
  t.equal(lengths.slotsTo(peer(0)), 7)
  lengths.learn(peer(1024), 200)
  t.equal(lengths.slotsTo(peer(1024)), 15)
  t.equal(lengths.slotsTo(peer(0)), 5, 'it begins anew')
})

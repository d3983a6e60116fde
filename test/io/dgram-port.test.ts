import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { DgramPort } from '../../lib/io/ports/dgram-port.js'
import { loopbackAddress } from '../support/loopback.js'
import { freePort, udpFrame4, until } from './helpers.js'

const A = loopbackAddress()
const B = loopbackAddress()

async function pair(capacity = 64, more: object = {}) {
  const rocePort = freePort()
  const ports = { rocePort, intPort: rocePort + 1 }
  const poolA = new FramePool(capacity)
  const poolB = new FramePool(capacity)
  const a = await DgramPort.open({ pool: poolA, address: A, ...ports })
  const b = await DgramPort.open({ pool: poolB, address: B, ...ports, ...more })
  return { a, b, poolA, poolB, ports }
}

t.test('drops are counted by reason, and every slot comes back', async t => {
  const { a, b, poolA, poolB } = await pair(8, { ringFrames: 4 })
  const fields = {
    source: A,
    destination: B,
    sourcePort: 4791,
    destinationPort: 4791,
    payload: new Uint8Array(10),
  }

  const headless = udpFrame4(poolA, fields)
  headless.l4 = -1
  a.transmit(headless)
  a.transmit(udpFrame4(poolA, { ...fields, destinationPort: 53 }))
  const wrongFamily = udpFrame4(poolA, fields)
  wrongFamily.view.setUint8(14, 0x60)
  a.transmit(wrongFamily)
  const headersOnly = udpFrame4(poolA, fields)
  headersOnly.wireLength += 100
  a.transmit(headersOnly)
  t.equal(a.counters.drops.malformed, 4)
  t.equal(poolA.inUse, 0)

  for (let i = 0; i < 8; i++) a.transmit(udpFrame4(poolA, fields))
  await until(() => b.counters.rxFrames + b.counters.dropped === 8)
  t.equal(b.counters.drops.ringFull, 4, 'the ring holds four')
  t.equal(b.counters.rxFrames, 4)
  await until(() => a.counters.txFrames === 8)
  t.equal(a.counters.txBytes, 8 * 52)
  t.equal(poolA.inUse, 0)

  await Promise.all([a.close(), b.close()])
  t.equal(poolB.inUse, 0, 'close gives back what nobody received')
  a.transmit(udpFrame4(poolA, fields))
  t.equal(a.counters.drops.closed, 1)
  t.equal(poolA.inUse, 0)
})

t.test('a bounded number in flight: then it refuses, and says when it is over', async t => {
  const { a, b, poolA, poolB } = await pair()
  const rocePort = freePort()
  const c = await DgramPort.open({
    pool: poolA,
    address: loopbackAddress(),
    rocePort,
    intPort: rocePort + 1,
    maxInFlight: 4,
  })
  const fields = {
    source: A,
    destination: B,
    sourcePort: 4791,
    destinationPort: 4791,
    payload: new Uint8Array(1),
  }
  const writable = new Promise<void>(resolve => c.onWritable(resolve))
  for (let i = 0; i < 4; i++) {
    t.ok(c.canTransmit())
    c.transmit(udpFrame4(poolA, fields))
  }
  t.notOk(c.canTransmit())
  c.transmit(udpFrame4(poolA, fields))
  t.equal(c.counters.drops.txFull, 1)
  await writable
  t.ok(c.canTransmit())
  await Promise.all([a.close(), b.close(), c.close()])
  t.equal(poolA.inUse, 0)
  t.equal(poolB.inUse, 0)
})

import { once } from 'node:events'
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { DgramPort } from '../../lib/io/dgram-port.js'
import { internetSum, nextFrame, plainSocket, randomPort, udpFrame4, until } from './helpers.js'

const A = '127.0.0.1'
const B = '127.0.0.2'

async function pair(capacity = 64, more: object = {}) {
  const rocePort = randomPort()
  const ports = { rocePort, intPort: rocePort + 1 }
  const poolA = new FramePool(capacity)
  const poolB = new FramePool(capacity)
  const a = await DgramPort.open({ pool: poolA, address: A, ...ports })
  const b = await DgramPort.open({ pool: poolB, address: B, ...ports, ...more })
  return { a, b, poolA, poolB, ports }
}

t.test('a frame arrives as a whole frame with its own addresses, ports and bytes', async t => {
  const { a, b, poolA, poolB } = await pair()
  const payload = Uint8Array.from({ length: 4096 }, (_, i) => (i * 7) & 255)
  a.transmit(
    udpFrame4(poolA, { source: A, destination: B, sourcePort: 4791, destinationPort: 4791, payload }),
  )
  const frame = await nextFrame(b)
  t.equal(frame.length, 42 + 4096)
  t.ok(frame.materialised)
  t.equal(frame.view.getUint16(12), 0x0800, 'EtherType IPv4')
  t.equal(frame.view.getUint8(14), 0x45)
  t.equal(frame.view.getUint8(15), 0, 'TOS 0')
  t.equal(frame.view.getUint16(16), 28 + 4096, 'IP total length')
  t.equal(frame.view.getUint16(18), 0, 'ID 0')
  t.equal(frame.view.getUint16(20), 0x4000, 'DF')
  t.equal(frame.view.getUint8(22), 64)
  t.equal(frame.view.getUint8(23), 17)
  t.equal(internetSum(frame.bytes.subarray(14, 34)), 0xffff, 'header checksum (RFC 1071)')
  t.same([...frame.bytes.subarray(26, 34)], [127, 0, 0, 1, 127, 0, 0, 2], 'addresses')
  t.equal(frame.view.getUint16(34), a.fixedSourcePort, 'source port')
  t.equal(frame.view.getUint16(36), 4791, 'destination port')
  t.equal(frame.view.getUint16(38), 8 + 4096, 'UDP length')
  t.equal(frame.view.getUint16(40), 0, 'UDP checksum not used')
  t.same(frame.bytes.subarray(42, frame.length), Buffer.from(payload))
  poolB.give(frame)
  await Promise.all([a.close(), b.close()])
  t.equal(poolA.inUse, 0)
  t.equal(poolB.inUse, 0)
})

t.test('a frame to the INT port arrives by the INT port, from the one source port', async t => {
  const { a, b, poolA, poolB } = await pair()
  t.ok(a.fixedSourcePort >= 0xc000, 'where source ports of RoCEv2 lie')
  t.equal(a.fixedSourcePort, b.fixedSourcePort, 'hosts with equal ports have one, for symmetric hashes')
  const payload = Uint8Array.of(1, 2, 3, 4)
  a.transmit(
    udpFrame4(poolA, { source: A, destination: B, sourcePort: 4791, destinationPort: 4792, payload }),
  )
  const frame = await nextFrame(b)
  t.equal(frame.view.getUint16(34), a.fixedSourcePort)
  t.equal(frame.view.getUint16(36), 4792)
  poolB.give(frame)
  await Promise.all([a.close(), b.close()])
})

t.test('what the kernel sees is the datagram alone: from BTH or shim on', async t => {
  const plain = await plainSocket()
  const pool = new FramePool(4)
  const rocePort = plain.address().port
  const port = await DgramPort.open({
    pool,
    address: B,
    rocePort,
    intPort: rocePort === 65_535 ? 20_000 : rocePort + 1,
  })
  const message = once(plain, 'message')
  const payload = Uint8Array.of(9, 8, 7)
  port.transmit(
    udpFrame4(pool, { source: B, destination: A, sourcePort: 4791, destinationPort: 4791, payload }),
  )
  const [bytes, from] = await message
  t.same([...bytes], [9, 8, 7])
  t.match(from, { address: B, port: port.fixedSourcePort })
  await port.close()
  plain.close()
})

t.test('a stranger keeps his own source port', async t => {
  const { a, b, poolB, ports } = await pair()
  const plain = await plainSocket()
  plain.send(Uint8Array.of(5), ports.rocePort, B)
  const frame = await nextFrame(b)
  t.equal(frame.view.getUint16(34), plain.address().port)
  t.equal(frame.length, 43)
  poolB.give(frame)
  plain.close()
  await Promise.all([a.close(), b.close()])
})

t.test('IPv6: addresses, lengths and bytes', async t => {
  const rocePort = randomPort()
  const pool = new FramePool(8)
  let port: DgramPort
  try {
    port = await DgramPort.open({ pool, address: '::1', rocePort, intPort: rocePort + 1 })
  } catch {
    t.comment('this machine has no IPv6 loopback')
    return
  }
  const frame = pool.take()!
  frame.view.setUint8(14, 0x60)
  frame.bytes.fill(0, 38, 53)
  frame.view.setUint8(53, 1)
  frame.view.setUint16(54, 4791)
  frame.view.setUint16(56, 4791)
  frame.bytes.set([1, 2, 3, 4, 5], 62)
  frame.length = 67
  frame.wireLength = 67
  frame.l3 = 14
  frame.l4 = 54
  port.transmit(frame)
  const back = await nextFrame(port)
  t.equal(back.length, 67)
  t.equal(back.view.getUint16(12), 0x86dd)
  t.equal(back.view.getUint32(14), 0x60000000, 'version 6, class and flow label 0')
  t.equal(back.view.getUint16(18), 13, 'payload length')
  t.equal(back.view.getUint8(20), 17)
  const loopback = [...new Array(15).fill(0), 1]
  t.same([...back.bytes.subarray(22, 54)], [...loopback, ...loopback])
  t.equal(back.view.getUint16(54), port.fixedSourcePort)
  t.equal(back.view.getUint16(58), 13, 'UDP length')
  t.same([...back.bytes.subarray(62, 67)], [1, 2, 3, 4, 5])
  pool.give(back)
  await port.close()
  t.equal(pool.inUse, 0)
})

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

t.test('an empty pool drops what arrives', async t => {
  const { a, b, poolA, poolB } = await pair(2)
  const taken = [poolB.take()!, poolB.take()!]
  const fields = {
    source: A,
    destination: B,
    sourcePort: 4791,
    destinationPort: 4791,
    payload: new Uint8Array(1),
  }
  a.transmit(udpFrame4(poolA, fields))
  await until(() => b.counters.dropped === 1)
  t.equal(b.counters.drops.poolEmpty, 1)
  for (const frame of taken) poolB.give(frame)
  await Promise.all([a.close(), b.close()])
})

t.test('a bounded number in flight: then it refuses, and says when it is over', async t => {
  const { a, b, poolA, poolB } = await pair()
  const rocePort = randomPort()
  const c = await DgramPort.open({
    pool: poolA,
    address: '127.0.0.3',
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

t.test('an address that is not this host’s is refused with its name', async t => {
  const pool = new FramePool(2)
  await t.rejects(DgramPort.open({ pool, address: '192.0.2.1', rocePort: randomPort() }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /192\.0\.2\.1/,
  })
  await t.rejects(DgramPort.open({ pool, address: 'localhost' }), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('the kernel holds what the budget says, in datagrams of 4 KiB', async t => {
  const { a, b, ports } = await pair(1)
  const plain = await plainSocket()
  const datagram = new Uint8Array(4096 + 100)
  const count = Math.floor(b.receiveBudgetBytes / 4096)
  t.ok(count >= 8, `${count} datagrams`)
  // Sent within one turn of the event loop: nobody reads meanwhile. The pool has one slot; the rest is counted.
  for (let i = 0; i < count; i++) plain.send(datagram, ports.rocePort, B)
  await until(() => b.counters.rxFrames + b.counters.dropped === count)
  t.equal(b.counters.rxFrames + b.counters.dropped, count)
  plain.close()
  await Promise.all([a.close(), b.close()])
})

/** What every port on ordinary UDP sockets does alike. */

import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import type { Port } from '../../lib/io/port.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { DgramPort, type DgramPortOptions } from '../../lib/io/ports/dgram-port.js'
import { RawPort, rawFault } from '../../lib/io/ports/raw-port.js'
import { loopbackAddress } from '../support/loopback.js'
import { freePort, internetSum, nextFrame, plainSocket, udpFrame4, until } from './helpers.js'

const A = loopbackAddress()
const B = loopbackAddress()

type Open = (options: DgramPortOptions) => Promise<Port>
type Test = typeof import('tap').t

const PORTS: Record<string, Open> = {
  dgram: options => DgramPort.open(options),
  batch: async options => new BatchPort({ address: A, ...options }),
  raw: options => RawPort.open({ address: A, ...options }),
}

/** A raw socket gets all UDP packets of the machine: those of tests beside this one may leave it no room for its own. */
const noRaw =
  rawFault() ?? (process.env.WEIR_IO === 'raw' ? null : 'raw sockets are tested alone, with WEIR_IO=raw')

function everyPort(what: string, run: (t: Test, open: Open) => Promise<void>): void {
  for (const [name, open] of Object.entries(PORTS)) {
    const skip = (name === 'batch' && libcFault()) || (name === 'raw' && noRaw)
    t.test(`${name}: ${what}`, skip ? { skip } : {}, t => run(t as Test, open))
  }
}

/** The source port of frames that say 4791 themselves. */
function sourcePortOf(port: Port): number {
  return port.sourcePorts?.[0] ?? 4791
}

function poolOf(capacity: number): FramePool {
  return new FramePool(capacity, undefined, RECEIVER_ROOM_BYTES)
}

async function pair(open: Open, capacity = 64, more: object = {}) {
  const rocePort = freePort()
  const ports = { rocePort, intPort: rocePort + 1 }
  const poolA = poolOf(capacity)
  const poolB = poolOf(capacity)
  const a = await open({ pool: poolA, address: A, ...ports })
  const b = await open({ pool: poolB, address: B, ...ports, ...more })
  return { a, b, poolA, poolB, ports }
}

everyPort('a frame arrives as a whole frame with its own addresses, ports and bytes', async (t, open) => {
  const { a, b, poolA, poolB } = await pair(open)
  const payload = Uint8Array.from({ length: 4096 }, (_, i) => (i * 7) & 255)
  a.transmit(
    udpFrame4(poolA, { source: A, destination: B, sourcePort: 4791, destinationPort: 4791, payload }),
  )
  a.flush()
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
  t.same([...frame.bytes.subarray(26, 34)], [...A.split('.'), ...B.split('.')].map(Number), 'addresses')
  t.equal(frame.view.getUint16(34), sourcePortOf(a), 'source port')
  t.equal(frame.view.getUint16(36), 4791, 'destination port')
  t.equal(frame.view.getUint16(38), 8 + 4096, 'UDP length')
  t.equal(frame.view.getUint16(40), 0, 'UDP checksum not used')
  t.same(frame.bytes.subarray(42, frame.length), Buffer.from(payload))
  poolB.give(frame)
  await Promise.all([a.close(), b.close()])
  t.equal(poolA.inUse, 0)
  t.equal(poolB.inUse, 0)
})

everyPort('a frame to the INT port arrives by the INT port', async (t, open) => {
  const { a, b, poolA, poolB } = await pair(open)
  for (const port of a.sourcePorts ?? []) t.ok(port >= 0xc000, 'where source ports of RoCEv2 lie')
  t.same(a.sourcePorts, b.sourcePorts, 'hosts with equal ports have the same, for symmetric hashes')
  const payload = Uint8Array.of(1, 2, 3, 4)
  a.transmit(
    udpFrame4(poolA, { source: A, destination: B, sourcePort: 4791, destinationPort: 4792, payload }),
  )
  a.flush()
  const frame = await nextFrame(b)
  t.equal(frame.view.getUint16(34), sourcePortOf(a))
  t.equal(frame.view.getUint16(36), 4792)
  poolB.give(frame)
  await Promise.all([a.close(), b.close()])
})

everyPort('a frame leaves from the source port that it says, whichever is listed', async (t, open) => {
  const { a, b, poolA, poolB } = await pair(open, 64, {})
  const listed = a.sourcePorts
  if (listed !== null) {
    t.equal(new Set(listed).size, listed.length)
    t.ok(listed.length > 1, 'several by default')
  }
  const wanted = listed ?? [0xc000, 0xffff]
  for (const destinationPort of [4791, 4792, 4792]) {
    const seen: number[] = []
    // All at once: a frame that is kept back for one source port must not leave from another.
    for (const sourcePort of [...wanted, ...wanted]) {
      const payload = Uint8Array.of(sourcePort >> 8, sourcePort & 255, 0, 0)
      a.transmit(udpFrame4(poolA, { source: A, destination: B, sourcePort, destinationPort, payload }))
    }
    a.flush()
    for (let n = 0; n < 2 * wanted.length; n++) {
      const frame = await nextFrame(b)
      t.equal(frame.view.getUint16(34), frame.view.getUint16(42), 'as it says')
      t.equal(frame.view.getUint16(36), destinationPort)
      seen.push(frame.view.getUint16(34))
      poolB.give(frame)
    }
    t.same(seen.sort(), [...wanted, ...wanted].sort(), 'every frame once')
  }
  await Promise.all([a.close(), b.close()])
  t.equal(poolA.inUse, 0)
})

everyPort('what the kernel sees is the datagram alone: from BTH or shim on', async (t, open) => {
  const rocePort = freePort()
  const plain = await plainSocket(A, rocePort)
  const pool = poolOf(4)
  const port = await open({ pool, address: B, rocePort, intPort: rocePort + 1 })
  const message = once(plain, 'message')
  const payload = Uint8Array.of(9, 8, 7)
  port.transmit(
    udpFrame4(pool, { source: B, destination: A, sourcePort: 4791, destinationPort: 4791, payload }),
  )
  port.flush()
  const [bytes, from] = await message
  t.same([...bytes], [9, 8, 7])
  t.match(from, { address: B, port: sourcePortOf(port) })
  await port.close()
  plain.close()
})

everyPort('a stranger keeps his own source port', async (t, open) => {
  const { a, b, poolB, ports } = await pair(open)
  const plain = await plainSocket()
  plain.send(Uint8Array.of(5), ports.rocePort, B)
  const frame = await nextFrame(b)
  t.equal(frame.view.getUint16(34), plain.address().port)
  t.equal(frame.length, 43)
  poolB.give(frame)
  plain.close()
  await Promise.all([a.close(), b.close()])
})

everyPort('IPv6: addresses, lengths and bytes', async (t, open) => {
  const rocePort = freePort()
  const pool = poolOf(8)
  let port: Port
  try {
    port = await open({ pool, address: '::1', rocePort, intPort: rocePort + 1 })
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
  port.flush()
  const back = await nextFrame(port)
  t.equal(back.length, 67)
  t.equal(back.view.getUint16(12), 0x86dd)
  t.equal(back.view.getUint32(14), 0x60000000, 'version 6, class and flow label 0')
  t.equal(back.view.getUint16(18), 13, 'payload length')
  t.equal(back.view.getUint8(20), 17)
  const loopback = [...new Array(15).fill(0), 1]
  t.same([...back.bytes.subarray(22, 54)], [...loopback, ...loopback])
  t.equal(back.view.getUint16(54), port.sourcePorts![0])
  t.equal(back.view.getUint16(58), 13, 'UDP length')
  t.same([...back.bytes.subarray(62, 67)], [1, 2, 3, 4, 5])
  pool.give(back)
  await port.close()
  t.equal(pool.inUse, 0)
})

everyPort('an empty pool drops what arrives', async (t, open) => {
  const { a, b, poolA, poolB } = await pair(open, 2)
  const taken = [poolB.take()!, poolB.take()!]
  const fields = {
    source: A,
    destination: B,
    sourcePort: 4791,
    destinationPort: 4791,
    payload: new Uint8Array(1),
  }
  a.transmit(udpFrame4(poolA, fields))
  a.flush()
  await until(() => b.receive() === null && b.counters.dropped === 1)
  t.equal(b.counters.drops.poolEmpty, 1)
  for (const frame of taken) poolB.give(frame)
  await Promise.all([a.close(), b.close()])
})

everyPort('an address that is not this host’s is refused with its name', async (t, open) => {
  const pool = poolOf(2)
  await t.rejects(open({ pool, address: '192.0.2.1', rocePort: freePort() }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /192\.0\.2\.1/,
  })
  await t.rejects(open({ pool, address: 'localhost' }), { code: 'WEIR_BAD_ARGUMENT' })
})

everyPort('the kernel holds what the budget says, in datagrams of 4 KiB', async (t, open) => {
  const { a, b, poolB, ports } = await pair(open, 1)
  const plain = await plainSocket()
  const datagram = new Uint8Array(4096 + 100)
  const count = Math.floor(b.receiveBudgetBytes / 4096)
  t.ok(count >= 8, `${count} datagrams`)
  // Sent within one turn of the event loop, so that nobody reads meanwhile. The pool has one slot; the rest
  // is counted.
  for (let i = 0; i < count; i++) plain.send(datagram, ports.rocePort, B)
  await until(() => {
    const frame = b.receive()
    if (frame !== null) poolB.give(frame)
    return b.counters.rxFrames + b.counters.dropped === count
  })
  t.equal(b.counters.drops.kernelFull, 0)
  t.equal(b.counters.rxFrames + b.counters.dropped, count)
  plain.close()
  await Promise.all([a.close(), b.close()])
})

everyPort('a port that only its own callback refers to goes on', async (t, open) => {
  const rocePort = freePort()
  const waits = async () => {
    const pool = poolOf(8)
    const port = await open({ pool, address: B, rocePort, intPort: rocePort + 1 })
    const frame = await nextFrame(port)
    t.equal(frame.length, 43)
    pool.give(frame)
    await port.close()
  }
  let ended = false
  const end = waits().then(() => {
    ended = true
  })
  const plain = await plainSocket()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let tries = 0; !ended && tries < 3000; tries++) {
    await new Promise(resolve => setTimeout(resolve, 10))
    collect()
    plain.send(Uint8Array.of(5), rocePort, B)
  }
  t.ok(ended, 'what is sent arrives')
  if (ended) await end
  plain.close()
})

t.test('raw sockets do not show IPv6 headers: refused with a way out', async t => {
  await t.rejects(RawPort.open({ pool: poolOf(2), address: '::1' }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /choose --io/,
  })
})

t.test(
  'a raw socket sets and shows TOS, and keeps the port from everybody else',
  { skip: noRaw ?? false },
  async t => {
    const { a, b, poolA, poolB, ports } = await pair(PORTS.raw!)
    for (const tos of [0x02, 0x03, 0x6a]) {
      const fields = { source: A, destination: B, sourcePort: 50_000, destinationPort: 4792 }
      const frame = udpFrame4(poolA, { ...fields, payload: Uint8Array.of(tos) })
      frame.view.setUint8(15, tos)
      a.transmit(frame)
      const seen = await nextFrame(b)
      t.equal(seen.view.getUint8(15), tos)
      t.equal(seen.view.getUint16(34), 50_000, 'any source port')
      t.equal(seen.view.getUint16(18), 0, 'ID 0, since DF is set')
      poolB.give(seen)
    }
    await t.rejects(PORTS.dgram!({ pool: poolA, address: B, ...ports }), { message: /EADDRINUSE/ })
    await Promise.all([a.close(), b.close()])
    t.equal(poolA.inUse + poolB.inUse, 0)
  },
)

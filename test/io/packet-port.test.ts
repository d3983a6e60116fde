import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { PacketSocket } from '../../lib/io/linux/packet-socket.js'
import { WallClock } from '../../lib/io/linux/wall-clock.js'
import { PacketPort, type PacketPortOptions } from '../../lib/io/ports/packet-port.js'
import { sendDatagram } from '../support/kernel-sockets.js'
import { Namespaces, noNamespaces } from '../support/netns.js'
import { without } from '../support/tools.js'
import { internetSum } from './helpers.js'

const skip = noNamespaces()
const MTU = 4000

/** Two namespaces joined by a veth pair, x0 to x1. @param offloads as the kernel makes them */
function pair(t: Test, addresses: [string?, string?] = [], offloads = false) {
  const namespaces = new Namespaces(t)
  const [a, b] = [namespaces.add('a'), namespaces.add('b')]
  namespaces.veth(
    { ns: a, name: 'x0', address: addresses[0] },
    { ns: b, name: 'x1', address: addresses[1] },
    MTU,
    offloads,
  )
  const open = (ns: string, name: string, options: Partial<PacketPortOptions> = {}) => {
    const pool = options.pool ?? new FramePool(512, 4608)
    const port = namespaces.inside(ns, () => new PacketPort({ pool, interface: name, ...options }))
    t.teardown(() => port.close())
    return { pool, port }
  }
  return { namespaces, a, b, open }
}

/** An Ethernet frame of a protocol that no kernel knows, with random contents. */
function frameOf(pool: FramePool, bytes: number, type = 0x88b5): Frame {
  const frame = pool.take()!
  randomBytes(bytes).copy(frame.bytes)
  // A unicast address that nobody has.
  frame.bytes.writeUIntBE(0x02_00_00_00_00_99, 0, 6)
  frame.bytes.writeUInt16BE(type, 12)
  frame.length = bytes
  frame.wireLength = bytes
  return frame
}

/** The next frame; fails by the test's timeout if none comes. */
async function next(port: PacketPort): Promise<Frame> {
  for (;;) {
    const frame = port.receive()
    if (frame !== null) return frame
    await sleep(1)
  }
}

t.test('frames of every length cross whole and in order', { skip }, async t => {
  const { a, b, open } = pair(t)
  const from = open(a, 'x0')
  const to = open(b, 'x1')
  t.equal(to.port.mtu, MTU)
  const lengths = [14, 15, 16, 17, 60, 61, 64, 191, 192, 193, 194, 1000, 1514, 4013, MTU + 14]
  // 500 more, spread over all lengths: 1,009 and 4,001 have no common divisor.
  for (let i = 0; i < 500; i++) lengths.push(14 + ((i * 1009) % (MTU + 1)))
  let total = 0
  for (const length of lengths) {
    const frame = frameOf(from.pool, length)
    const sent = Buffer.from(frame.bytes.subarray(0, length))
    from.port.transmit(frame)
    from.port.flush()
    const got = await next(to.port)
    if (!sent.equals(got.bytes.subarray(0, got.length))) t.fail(`${length} bytes did not arrive as they were`)
    if (got.wireLength !== length) t.fail(`${length} bytes arrived as ${got.wireLength}`)
    to.pool.give(got)
    total += length
  }
  t.match(from.port.counters, { txFrames: lengths.length, txBytes: total, dropped: 0 })
  t.match(to.port.counters, { rxFrames: lengths.length, rxBytes: total, dropped: 0 })
  t.equal(from.port.receive(), null, 'what a port sent does not come back')
  t.same([from.pool.inUse, to.pool.inUse], [0, 0])
})

t.test('a capture on the interface sees what the port sends', { skip }, async t => {
  const { namespaces, a, open } = pair(t)
  const { pool, port } = open(a, 'x0')
  const capture = namespaces.inside(a, () => {
    const socket = new PacketSocket('x0')
    socket.bind()
    return socket
  })
  t.teardown(() => capture.close())
  for (let i = 0; i < 300; i++) port.transmit(frameOf(pool, 100))
  port.flush()
  t.equal(port.counters.txFrames, 300)
  t.equal(capture.takeSeen(), 300)
})

t.test(
  'behind a slow queueing discipline a port drops what has no room, and does not wait',
  { skip: skip || without('tc') },
  async t => {
    const { namespaces, a, open } = pair(t)
    const pool = new FramePool(512, 4608)
    // Room for all frames, at a rate at which the last one would leave in half an hour.
    namespaces.exec(a, 'tc', ...'qdisc add dev x0 root tbf rate 8kbit burst 5kb limit 1gb'.split(' '))
    const { port } = open(a, 'x0', { pool, dropsWhenFull: true })
    for (let sent = 0; port.counters.drops.txError === 0; sent++) {
      if (sent > 100_000) t.fail('nothing was dropped')
      port.transmit(frameOf(pool, 4000))
      port.flush()
    }
    const { txFrames } = port.counters
    t.ok(txFrames > 10, `${txFrames} frames wait in the kernel`)
    t.equal(pool.inUse, 0)
  },
)

t.test(
  'a batch is sent at once when it is full, and counts frames that the ring has no room for',
  { skip },
  async t => {
    const { namespaces, a, b, open } = pair(t)
    const from = open(a, 'x0')
    const to = open(b, 'x1', { ringBytes: 1 << 17 })
    const frames = 600
    for (let i = 0; i < frames; i++) {
      const frame = frameOf(from.pool, 1000)
      frame.bytes.writeUInt32BE(i, 14)
      from.port.transmit(frame)
    }
    t.ok(from.pool.inUse < 256, 'full batches have gone')
    from.port.flush()
    t.equal(from.pool.inUse, 0)
    // The kernel has handed on all of them.
    const handedOn = () => Number(namespaces.exec(b, 'cat', '/sys/class/net/x1/statistics/rx_packets'))
    while (handedOn() < frames) await sleep(5)
    let received = 0
    let last = -1
    for (let frame = to.port.receive(); frame !== null; frame = to.port.receive()) {
      const number = frame.bytes.readUInt32BE(14)
      if (number <= last) t.fail(`${number} came after ${last}`)
      last = number
      received++
      to.pool.give(frame)
    }
    const { drops } = to.port.counters
    t.ok(received > 0 && drops.kernelFull > 0, `${received} received, ${drops.kernelFull} dropped`)
    t.equal(received + drops.kernelFull, frames)
  },
)

t.test('a VLAN tag that the kernel takes out is put back', { skip }, async t => {
  const { a, b, open } = pair(t)
  const from = open(a, 'x0')
  const to = open(b, 'x1')
  for (const length of [64, 1000]) {
    const frame = frameOf(from.pool, length, 0x8100)
    // Priority 5, drop eligible, VLAN 291; then a protocol.
    frame.bytes.writeUInt16BE((5 << 13) | 0x1000 | 291, 14)
    frame.bytes.writeUInt16BE(0x88b5, 16)
    const sent = Buffer.from(frame.bytes.subarray(0, length))
    from.port.transmit(frame)
    from.port.flush()
    const got = await next(to.port)
    t.same(got.bytes.subarray(0, got.length).toString('hex'), sent.toString('hex'))
    to.pool.give(got)
  }
})

t.test('a frame longer than a slot is counted; so is one when the pool is empty', { skip }, async t => {
  const { a, b, open } = pair(t)
  const from = open(a, 'x0')
  const to = open(b, 'x1', { pool: new FramePool(1, 512) })
  for (const length of [600, 500, 100, 100]) from.port.transmit(frameOf(from.pool, length))
  from.port.flush()
  const got = await next(to.port)
  t.equal(got.length, 500)
  t.equal(to.port.receive(), null)
  t.match(to.port.counters.drops, { tooLong: 1, poolEmpty: 2 })
  to.pool.give(got)
})

t.test('what cannot be sent is counted and given back', { skip }, async t => {
  const { a, open } = pair(t)
  const { pool, port } = open(a, 'x0')
  port.transmit(frameOf(pool, MTU + 15))
  const short = frameOf(pool, 14)
  short.length = 13
  short.wireLength = 13
  port.transmit(short)
  const virtual = frameOf(pool, 100)
  virtual.wireLength = 200
  port.transmit(virtual)
  t.match(port.counters.drops, { tooLong: 1, malformed: 2 })
  await port.close()
  t.equal(port.canTransmit(), false)
  port.transmit(frameOf(pool, 100))
  t.equal(port.counters.drops.closed, 1)
  t.equal(port.receive(), null)
  t.equal(pool.inUse, 0)
})

t.test('a checksum that the sender left to its NIC is finished', { skip }, async t => {
  const { namespaces, a, b, open } = pair(t, ['10.9.0.1/24', '10.9.0.2/24'], true)
  namespaces.exec(a, 'ip', 'neigh', 'add', '10.9.0.2', 'lladdr', '02:00:00:00:00:99', 'dev', 'x0')
  const { port, pool } = open(b, 'x1')
  namespaces.inside(a, () => sendDatagram('10.9.0.2', 7, 'an odd length of bytes.'))
  let frame = await next(port)
  while (frame.bytes.readUInt16BE(12) !== 0x0800) {
    pool.give(frame)
    frame = await next(port)
  }
  const datagram = frame.bytes.subarray(34, frame.length)
  // Pseudo-header of RFC 768, then the datagram, filled up to an even length.
  const pseudo = Buffer.concat([frame.bytes.subarray(26, 34), Buffer.from([0, 17, 0, datagram.length])])
  const padded = Buffer.concat([pseudo, datagram, Buffer.alloc(datagram.length % 2)])
  t.equal(internetSum(padded), 0xffff)
  pool.give(frame)
})

t.test('a frame tells its age', { skip }, async t => {
  const { a, b, open } = pair(t)
  const from = open(a, 'x0')
  const to = open(b, 'x1')
  const clock = new WallClock()
  from.port.transmit(frameOf(from.pool, 100))
  from.port.flush()
  await sleep(50)
  clock.read()
  to.pool.give(await next(to.port))
  const ageNs = to.port.ageNs(clock)
  // The frame was there before the pause and after the test began, by the machine's own clock.
  t.ok(ageNs >= 49e6 && ageNs < 60e9, `${ageNs} ns`)
})

t.test('an interface that goes down is an error once, and works again when it is up', { skip }, async t => {
  const { namespaces, a, b, open } = pair(t)
  const from = open(a, 'x0')
  const to = open(b, 'x1')
  namespaces.exec(b, 'ip', 'link', 'set', 'x1', 'down')
  t.ok(to.port.waiter.wait(60e9), 'the error wakes')
  t.equal(to.port.counters.rxErrors, 1)
  t.notOk(to.port.waiter.wait(0), 'once: whoever waits would spin')
  // There is no carrier. The kernel refuses the frame at first, and drops it silently once it has noticed.
  const send = (bytes: number) => {
    from.port.transmit(frameOf(from.pool, bytes))
    from.port.flush()
  }
  send(100)
  t.equal(from.port.counters.drops.txError + from.port.counters.txFrames, 1)
  namespaces.exec(b, 'ip', 'link', 'set', 'x1', 'up')
  let got: Frame | null = null
  // It notices the carrier a moment late, too.
  for (; got === null; got = to.port.receive()) {
    send(200)
    await sleep(1)
  }
  t.equal(got.length, 200)
  to.pool.give(got)
  t.equal(from.pool.inUse, 0)
  while (to.port.waiter.look()) to.pool.give(await next(to.port))
  const woken = new Promise<void>(resolve => to.port.waiter.arm(resolve))
  namespaces.exec(b, 'ip', 'link', 'set', 'x1', 'down')
  await woken
  t.notOk(to.port.waiter.look(), 'nor does one that waits on another thread')
  t.equal(to.port.counters.rxErrors, 2)
})

t.test('the waiter sees a frame, and nothing when there is none', { skip }, async t => {
  const { a, b, open } = pair(t)
  const from = open(a, 'x0')
  const to = open(b, 'x1')
  t.notOk(to.port.waiter.wait(0))
  from.port.transmit(frameOf(from.pool, 100))
  from.port.flush()
  t.ok(to.port.waiter.wait(60e9))
  to.pool.give(await next(to.port))
  t.notOk(to.port.waiter.wait(0))
})

t.test('a filter decides what is received', { skip }, async t => {
  const { a, b, open } = pair(t)
  const from = open(a, 'x0')
  // ldh [12]; jeq #0x88b6: return all of it, or nothing.
  const filter = [
    { code: 0x28, jt: 0, jf: 0, k: 12 },
    { code: 0x15, jt: 0, jf: 1, k: 0x88b6 },
    { code: 0x06, jt: 0, jf: 0, k: 0xffff_ffff },
    { code: 0x06, jt: 0, jf: 0, k: 0 },
  ]
  const to = open(b, 'x1', { filter })
  for (const type of [0x88b5, 0x88b6, 0x88b5]) from.port.transmit(frameOf(from.pool, 100, type))
  from.port.flush()
  const got = await next(to.port)
  t.equal(got.bytes.readUInt16BE(12), 0x88b6)
  to.pool.give(got)
  t.equal(to.port.receive(), null)
})

t.test('mistakes are errors', { skip }, async t => {
  const { a, open } = pair(t)
  t.throws(() => open(a, 'nowhere'), { code: 'WEIR_BAD_ARGUMENT', message: /nowhere/ })
  t.throws(() => open(a, 'x0', { ringBytes: 1000 }), { code: 'WEIR_BAD_ARGUMENT', message: /ringBytes/ })
})

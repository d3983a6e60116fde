/** What the batch port does in addition to the others. */

import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { libcFault, loadLibc } from '../../lib/io/linux/libc.js'
import { CONTROL_BYTES, MessageBatch, NAME_BYTES } from '../../lib/io/linux/message-batch.js'
import { UdpSocket } from '../../lib/io/linux/udp-socket.js'
import { HostLoop } from '../../lib/io/loop/host-loop.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { receiveBufferBytes } from '../../lib/io/ports/socket-buffers.js'
import { Random } from '../../lib/sim/random.js'
import { NEVER } from '../../lib/time/nanos.js'
import { loopbackAddress } from '../support/loopback.js'
import { drawnSeed } from '../support/seeds.js'
import { freePort, nextFrame, plainSocket, udpFrame4, until } from './helpers.js'

const seed = drawnSeed(t)

const A = loopbackAddress()
const B = loopbackAddress()
const C = loopbackAddress()
const fault = libcFault()

function open(address: string, rocePort: number, capacity = 512, more: object = {}) {
  const pool = new FramePool(capacity, undefined, RECEIVER_ROOM_BYTES)
  return { pool, port: new BatchPort({ pool, address, rocePort, intPort: rocePort + 1, ...more }) }
}

function frameOf(
  pool: FramePool,
  destination: string,
  destinationPort: number,
  payload: Uint8Array,
  tos = 0,
): Frame {
  const frame = udpFrame4(pool, { source: A, destination, sourcePort: 4791, destinationPort, payload })
  frame.view.setUint8(15, tos)
  return frame
}

function numbered(n: number, bytes: number): Uint8Array {
  const payload = new Uint8Array(bytes).fill(n)
  new DataView(payload.buffer).setUint32(0, n)
  return payload
}

t.test('runs of any sizes and destinations arrive whole and in order', { skip: fault ?? false }, async t => {
  const random = new Random(seed)
  const rocePort = freePort()
  const a = open(A, rocePort)
  const others = [open(B, rocePort), open(C, rocePort)]
  const sent: number[][] = [[], []]
  const got: number[][] = [[], []]
  let bytes = 200
  for (let n = 0; n < 2000; n++) {
    // Mostly as the one before: runs are what is tested.
    if (random.next() < 0.1) bytes = 4 + Math.floor(random.next() * 4200)
    const to = random.next() < 0.1 ? 1 : 0
    const port = random.next() < 0.05 ? 4791 : 4792
    if (port === 4792) sent[to]!.push(n)
    const tos = random.next() < 0.02 ? 2 : 0
    const frame = frameOf(a.pool, [B, C][to]!, port, numbered(n, bytes), tos)
    a.port.transmit(frame)
    // No more than a receive buffer of Linux's default size has room for.
    if (random.next() < 0.03 || n % 40 === 39) {
      a.port.flush()
      await drain()
    }
  }
  a.port.flush()
  await drain()
  t.same(got, sent)
  t.equal(a.port.counters.txFrames, 2000)
  t.equal(a.port.counters.dropped, 0)
  for (const { port, pool } of [a, ...others]) {
    await port.close()
    t.equal(pool.inUse, 0)
  }

  async function drain(): Promise<void> {
    for (const [i, { port, pool }] of others.entries()) {
      for (let frame = port.receive(); frame !== null; frame = port.receive()) {
        frame.bringIn()
        const n = frame.view.getUint32(42)
        const end = frame.length
        if (frame.view.getUint16(36) === 4792) got[i]!.push(n)
        const wrong = frame.bytes.subarray(46, end).findIndex(byte => byte !== (n & 255))
        if (wrong >= 0) t.fail(`packet ${n}: byte ${wrong} is not its own`)
        pool.give(frame)
      }
    }
  }
})

t.test(
  'the caller takes packets of a run, and gets the others as frames',
  { skip: fault ?? false },
  async t => {
    const rocePort = freePort()
    const [a, b] = [open(A, rocePort), open(B, rocePort)]
    const random = new Random(seed)
    const bytes = 500
    for (let n = 0; n < 60; n++) a.port.transmit(frameOf(a.pool, B, 4792, numbered(n, bytes)))
    a.port.transmit(frameOf(a.pool, B, 4792, numbered(60, 300)))
    a.port.flush()
    const got: number[] = []
    let taken = 0
    const arrived = () => {
      for (let frame = b.port.receive(); frame !== null; frame = b.port.receive()) {
        got.push(frame.view.getUint32(42))
        const { run } = b.port
        if (frame.length === 42 + 300) t.equal(run, null, 'the last one is shorter, and no part of a run')
        b.pool.give(frame)
        if (run === null) continue
        t.same([run.packetBytes, run.headerBytes], [bytes, 42])
        const packets = Math.floor(random.next() * (run.count + 1))
        for (let n = 0; n < packets; n++) got.push(run.view.getUint32(run.at + n * bytes))
        run.take(packets)
        taken += packets
      }
      return got.length === 61
    }
    await until(arrived)
    t.same(
      got,
      Array.from({ length: 61 }, (_, n) => n),
    )
    t.equal(b.port.waitingBytes(), 0)
    t.equal(b.port.counters.rxFrames, 61)
    t.equal(b.port.counters.rxBytes, 60 * 542 + 342)
    t.comment(`${taken} taken`)
    await Promise.all([a.port.close(), b.port.close()])
    t.equal(b.pool.inUse, 0)
  },
)

t.test('who cannot take runs gets single datagrams: the kernel cuts', { skip: fault ?? false }, async t => {
  const plain = await plainSocket(B)
  const sizes: number[] = []
  plain.on('message', bytes => sizes.push(bytes.length))
  const a = open(A, freePort(), 64)
  const other = open(C, plain.address().port - 1, 64)
  for (const size of [500, 500, 500, 300, 500])
    other.port.transmit(frameOf(other.pool, B, 4792, new Uint8Array(size)))
  other.port.flush()
  await until(() => sizes.length === 5)
  t.same(sizes, [500, 500, 500, 300, 500])
  plain.close()
  await Promise.all([a.port.close(), other.port.close()])
})

/** Lengths of the datagrams that a socket was given. An unsplit run counts once. */
function arrivals(socket: UdpSocket): number[] {
  const libc = loadLibc()
  const messages = 64
  const batch = new MessageBatch(libc, messages, messages)
  const bytes = 65_536
  const room = new Uint8Array(messages * bytes)
  const base = Float64Array.of(libc.address(room))
  for (let i = 0; i < messages; i++) {
    batch.setLengths(i, NAME_BYTES, CONTROL_BYTES)
    batch.setPiece(i, base, i * bytes, bytes)
    batch.setPieces(i, i, 1)
  }
  const count = libc.recvmmsg(socket.fd, batch.headers, messages, 0, 0)
  return Array.from({ length: Math.max(0, count) }, (_, i) => batch.moved(i))
}

t.test(
  'who must get each packet by itself gets no runs, and others do',
  { skip: fault ?? false },
  async t => {
    const takesNone = new UdpSocket({ address: B, port: 0, bufferBytes: 1 << 20 })
    const takes = new UdpSocket({ address: C, port: takesNone.port, bufferBytes: 1 << 20 })
    for (const socket of [takesNone, takes]) t.ok(socket.enableGro())
    const a = open(A, takesNone.port - 1, 512)
    const send = (to: string, count: number, alone: boolean) => {
      for (let n = 0; n < count; n++) {
        const frame = frameOf(a.pool, to, 4792, new Uint8Array(500))
        frame.alone = alone
        a.port.transmit(frame)
      }
    }
    send(B, 10, true)
    send(C, 10, false)
    send(B, 3, true)
    send(C, 2, false)
    a.port.flush()
    t.same(arrivals(takesNone), new Array(13).fill(500))
    t.same(arrivals(takes), [5000, 1000])
    // A peer that has begun anew, by another port: packets of both connections.
    send(C, 2, true)
    send(C, 3, false)
    send(C, 1, true)
    send(C, 2, false)
    a.port.flush()
    t.same(arrivals(takes), [500, 500, 1500, 500, 1000])
    // More than one system call takes.
    send(B, 150, true)
    a.port.flush()
    t.same([...arrivals(takesNone), ...arrivals(takesNone), ...arrivals(takesNone)], new Array(150).fill(500))
    t.equal(a.port.counters.dropped, 0)
    for (const socket of [takesNone, takes]) socket.close()
    await a.port.close()
    t.equal(a.pool.inUse, 0)
  },
)

t.test('runs of the smallest datagrams', { skip: fault ?? false }, async t => {
  const rocePort = freePort()
  const a = open(A, rocePort, 64)
  const b = open(B, rocePort, 64)
  for (let bytes = 1; bytes <= 9; bytes++) {
    for (let n = 0; n < 5; n++)
      a.port.transmit(frameOf(a.pool, B, 4792, new Uint8Array(bytes).fill(16 * bytes + n)))
    a.port.flush()
    for (let n = 0; n < 5; n++) {
      const frame = await nextFrame(b.port)
      t.same(
        [...frame.bytes.subarray(42, frame.length)],
        new Array(bytes).fill(16 * bytes + n),
        `${bytes} bytes`,
      )
      b.pool.give(frame)
    }
  }
  await Promise.all([a.port.close(), b.port.close()])
})

t.test('the traffic class is set and seen: ECN and DSCP', { skip: fault ?? false }, async t => {
  const rocePort = freePort()
  const a = open(A, rocePort, 8)
  const b = open(B, rocePort, 8)
  for (const tos of [0x02, 0x03, 0x6a, 0]) {
    a.port.transmit(frameOf(a.pool, B, 4792, new Uint8Array(20), tos))
    a.port.flush()
    const frame = await nextFrame(b.port)
    t.equal(frame.view.getUint8(15), tos, `TOS ${tos}`)
    b.pool.give(frame)
  }
  await Promise.all([a.port.close(), b.port.close()])
})

t.test('what the kernel dropped is counted', { skip: fault ?? false }, async t => {
  const rocePort = freePort()
  const a = open(A, rocePort, 64)
  const b = open(B, rocePort, 512, { socketBufferBytes: 65_536 })
  const count = 400
  for (let n = 0; n < count; n++) {
    a.port.transmit(frameOf(a.pool, B, 4791, new Uint8Array(4096)))
    if (n % 32 === 31) a.port.flush()
  }
  a.port.flush()
  const take = () => {
    let taken = 0
    for (let frame = b.port.receive(); frame !== null; frame = b.port.receive()) {
      b.pool.give(frame)
      taken++
    }
    return taken
  }
  const received = take()
  t.ok(received > 0 && received < count, `${received} of ${count} found room`)
  // The kernel reports with the next datagram that it can deliver.
  a.port.transmit(frameOf(a.pool, B, 4791, new Uint8Array(4)))
  a.port.flush()
  t.equal(take(), 1)
  t.equal(b.port.counters.drops.kernelFull, count - received)
  await Promise.all([a.port.close(), b.port.close()])
})

t.test('a flood on one socket leaves the other its turns', { skip: fault ?? false }, async t => {
  for (const flooded of [4791, 4792]) {
    const rocePort = freePort()
    const [a, b] = [open(A, rocePort), open(B, rocePort)]
    const send = (port: number, n: number) => {
      // Each by itself: of a run the kernel makes one.
      a.port.transmit(frameOf(a.pool, B, port, numbered(n, 100)))
      a.port.flush()
    }
    const other = 4791 + 4792 - flooded
    for (let n = 0; n < 16; n++) send(flooded, n)
    const got: number[] = []
    let others = 0
    for (let n = 0; n < 600; n++) {
      // As many as are taken come in.
      send(flooded, 16 + n)
      if (n % 200 === 100) send(other, n)
      const frame = b.port.receive()
      if (frame === null) break
      if (frame.view.getUint16(36) === flooded) got.push(frame.view.getUint32(42))
      else {
        others++
        t.ok(n % 200 >= 100 && n % 200 < 180, `after ${(n % 200) - 100} of the flood`)
      }
      b.pool.give(frame)
    }
    t.equal(others, 3)
    t.equal(got.length, 597)
    t.same(got, [...got.keys()], 'those of the flood stay in order')
    await Promise.all([a.port.close(), b.port.close()])
    t.equal(b.pool.inUse, 0)
  }
})

t.test('an idle loop wakes for what comes in', { skip: fault ?? false }, async t => {
  const rocePort = freePort()
  const { pool, port } = open(B, rocePort, 8)
  const seen: number[] = []
  const loop = new HostLoop({
    port,
    node: {
      onFrame: (_now, _port, frame) => {
        seen.push(frame.view.getUint8(42))
        pool.give(frame)
      },
      onTimeout: () => {},
      nextTimeout: () => NEVER,
      pollTransmit: () => null,
    },
  })
  loop.start()
  // On a busy machine it takes a while until nothing is left to do. A loop that goes on for ever ends by the file's limit.
  for (let idle = -1; loop.rounds !== idle; ) {
    idle = loop.rounds
    await new Promise(resolve => setTimeout(resolve, 600))
  }
  t.pass('no round while nothing comes')
  const plain = await plainSocket()
  for (const n of [1, 2, 3]) {
    plain.send(Uint8Array.of(n), rocePort, B)
    await until(() => seen.length === n)
  }
  t.same(seen, [1, 2, 3])
  plain.close()
  loop.close()
  await port.close()
  t.equal(pool.inUse, 0)
})

t.test('the receive buffer that is asked for follows the memory of the machine', async t => {
  const MB = 2 ** 20
  for (const [memory, bytes] of [
    [256 * MB, 8 * MB],
    [2048 * MB, 16 * MB],
    [65_536 * MB, 32 * MB],
  ] as const) {
    t.equal(receiveBufferBytes(memory), bytes)
  }
})

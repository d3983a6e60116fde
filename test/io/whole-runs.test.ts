/** Runs that the batch port is given whole: a head with the packets behind it. */

import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { FrameRun } from '../../lib/frame/frame-run.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { libcFault, loadLibc } from '../../lib/io/linux/libc.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { Random } from '../../lib/sim/random.js'
import { transfer } from '../nic/pair.js'
import { loopbackAddress } from '../support/loopback.js'
import { drawnSeed } from '../support/seeds.js'
import { freePort, udpFrame4, until } from './helpers.js'

const seed = drawnSeed(t)
const skip = libcFault() ?? false

const A = loopbackAddress()
const B = loopbackAddress()
const HEADER_BYTES = 20
const MEMORY_BYTES = 65_536
/** In a BTH. */
const DEST_QPN_AT = 5
const QPN = 0x123456
const EIO = 5
const EAGAIN = 11

/** A head and, with `packets` above 1, what follows it: packet i has the word `first + i` in its BTH and in its ICRC. */
function runOf(pool: FramePool, memory: Backing, at: number, bytes: number, packets: number, first: number) {
  const payload = new Uint8Array(HEADER_BYTES + bytes + 4)
  const view = new DataView(payload.buffer)
  view.setUint32(8, first)
  view.setUint32(12, QPN)
  view.setUint32(HEADER_BYTES + bytes, first)
  const ends = { source: A, destination: B, sourcePort: 4791, destinationPort: 4792 }
  const head = udpFrame4(pool, { ...ends, payload })
  head.bth = 42 + 8
  head.payload = 42 + HEADER_BYTES
  head.payloadLength = bytes
  head.outside = memory
  head.outsideBase = at - head.payload
  if (packets === 1) return head
  const run = new FrameRun(pool, true)
  run.begin(head, packets - 1, memory, at + bytes)
  for (let i = 0; i < packets - 1; i++) {
    run.view.setUint32(run.bthAt(i), first + 1 + i)
    run.view.setUint32(run.icrcAt(i), first + 1 + i)
  }
  run.handOver(head)
  return head
}

/** The UDP payload of packet `number`, whose payload begins at `at`. */
function datagramOf(memory: Backing, at: number, bytes: number, number: number): Buffer {
  const datagram = Buffer.alloc(HEADER_BYTES + bytes + 4)
  datagram.writeUInt32BE(number, 8)
  datagram.writeUInt32BE(QPN, 12)
  datagram.set(memory.bytes.subarray(at, at + bytes), HEADER_BYTES)
  datagram.writeUInt32BE(number, HEADER_BYTES + bytes)
  return datagram
}

/** @param slots of the sender */
function openBoth(slots = 512) {
  const rocePort = freePort()
  const open = (address: string) => {
    const pool = new FramePool(address === A ? slots : 512, undefined, RECEIVER_ROOM_BYTES)
    return { pool, port: new BatchPort({ pool, address, rocePort, intPort: rocePort + 1 }) }
  }
  const [a, b] = [open(A), open(B)]
  const got: Buffer[] = []
  const drain = () => {
    for (let frame = b.port.receive(); frame !== null; frame = b.port.receive()) {
      frame.bringIn()
      got.push(Buffer.from(frame.bytes.subarray(42, frame.length)))
      b.pool.give(frame)
    }
  }
  const close = async () => {
    for (const { port } of [a, b]) await port.close()
    return a.pool.inUse + b.pool.inUse
  }
  return { a, b, got, drain, close }
}

function randomMemory(random: Random): Backing {
  const memory = new Backing(new Uint8Array(new ArrayBuffer(MEMORY_BYTES + 100), 100, MEMORY_BYTES))
  for (let i = 0; i < MEMORY_BYTES; i++) memory.bytes[i] = random.u32()
  return memory
}

t.test('whole runs between single packets arrive in order, of any length', { skip }, async t => {
  const random = new Random(seed)
  const { a, got, drain, close } = openBoth()
  const memory = randomMemory(random)
  const sent: Buffer[] = []
  let bytes = 1024
  for (let n = 0; n < 300; n++) {
    if (random.next() < 0.3) bytes = 4 * Math.floor(random.next() * 1025)
    const most = Math.min(64, Math.floor(MEMORY_BYTES / (bytes + HEADER_BYTES + 4)))
    const packets = random.next() < 0.3 ? 1 : 1 + Math.floor(random.next() * Math.max(1, most - 1))
    const at = Math.floor(random.next() * (MEMORY_BYTES - packets * bytes))
    const first = 1000 * n
    for (let i = 0; i < packets; i++) sent.push(datagramOf(memory, at + i * bytes, bytes, first + i))
    a.port.transmit(runOf(a.pool, memory, at, bytes, packets, first))
    if (random.next() < 0.5) {
      a.port.flush()
      drain()
    }
  }
  a.port.flush()
  await until(() => {
    drain()
    return got.length >= sent.length
  })
  const wrong = sent.findIndex((datagram, n) => !datagram.equals(got[n]!))
  t.equal(wrong, -1, `the first of ${sent.length} datagrams that differs`)
  t.equal(got.length, sent.length)
  t.equal(a.port.counters.txFrames, sent.length)
  t.equal(
    a.port.counters.txBytes,
    sent.reduce((sum, { length }) => sum + 42 + length, 0),
  )
  t.equal(a.port.counters.dropped, 0)
  t.equal(await close(), 0, 'all frames come back')
})

t.test('where the kernel cannot split runs, each packet leaves by itself', { skip }, async t => {
  const { a, got, drain, close } = openBoth()
  const memory = randomMemory(new Random(seed))
  const libc = loadLibc()
  const { sendmmsg, sendmsg, errno } = libc
  libc.sendmmsg = () => -1
  libc.sendmsg = () => -1
  libc.errno = () => EIO
  a.port.transmit(runOf(a.pool, memory, 0, 1024, 5, 0))
  a.port.flush()
  libc.sendmmsg = sendmmsg
  libc.sendmsg = sendmsg
  libc.errno = errno
  t.equal(a.port.counters.drops.txError, 5)
  a.port.transmit(runOf(a.pool, memory, 4, 1024, 60, 100))
  a.port.flush()
  await until(() => {
    drain()
    return got.length >= 60
  })
  t.ok(got.every((datagram, i) => datagram.equals(datagramOf(memory, 4 + 1024 * i, 1024, 100 + i))))
  t.equal(a.port.counters.txFrames, 60)
  t.equal(await close(), 0, 'all frames come back')
})

t.test('a closed port counts all packets of a run as dropped', { skip }, async t => {
  const { a, close } = openBoth()
  await close()
  a.port.transmit(runOf(a.pool, randomMemory(new Random(seed)), 0, 256, 20, 0))
  t.equal(a.port.counters.drops.closed, 20)
  t.equal(a.pool.inUse, 0)
})

/** From now on the kernel takes nothing, as from a full socket, until `undo`. */
function fillSockets(): { undo: () => void } {
  const libc = loadLibc()
  const { sendmmsg, sendmsg, errno } = libc
  libc.sendmmsg = libc.sendmsg = () => -1
  libc.errno = () => EAGAIN
  return { undo: () => Object.assign(libc, { sendmmsg, sendmsg, errno }) }
}

/**
 * Runs of 30 packets, each with payloads of its own from the same memory; and what arrives of them. A receive buffer of Linux's default size
 * has room for all.
 */
function runsOfThirty(slots: number) {
  const both = openBoth(slots)
  const memory = randomMemory(new Random(seed))
  const sent: Buffer[] = []
  for (let n = 0; n < 3; n++) {
    for (let i = 0; i < 30; i++) sent.push(datagramOf(memory, 4 * n + 2048 * i, 2048, 1000 * n + i))
    both.a.port.transmit(runOf(both.a.pool, memory, 4 * n, 2048, 30, 1000 * n))
  }
  const { got, drain } = both
  const arrived = () =>
    until(() => {
      drain()
      return got.length >= sent.length
    })
  return { ...both, memory, sent, arrived }
}

/** The same, as the sender changes packets that are for nobody. */
function toNobody(datagram: Buffer): Buffer {
  const changed = Buffer.from(datagram)
  changed.fill(0, 8 + DEST_QPN_AT, 8 + DEST_QPN_AT + 3)
  return changed.fill(0, HEADER_BYTES, HEADER_BYTES + 2048)
}

for (const { slots, name } of [
  { slots: 512, name: 'as it was' },
  { slots: 24, name: 'as it was, or not at all where the pool is empty' },
]) {
  t.test(`what a full socket leaves waiting of a run is sent ${name}`, { skip }, async t => {
    const full = fillSockets()
    const { a, memory, sent, got, arrived, close } = runsOfThirty(slots)
    a.port.flush()
    // The application has got it back, and uses it for something else.
    memory.bytes.fill(0xee)
    full.undo()
    await arrived()
    const { poolEmpty } = a.port.counters.drops
    const lost = got.filter((datagram, n) => datagram.equals(toNobody(sent[n]!))).length
    const whole = got.filter((datagram, n) => datagram.equals(sent[n]!)).length
    t.equal(whole + lost, sent.length, 'each is as it was, or for nobody')
    t.equal(lost, poolEmpty)
    if (slots === 24) t.ok(poolEmpty > 0 && whole > 0, `${poolEmpty} had no slot, ${whole} had one`)
    else t.equal(poolEmpty, 0)
    t.equal(await close(), 0, 'all frames come back')
  })
}

for (const isFull of [false, true]) {
  const name = isFull ? 'after the socket was full' : 'before they leave'
  t.test(`payloads that an application transfers ${name}`, { skip }, async t => {
    const full = isFull ? fillSockets() : null
    const { a, memory, sent, got, arrived, close } = runsOfThirty(512)
    // In the same datagram, from memory that stays.
    const other = randomMemory(new Random(seed + 1))
    a.port.transmit(runOf(a.pool, other, 0, 2048, 1, 9000))
    sent.push(datagramOf(other, 0, 2048, 9000))
    if (isFull) a.port.flush()
    transfer(memory.bytes)
    full?.undo()
    a.port.flush()
    await arrived()
    const wrong = sent.findIndex((datagram, n) => {
      const isLost = !isFull && n < sent.length - 1
      return !got[n]!.equals(isLost ? toNobody(datagram) : datagram)
    })
    t.equal(wrong, -1, isFull ? 'have been copied' : 'are lost, and no others')
    t.equal(a.port.counters.drops.payloadGone, isFull ? 0 : sent.length - 1)
    t.equal(await close(), 0, 'all frames come back')
  })
}

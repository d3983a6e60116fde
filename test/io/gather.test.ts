/** Payloads that the batch port sends directly from their memory, and lends after arrival. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { ReceivedRun } from '../../lib/frame/received-run.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { BatchSender } from '../../lib/io/linux/batch-sender.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { HostLoop } from '../../lib/io/loop/host-loop.js'
import { PortCounters } from '../../lib/io/port.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { Nic } from '../../lib/nic/nic.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { parseFrame } from '../../lib/wire/parse.js'
import * as intMd from '../../lib/wire/telemetry/int-md.js'
import { App, memoryOf, PORT, pattern, transfer } from '../nic/pair.js'
import { loopbackAddress } from '../support/loopback.js'
import { drawnSeed } from '../support/seeds.js'
import { freePort, nextFrame, udpFrame4, until } from './helpers.js'

const seed = drawnSeed(t)

const A = loopbackAddress()
const B = loopbackAddress()
const fault = libcFault()

/** A frame to the INT port, with `head` and `tail` bytes around the payload, which is outside the slot. */
function gatheredFrame(
  pool: FramePool,
  memory: Backing,
  { at, bytes, head, tail }: { at: number; bytes: number; head: number; tail: number },
) {
  const payload = new Uint8Array(head + bytes + tail).fill(0xdd)
  payload.fill(0x11, 0, head)
  payload.fill(0x22, head + bytes)
  const frame = udpFrame4(pool, {
    source: A,
    destination: B,
    sourcePort: 4791,
    destinationPort: 4792,
    payload,
  })
  frame.payload = 42 + head
  frame.payloadLength = bytes
  frame.outside = memory
  frame.outsideBase = at - frame.payload
  return frame
}

for (const shared of [false, true]) {
  const kind = shared ? 'a SharedArrayBuffer' : 'an ArrayBuffer'
  t.test(
    `runs of gathered payloads from ${kind} arrive whole and in order`,
    { skip: fault ?? false },
    async t => {
      const random = new Random(seed)
      const rocePort = freePort()
      const open = (address: string) => {
        const pool = new FramePool(512, undefined, RECEIVER_ROOM_BYTES)
        return { pool, port: new BatchPort({ pool, address, rocePort, intPort: rocePort + 1 }) }
      }
      const a = open(A)
      const b = open(B)
      // Not from the start of its buffer: the offset of the view counts.
      const buffer = shared ? new SharedArrayBuffer(70_000) : new ArrayBuffer(70_000)
      const memory = new Backing(new Uint8Array(buffer, 1000, 65_536))
      for (let i = 0; i < 65_536; i++) memory.bytes[i] = random.u32()
      const sent: Buffer[] = []
      const got: Buffer[] = []
      let bytes = 1024
      for (let n = 0; n < 1500; n++) {
        // Mostly as the one before: runs are what is tested.
        if (random.next() < 0.1) bytes = Math.floor(random.next() * 4097)
        const at = Math.floor(random.next() * (65_536 - bytes))
        const frame = gatheredFrame(a.pool, memory, {
          at,
          bytes,
          head: 12 + 16 * (n % 7 === 0 ? 1 : 0),
          tail: 4,
        })
        const { payload } = frame
        if (random.next() < 0.1) frame.bringIn()
        const whole = Buffer.from(frame.bytes.subarray(42, frame.length))
        whole.set(memory.bytes.subarray(at, at + bytes), payload - 42)
        sent.push(whole)
        a.port.transmit(frame)
        // No more than a receive buffer of Linux's default size has room for.
        if (random.next() < 0.03 || n % 40 === 39) flush()
      }
      flush()
      await until(() => {
        drain()
        return got.length === sent.length
      })
      t.ok(
        sent.every((datagram, n) => datagram.equals(got[n]!)),
        'the same bytes, in the same order',
      )
      t.equal(a.port.counters.txFrames, 1500)
      t.equal(a.port.counters.dropped, 0)
      for (const { port, pool } of [a, b]) {
        await port.close()
        t.equal(pool.inUse, 0)
      }

      function flush(): void {
        a.port.flush()
        drain()
      }

      function drain(): void {
        for (let frame = b.port.receive(); frame !== null; frame = b.port.receive()) {
          frame.bringIn()
          got.push(Buffer.from(frame.bytes.subarray(42, frame.length)))
          b.pool.give(frame)
        }
      }
    },
  )
}

/** The two ends of a TCP connection: its socket takes datagrams as well, and is full when nobody reads. */
async function connection(): Promise<{ near: Socket; far: Socket; close: () => void }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, A)
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const near = connect((server.address() as { port: number }).port, A)
  const [far] = (await accepted) as [Socket]
  const close = () => {
    near.destroy()
    far.destroy()
    server.close()
  }
  return { near, far, close }
}

t.test(
  'what a full socket leaves waiting no longer refers to memory outside',
  { skip: fault ?? false },
  async t => {
    const { near, far, close } = await connection()
    const { fd } = (near as unknown as { _handle: { fd: number } })._handle
    const pool = new FramePool(256)
    const counters = new PortCounters()
    const sender = new BatchSender({ pool, counters, fd, family: 4, rocePort: 1, intPort: 1 })
    const memory = new Backing(new Uint8Array(4096).fill(0x33))
    let added = 0
    for (;;) {
      while (sender.hasRoom && pool.inUse < pool.capacity) {
        sender.add(gatheredFrame(pool, memory, { at: 0, bytes: 4096, head: 12, tail: 4 }))
        added++
      }
      if (!sender.flush()) break
    }
    t.ok(counters.txFrames < added, `${counters.txFrames} of ${added} frames found room`)
    // The application has got it back, and uses it for something else.
    memory.bytes.fill(0xee)
    const values = new Set<number>()
    let received = 0
    far.on('data', (bytes: Buffer) => {
      received += bytes.length
      for (const byte of bytes) values.add(byte)
    })
    far.resume()
    await until(() => sender.flush())
    t.equal(pool.inUse, 0)
    t.equal(counters.txFrames, added)
    near.end()
    await once(far, 'end')
    t.same([...values].sort(), [0x11, 0x22, 0x33], `of ${received} bytes none is from later`)
    close()
  },
)

type Host = ReturnType<typeof host>

/** A NIC on a batch port, driven in real time. One in `loses` frames that it sends is lost. */
function host(address: string, rocePort: number, random: Random, loses: number) {
  const pool = new FramePool(1024, undefined, RECEIVER_ROOM_BYTES)
  const port = new BatchPort({ pool, address, rocePort, intPort: rocePort + 1 })
  const lent = { frames: 0 }
  const { peek, receive, transmit } = port
  port.transmit = frame => {
    if (frame.payloadLength > 0 && random.next() * loses < 1) pool.give(frame)
    else transmit.call(port, frame)
  }
  let run: ReceivedRun | null = null
  // What the NIC has taken from a run, it has taken from where the kernel put it. The next call of the port forgets it.
  const countTaken = () => {
    lent.frames += run?.taken ?? 0
    run = null
  }
  port.peek = () => {
    countTaken()
    return peek.call(port)
  }
  port.receive = () => {
    countTaken()
    const frame = receive.call(port)
    run = port.run
    if (frame !== null && frame.outside !== null) lent.frames++
    return frame
  }
  const nic = new Nic({
    address: HostAddress.parse(address),
    pool,
    random: () => random.u32(),
    lineRateBps: 10e9,
    pathMtu: 4096,
    baseRttNs: 100_000,
    slackNs: 1e6,
    sourcePorts: port.sourcePorts,
    receiveBudgetBytes: port.receiveBudgetBytes,
    gathers: port.gathers,
  })
  const loop = new HostLoop({ node: nic, port, spinNs: 200_000 })
  loop.start()
  const close = async () => {
    loop.close()
    await port.close()
  }
  return { pool, port, nic, loop, lent, close }
}

t.test(
  'hosts with losses: what is gathered, lent and kept arrives exact',
  { skip: fault ?? false },
  async t => {
    // Which packets are lost depends on the machine as well. The number of messages does not, so that there
    // are enough of them.
    const random = new Random(seed)
    const lengths = new Random(1)
    const rocePort = freePort()
    const a = host(A, rocePort, random, 50)
    const b = host(B, rocePort, random, 50)
    const left = new App(a.nic)
    const right = new App(b.nic)
    b.nic.listen(PORT, { accept: () => right })
    a.nic.connect(a.loop.now(), b.nic.address, PORT, left)
    a.loop.wake()
    await until(() => left.log.includes('established'))
    const bytes = pattern(seed, 300_000)
    const here = memoryOf(a.nic, bytes)
    const there = memoryOf(b.nic, Buffer.alloc(bytes.length))
    const back = memoryOf(a.nic, Buffer.alloc(bytes.length))
    for (let id = 0; id < 20; id++) {
      const offset = Math.floor(lengths.next() * 100_000)
      const length = Math.floor(lengths.next() * 200_000)
      const where = { offset, length, remoteAddress: there.address + offset, rkey: there.key }
      left.connection!.postSend(a.loop.now(), { id, opcode: WorkOpcode.RDMA_WRITE, region: here, ...where })
      left.connection!.postSend(a.loop.now(), {
        id: 100 + id,
        opcode: WorkOpcode.RDMA_READ,
        region: back,
        ...where,
      })
      a.loop.wake()
      await until(() => left.closed > 0 || left.log.includes(`completion ${100 + id} SUCCESS`))
      for (const region of [there, back]) {
        const same = region
          .buffer!.subarray(offset, offset + length)
          .equals(bytes.subarray(offset, offset + length))
        t.ok(same, `${length} bytes from ${offset}`)
      }
    }
    t.ok(
      a.lent.frames > 100 && b.lent.frames > 100,
      `${a.lent.frames} and ${b.lent.frames} payloads were lent`,
    )
    t.equal(a.nic.counters.rx.badIcrc + b.nic.counters.rx.badIcrc, 0)
    await Promise.all([a.close(), b.close()])
    t.equal(a.pool.inUse + b.pool.inUse, 0)
  },
)

t.test(
  'memory that an application transfers as packets are about to leave: that connection ends, and no other',
  { skip: fault ?? false },
  async t => {
    const rocePort = freePort()
    const [a, b] = [A, B].map(address => host(address, rocePort, new Random(seed), 1e9)) as [Host, Host]
    const [left, other] = [new App(a.nic), new App(a.nic)]
    b.nic.listen(PORT, { accept: () => new App(b.nic) })
    for (const app of [left, other]) a.nic.connect(a.loop.now(), b.nic.address, PORT, app)
    a.loop.wake()
    await until(() => [left, other].every(({ log }) => log.includes('established')))
    const here = memoryOf(a.nic, pattern(seed, 300_000))
    const there = memoryOf(b.nic, Buffer.alloc(300_000))
    const { transmit, flush } = a.port
    let waiting = 0
    a.port.transmit = frame => {
      if (frame.outside === here.backing) waiting++
      transmit.call(a.port, frame)
    }
    a.port.flush = () => {
      if (waiting > 0 && here.buffer!.length > 0) transfer(here.buffer!)
      flush.call(a.port)
    }
    const to = { remoteAddress: there.address, rkey: there.key }
    const write = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: 300_000, ...to }
    left.connection!.postSend(a.loop.now(), write)
    a.loop.wake()
    await until(() => left.closed === 1)
    t.ok(left.log.includes('completion 1 LOC_PROT_ERR'), left.log.join())
    t.ok(a.port.counters.drops.payloadGone > 0, `${a.port.counters.drops.payloadGone} packets were lost`)
    const dropped = b.nic.counters.rx.badIcrc
    t.ok(
      dropped > 0 && dropped <= a.port.counters.drops.payloadGone,
      `the receiver drops what arrives: ${dropped}`,
    )
    const bytes = pattern(seed + 1, 5000)
    const send = { id: 2, opcode: WorkOpcode.SEND, region: memoryOf(a.nic, bytes), offset: 0, length: 5000 }
    other.connection!.postSend(a.loop.now(), send)
    a.loop.wake()
    await until(() => other.log.includes('completion 2 SUCCESS'))
    await Promise.all([a.close(), b.close()])
    t.equal(a.pool.inUse + b.pool.inUse, 0)
    t.equal(
      there.buffer!.every(byte => byte === 0),
      true,
      'nothing of other memory has arrived',
    )
  },
)

t.test('headers of any length are in the slot', { skip: fault ?? false }, async t => {
  const rocePort = freePort()
  const open = (address: string) => {
    const pool = new FramePool(64, undefined, RECEIVER_ROOM_BYTES)
    return { pool, port: new BatchPort({ pool, address, rocePort, intPort: rocePort + 1 }) }
  }
  const a = open(A)
  const b = open(B)
  // INT-MD has the longest headers.
  for (const hops of [0, 5, 12, 13, 14, 16]) {
    const payload = pattern(seed + hops, 4084)
    const shimBytes = intMd.BYTES + hops * intMd.HOP_BYTES
    const datagram = new Uint8Array(shimBytes + bth.BYTES + payload.length + 4)
    const fields = { source: A, destination: B, sourcePort: 4791, destinationPort: 4792, payload: datagram }
    const frame = udpFrame4(a.pool, fields)
    intMd.write(frame.view, 42, 16, 0)
    frame.view.setUint8(43, (shimBytes - 4) / 4)
    bth.write(
      frame.view,
      42 + shimBytes,
      new bth.Bth({ opcode: Opcode.RC_RDMA_WRITE_MIDDLE, migrated: false, destQpn: 7, psn: hops }),
    )
    frame.bytes.set(payload, 42 + shimBytes + bth.BYTES)
    a.port.transmit(frame)
    a.port.flush()
    const got = await nextFrame(b.port)
    t.equal(parseFrame(got), 0, `${hops} hops`)
    t.equal(bth.psn(got.view, got.bth), hops)
    t.ok(Buffer.from(got.payloadBytes()).equals(payload))
    t.equal(got.outside !== null, shimBytes + bth.BYTES <= 448, 'lent, or copied whole')
    b.pool.give(got)
  }
  await Promise.all([a.port.close(), b.port.close()])
})

/** Payloads that the batch port sends from where they lie. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { BatchPort } from '../../lib/io/batch-port.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { BatchSender } from '../../lib/io/linux/batch-sender.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { PortCounters } from '../../lib/io/port.js'
import { Random } from '../../lib/sim/random.js'
import { randomPort, udpFrame4, until } from './helpers.js'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32))
t.comment(`SEED=${seed}`)

const A = '127.0.0.1'
const B = '127.0.0.2'
const fault = libcFault()

/** A frame to the INT port, with `head` and `tail` bytes around the payload, which lies outside. */
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
      const rocePort = randomPort()
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
        if (random.next() < 0.03) flush()
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
    // The application is done with it, and uses it for something else.
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

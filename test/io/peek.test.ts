/** Frames that stay where the kernel has put them: `Port.peek` and `skip` of the batch port, beside `receive` and looks in between. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { Random } from '../../lib/sim/random.js'
import { loopbackAddress } from '../support/loopback.js'
import { drawnSeed } from '../support/seeds.js'
import { freePort, udpFrame4 } from './helpers.js'

const skip = libcFault() ?? false
const seed = drawnSeed(t)
const HEADERS = 42
const DATAGRAMS = 3000

function open(address: string, rocePort: number) {
  const pool = new FramePool(512, undefined, RECEIVER_ROOM_BYTES)
  return { pool, port: new BatchPort({ pool, address, rocePort, intPort: rocePort + 1 }) }
}

/** All of a frame that its receiver goes by, with its time of arrival known or not. */
function seen(frame: Frame): string {
  frame.bringIn()
  return `${frame.arrivedNs > 0} ${frame.bytes.toString('hex', 0, frame.length)}`
}

t.test('peek shows what receive returns, and skip passes it by', { skip }, async t => {
  const [addressA, addressB] = [loopbackAddress(), loopbackAddress()]
  const rocePort = freePort()
  const [a, b] = [open(addressA, rocePort), open(addressB, rocePort)]
  const random = new Random(seed)
  const payloads: string[] = []
  const got: string[] = []
  const ways = { peeked: 0, received: 0, both: 0 }
  let bytes = 100
  const send = (n: number) => {
    if (random.next() < 0.3) bytes = 8 + random.below(random.next() < 0.2 ? 4700 : 300)
    const payload = new Uint8Array(bytes).fill(n)
    new DataView(payload.buffer).setUint32(0, n)
    const destinationPort = random.next() < 0.1 ? 4791 : 4792
    const fields = { source: addressA, destination: addressB, sourcePort: 4791, destinationPort, payload }
    const frame = udpFrame4(a.pool, fields)
    frame.view.setUint8(15, random.next() < 0.1 ? 3 : 2)
    payloads.push(frame.bytes.toString('hex', HEADERS, frame.length))
    a.port.transmit(frame)
    if (random.next() < 0.8) a.port.flush()
  }
  const take = () => {
    const placed = random.next() < 0.7 ? b.port.peek() : null
    const shown = placed === null ? null : seen(placed)
    if (placed !== null && random.next() < 0.5) {
      ways.peeked++
      got.push(placed.bytes.toString('hex', HEADERS, placed.length))
      b.port.skip()
      return true
    }
    const frame = b.port.receive()
    if (frame === null) return false
    const own = seen(frame)
    if (shown !== null) t.equal(own, shown)
    if (shown === null) ways.received++
    else ways.both++
    got.push(frame.bytes.toString('hex', HEADERS, frame.length))
    b.pool.give(frame)
    return true
  }
  for (let n = 0; n < DATAGRAMS; n++) {
    send(n)
    if (n % 20 === 0) a.port.flush()
    // Some looks find nothing, and then the next one reads a single datagram.
    for (let looks = random.below(3); looks > 0; looks--) b.port.waiter.look()
    while (random.next() < 0.6 && take()) {
      // goes on
    }
  }
  a.port.flush()
  for (let turns = 0; turns < 200; turns++) {
    b.port.waiter.look()
    while (take()) {
      // goes on
    }
  }
  // The two sockets are read in turn, so only each one's own datagrams are in order.
  t.same([...got].sort(), [...payloads].sort())
  t.ok(ways.peeked > 100 && ways.received > 100 && ways.both > 100, JSON.stringify(ways))
  t.equal(b.port.counters.rxFrames, DATAGRAMS)
  t.equal(b.port.counters.dropped, 0)
  for (const { port, pool } of [a, b]) {
    await port.close()
    t.equal(pool.inUse, 0)
  }
})

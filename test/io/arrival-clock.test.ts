/** Times of arrival: the kernel's stamps on the loop's clock, also when the time of day is set meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { UNKNOWN_ARRIVAL } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { monotonicNs } from '../../lib/io/clock.js'
import { ArrivalClock } from '../../lib/io/linux/arrival-clock.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { loopbackAddress } from '../support/loopback.js'
import { freePort, nextFrame, udpFrame4 } from './helpers.js'

/** Stamps and both clocks, on hand: `offsetNs` is the time of day when the loop's clock is 0. */
function made(offsetNs: bigint) {
  const clock = { offsetNs, nowNs: 0, seconds: 0, nanoseconds: 0, reads: 0 }
  const stamp = (atNs: number): [number, number] => {
    const wall = clock.offsetNs + BigInt(atNs)
    return [Number(wall / 1_000_000_000n), Number(wall % 1_000_000_000n)]
  }
  const wall = {
    seconds: 0,
    nanoseconds: 0,
    read: () => {
      clock.reads++
      ;[wall.seconds, wall.nanoseconds] = stamp(clock.nowNs)
    },
  }
  return { clock, stamp, arrivals: new ArrivalClock(wall, () => clock.nowNs) }
}

const EPOCH = 1_790_000_000_987_654_321n

t.test('a stamp is the time of the loop at which the packet came', async t => {
  const { clock, stamp, arrivals } = made(EPOCH)
  for (const atNs of [5e9, 5e9 + 1, 5_999_999_999, 6e9, 9.5e9]) {
    clock.nowNs = atNs + 40_000
    t.equal(arrivals.arrivedNs(...stamp(atNs)), atNs)
  }
  t.equal(clock.reads, 1, 'the clocks are not read for each packet')
  for (let i = 0; i < 1000; i++) arrivals.arrivedNs(...stamp(10e9 + i))
  t.equal(clock.reads, 4, 'but from time to time')
})

t.test('packets of two queues come in turn, a little out of order', async t => {
  const { clock, stamp, arrivals } = made(EPOCH)
  clock.nowNs = 7e9
  for (const atNs of [6.99e9, 6.95e9, 6.98e9, 6.96e9]) t.equal(arrivals.arrivedNs(...stamp(atNs)), atNs)
  t.equal(clock.reads, 1)
})

t.test('the time of day is set back: later arrivals are right at once', async t => {
  const { clock, stamp, arrivals } = made(EPOCH)
  clock.nowNs = 5e9
  t.equal(arrivals.arrivedNs(...stamp(5e9)), 5e9)
  clock.offsetNs -= 3_600_000_000_000n
  clock.nowNs = 6e9
  t.equal(arrivals.arrivedNs(...stamp(6e9 - 10)), 6e9 - 10)
})

t.test('a stamp from before the time of day was set forward is no time', async t => {
  const { clock, stamp, arrivals } = made(EPOCH)
  const old = stamp(20e9)
  clock.offsetNs += 3_600_000_000_000n
  clock.nowNs = 20.1e9
  t.equal(arrivals.arrivedNs(...old), UNKNOWN_ARRIVAL)
  t.equal(arrivals.arrivedNs(0, 0), UNKNOWN_ARRIVAL, 'no stamp at all')
})

t.test(
  'a batch port says when the kernel received a datagram, however late it is read',
  { skip: libcFault() ?? false },
  async t => {
    const [address, to] = [loopbackAddress(), loopbackAddress()]
    const rocePort = freePort()
    const open = (address: string) => {
      const pool = new FramePool(64, undefined, RECEIVER_ROOM_BYTES)
      return { pool, port: new BatchPort({ pool, address, rocePort, intPort: rocePort + 1 }) }
    }
    const [a, b] = [open(address), open(to)]
    for (let i = 0; i < 3; i++) {
      const payload = new Uint8Array(64).fill(i)
      const before = monotonicNs()
      a.port.transmit(
        udpFrame4(a.pool, {
          source: address,
          destination: to,
          sourcePort: 4791,
          destinationPort: 4791,
          payload,
        }),
      )
      a.port.flush()
      // Loopback delivers within the call.
      const after = monotonicNs()
      await sleep(20)
      const frame = await nextFrame(b.port)
      // The two clocks are read one after the other.
      const slack = 1e6
      const { arrivedNs } = frame
      t.ok(arrivedNs > before - slack && arrivedNs < after + slack, `${before} <= ${arrivedNs} <= ${after}`)
      b.pool.give(frame)
    }
    await Promise.all([a.port.close(), b.port.close()])
  },
)

/** What a host takes in: its rate, its queue, and which part of the kernel's memory is payload. */

import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { KernelQueue } from '../../lib/io/linux/kernel-queue.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { Intake } from '../../lib/io/loop/intake.js'
import { StandingQueue } from '../../lib/io/loop/standing-queue.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { loopbackAddress } from '../support/loopback.js'
import { freePort, udpFrame4, until } from './helpers.js'

const LINE_BPS = 40e9
const BUDGET = 1e6

/** A round of `ns` in which so many bytes are taken, and after which so many wait. */
function round(intake: Intake, at: number, ns: number, bytes: number, waiting = 0): number {
  intake.begin(at)
  intake.took(bytes, waiting)
  if (intake.wantsEnd) intake.end(at + ns)
  return at + ns
}

t.test('the rate is bytes by the time for which rounds were busy, not by all time', async t => {
  const intake = new Intake(LINE_BPS, BUDGET)
  t.equal(intake.rateBps, LINE_BPS, 'until it is known')
  let now = 1000
  // 10,000 bytes in 8 us are 10 Gbit/s, regardless of idle times in between.
  for (let n = 0; n < 50; n++) now = round(intake, now, 8000, 10_000) + 1e6
  t.equal(intake.rateBps, 10e9)
  t.equal(intake.takenBytes, 490_000, 'what was taken before the last round began')
})

t.test('while packets wait, what else the thread does counts', async t => {
  const intake = new Intake(LINE_BPS, BUDGET)
  let now = 1000
  // The round takes 8 us, the next one begins 80 us after it: 1 Gbit/s.
  for (let n = 0; n < 50; n++) {
    round(intake, now, 8000, 10_000, 5000)
    now += 80_000
  }
  t.equal(intake.rateBps, 1e9)
})

t.test(
  'of slower and faster times the fastest of the last 100 to 200 ms counts, and never more than the line',
  async t => {
    const intake = new Intake(LINE_BPS, BUDGET)
    let now = 1000
    for (let n = 0; n < 20; n++) now = round(intake, now, 8000, 10_000)
    for (let n = 0; n < 20; n++) now = round(intake, now, 80_000, 10_000)
    t.equal(intake.rateBps, 10e9, 'not yet forgotten')
    for (let n = 0; n < 5000; n++) now = round(intake, now, 80_000, 10_000)
    t.equal(intake.rateBps, 1e9)
    for (let n = 0; n < 20; n++) now = round(intake, now, 1, 10_000)
    t.equal(intake.rateBps, LINE_BPS)
  },
)

t.test('bytes between two stamps are never more than the rate allows', async t => {
  const intake = new Intake(LINE_BPS, BUDGET)
  let now = 1000
  for (let n = 0; n < 100; n++) now = round(intake, now, 80_000, 100_000)
  const { stampNs, takenBytes } = intake
  // A small round and a large one at once after it. As in a hop's record, what the large one takes does not
  // count as sent yet.
  now = round(intake, now, 8000, 10_000)
  now = round(intake, now, 800_000, 1_000_000)
  const possible = ((intake.stampNs - stampNs) * intake.rateBps) / 8e9
  t.ok(intake.takenBytes - takenBytes <= possible, `${intake.takenBytes - takenBytes} of ${possible}`)
})

t.test('a queue counts that stays, or that is about to overflow', async t => {
  const queue = new StandingQueue(1_000_000)
  let now = 0
  const sample = (bytes: number) => {
    now += 300_000
    return queue.sample(now, bytes)
  }
  for (let n = 0; n < 8; n++) t.equal(sample(0), 0)
  for (const bytes of [900_000, 600_000, 300_000]) t.equal(sample(bytes), 0, 'a burst')
  for (let n = 0; n < 8; n++) sample(0)
  for (let n = 0; n < 12; n++) sample(50_000 + n)
  t.ok(sample(70_000) >= 50_000, 'it does not go')
  t.ok(sample(70_000) <= 60_000, 'its least counts')
  t.equal(sample(1_200_000), 1_200_000, 'too near to the end')
  // A process that did not run for a second finds a queue, which says nothing about the standing queue.
  for (let n = 0; n < 12; n++) sample(0)
  now += 1e9
  t.equal(sample(800_000), 0)
  t.equal(sample(400_000), 0)
})

t.test(
  'on a slow line a packet that comes alone is no queue, and packets that come together are',
  async t => {
    // At 40 Mbit/s 250 us are 1,250 bytes.
    const intake = new Intake(40e6, BUDGET)
    let now = 1000
    for (let n = 0; n < 100; n++) now = round(intake, now, 50_000, 4308) + 861_600
    t.equal(intake.rateBps, 40e6)
    t.equal(intake.queueByteNs, 0)
    for (let n = 0; n < 100; n++) now = round(intake, now, 50_000, 3 * 4308) + 3 * 861_600
    t.ok(intake.queueByteNs > 0)
  },
)

t.test("the kernel's charge is converted to payload, less what has been read of it", async t => {
  // As seen on Linux 6.18: 40 runs of 63,000 bytes are charged with 2,553,280, until the last one has been read.
  const runs = new KernelQueue(16 << 20)
  for (let read = 1; read < 40; read++) {
    runs.onRead(63_000, 4200)
    const left = (40 - read) * 63_000
    const told = runs.sample(2_553_280)
    if (Math.abs(told - left) > 0.02 * 40 * 63_000) t.fail(`${told} of ${left} after ${read}`)
  }
  // 100 datagrams of 4,200 bytes: 844,800.
  const single = new KernelQueue(16 << 20)
  for (let read = 1; read < 100; read++) {
    single.onRead(4200, 4200)
    const left = (100 - read) * 4200
    const told = single.sample(844_800)
    if (Math.abs(told - left) > 0.02 * 420_000) t.fail(`${told} of ${left} after ${read}`)
  }
  // All of it has been read and given back, and as much has come meanwhile.
  single.onRead(4200, 4200)
  t.equal(Math.round(single.sample(844_800) / 4200), 100)
  single.onEmpty()
  t.equal(single.sample(0), 0)
})

t.test('a port tells what waits in its socket, of whatever size', { skip: libcFault() ?? false }, async t => {
  const rocePort = freePort()
  const open = (address: string) => {
    const pool = new FramePool(256, undefined, RECEIVER_ROOM_BYTES)
    return { pool, port: new BatchPort({ pool, address, rocePort, intPort: rocePort + 1 }) }
  }
  const [A, B] = [loopbackAddress(), loopbackAddress()]
  const a = open(A)
  const b = open(B)
  t.equal(b.port.waitingBytes(), 0)
  // Joined, and one by one, within the buffer that a user's socket has without privileges.
  for (const [destinationPort, bytes] of [
    [4792, 4200],
    [4791, 4200],
    [4791, 1100],
    [4791, 3],
  ] as const) {
    const fields = { source: A, destination: B, sourcePort: 4791, destinationPort }
    for (let n = 0; n < 36; n++) {
      a.port.transmit(udpFrame4(a.pool, { ...fields, payload: new Uint8Array(bytes) }))
    }
    a.port.flush()
    await until(() => a.port.counters.txFrames % 36 === 0)
    let left = 36
    for (;;) {
      const frame = b.port.receive()
      if (frame === null) break
      b.pool.give(frame)
      left--
      const told = b.port.waitingBytes()
      const most = left * (bytes + 42)
      // The error is at most a tenth.
      if (Math.abs(told - left * bytes) > 3.6 * (bytes + 42))
        t.fail(`${told} of ${most}, ${bytes} each, ${left} left`)
    }
    t.equal(left, 0)
    t.equal(b.port.waitingBytes(), 0)
  }
  await Promise.all([a.port.close(), b.port.close()])
})

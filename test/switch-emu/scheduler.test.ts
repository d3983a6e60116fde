import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { EgressQueue } from '../../switch-emu/core/queueing/egress-queue.js'
import { QUANTUM_BYTES, QueueScheduler } from '../../switch-emu/core/queueing/queue-scheduler.js'
import { seeded } from './helpers.js'

/** Eight queues that can be filled, and a scheduler that serves them. */
class Bench {
  readonly pool = new FramePool(1 << 14, 256)
  readonly queues = Array.from({ length: 8 }, () => new EgressQueue(1e12, 1 << 14))
  readonly sentBytes = new Array<number>(8).fill(0)
  readonly scheduler: QueueScheduler

  constructor(weights?: number[]) {
    this.scheduler = new QueueScheduler(weights)
  }

  fill(priority: number, bytes: number): void {
    const frame = this.pool.take()!
    frame.wireLength = bytes
    this.queues[priority]!.push(frame)
  }

  /** Sends one frame; returns its priority, or -1 when there is none. */
  send(): number {
    let waiting = 0
    for (let p = 0; p < 8; p++) if (this.queues[p]!.count > 0) waiting |= 1 << p
    if (waiting === 0) return -1
    const priority = this.scheduler.pick(waiting, this.queues)
    const queue = this.queues[priority]!
    const frame = queue.shift()
    this.sentBytes[priority]! += frame.wireLength
    this.scheduler.onSent(priority, frame.wireLength, queue.count === 0)
    this.pool.give(frame)
    return priority
  }
}

t.test('strict priority: the highest number first, in order within it', async t => {
  const bench = new Bench()
  for (const p of [0, 3, 7, 3, 5, 0, 7]) bench.fill(p, 100)
  t.same(
    Array.from({ length: 8 }, () => bench.send()),
    [7, 7, 5, 3, 3, 0, 0, -1],
  )
})

t.test('DWRR shares bytes by weight, whatever the sizes of frames', async t => {
  const random = seeded(t, 5)
  const weights = [1, 2, 0, 4, 0, 0, 3, 0]
  const sizes = [4150, 70, 0, 1500, 0, 0, 9000, 0]
  const bench = new Bench(weights)
  const rounds = 200
  const total = rounds * QUANTUM_BYTES * 10
  let sent = 0
  while (sent < total) {
    for (const p of [0, 1, 3, 6]) {
      while (bench.queues[p]!.bytes < 20_000) bench.fill(p, 60 + random.below(sizes[p]!))
    }
    bench.send()
    sent = bench.sentBytes.reduce((a, b) => a + b)
  }
  // Between two backlogged queues DRR is fair to within a quantum of each and a frame (Shreedhar and
  // Varghese, theorem 2).
  for (const p of [0, 1, 3, 6]) {
    const share = (total * weights[p]!) / 10
    const bound = weights[p]! * QUANTUM_BYTES + 9060
    t.ok(Math.abs(bench.sentBytes[p]! - share) <= bound, `priority ${p}: ${bench.sentBytes[p]} of ${share}`)
  }
})

t.test('rounds are short: weights 30 and 70 take turns of a jumbo frame and its 7/3', async t => {
  const bench = new Bench([0, 0, 0, 30, 0, 70, 0, 0])
  for (let i = 0; i < 300; i++) for (const p of [3, 5]) bench.fill(p, 1000)
  let turn = 0
  let last = -1
  let longest = 0
  // While both have frames to send.
  for (let i = 0; i < 300; i++) {
    const p = bench.send()
    turn = p === last ? turn + 1000 : 1000
    last = p
    longest = Math.max(longest, turn)
  }
  t.ok(longest <= (QUANTUM_BYTES * 7) / 3 + 1000, `${longest} bytes`)
  t.ok(Math.abs(bench.sentBytes[5]! / bench.sentBytes[3]! - 7 / 3) < 0.2, bench.sentBytes.join(' '))
})

t.test('strict queues go before weighted ones, and an idle queue saves nothing up', async t => {
  const bench = new Bench([1, 1, 0, 0, 0, 0, 0, 0])
  for (let i = 0; i < 500; i++) bench.fill(0, 1000)
  for (let i = 0; i < 300; i++) bench.send()
  bench.fill(2, 1000)
  t.equal(bench.send(), 2)
  // Priority 1 was idle for 300 frames. It still gets only its half.
  for (let i = 0; i < 200; i++) bench.fill(1, 1000)
  bench.sentBytes.fill(0)
  for (let i = 0; i < 90; i++) bench.send()
  t.ok(Math.abs(bench.sentBytes[0]! - bench.sentBytes[1]!) <= 2 * QUANTUM_BYTES, bench.sentBytes.join(' '))
})

t.test('what a queue leaves unused when it empties is lost', async t => {
  const bench = new Bench([1, 1, 0, 0, 0, 0, 0, 0])
  for (let i = 0; i < 2000; i++) bench.fill(0, 1000)
  // Priority 1 has one small frame at a time, for a hundred rounds.
  for (let i = 0; i < 1000; i++) {
    if (bench.queues[1]!.count === 0) bench.fill(1, 100)
    bench.send()
  }
  for (let i = 0; i < 500; i++) bench.fill(1, 1000)
  bench.sentBytes.fill(0)
  for (let i = 0; i < 200; i++) bench.send()
  t.ok(Math.abs(bench.sentBytes[0]! - bench.sentBytes[1]!) <= 2 * QUANTUM_BYTES, bench.sentBytes.join(' '))
})

t.test('a frame greater than the quantum is sent in the end', async t => {
  const bench = new Bench([1, 1, 1, 1, 1, 1, 1, 1])
  bench.fill(2, 65_000)
  t.equal(bench.send(), 2)
  t.equal(bench.send(), -1)
})

t.test('a priority that may not send is left out', async t => {
  const bench = new Bench()
  bench.fill(6, 100)
  bench.fill(1, 100)
  t.equal(bench.scheduler.pick(1 << 1, bench.queues), 1)
})

t.test('weights are checked', async t => {
  for (const weights of [
    [1],
    [0, 0, 0, 0, 0, 0, 0, 101],
    [0, 0, 0, 0, 0, 0, 0, -1],
    [0.5, 0, 0, 0, 0, 0, 0, 0],
  ]) {
    t.throws(() => new QueueScheduler(weights), { code: 'WEIR_BAD_ARGUMENT' })
  }
})

t.test('a port that asks although none of its queues may send is a defect, and no endless loop', async t => {
  for (const weights of [undefined, [1, 1, 1, 1, 1, 1, 1, 1]]) {
    const bench = new Bench(weights)
    bench.fill(6, 100)
    t.throws(() => bench.scheduler.pick(0, bench.queues), { code: 'WEIR_INTERNAL' })
    t.equal(bench.send(), 6)
  }
})

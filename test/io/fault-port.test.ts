import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { type Port, PortCounters } from '../../lib/io/port.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'
import { FaultPort, type PortFaults } from './fault-port.js'

const SEED = fixedSeed(t, 5)

/** A port that records what is sent. */
class NotingPort implements Port {
  readonly mtu = 1500
  readonly sourcePorts = [7]
  readonly receiveBudgetBytes = 9
  readonly gathers = true
  readonly sendsRuns = false
  readonly takesRuns = false
  readonly seesMarks = true
  readonly seesHops = true
  readonly seesIds = true
  readonly choosesIds = true
  readonly counters = new PortCounters()
  readonly waiter = null
  readonly sent: number[] = []
  readonly #pool: FramePool
  constructor(pool: FramePool) {
    this.#pool = pool
  }
  waitingBytes(): number {
    return 5
  }
  receive(): Frame | null {
    return null
  }
  canTransmit(): boolean {
    return true
  }
  transmit(frame: Frame): void {
    this.sent.push(frame.view.getUint32(0))
    this.#pool.give(frame)
  }
  flush(): void {}
  onReadable(): void {}
  onWritable(): void {}
  async close(): Promise<void> {}
}

/** Sends frames numbered 0 to n - 1 through the faults. */
function send(n: number, faults: PortFaults, seed = SEED) {
  const pool = new FramePool(8)
  const inner = new NotingPort(pool)
  const random = new Random(seed)
  const port = new FaultPort(inner, pool, faults, () => random.next())
  for (let i = 0; i < n; i++) {
    const frame = pool.take()!
    frame.length = 64
    frame.wireLength = 64
    frame.view.setUint32(0, i)
    port.transmit(frame)
  }
  return { pool, inner, port }
}

t.test('without faults it is the port itself', t => {
  const { inner, port, pool } = send(10, {})
  t.same(
    inner.sent,
    Array.from({ length: 10 }, (_, i) => i),
  )
  t.equal(port.mtu, 1500)
  t.same(port.sourcePorts, [7])
  t.equal(port.waitingBytes(), 5)
  t.equal(port.receiveBudgetBytes, 9)
  t.equal(pool.inUse, 0)
  t.end()
})

const COUNT = 4000

/** Sends COUNT frames by a seed through each fault, and checks that none is invented. Returns how often each happened. */
function faultsOf(t: Test, seed: number) {
  const lossy = send(COUNT, { loss: 0.1 }, seed)
  const lost = lossy.port.lost
  t.equal(lossy.inner.sent.length + lost, COUNT)

  const doubled = send(COUNT, { duplication: 0.1 }, seed)
  t.equal(new Set(doubled.inner.sent).size, COUNT)

  const swapped = send(COUNT, { reorder: 0.1 }, seed)
  swapped.port.receive()
  const { sent } = swapped.inner
  t.equal(new Set(sent).size, COUNT)
  t.equal(sent.length, COUNT)
  t.ok(
    sent.every((id, i) => Math.abs(id - i) <= 1),
    'by one place',
  )
  for (const { pool } of [lossy, doubled, swapped]) t.equal(pool.inUse, 0)
  const late = sent.filter((id, i) => i > 0 && id < sent[i - 1]!).length
  return { lost, doubled: doubled.inner.sent.length - COUNT, late }
}

t.test('each frame is lost, doubled or swapped as often as asked, and none is invented', async t => {
  const { lost, doubled, late } = faultsOf(t, SEED)
  faultsOf(t, drawnSeed(t))
  if (isReplay) return
  t.ok(Math.abs(lost / COUNT - 0.1) < 0.02, `${lost} lost`)
  t.ok(Math.abs(doubled / COUNT - 0.1) < 0.02, `${doubled} doubled`)
  t.ok(late > 0.05 * COUNT && late < 0.13 * COUNT, `${late} swapped`)
})

t.test('a frame that nothing follows leaves at the end of the round, or is given back by close', async t => {
  const { inner, port, pool } = send(1, { reorder: 1 })
  t.same(inner.sent, [])
  t.equal(port.receive(), null)
  t.same(inner.sent, [0])
  const again = send(1, { reorder: 1 })
  await again.port.close()
  t.same(again.inner.sent, [])
  t.equal(again.pool.inUse, 0)
  t.equal(pool.inUse, 0)
})

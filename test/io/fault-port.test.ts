import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { FaultPort, type PortFaults } from '../../lib/io/fault-port.js'
import { type Port, PortCounters } from '../../lib/io/port.js'
import { Random } from '../../lib/sim/random.js'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32))

/** A port that notes what is sent. */
class NotingPort implements Port {
  readonly mtu = 1500
  readonly sourcePorts = [7]
  readonly receiveBudgetBytes = 9
  readonly gathers = true
  readonly takesRuns = false
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
function send(n: number, faults: PortFaults) {
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

t.comment(`SEED=${seed}`)

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

t.test('each frame is lost, doubled or swapped as often as asked, and none is invented', t => {
  const n = 4000
  const lossy = send(n, { loss: 0.1 })
  t.equal(lossy.inner.sent.length + lossy.inner.counters.drops.fault, n)
  // Five standard deviations of a binomial distribution.
  t.ok(Math.abs(lossy.inner.counters.drops.fault - 0.1 * n) < 5 * Math.sqrt(n * 0.09))

  const doubled = send(n, { duplication: 0.1 })
  t.equal(new Set(doubled.inner.sent).size, n)
  t.ok(Math.abs(doubled.inner.sent.length - 1.1 * n) < 5 * Math.sqrt(n * 0.09))

  const swapped = send(n, { reorder: 0.1 })
  swapped.port.receive()
  t.equal(new Set(swapped.inner.sent).size, n)
  t.equal(swapped.inner.sent.length, n)
  const late = swapped.inner.sent.filter((id, i) => i > 0 && id < swapped.inner.sent[i - 1]!).length
  t.ok(late > 0.05 * n && late < 0.13 * n, `${late} swapped`)
  t.ok(
    swapped.inner.sent.every((id, i) => Math.abs(id - i) <= 1),
    'by one place',
  )
  for (const { pool } of [lossy, doubled, swapped]) t.equal(pool.inUse, 0)
  t.end()
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

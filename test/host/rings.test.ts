/**
 * The queues between two threads: every record once, in order and complete, however the threads are
 * scheduled.
 */
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import { CompletionRing } from '../../lib/host/completion-ring.js'
import { BELLS_MAX, Doorbell } from '../../lib/host/doorbell.js'
import { DoorbellWaiter } from '../../lib/host/doorbell-waiter.js'
import { pollFlushed } from '../../lib/host/hosted-work.js'
import { Queues } from '../../lib/host/queues.js'
import { SharedRing } from '../../lib/host/shared-ring.js'
import { WorkRing } from '../../lib/host/work-ring.js'
import { Completion, type SendWork, WorkOpcode, WorkStatus } from '../../lib/index.js'
import { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { drawnSeed } from '../support/seeds.js'

const U32 = fc.integer({ min: 0, max: 0xffffffff })
const U53 = fc.maxSafeNat()
const U64 = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn })

t.test('a work request crosses as it is', async t => {
  const region = new MemoryRegion(0xfffffff1, 4096, 100, null, 0)
  const ring = WorkRing.make(2)
  const into = { id: 0, opcode: WorkOpcode.SEND, region, offset: 0, length: 0 } as SendWork
  const regionOf = (key: number) => new MemoryRegion(key, 0, 0, null, 0)
  const record = fc.record({
    id: fc.double({ noNaN: true }),
    opcode: fc.constantFrom(...Object.values(WorkOpcode)),
    offset: U53,
    length: fc.integer({ min: 0, max: 2 ** 31 }),
    remoteAddress: U53,
    rkey: U32,
    immediate: U32,
    invalidateKey: U32,
    compareOrAdd: U64,
    swap: U64,
    signaled: fc.boolean(),
    fence: fc.boolean(),
  })
  fc.assert(
    fc.property(record, work => {
      t.ok(ring.pushSend({ ...work, region } as SendWork))
      ring.peekSend(into, regionOf)
      ring.ring.release()
      const { immediate, invalidateKey, compareOrAdd, swap, remoteAddress, rkey, ...same } = work
      for (const [name, value] of Object.entries(same)) {
        if (!Object.is(into[name as keyof SendWork], value)) return false
      }
      const { opcode } = work
      // What an opcode has no use for is left behind.
      const isRemote = opcode >= WorkOpcode.RDMA_WRITE
      if (isRemote && (into.remoteAddress !== remoteAddress || into.rkey !== rkey)) return false
      const isAtomic = opcode >= WorkOpcode.COMPARE_AND_SWAP
      if (isAtomic && into.compareOrAdd !== compareOrAdd) return false
      if (opcode === WorkOpcode.COMPARE_AND_SWAP && into.swap !== swap) return false
      if (opcode === WorkOpcode.SEND_WITH_INV && into.invalidateKey !== invalidateKey) return false
      const hasImmediate = opcode === WorkOpcode.SEND_WITH_IMM || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM
      if (hasImmediate && into.immediate !== immediate) return false
      return into.region.key === region.key
    }),
    { numRuns: 300, seed: drawnSeed(t) },
  )
})

t.test('a ring takes its depth, and gives back in order', async t => {
  for (const depth of [0, 1, 3, 100, 2 ** 17, 1.5]) {
    t.throws(() => SharedRing.make(depth, 8), { code: 'WEIR_BAD_ARGUMENT' }, `depth ${depth}`)
  }
  const ring = CompletionRing.make(8)
  const completion = new Completion()
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 200 }), steps => {
      let [pushed, polled] = [0, 0]
      while (ring.poll(completion)) polled++
      polled = 0
      for (const push of steps) {
        if (push && !ring.ring.isFull) {
          completion.id = pushed++
          completion.immediate = 0xffffffff - completion.id
          completion.hasImmediate = completion.id % 2 === 1
          completion.isReceive = completion.id % 3 === 1
          completion.status = WorkStatus.WR_FLUSH_ERR
          ring.push(completion)
        } else if (!push && ring.poll(completion)) {
          if (completion.id !== polled || completion.immediate !== 0xffffffff - polled) return false
          if (completion.hasImmediate !== (polled % 2 === 1)) return false
          if (completion.isReceive !== (polled % 3 === 1)) return false
          polled++
        }
        if (ring.ring.pending !== pushed - polled || pushed - polled > 8) return false
      }
      return true
    }),
    { seed: drawnSeed(t) },
  )
  t.pass('pushed and polled')
})

t.test('two threads: 20,000 records, each once and whole', async t => {
  const ring = SharedRing.make(64, 8)
  const program = `
    import { workerData } from 'node:worker_threads'
    import { SharedRing } from '${new URL('../../lib/host/shared-ring.js', import.meta.url)}'
    const ring = new SharedRing(workerData.memory, 8)
    const words = new Uint32Array(workerData.memory, ring.recordsAt)
    const idle = new Int32Array(new SharedArrayBuffer(4))
    for (let n = 0; n < workerData.records; ) {
      // If there are fewer cores than running threads, the other thread gets its turn.
      if (ring.isFull) Atomics.wait(idle, 0, 0, 0.1)
      if (ring.isFull) continue
      words[2 * ring.producing] = n
      words[2 * ring.producing + 1] = ~n
      ring.publish()
      n++
    }`
  const records = 20_000
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
    workerData: { memory: ring.memory, records },
  })
  const ended = new Promise(resolve => worker.once('exit', resolve))
  const words = new Uint32Array(ring.memory, ring.recordsAt)
  let n = 0
  let wrong = 0
  while (n < records) {
    for (; ring.pending > 0; n++) {
      const at = 2 * ring.consuming
      if (words[at] !== n || words[at + 1] !== ~n >>> 0) wrong++
      ring.release()
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  t.equal(wrong, 0)
  t.equal(ring.pending, 0)
  t.equal(await ended, 0)
})

t.test('counters go on past 2^32', async t => {
  const ring = WorkRing.make(4)
  const counters = new Int32Array(ring.ring.memory, 0, 32)
  counters.fill(-2)
  const region = new MemoryRegion(7, 0, 10, null, 0)
  for (let id = 0; id < 4; id++) t.ok(ring.pushReceive({ id, region, offset: 0, length: 1 }))
  t.notOk(ring.pushReceive({ id: 4, region, offset: 0, length: 1 }), 'full')
  for (let id = 0; id < 4; id++) {
    t.equal(ring.peekId(), id)
    ring.ring.release()
  }
  t.equal(ring.ring.pending, 0)
})

t.test('the doorbell tells who has rung, and when to knock', async t => {
  const [app, nic] = ((bell: Doorbell) => [bell, new Doorbell(bell.memory)])(new Doorbell())
  const heard: number[] = []
  const take = () => {
    heard.length = 0
    nic.take(number => heard.push(number))
    return heard.toSorted((x, y) => x - y)
  }
  t.same(take(), [])
  for (const number of [0, 31, 32, 63, 500, BELLS_MAX - 1, 31]) t.notOk(app.ring(number), 'it is awake')
  t.ok(nic.isRung)
  t.same(take(), [0, 31, 32, 63, 500, BELLS_MAX - 1])
  t.notOk(nic.isRung)
  nic.sleep()
  t.ok(app.ring(5), 'asleep: a message must wake it')
  t.notOk(app.ring(6), 'one is enough')
  nic.awake()
  t.same(take(), [5, 6])
})

t.test('what a closed connection has not taken is flushed, receives first', async t => {
  const queues = Queues.make(4)
  const region = new MemoryRegion(7, 0, 10, null, 0)
  const work = { region, offset: 0, length: 1 }
  queues.sends.pushSend({
    ...work,
    id: 1,
    opcode: WorkOpcode.RDMA_READ,
    remoteAddress: 0,
    rkey: 1,
    signaled: false,
  })
  queues.receives.pushReceive({ ...work, id: 2 })
  const completion = new Completion()
  const seen: object[] = []
  while (pollFlushed(queues, 99, completion)) {
    const { id, status, opcode, isReceive, qpn } = completion
    seen.push({ id, status, opcode, isReceive, qpn })
  }
  const status = WorkStatus.WR_FLUSH_ERR
  t.same(seen, [
    { id: 2, status, opcode: 128, isReceive: true, qpn: 99 },
    { id: 1, status, opcode: WorkOpcode.RDMA_READ, isReceive: false, qpn: 99 },
  ])
})

t.test('work that is posted waits for a short nap at most, as the port does not see the bell', async t => {
  const asked: number[] = []
  const port = {
    look: () => false,
    wait: (ns: number) => {
      asked.push(ns)
      return false
    },
    arm: () => {},
    close: async () => {},
  }
  const waiter = new DoorbellWaiter(new Doorbell(), port)
  waiter.wait(350_000)
  waiter.wait(0)
  t.same(asked, [30_000, 0])
})

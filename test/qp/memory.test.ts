import t from 'tap'
import { Access, DEFAULT_DOMAIN, MemoryTable } from '../../lib/qp/memory/memory.js'
import { WriteGate } from '../../lib/qp/memory/write-gate.js'

function counter(first: number): () => number {
  let next = first
  return () => next++
}

t.test('keys are never 0, never taken twice, and find their region until it ends', async t => {
  const draws = [0, 7, 7, 0xffffffff, 0xffffffff]
  const table = new MemoryTable(8, () => draws.shift()!)
  const regions = [0, 1, 2, 3, 4].map(() => table.register(null, 16, 0))
  t.same(
    regions.map(region => region.key),
    [1, 7, 8, 0xffffffff, 2],
  )
  for (const region of regions) t.equal(table.find(region.key), region)
  t.equal(table.find(3), null)
  table.deregister(regions[1]!)
  t.equal(table.find(7), null)
  t.equal(regions[1]!.valid, false)
  t.equal(regions[1]!.allows(0), false)
  table.deregister(regions[1]!)
  t.equal(table.size, 4)
})

t.test('a region that ended does not end the one that has its key now', async t => {
  const table = new MemoryTable(8, () => 5)
  const old = table.register(null, 16, 0)
  table.deregister(old)
  const young = table.register(null, 16, 0)
  t.equal(young.key, old.key)
  table.deregister(old)
  t.equal(table.find(5), young)
})

t.test('the table is bounded', async t => {
  const table = new MemoryTable(2, counter(1))
  const region = table.register(null, 1, 0)
  table.register(null, 1, 0)
  t.throws(() => table.register(null, 1, 0), { code: 'WEIR_FULL' })
  table.deregister(region)
  table.register(null, 1, 0)
})

t.test('bounds: whole numbers of any size', async t => {
  const table = new MemoryTable(8, counter(1))
  const region = table.register(null, 2 ** 32, 0)
  t.ok(region.holds(0, 2 ** 32))
  t.ok(region.holds(2 ** 32, 0))
  t.notOk(region.holds(2 ** 32, 1))
  t.notOk(region.holds(1, 2 ** 32))
  t.notOk(region.holds(-1, 1))
  t.notOk(region.holds(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER))
  t.notOk(region.holds(Number.NaN, 1))
  t.notOk(region.holds(0, -1))
  t.ok(Number.isSafeInteger(region.address + region.length))
})

t.test('rights: all of those asked for', async t => {
  const table = new MemoryTable(8, counter(1))
  const region = table.register(null, 8, Access.LOCAL_WRITE | Access.REMOTE_READ)
  t.ok(region.allows(Access.REMOTE_READ))
  t.ok(region.allows(Access.LOCAL_WRITE | Access.REMOTE_READ))
  t.notOk(region.allows(Access.REMOTE_READ | Access.REMOTE_WRITE))
})

t.test('a region is a window on the bytes given, without a copy', async t => {
  const table = new MemoryTable(8, counter(1))
  const arena = new Uint8Array(new SharedArrayBuffer(64), 16, 32)
  const region = table.register(arena, 20, 0)
  region.buffer![0] = 42
  t.equal(arena[0], 42)
  t.equal(region.buffer!.length, 20)
  t.throws(() => table.register(arena, 33, 0), { code: 'WEIR_BAD_ARGUMENT' })
  t.throws(() => table.register(arena, -1, 0), { code: 'WEIR_BAD_ARGUMENT' })
  t.throws(() => table.register(arena, 1, 16), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('addresses stay exact however many regions come and go', async t => {
  const table = new MemoryTable(2, counter(1))
  for (let i = 0; i < 5000; i++) {
    const region = table.register(null, 2 ** 40, 0)
    if (!Number.isSafeInteger(region.address + region.length)) t.fail(`address ${region.address}`)
    table.deregister(region)
  }
})

t.test('a region is found in its own protection domain only', t => {
  const table = new MemoryTable(8, counter(1))
  const [one, two] = [table.newDomain(), table.newDomain()]
  t.equal(new Set([DEFAULT_DOMAIN, one, two]).size, 3)
  const open = table.register(null, 64, 15)
  const closed = table.register(null, 64, 15, one)
  t.same([open.domain, closed.domain], [DEFAULT_DOMAIN, one])
  t.equal(table.findIn(DEFAULT_DOMAIN, open.key), open)
  t.equal(table.findIn(one, closed.key), closed)
  for (const domain of [DEFAULT_DOMAIN, two]) t.equal(table.findIn(domain, closed.key), null)
  t.equal(table.findIn(one, open.key), null)
  t.equal(table.find(closed.key), closed, 'the host itself finds all')
  t.equal(table.findIn(one, 99), null, 'no such key')
  t.end()
})

t.test('a part that is closed admits no byte, its neighbours do', t => {
  const gate = new WriteGate(10, 3)
  t.ok(gate.admits(0, 30))
  gate.close(1)
  t.ok(gate.admits(0, 10))
  t.ok(gate.admits(20, 10))
  for (const [offset, length] of [
    [0, 11],
    [10, 1],
    [19, 1],
    [19, 5],
    [0, 30],
  ] as const)
    t.notOk(gate.admits(offset, length), `${offset} + ${length}`)
  gate.open(1)
  t.ok(gate.admits(0, 30))
  t.notOk(gate.admits(25, 6), 'behind the last part')
  t.end()
})

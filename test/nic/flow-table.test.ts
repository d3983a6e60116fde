import t from 'tap'
import type { Flow } from '../../lib/nic/flow/flow.js'
import { FlowTable } from '../../lib/nic/flow/flow-table.js'
import { Random } from '../../lib/sim/random.js'

/** All that the table reads. */
function flowOf({ index, qpn }: { index: number; qpn: number }): Flow {
  return { index, qpn } as Flow
}

t.test('a flow is found by its QPN, and by no other', async t => {
  const table = new FlowTable(4)
  const flow = flowOf(table.reserve())
  t.equal(table.find(flow.qpn), null, 'reserved is not there yet')
  table.add(flow)
  t.equal(table.find(flow.qpn), flow)
  t.equal(table.count, 1)
  for (const other of [0, 1, flow.index, flow.qpn ^ 0x10000, flow.qpn + 1, 0xffffff, 5]) {
    if (other !== flow.qpn) t.equal(table.find(other), null, `${other}`)
  }
  table.remove(flow)
  t.equal(table.find(flow.qpn), null)
  t.equal(table.count, 0)
  table.remove(flow)
  t.equal(table.count, 0, 'removing it again is harmless')
})

t.test('QPNs 0 and 1 are never given out, and QPNs fit 24 bits', async t => {
  const random = new Random(1)
  const table = new FlowTable(3, () => random.u32())
  for (let n = 0; n < 3000; n++) {
    const { index, qpn } = table.reserve()
    if (index < 2 || qpn < 2 || qpn > 0xffffff) t.fail(`index ${index}, QPN ${qpn}`)
  }
  t.pass()
})

t.test('no QPN comes back soon, and all 24 bits differ from one to the next', async t => {
  const random = new Random(1)
  for (const connectionsMax of [1, 50]) {
    const table = new FlowTable(connectionsMax, () => random.u32())
    const seen = new Set<number>()
    const ones = new Array<number>(24).fill(0)
    for (let n = 0; n < 20_000; n++) {
      const flow = flowOf(table.reserve())
      table.add(flow)
      if (seen.has(flow.qpn)) t.fail(`QPN ${flow.qpn} again`)
      seen.add(flow.qpn)
      for (let bit = 0; bit < 24; bit++) ones[bit]! += (flow.qpn >>> bit) & 1
      table.remove(flow)
    }
    for (const [bit, count] of ones.entries()) {
      if (count < 9_600 || count > 10_400) t.fail(`bit ${bit} is 1 in ${count} of 20000`)
    }
  }
  t.pass()
})

t.test('a full table of any size finds each flow', async t => {
  const random = new Random(2)
  for (const connectionsMax of [1, 7, 1000]) {
    const table = new FlowTable(connectionsMax, () => random.u32())
    const flows = Array.from({ length: connectionsMax }, () => {
      const flow = flowOf(table.reserve())
      table.add(flow)
      return flow
    })
    t.ok(
      flows.every(flow => table.find(flow.qpn) === flow),
      `${connectionsMax}`,
    )
  }
})

t.test('a flow that was replaced does not take its successor out', async t => {
  const table = new FlowTable(1)
  const old = flowOf(table.reserve())
  table.add(old)
  table.remove(old)
  const next = flowOf(table.reserve())
  table.add(next)
  table.remove(old)
  t.equal(table.find(next.qpn), next)
  t.equal(table.find(old.qpn), null, 'a late packet of the old one finds nobody')
  t.equal(table.count, 1)
})

t.test('full, and room again', async t => {
  const table = new FlowTable(3)
  const flows = [0, 1, 2].map(() => {
    const flow = flowOf(table.reserve())
    table.add(flow)
    return flow
  })
  t.equal(new Set(flows.map(flow => flow.index)).size, 3)
  t.throws(() => table.reserve(), { code: 'WEIR_FULL', message: /3 connections/ })
  t.throws(() => table.checkRoom(), { code: 'WEIR_FULL' })
  table.remove(flows[1]!)
  table.checkRoom()
  t.equal(table.reserve().index, flows[1]!.index)
})

t.test('hosts begin at different QPNs', async t => {
  const firsts = new Set<number>()
  for (let seed = 1; seed <= 50; seed++) {
    const random = new Random(seed)
    firsts.add(new FlowTable(1024, () => random.u32()).reserve().qpn)
  }
  t.ok(firsts.size > 45, `${firsts.size} of 50`)
})

t.test('bounds', async t => {
  for (const value of [0, -1, 2.5, 65_535, Number.NaN]) {
    t.throws(() => new FlowTable(value), { code: 'WEIR_BAD_ARGUMENT', message: /connectionsMax/ })
  }
  t.equal(new FlowTable(65_534).capacity, 65_536)
})

/** The table of flows: who has a place keeps it, whoever comes. */
import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { Random } from '../../lib/sim/random.js'
import { FlowKey } from '../../switch-emu/core/flows/flow-key.js'
import { SwitchFlows } from '../../switch-emu/core/flows/switch-flows.js'
import { fixedSeed } from '../support/seeds.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { HOST } from './helpers.js'

const pool = new FramePool(8, HEADER_SLOT_BYTES)

/** The key of a packet, in an object that the next call fills again. */
function keyMaker(seed = 1) {
  const key = new FlowKey(seed)
  return (spec: Partial<FrameSpec>, priority = 3) => {
    const frame = buildFrame(pool, { from: HOST(1), to: HOST(2), ...spec })
    if (!key.read(frame, priority)) throw new Error('not IP')
    pool.give(frame)
    return key
  }
}

t.test(
  'a flow of RoCEv2 is its addresses, destination QPN and priority; its source port may change',
  async t => {
    const keyOf = keyMaker()
    const table = new SwitchFlows({ flows: 64, ageNs: 1000, ports: 4 })
    const v6 = (n: number) => Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 0xfd : i === 15 ? n : 0))
    const flows: [Partial<FrameSpec>, number?][] = [
      [{ destQpn: 5 }],
      [{ destQpn: 6 }],
      [{ destQpn: 5, to: HOST(3) }],
      [{ destQpn: 5, from: HOST(3) }],
      [{ destQpn: 5, from: HOST(2), to: HOST(1) }],
      [{ destQpn: 5 }, 4],
      [{ destQpn: 5, from: v6(1), to: v6(2) }],
      [{ destQpn: 5, from: v6(1), to: v6(3) }],
      // Another UDP service: ports count.
      [{ destinationPort: 53 }],
      [{ destinationPort: 53, sourcePort: 7 }],
    ]
    for (const [spec, priority] of flows) {
      table.touch(0, keyOf(spec, priority), 0)
      t.ok(table.isNew)
    }
    t.equal(table.count, flows.length)
    const places = flows.map(([spec, priority]) => table.find(keyOf(spec, priority)))
    t.equal(new Set(places).size, flows.length)
    t.equal(table.touch(0, keyOf({ destQpn: 5, sourcePort: 0xd123 }), 0), places[0])
    t.notOk(table.isNew)
    t.same(table.name(places[0]!), { from: '10.0.0.1', to: '10.0.0.2', priority: 3, qpn: 5 })
    t.same(table.name(places[7]!), { from: 'fd00::1', to: 'fd00::3', priority: 3, qpn: 5 })
    const ports = { protocol: 17, fromPort: 7, toPort: 53 }
    t.same(table.name(places[9]!), { from: '10.0.0.1', to: '10.0.0.2', priority: 3, ...ports })
  },
)

t.test('what the table says is what a Map says, whatever comes and goes', async t => {
  const random = new Random(fixedSeed(t, 11))
  const keyOf = keyMaker(random.u32())
  const table = new SwitchFlows({ flows: 50, ageNs: 1e9, ports: 2 })
  const model = new Map<number, number>()
  let wrong = 0
  for (let step = 0; step < 20_000; step++) {
    const qpn = 1 + random.below(80)
    const key = keyOf({ destQpn: qpn })
    const known = model.get(qpn)
    if (table.find(key) !== (known ?? -1)) wrong++
    if (known !== undefined && random.below(2) === 0) {
      table.remove(known)
      model.delete(qpn)
    } else if (known === undefined && model.size < 25) {
      const row = table.touch(step, key, 0)
      if ([...model.values()].includes(row)) wrong++
      table.keep(row)
      model.set(qpn, row)
    }
    if (table.count !== model.size) wrong++
  }
  t.equal(wrong, 0)
})

t.test('a flood of new flows takes places of newcomers and of silent flows, and of no live one', async t => {
  const keyOf = keyMaker(3)
  const flows = 64
  const table = new SwitchFlows({ flows, ageNs: 1000, ports: 4 })
  const live: number[] = []
  for (let qpn = 1; qpn <= 20; qpn++) {
    const row = table.touch(0, keyOf({ destQpn: qpn }), 1)
    table.keep(row)
    live.push(row)
  }
  let now = 0
  let most = 0
  for (let n = 0; n < 10_000; n++) {
    now++
    table.touch(now, keyOf({ from: HOST(100 + n), destQpn: 9 }), 2)
    // The live ones go on.
    if (n % 500 === 0) for (let qpn = 1; qpn <= 20; qpn++) table.touch(now, keyOf({ destQpn: qpn }), 1)
    most = Math.max(most, table.count)
  }
  t.ok(most <= 20 + flows / 2, 'half of the places at most for what comes by one port')
  t.same(
    live.map((_, i) => table.find(keyOf({ destQpn: i + 1 }))),
    live,
  )
  t.ok(table.replaced + table.missed > 9000, `${table.replaced} replaced, ${table.missed} missed`)
  // Room is left behind another port.
  t.ok(table.touch(now, keyOf({ destQpn: 1000 }), 3) >= 0)
  // Silent for longer than the age, the live ones go.
  for (let n = 0; n < 200; n++) table.touch(now + 2000, keyOf({ from: HOST(20_000 + n), destQpn: 9 }), 2)
  t.equal(table.find(keyOf({ destQpn: 1 })), -1)
})

t.test('where all are live a new flow finds no place, and is counted', async t => {
  const keyOf = keyMaker(4)
  const table = new SwitchFlows({ flows: 8, ageNs: 1000, ports: 2 })
  const enter = (qpn: number, ingress: number) => {
    const row = table.touch(5, keyOf({ destQpn: qpn }), ingress)
    if (row >= 0) table.keep(row)
    return row
  }
  for (let qpn = 1; qpn <= 4; qpn++) t.ok(enter(qpn, 0) >= 0)
  t.equal(enter(5, 0), -1, 'the port has its half')
  for (let qpn = 6; qpn <= 9; qpn++) t.ok(enter(qpn, 1) >= 0)
  t.equal(enter(10, 1), -1)
  t.equal(table.missed, 2)
  t.equal(table.count, 8)
})

t.test('who owns the places can keep an old flow', async t => {
  const keyOf = keyMaker(5)
  let may = false
  const table = new SwitchFlows({ flows: 1, ageNs: 10, ports: 1 }, { mayLeave: () => may })
  t.equal(table.touch(0, keyOf({ destQpn: 1 }), 0), 0)
  t.equal(table.touch(100, keyOf({ destQpn: 2 }), 0), -1)
  may = true
  t.equal(table.touch(100, keyOf({ destQpn: 2 }), 0), 0)
})

t.test('a cleared table has room for as many flows as a new one, and counts on', async t => {
  const keyOf = keyMaker(6)
  const cleared = new SwitchFlows({ flows: 8, ageNs: 1000, ports: 2 })
  const fill = (table: SwitchFlows) =>
    Array.from({ length: 10 }, (_, i) => {
      const row = table.touch(5, keyOf({ destQpn: 100 + i }), i & 1)
      if (row >= 0) table.keep(row)
      return row
    })
  fill(cleared)
  t.equal(cleared.missed, 2)
  cleared.clear()
  t.equal(cleared.count, 0)
  for (let i = 0; i < 10; i++) t.equal(cleared.find(keyOf({ destQpn: 100 + i })), -1)
  cleared.forEach(row => {
    t.fail(`place ${row} is taken`)
  })
  t.same(fill(cleared), fill(new SwitchFlows({ flows: 8, ageNs: 1000, ports: 2 })))
  t.equal(cleared.missed, 4)
})

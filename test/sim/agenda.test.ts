import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Agenda } from '../../lib/sim/agenda.js'
import { Network } from '../../lib/sim/network.js'
import { NEVER } from '../../lib/time/nanos.js'

t.test('acts come at their times, of equal times the earlier added first', async t => {
  const agenda = new Agenda()
  const log: string[] = []
  for (const [name, at] of [
    ['c', 30],
    ['a', 10],
    ['b', 10],
  ] as const) {
    agenda.add(at, now => log.push(`${name}@${now}`))
  }
  t.equal(agenda.nextTimeout(), 10)
  agenda.onTimeout(9)
  t.same(log, [], 'harmless when early')
  agenda.onTimeout(10)
  t.same(log, ['a@10', 'b@10'])
  t.equal(agenda.nextTimeout(), 30)
  agenda.onTimeout(30)
  t.same(log, ['a@10', 'b@10', 'c@30'])
  t.equal(agenda.nextTimeout(), NEVER)
})

t.test('a series has its places among other acts', async t => {
  const agenda = new Agenda()
  const log: string[] = []
  agenda.add(10, now => log.push(`first@${now}`))
  agenda.addSeries(Float64Array.of(10, 10, 20), (now, i) => log.push(`${i}@${now}`))
  agenda.addSeries(new Float64Array(0), () => log.push('never'))
  agenda.onTimeout(10)
  t.same(log, ['first@10', '0@10', '1@10'])
  t.equal(agenda.nextTimeout(), 20)
  agenda.onTimeout(25)
  t.equal(log[3], '2@25')
  t.equal(agenda.nextTimeout(), NEVER)
})

t.test('acts may add others', async t => {
  const pool = new FramePool(1)
  const network = new Network({ pool })
  const agenda = new Agenda()
  const id = network.addNode(agenda)
  const times: number[] = []
  const act = (now: number) => {
    times.push(now)
    agenda.add(now + 10, act)
  }
  agenda.add(5, act)
  agenda.add(15, now => agenda.add(now + 3, late => times.push(-late)))
  network.kick(id)
  network.runUntil(40)
  t.same(times, [5, 15, -18, 25, 35])
  t.equal(agenda.pollTransmit(40), null)
})

/** What `npm run bench -- dumbbells` compares. */
import t from 'tap'
import { compareOrders, type DumbbellFigures, run } from '../../bench/dumbbells.js'

const figures = (meanQueueBytes: number): DumbbellFigures => ({
  completed: true,
  meanQueueBytes,
  jain: 1,
  utilization: 1,
  drops: 0,
})

t.test('the order of queues: only of controllers that are apart in virtual time', async t => {
  const row = (controller: string, virtual: number, veth: number | null) => ({
    controller,
    virtual: figures(virtual),
    veth: veth === null ? null : figures(veth),
  })
  const rows = [row('a', 10, 50), row('b', 15, 20), row('c', 40, 30), row('d', 90, null)]
  t.same(compareOrders(rows), { pairs: 2, otherwise: [['a', 'c']] })
})

t.test('a controller in virtual time: both flows are done, and share the link', async t => {
  const { rows } = await run(['--virtual', '--cc', 'dctcp', '--json'])
  const [{ virtual, veth }] = rows as [(typeof rows)[0]]
  t.equal(veth, null)
  t.equal(virtual.completed, true)
  // DCTCP keeps the queue about its threshold, Kmin to Kmax.
  t.ok(virtual.meanQueueBytes > 25_000 && virtual.meanQueueBytes < 400_000, `${virtual.meanQueueBytes}`)
  t.ok(virtual.utilization > 0.7 && virtual.utilization <= 1, `${virtual.utilization}`)
  await t.rejects(run(['--cc', 'nobody']), { code: 'WEIR_BAD_ARGUMENT' })
})

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

t.test(
  'the order of queues: of controllers that are apart in virtual time, by more than veth varies',
  async t => {
    const row = (controller: string, virtual: number, veth: number[]) => ({
      controller,
      virtual: figures(virtual),
      veth: veth.map(figures),
    })
    const rows = [row('a', 10, [45, 55]), row('b', 15, [20, 20]), row('c', 40, [30, 30]), row('d', 90, [])]
    t.same(compareOrders(rows), { pairs: 2, tooNear: 0, otherwise: [['a', 'c']] })
    // Rounds of a differ by 30, which is how far a and c are apart; b and c are 25 apart, which only its own rounds could forbid.
    rows[0] = row('a', 10, [35, 65])
    t.same(compareOrders(rows), { pairs: 1, tooNear: 1, otherwise: [] })
  },
)

t.test('a controller in virtual time: both flows are done, and share the link', async t => {
  const { rows } = await run(['--virtual', '--cc', 'dctcp', '--json'])
  const [{ virtual, veth }] = rows as [(typeof rows)[0]]
  t.same(veth, [])
  t.equal(virtual.completed, true)
  // DCTCP keeps the queue about its threshold, Kmin to Kmax.
  t.ok(virtual.meanQueueBytes > 25_000 && virtual.meanQueueBytes < 400_000, `${virtual.meanQueueBytes}`)
  t.ok(virtual.utilization > 0.7 && virtual.utilization <= 1, `${virtual.utilization}`)
  await t.rejects(run(['--cc', 'nobody']), { code: 'WEIR_BAD_ARGUMENT' })
  await t.rejects(run(['--cc', 'dctcp', '--rounds', '0']), { code: 'WEIR_BAD_ARGUMENT' })
  for (const late of ['', ' ', 'soon', '-1', '1001'])
    await t.rejects(run(['--cc', 'dctcp', `--late=${late}`]), {
      message: /--late is a number of milliseconds/,
    })
})

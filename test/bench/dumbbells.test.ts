/** What `npm run bench -- dumbbells` compares. */
import { compareOrders, type DumbbellFigures, run } from '../../bench/dumbbells.js'
import { long, usual } from '../support/long.js'

const figures = (meanQueueBytes: number): DumbbellFigures => ({
  completed: true,
  meanQueueBytes,
  jain: 1,
  utilization: 1,
  drops: 0,
})

usual(
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

usual('a controller in virtual time: both flows are done, and share the link', async t => {
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

/** Mean queues of the controllers in virtual time, bytes. */
async function virtualQueues(names: readonly string[], ...more: string[]): Promise<Map<string, number>> {
  const { rows } = await run(['--virtual', '--json', '--cc', names.join(','), ...more])
  return new Map(rows.map(({ controller, virtual }) => [controller, virtual.meanQueueBytes]))
}

const BY_TELEMETRY = ['hpcc', 'fncc', 'rx-hpcc', 'auto']

/** Veth has shown these orders, which exact hosts in virtual time have not: they are the hosts' (docs/measured/controllers.md, `dumbbells`). */
long(
  'frames of hosts that are late by up to 10 ms: CUBIC has less queue than HPCC++ and its kin',
  async t => {
    const names = [...BY_TELEMETRY, 'cubic']
    const [exact, late] = [await virtualQueues(names), await virtualQueues(names, '--late', '10')]
    for (const name of BY_TELEMETRY) {
      t.ok(
        exact.get(name)! < 0.1 * exact.get('cubic')!,
        `${name}: ${exact.get(name)}, CUBIC ${exact.get('cubic')}`,
      )
      t.ok(
        late.get(name)! > late.get('cubic')!,
        `late ${name}: ${late.get(name)}, CUBIC ${late.get('cubic')}`,
      )
    }
  },
)

long('flows that begin carefully, as processes do: DCQCN has less queue than a fixed window', async t => {
  const names = ['dcqcn', 'fixed-window']
  const [exact, careful] = [await virtualQueues(names), await virtualQueues(names, '--start', 'careful')]
  for (const queues of [exact, careful]) t.comment(JSON.stringify([...queues]))
  t.ok(exact.get('dcqcn')! > 2 * exact.get('fixed-window')!, 'at line rate it has more')
  t.ok(careful.get('dcqcn')! < 0.5 * careful.get('fixed-window')!)
})

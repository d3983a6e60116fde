import { jainIndex } from '../../lib/scenario/result/fairness.js'
import { long, usual } from '../support/long.js'
import { joinQueue, sharesBetween } from './rocc.js'

const GBPS = 40

for (const flows of [2, 10, 100]) {
  const test = flows === 100 ? long : usual
  test(`${flows} flows with RoCC have their fair shares of a link after 5 ms`, async t => {
    const shares = sharesBetween({ flows, gbps: GBPS }, 5, 7)
    const jain = jainIndex(shares)
    t.ok(jain > 0.98, `Jain index ${jain}`)
    const mean = shares.reduce((a, b) => a + b, 0) / flows
    t.ok(mean > 0.8, `${mean} of the link is payload`)
  })
}

usual('with a key the fair rates are believed', async t => {
  const result = joinQueue({ flows: 2, gbps: GBPS, key: 'sixteen bytes or more' }, 1)
  const { rocc } = result.ports.find(({ name }) => name === 's1:r') as { rocc?: { sent: number } }
  t.ok(rocc!.sent > 4, `${rocc!.sent} were sent`)
  for (const { name } of result.flows) {
    const rates = result.series[`rate/${name}`]!.values
    t.ok(Math.min(...rates) < 0.5 * GBPS * 1e9, `${name} has slowed down to ${Math.min(...rates)} bit/s`)
  }
})

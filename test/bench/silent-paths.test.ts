/** What `npm run bench -- silent-paths` makes of a path, and who is its best. */
import t from 'tap'
import { bestOf, rowOf, type SilentFigures } from '../../bench/silent-paths.js'
import { MILLISECOND } from '../../lib/time/nanos.js'

const figures = (controller: string, more: Partial<SilentFigures>): SilentFigures => ({
  controller,
  goodputBps: 1e6,
  dropShare: 0,
  jain: 1,
  share: 1,
  timeouts: 0,
  ...more,
})

t.test('the best is the fastest of those that drop little and leave TCP its part', async t => {
  const flood = figures('flood', { goodputBps: 3e6, dropShare: 0.2 })
  const greedy = figures('greedy', { goodputBps: 2e6, share: 4 })
  const shy = figures('shy', { goodputBps: 2e6, share: 0.2 })
  const good = figures('good', { goodputBps: 1.5e6, dropShare: 0.009 })
  const slow = figures('slow', {})
  t.equal(bestOf([flood, greedy, shy, slow, good], null).controller, 'good')
  const tcp = figures('TCP', { dropShare: 0.3, share: null })
  t.equal(bestOf([flood, good], tcp).controller, 'flood', 'TCP drops more')
  t.equal(bestOf([flood, figures('worse', { dropShare: 0.3 })], null).controller, 'flood', 'none keeps to it')
})

t.test('a row: rates that the link carries, and auto beside the best', async t => {
  const link = { rateBps: 5e6, rttNs: MILLISECOND, bufferBytes: 32_768 }
  const path = { name: 'narrow', link, flows: 1, seconds: 4, settleSeconds: 2, withTcp: true }
  const row = rowOf(path, ['cubic', 'auto'], 1)
  for (const { controller, goodputBps, dropShare } of [row.tcp!, ...row.figures]) {
    // 1,024 of 1,090 bytes are payload, 1,448 of 1,514 of TCP.
    t.ok(goodputBps > 0.9 * 0.93 * 5e6 && goodputBps < 5e6, `${controller}: ${goodputBps}`)
    t.ok(dropShare < 0.05, `${controller}: ${dropShare}`)
  }
  t.ok(row.ratio! > 0.99, `${row.ratio}: auto is CUBIC there`)
})

/**
 * The flow that begins first on a long path has more for many seconds, with any CUBIC. In the end Weir and
 * TCP share it.
 */
import t from 'tap'
import { jainIndex } from '../../lib/scenario/result/fairness.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { beside, goodputBps } from './beside.js'

const PATHS = {
  '50 Mbit/s, 1 MiB': { rateBps: 50e6, rttNs: 0.1 * MILLISECOND, bufferBytes: 1024 * 1024 },
  '100 Mbit/s, 50 ms': { rateBps: 100e6, rttNs: 50 * MILLISECOND, bufferBytes: 625_000 },
  '100 Mbit/s, 100 ms': { rateBps: 100e6, rttNs: 100 * MILLISECOND, bufferBytes: 1_250_000 },
}
const LATER: readonly [weirMs: number, tcpMs: number][] = [
  [0, 300],
  [300, 0],
]

for (const [name, path] of Object.entries(PATHS)) {
  t.test(`${name}: half to twice what TCP gets after 40 s, whoever began`, async t => {
    for (const [weirMs, tcpMs] of LATER) {
      const plans = [
        { kind: 'weir' as const, startNs: weirMs * MILLISECOND },
        { kind: 'tcp' as const, startNs: tcpMs * MILLISECOND },
      ]
      const [weir, tcp] = beside({ ...path, jitterNs: 0.2 * MILLISECOND }, plans, 80, 1)
      const share = goodputBps(weir!, 40) / goodputBps(tcp!, 40)
      t.comment(`${share.toFixed(2)}`)
      t.ok(share > 0.5 && share < 2, `${share}`)
    }
  })
}

for (const [name, path] of Object.entries(PATHS)) {
  t.test(`${name}: two Weir flows are as fair after 40 s, however far apart they began`, async t => {
    for (const laterMs of [50, 300]) {
      const plans = [0, laterMs].map(ms => ({ kind: 'weir' as const, startNs: ms * MILLISECOND }))
      const rates = beside({ ...path, jitterNs: 0.2 * MILLISECOND }, plans, 80, 1).map(flow =>
        goodputBps(flow, 40),
      )
      t.comment(`${laterMs} ms: ${jainIndex(rates).toFixed(3)}`)
      t.ok(jainIndex(rates) >= 0.95, `${rates} bit/s, ${laterMs} ms apart`)
    }
  })
}

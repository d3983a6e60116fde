/** The first windows of many senders wait in one queue for longer than any probe timeout that the idle path suggests. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { variants } from '../support/long.js'

const SENDERS = 100
/** Each first window is line rate x T of the idle path: so many bytes. All of them take 10 ms of the link. */
const BYTES = 12_500
/** The least probe timeout is 1 ms: a flow's packets come further apart than half of that. */
const ALL_NS = 10 * MILLISECOND

/** All begin at once, and send no more than their first windows. */
function incast(cc: string) {
  const text = `
link: { rate: 1Gbps, delay: 20us }
hosts: [h0..h${SENDERS}]
switches: { s1: { buffer: 100MB, pfc: off } }
links: [h0..h${SENDERS}--s1]
cc: ${cc}
baseRtt: 100us
traffic:
  - { name: incast, incast: [h0..h${SENDERS - 1}], to: h${SENDERS}, size: ${BYTES}B }
`
  return new VirtualRun(parseScenario(text, 'first-windows.yaml')).run()
}

for (const cc of variants(['hpcc', 'fixed-window', 'rx-hpcc'], 1)) {
  t.test(`${cc}: nothing is lost, so nothing is sent twice`, async t => {
    const { totals, flows } = incast(cc)
    t.equal(totals.drops, 0)
    t.equal(totals.retransmittedBytes, 0)
    const slowestNs = Math.max(...flows.map(({ fctNs }) => fctNs ?? Number.POSITIVE_INFINITY))
    t.ok(slowestNs > ALL_NS && slowestNs < 1.5 * ALL_NS, `${slowestNs} ns`)
  })
}

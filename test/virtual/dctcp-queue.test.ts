/**
 * The queue that DCTCP keeps, beside the model of its paper (Alizadeh et al., SIGCOMM 2010, section 3.3): N long flows with alike round trips
 * and synchronised sawteeth, a threshold of K packets, and C x RTT packets on the path.
 *
 *     greatest queue = K + N
 *     amplitude      = sqrt(2 N (C x RTT + K)) / 2
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { percentile } from '../../lib/scenario/result/fairness.js'
import { valuesBetween } from '../../lib/scenario/result/series.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { variants } from '../support/long.js'

const RATE_BPS = 10e9
const DELAY_NS = 25_000
const KMIN_BYTES = 65_000
/** A packet of 1024 bytes of payload on the wire. */
const PACKET_BYTES = 1082

/** What the queue is between, in packets, once the flows have settled. */
function queueOf(flows: number): { least: number; most: number; utilization: number; jain: number } {
  const hosts = Array.from({ length: flows }, (_, i) => `h${i + 1}`)
  const scenario = parseScenario(
    `
hosts: [${hosts.join()}, r]
switches: { s1: { buffer: 8MB, ecn: { kmin: ${KMIN_BYTES}B, kmax: ${KMIN_BYTES}B, pmax: 1 } } }
link: { rate: ${RATE_BPS}bps, delay: ${DELAY_NS}ns }
links: [${hosts.map(host => `${host}--s1`).join()}, s1--r]
cc: dctcp
traffic: [${hosts.map((host, i) => `{ from: ${host}, to: r, size: 2GB, start: ${i * 200}us }`).join()}]
watch: { queues: [s1:r], every: 5us }
duration: 40ms
`,
    'queue.yaml',
  )
  const { series, summary } = new VirtualRun(scenario).run()
  const settled = valuesBetween(series['queue/s1:r']!, 15e6, 40e6)
  const packets = (p: number) => percentile(settled, p) / PACKET_BYTES
  const { bottleneckUtilization, jainIndex } = summary!
  return { least: packets(0.01), most: packets(0.99), utilization: bottleneckUtilization!, jain: jainIndex! }
}

for (const flows of variants([2, 10, 4], 1)) {
  t.test(`${flows} flows: the queue of the model, and a full link`, async t => {
    const roundTripNs = 4 * DELAY_NS + (2 * PACKET_BYTES * 8e9) / RATE_BPS
    const onPath = (RATE_BPS * roundTripNs) / 8e9 / PACKET_BYTES
    const k = KMIN_BYTES / PACKET_BYTES
    const most = k + flows
    const least = most - Math.sqrt(2 * flows * (onPath + k)) / 2
    const found = queueOf(flows)
    t.ok(Math.abs(found.most / most - 1) < 0.1, `${found.most} packets at most, by the model ${most}`)
    t.ok(Math.abs(found.least / least - 1) < 0.1, `${found.least} at least, by the model ${least}`)
    t.ok(found.utilization > 0.999, `${found.utilization}`)
    t.ok(found.jain > 0.98, `${found.jain}`)
  })
}

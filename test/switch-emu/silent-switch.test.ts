/** A switch without telemetry: its hop is missing in every encapsulation, and other records are right. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const text = (first: string, format: string) => `
hosts: [a, b, c]
switches: { s1: { telemetry: ${first} }, s2: {} }
link: { rate: 1Gbps, delay: 20us }
links: [a--s1, b--s1, { ends: s1--s2, rate: 400Mbps }, s2--c]
int: { format: ${format} }
traffic:
  - { name: f1, from: a, to: c, size: 1MB }
  - { name: f2, from: b, to: c, size: 1MB }
watch: { queues: [s1:s2], every: 100us }
`

function run(first: string, format: string) {
  const run = new VirtualRun(parseScenario(text(first, format), 'silent.yaml'))
  const result = run.run()
  const implausible = run.hostRxCounters.reduce((sum, counters) => sum + counters.implausibleTelemetry, 0)
  const meanBytes = result.ports.find(({ switch: sw, peer }) => sw === 's1' && peer === 's2')!.meanQueueBytes
  return { ...result, implausible, meanBytes }
}

for (const format of ['wide', 'compact', 'p4-int-md', 'ifa', 'ioam']) {
  t.test(`${format}: senders do not see the queue of the switch, and complete`, async t => {
    const seen = run('{}', format)
    const unseen = run('off', format)
    for (const { flows, implausible } of [seen, unseen]) {
      t.equal(implausible, 0)
      for (const { fctNs, idealFctNs } of flows) t.ok(fctNs !== null && fctNs >= idealFctNs)
    }
    // Two flows at 1 Gbit/s each meet a link of 400 Mbit/s. Senders that see its queue slow down.
    t.ok(unseen.meanBytes > 2 * seen.meanBytes, `${unseen.meanBytes} B beside ${seen.meanBytes} B`)
  })
}

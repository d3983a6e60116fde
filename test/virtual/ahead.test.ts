/**
 * In virtual time nodes run ahead of others as far as no frame can reach them. A run that may have faults takes all events in the order
 * of their times. Results of the two are the same to the byte, whatever ends the run.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

/** Two leaves and two spines; links of different delays, one of them short. */
function network(keys: string): string {
  return `
link: { rate: 10Gbps, delay: 1us }
hosts: [h0..h3]
switches: { s0..s3: { pfc: { xoff: 20KB } } }
links: [h0--s0, { ends: h1--s0, delay: 50ns }, h2--s1, h3--s1, { ends: s0..s1--s2..s3, count: 2, delay: 3us }]
transport: { pathMtu: 1024 }
baseRtt: 20us
${keys}
`
}

/** Long links, so that nodes are far ahead of each other, and one of them goes down. */
const CUT = `
link: { rate: 10Gbps, delay: 60us }
hosts: [h1, h2, h3]
switches: [s1]
links: [h1--s1, h2--s1, h3--s1]
events: [{ at: 1us, link: h3--s1, down: true }]
`

const CASES: Record<string, string> = {
  'the last flow ends the run': `traffic:
  - { workload: fbhadoop, load: 60%, duration: 200us }
  - { name: incast, incast: [h0..h2], to: h3, size: 200KB, start: 50us }`,
  'one flow': 'traffic: [{ name: alone, from: h0, to: h3, size: 300KB }]',
  'short flows that are freed': `traffic:
  - { name: short, from: h0, to: h3, size: 2KB, repeat: 300, every: 1us }
  - { name: other, from: h1, to: h2, size: 5KB, repeat: 100, every: 3us }`,
  'time ends it, and queues are watched': `traffic:
  - { name: a, from: h0, to: h3, size: 20MB }
  - { name: b, from: h1, to: h3, size: 20MB, start: 100us }
watch: { queues: [s1:h3, s0:s2], every: 700ns }
duration: 1ms`,
}

/** Their flows end long before the hosts could have sent all that they have, and not in the order in which hosts are looked at. */
const FAILURES: Record<string, string> = {
  'flows fail': 'retryCount: 1, recovery: goBackN',
  'flows fail by selective repeat': 'retryCount: 2, recovery: selective',
  'flows fail without a retry': 'retryCount: 0, recovery: goBackN',
}

function failing(transport: string): string {
  return `${CUT}
transport: { ${transport} }
traffic:
  - { from: h1, to: h3, size: 2GB }
  - { from: h2, to: h3, size: 2GB, start: 50us }
  - { from: h1, to: h3, size: 2GB, start: 100us }`
}

const ALL = [
  ...Object.entries(CASES).map(([what, keys]) => [what, network(keys)] as const),
  ...Object.entries(FAILURES).map(([what, keys]) => [what, failing(keys)] as const),
]

for (const [what, text] of ALL) {
  t.test(what, async t => {
    const scenario = parseScenario(text, 'ahead.yaml')
    const inOrder = new VirtualRun(scenario, { faults: () => null })
    const ahead = new VirtualRun(scenario)
    const { wallSeconds: _a, ...expected } = inOrder.run()
    const { wallSeconds: _b, ...found } = ahead.run()
    t.ok(expected.events > 1000)
    t.same(JSON.parse(JSON.stringify(found)), JSON.parse(JSON.stringify(expected)))
    t.equal(ahead.packetHops, inOrder.packetHops)
  })
}

/** Telemetry with fewer slots than the path has switches: the congested link comes after the last slot. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, variants } from '../support/long.js'

/** Two senders, two switches; the link of the receiver has half the rate of all others, or less. */
function bottleneck(int: string, rate: string, more = ''): { meanQueueBytes: number; utilization: number } {
  const text = `
link: { rate: 10Gbps, delay: 5us }
hosts: [a1, a2, b1]
switches: [s1, s2]
links: [a1..a2--s1, s1--s2, { ends: b1--s2, rate: ${rate} }]
cc: hpcc
int: { ${int} }
${more}
traffic:
  - { name: f1, from: a1, to: b1, size: 100MB }
  - { name: f2, from: a2, to: b1, size: 100MB }
watch: { queues: [s2:b1], every: 20us }
duration: 10ms
`
  const { ports } = new VirtualRun(parseScenario(text, 'hidden.yaml')).run()
  const { meanQueueBytes, utilization } = ports.find(({ name }) => name === 's2:b1')!
  return { meanQueueBytes: meanQueueBytes!, utilization: utilization! }
}

for (const rate of variants(['5Gbps', '2Gbps'], 1)) {
  t.test(`a link of ${rate} without a slot keeps no queue, and is used`, async t => {
    const seen = bottleneck('hops: 2', rate)
    for (const int of ['hops: 1', 'hops: 1, format: p4-int-md', 'hops: 1, format: compact']) {
      const hidden = bottleneck(int, rate)
      const figures = `${int}: mean ${hidden.meanQueueBytes} B, busy ${hidden.utilization}; with a slot for it ${seen.meanQueueBytes} B, ${seen.utilization}`
      t.ok(hidden.meanQueueBytes < 4 * seen.meanQueueBytes + 1000, figures)
      t.ok(hidden.utilization > 0.9 * seen.utilization, figures)
    }
  })
}

long('so it does where only the busiest hop is sent back, and where few packets collect', async t => {
  for (const telemetry of ['hops: busiest', 'everyPackets: 4']) {
    const { meanQueueBytes, utilization } = bottleneck('hops: 1', '5Gbps', `telemetry: { ${telemetry} }`)
    t.ok(meanQueueBytes < 8000 && utilization > 0.75, `${telemetry}: ${meanQueueBytes} B, ${utilization}`)
  }
})

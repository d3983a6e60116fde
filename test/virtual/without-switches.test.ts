/** Controllers that need nothing of switches, in virtual time: flows that begin apart share a link, and nothing is dropped. */
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { jainIndex } from '../../lib/scenario/result/fairness.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'

/** Hosts send to one through a switch without telemetry and marks. @param traffic of each host */
function star(
  controller: string,
  hosts: number,
  duration: string,
  traffic: (host: string, i: number) => string,
): RunResult {
  const names = Array.from({ length: hosts }, (_, i) => `h${i}`)
  const text = `
name: star
link: {rate: 100Gbps, delay: 1us}
hosts: [${names.join(', ')}, r]
switches: {s1: {buffer: 32MiB}}
links: [${[...names, 'r'].map(name => `${name}--s1`).join(', ')}]
cc: {name: ${controller}}
duration: ${duration}
traffic: [${names.map((name, i) => `{from: ${name}, to: r, ${traffic(name, i)}}`).join(', ')}]
`
  return new VirtualRun(parseScenario(text, 'star.yaml')).run()
}

const portOf = (result: RunResult) => result.ports.find(({ name }) => name === 's1:r')!

for (const controller of ['swift', 'rttcc']) {
  usual(
    `${controller}: flows that begin one after the other come to equal shares of a full link`,
    async t => {
      const begin = (_host: string, i: number) => `size: 1GB, start: ${i * 10}us`
      const [half, whole] = ['1ms', '2ms'].map(duration => star(controller, 4, duration, begin))
      const bytes = whole!.flows.map(({ ackedBytes }, i) => ackedBytes - half!.flows[i]!.ackedBytes)
      t.ok(jainIndex(bytes) > 0.98, `Jain's index ${jainIndex(bytes)}`)
      const sent = portOf(whole!).txBytes - portOf(half!).txBytes
      t.ok(sent > 0.97 * 12.5e6, `${sent} of 12.5 MB in a millisecond`)
      t.equal(portOf(whole!).drops, 0)
      t.ok(portOf(whole!).meanQueueBytes < 500_000, `${portOf(whole!).meanQueueBytes} bytes wait`)
    },
  )
}

long('swift: 250 senders to one host have windows below a packet, and nothing is dropped', async t => {
  const result = star('swift', 250, '20ms', () => 'size: 400KB')
  for (const { ackedBytes, retransmittedBytes, timeouts } of result.flows) {
    t.equal(ackedBytes, 400_000)
    t.equal(retransmittedBytes + timeouts, 0)
  }
  t.equal(portOf(result).drops, 0)
})

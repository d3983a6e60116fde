/**
 * What virtual runs without drops retransmit: nothing, however long their queues grow within a round trip.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

/**
 * This many senders at once to one receiver. With 200 the first windows are 200 times what the link holds in
 * T.
 */
function incast(cc: string, senders: number) {
  const text = `
link: { rate: 100Gbps, delay: 1us }
hosts: [h0..h${senders}]
switches: [s1]
links: [h0..h${senders}--s1]
cc: { name: ${cc}, eta: 0.95, maxStage: 0, wAi: 26B, minRate: 1Gbps }
transport: { pathMtu: 1024 }
baseRtt: 4.16us
traffic:
  - { name: incast, incast: [h0..h${senders - 1}], to: h${senders}, size: 200KB }
`
  return new VirtualRun(parseScenario(text, 'incast.yaml')).run()
}

/** Tests an incast of this many senders by each controller. */
export function testRepetition(senders: number): void {
  for (const cc of ['hpcc', 'rx-hpcc']) {
    t.test(`${cc}, ${senders} senders: each byte goes once`, async t => {
      const { flows, ports } = incast(cc, senders)
      t.equal(
        ports.reduce((sum, port) => sum + port.drops, 0),
        0,
      )
      const again = flows.reduce((sum, flow) => sum + flow.retransmittedBytes, 0)
      t.ok(again < 0.001 * senders * 200_000, `${again} bytes`)
    })
  }
}

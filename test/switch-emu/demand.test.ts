import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { capacityOf } from '../../switch-emu/real-time/capacity.js'
import { demandBps } from '../../switch-emu/real-time/demand.js'

const NET = `
link: { rate: 100Mbps, delay: 1ms }
hosts: [h1..h4]
switches: [s1, s2]
links: [h1..h2--s1, { ends: s1--s2, rate: 30Mbps }, h3--s2, { ends: h4--s2, rate: 10Mbps }]
`

for (const [what, traffic, mbps] of [
  ['nothing', '[]', 0],
  ['one flow: its bottleneck', '[{from: h1, to: h3, size: 1MB}]', 30],
  ['two flows share a link', '[{from: h1, to: h3, size: 1MB}, {from: h2, to: h3, size: 1MB}]', 30],
  ['both directions', '[{from: h1, to: h3, size: 1MB}, {from: h3, to: h1, size: 1MB}]', 60],
  // The host's link limits one to 10, so that the other has 20 of the 30.
  [
    'what one flow cannot use, others take',
    '[{from: h1, to: h4, size: 1MB}, {from: h2, to: h3, size: 1MB}]',
    30,
  ],
  ['flows that do not meet', '[{from: h1, to: h2, size: 1MB}, {from: h3, to: h4, size: 1MB}]', 110],
  ['a workload: what it offers', '[{workload: websearch, load: 10%, duration: 1ms, hosts: [h1..h3]}]', 30],
] as const) {
  t.test(`the demand of ${what}`, async t => {
    t.equal(demandBps(parseScenario(`${NET}traffic: ${traffic}`, 'x.yaml')), mbps * 1e6)
  })
}

t.test('what the machine can carry is measured with packets of the scenario', async t => {
  const text = `${NET}transport: { pathMtu: 256, ackEvery: 4 }\ntraffic: [{from: h1, to: h3, size: 1MB}]`
  const capacity = await capacityOf(parseScenario(text, 'x.yaml'), 'overlay')
  if (capacity === null) return t.fail('loopback carries datagrams')
  t.match(capacity, { io: 'dgram', demandedBps: 30e6 })
  t.ok(capacity.packetBytes > 256 + 58 && capacity.packetBytes < 512, `${capacity.packetBytes} B`)
  t.equal(capacity.demandedPacketsPerSecond, Math.round(30e6 / 8 / capacity.packetBytes))
  t.ok(capacity.datagramsPerSecond > 0)
  // Each packet and a quarter of an acknowledgement pass the switch.
  t.ok(capacity.packetsPerSecondMost <= capacity.datagramsPerSecond / 1.25 + 1)
})

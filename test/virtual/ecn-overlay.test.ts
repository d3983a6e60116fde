/**
 * ECN overlay: two leaves are ends of VXLAN tunnels, a spine is the underlay. Wherever the queue is, marks arrive at the receiver, and
 * without the mapping none does. What arrives is read from captures of the last link.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readCapture } from '../../lib/capture/index.js'
import { idealFctNs, Topology } from '../../lib/scenario/model/topology.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { PortResult, RunResult } from '../../lib/scenario/result/result.js'
import type { VtepReport } from '../../switch-emu/core/vxlan/vtep.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'

/** The link at whose beginning the queue is, and the rates of both links of the spine and of receivers. */
const PLACES = {
  ingress: { queue: 'leaf1:spine', rates: ['10Gbps', '40Gbps', '40Gbps'] },
  underlay: { queue: 'spine:leaf2', rates: ['40Gbps', '10Gbps', '40Gbps'] },
  egress: { queue: 'leaf2:r1', rates: ['40Gbps', '40Gbps', '10Gbps'] },
} as const

function network(place: keyof typeof PLACES, vtep: string, more = '', toOne = place === 'egress'): string {
  const [up, down, last] = PLACES[place].rates
  return `
link: { rate: 10Gbps, delay: 2us }
hosts: [h1..h3, r1..r3]
switches: { leaf1..leaf2, spine: SETTINGS }
links: [h1..h3--leaf1, { ends: r1..r3--leaf2, rate: ${last} }, { ends: leaf1--spine, rate: ${up} }, { ends: spine--leaf2, rate: ${down} }]
vtep: ${vtep}
cc: dctcp
traffic: [${[1, 2, 3].map(n => `{ name: f${n}, from: h${n}, to: r${toOne ? 1 : n}, size: 500KB }`).join(', ')}]
${more}
`
    .replace('leaf1..leaf2, spine: SETTINGS', 'leaf1..leaf2: SETTINGS, spine: SETTINGS')
    .replaceAll('SETTINGS', '{ ecn: { kmin: 20KB, kmax: 20KB, pmax: 1 } }')
}

const NORMAL = '{ vni: 100, ends: [leaf1, leaf2] }'
const COMPATIBILITY = '{ vni: 100, ends: [leaf1, leaf2], ecn: compatibility }'

function run(
  t: Test,
  text: string,
): { result: RunResult; folder: string; port: (name: string) => PortResult } {
  const folder = t.testdir({})
  const result = new VirtualRun(parseScenario(text, 'x.yaml'), { captures: { folder } }).run()
  return { result, folder, port: name => result.ports.find(one => one.name === name)! }
}

/** Data packets on the last links that came with CE. */
function arrivedMarked(folder: string): number {
  let marked = 0
  for (const n of [1, 2, 3])
    for (const { ip } of readCapture(join(folder, `leaf2--r${n}.pcapng`)))
      if (ip!.destination === `10.0.0.${3 + n}` && ip!.ecn === 'ce') marked++
  return marked
}

for (const [place, { queue }] of Object.entries(PLACES) as [keyof typeof PLACES, { queue: string }][]) {
  t.test(`congestion at the ${place}`, async t => {
    const mapped = run(t, network(place, NORMAL))
    const { ecnMarks, drops } = mapped.port(queue)
    t.ok(ecnMarks > 10, `${ecnMarks} marks at ${queue}`)
    t.equal(arrivedMarked(mapped.folder), ecnMarks, 'each of them arrives')
    t.equal(drops, 0)
    for (const other of mapped.result.ports) if (other.name !== queue) t.equal(other.ecnMarks, 0, other.name)

    const unmapped = run(t, network(place, COMPATIBILITY))
    t.equal(unmapped.port(queue).ecnMarks, 0)
    t.equal(arrivedMarked(unmapped.folder), 0, 'without the mapping no mark arrives')
    t.ok((unmapped.port(queue).dropsByReason?.wred ?? 0) > 0, 'the queue drops in place of marks')
    for (const flow of [...mapped.result.flows, ...unmapped.result.flows]) t.equal(flow.bytes, 500_000)
  })
}

t.test('what marks what: the ingress both headers, the underlay the outer one', async t => {
  const fields = (folder: string, link: string) => {
    const pairs = new Set<string>()
    for (const { ip, vxlan } of readCapture(join(folder, `${link}.pcapng`)))
      if (vxlan !== null) pairs.add(`${ip!.ecn} ${vxlan.inner.ip!.ecn}`)
    return [...pairs].sort()
  }
  const { folder: atIngress } = run(t, network('ingress', NORMAL))
  t.same(fields(atIngress, 'leaf1--spine'), ['ce ce', 'ect0 ect0'])
  const { folder } = run(t, network('underlay', NORMAL))
  t.same(fields(folder, 'leaf1--spine'), ['ect0 ect0'])
  t.same(fields(folder, 'spine--leaf2'), ['ce ect0', 'ect0 ect0'])
})

t.test('bytes: the tunnel adds 50 to each packet, counted at its ends', async t => {
  const { result, port } = run(t, network('underlay', NORMAL))
  const vtepOf = (name: string) => (port(name) as { vtep?: VtepReport }).vtep!
  const [up, down] = [vtepOf('leaf1:spine'), vtepOf('leaf2:spine')]
  t.equal(up.encapsulated, down.decapsulated)
  t.equal(down.encapsulated, up.decapsulated)
  t.same(down.dropped, { malformed: 0, unknownVni: 0, unknownVtep: 0, ecn: 0, tooBig: 0 })
  const received = port('leaf2:r1').txBytes + port('leaf2:r2').txBytes + port('leaf2:r3').txBytes
  t.equal(port('spine:leaf2').txBytes, received + 50 * down.decapsulated)
  t.match(result.settings.vtep, [
    { vni: 100, ends: [{ node: 'leaf1', address: '10.254.0.1' }, { node: 'leaf2' }] },
  ])
})

t.test('the ideal time of a flow counts the tunnel', async t => {
  const alone = (vtep: string) => {
    const traffic = 'traffic: [{ name: f, from: h1, to: r1, size: 500KB }]'
    const text = network('underlay', NORMAL)
      .replace(/vtep: .*\n/, vtep)
      .replace(/traffic: .*\n/, traffic)
    const scenario = parseScenario(`${text}\ntransport: { pathMtu: 1024 }`, 'x.yaml')
    const { flows } = new VirtualRun(scenario).run()
    return { flow: flows[0]!, ideal: idealFctNs(new Topology(scenario), scenario, scenario.flows[0]!) }
  }
  const plain = alone('')
  const tunnelled = alone(`vtep: ${NORMAL}\n`)
  // 489 packets cross three links of 10 Gbit/s and one of 40; all of them at 10 Gbit/s, and the first at the other one in the tunnel.
  t.ok(tunnelled.ideal - plain.ideal > 489 * 40, `${plain.ideal} and ${tunnelled.ideal} ns`)
  for (const { flow, ideal } of [plain, tunnelled]) {
    t.ok(flow.fctNs! >= ideal, `${flow.fctNs} is not below ${ideal} ns`)
    t.ok(flow.fctNs! < 1.1 * ideal + 50_000, `${flow.fctNs} is near ${ideal} ns`)
  }
})

t.test(
  'PFC works hop by hop: nothing is dropped, and the pauses reach the senders through both ends',
  async t => {
    const text = network('underlay', COMPATIBILITY, 'transport: { pathMtu: 4096 }')
      .replaceAll(/\{ ecn: \{[^}]*\} \}/g, '{ pfc: { xoff: 20KB } }')
      .replace('cc: dctcp', 'cc: { name: fixed-window, window: 1MB }')
    const { result, port } = run(t, text)
    t.equal(
      result.ports.reduce((sum, { drops }) => sum + drops, 0),
      0,
    )
    t.ok(port('spine:leaf1').pausesSent > 0, 'the spine pauses leaf1 by what came in by tunnels')
    t.ok(port('leaf1:h1').pausesSent > 0, 'leaf1 pauses the hosts')
    t.equal(
      result.flows.reduce((sum, { retransmittedBytes }) => sum + retransmittedBytes, 0),
      0,
    )
  },
)

for (const cc of ['hpcc', 'swift', 'dcqcn'] as const) {
  const test = cc === 'hpcc' ? usual : long
  test(`${cc} through tunnels: telemetry is that of the ends`, async t => {
    const { result, folder } = run(t, network('underlay', NORMAL).replace('cc: dctcp', `cc: ${cc}`))
    for (const flow of result.flows) t.ok(flow.fctNs !== null, flow.name)
    if (cc !== 'hpcc') return
    const hops = new Set<string>()
    for (const { telemetry, ip } of readCapture(join(folder, 'leaf2--r1.pcapng')))
      if (telemetry !== null && !telemetry.echo && ip!.destination === '10.0.0.4')
        hops.add(telemetry.hops.map(({ switchId }) => switchId).join())
    t.same([...hops], ['1,2'], 'leaf1 and leaf2, not the spine')
  })
}

t.test('over IPv6, by several paths, with two virtual networks that do not see each other', async t => {
  const scenario = parseScenario(
    `
link: { rate: 10Gbps, delay: 2us }
hosts: [h1..h8]
switches: [leaf1, leaf2, s1..s4]
links: [h1..h4--leaf1, h5..h8--leaf2, leaf1..leaf2--s1..s4]
vtep:
  - { vni: 1, ends: { leaf1: { hosts: [h1, h2], address: fd00::1 }, leaf2: { hosts: [h5, h6], address: fd00::2 } } }
  - { vni: 2, ends: { leaf1: { hosts: [h3, h4], address: fd00::1 }, leaf2: { hosts: [h7, h8], address: fd00::2 } } }
traffic:
  - { workload: fbhadoop, hosts: [h1, h2, h5, h6], load: 40%, duration: 300us }
  - { workload: fbhadoop, hosts: [h3, h4, h7, h8], load: 40%, duration: 300us }
`,
    'two.yaml',
  )
  const result = new VirtualRun(scenario).run()
  t.ok(result.flows.length > 5, `${result.flows.length} flows`)
  t.equal(result.flows.filter(({ fctNs }) => fctNs === null).length, 0)
  t.equal(
    result.ports.reduce((sum, { drops }) => sum + drops, 0),
    0,
  )
  for (const spine of ['s1', 's2', 's3', 's4'])
    t.ok(result.ports.find(({ name }) => name === `${spine}:leaf2`)!.txBytes > 0, `${spine} is used`)
})

/** ECN overlay in real time: each mark that the spine sets in an outer header arrives at a receiver, on overlay and on veth. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readCapture } from '../../lib/capture/index.js'
import type { PortResult, RunResult } from '../../lib/scenario/result/result.js'
import type { VtepReport } from '../../switch-emu/core/vxlan/vtep.js'
import { noLabs, Place } from './support.js'

// 10 Mbit/s are 800 packets/s: the first windows alone make a queue there.
const NETWORK = `
name: overlay-marks
link: { rate: 100Mbps, delay: 500us }
hosts: [h1..h4]
switches: { leaf1..leaf2: {}, spine: { ecn: { kmin: 10KB, kmax: 10KB, pmax: 1 } } }
links: [h1..h2--leaf1, h3..h4--leaf2, leaf1--spine, { ends: spine--leaf2, rate: 10Mbps }]
vtep: { vni: 100, ends: [leaf1, leaf2], ecn: ECN }
cc: dctcp
transport: { pathMtu: 1024 }
traffic: [{ name: a, from: h1, to: h3, size: 100KB }, { name: b, from: h2, to: h4, size: 100KB }]
`

for (const on of ['overlay', 'veth'] as const)
  for (const ecn of ['normal', 'compatibility'] as const)
    t.test(`${on}, ecn: ${ecn}`, { skip: on === 'veth' && noLabs() }, async t => {
      const place = new Place(t)
      const [json, captures] = [join(place.folder, 'result.json'), join(place.folder, 'captures')]
      const file = place.file('marks.yaml', NETWORK.replace('ECN', ecn))
      const ended = await place.weir(['run', file, '--on', on, '--json', json, '--pcap', captures])
      t.equal(ended.code, 0, ended.stderr)
      const { flows, ports } = JSON.parse(readFileSync(json, 'utf8')) as RunResult
      for (const flow of flows) t.equal(flow.ackedBytes, 100_000, flow.name)
      const port = (name: string) => ports.find(one => one.name === name) as PortResult & { vtep: VtepReport }
      const arrived = [3, 4].flatMap(n =>
        [...readCapture(join(captures, `leaf2--h${n}.pcapng`))].filter(
          ({ ip }) => ip?.destination === `10.0.0.${n}` && ip.ecn === 'ce',
        ),
      )
      const { ecnMarks, dropsByReason } = port('spine:leaf2')
      t.equal(arrived.length, ecnMarks, `${ecnMarks} marks`)
      if (ecn === 'normal') t.ok(ecnMarks > 10, `${ecnMarks} marks`)
      else
        t.ok(
          ecnMarks === 0 && dropsByReason!.wred! > 0,
          `${JSON.stringify(dropsByReason)}: drops in place of marks`,
        )
      const { encapsulated } = port('leaf1:spine').vtep
      const { decapsulated, dropped } = port('leaf2:spine').vtep
      t.ok(decapsulated >= 196, `${decapsulated} packets, 98 of each flow or more`)
      // The run ends with the last acknowledgement. A packet that was sent twice may still be on its way then.
      const onTheWay = encapsulated - port('spine:leaf2').drops - decapsulated
      t.ok(onTheWay >= 0 && onTheWay <= flows.length, `the tunnel loses none, ${onTheWay} on their way`)
      t.same(dropped, { malformed: 0, unknownVni: 0, unknownVtep: 0, ecn: 0, tooBig: 0 })
    })

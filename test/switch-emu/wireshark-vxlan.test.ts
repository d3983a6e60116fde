/** Tunnels in captures, as Wireshark reads them without our script, beside our own reading. */
import { join } from 'node:path'
import t from 'tap'
import { readCapture } from '../../lib/capture/index.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { noTshark, tshark } from '../support/tshark.js'

const NETWORK = `
link: { rate: 10Gbps, delay: 1us }
hosts: [h1..h4]
switches: { leaf1..leaf2: {}, spine: { ecn: { kmin: 5KB, kmax: 5KB, pmax: 1 } } }
links: [h1..h2--leaf1, h3..h4--leaf2, { ends: leaf1--spine, rate: 40Gbps }, spine--leaf2]
vtep: { vni: 1193046, ends: ENDS }
cc: dctcp
traffic: [{ from: h1, to: h3, size: 200KB }, { from: h2, to: h4, size: 200KB }]
`

for (const [family, ends] of [
  ['IPv4', '[leaf1, leaf2]'],
  ['IPv6', '{ leaf1: { address: fd00::1 }, leaf2: { address: fd00::2 } }'],
] as const) {
  t.test(`over ${family}`, { skip: noTshark }, async t => {
    const folder = t.testdir({})
    new VirtualRun(parseScenario(NETWORK.replace('ENDS', ends), 'x.yaml'), { captures: { folder } }).run()
    const path = join(folder, 'spine--leaf2.pcapng')
    const fields = [
      'vxlan.vni',
      'udp.dstport',
      'ip.dsfield.ecn',
      'ipv6.tclass.ecn',
      'infiniband.bth.opcode',
      '_ws.malformed',
      'udp.checksum',
    ]
    const theirs = tshark(path, fields, '', false)
    const ours = [...readCapture(path)]
    t.equal(theirs.length, ours.length)
    const CODEPOINTS = ['not-ect', 'ect1', 'ect0', 'ce']
    const pairs = new Set<string>()
    for (const [i, [vni, ports, v4, v6, opcode, malformed, sums]] of theirs.entries()) {
      const { vxlan, ip, udp } = ours[i]!
      const { bth, ip: innerIp, udp: innerUdp } = vxlan!.inner
      const names = (text: string) => text.split(',').map(code => CODEPOINTS[Number(code)])
      const read = [
        vni,
        ports,
        names(family === 'IPv4' ? v4! : v6!)[0],
        names(v4!).at(-1),
        opcode,
        malformed,
        sums!.split(',')[0],
      ]
      const expected = [
        '1193046',
        `${udp!.destinationPort},${innerUdp!.destinationPort}`,
        ip!.ecn,
        innerIp!.ecn,
        `${bth!.opcode}`,
        '',
        '0x0000',
      ]
      if (read.join() !== expected.join()) t.same(read, expected, `packet ${i + 1}`)
      pairs.add(`${ip!.ecn} ${innerIp!.ecn}`)
    }
    t.same(
      [...pairs].filter(pair => pair.startsWith('ce')),
      ['ce ect0'],
      'the spine marks the outer header alone',
    )
  })
}

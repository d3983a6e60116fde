/** CE marks and the CNPs that answer them, in a capture as Wireshark reads it without our script. */
import { join } from 'node:path'
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { noTshark, tshark } from '../support/tshark.js'

const NETWORK = `
hosts: [h1, h2, h3]
switches: { s1: { ecn: { kmin: 5KB, kmax: 200KB, pmax: 1% } }, s2: {} }
link: { rate: 10Gbps, delay: 1us }
links: [h1--s1, h2--s1, s1--s2, s2--h3]
cc: dcqcn
transport: { cnpPriority: 6 }
traffic: [{ from: h1, to: h3, size: 1MB }, { from: h2, to: h3, size: 1MB }]
`

/** ECN codepoints of the IP header (RFC 3168, section 5). */
const ECT0 = '2'
const CE = '3'

t.test('opcode, BECN, fields and class of CNPs are those of hardware', { skip: noTshark }, async t => {
  const folder = t.testdir({})
  const result = new VirtualRun(parseScenario(NETWORK, 'cnps.yaml'), { captures: { folder } }).run()
  const read = (fields: string[], filter: string) =>
    tshark(join(folder, 's1--s2.pcapng'), ['frame.time_epoch', 'ip.src', 'ip.dst', ...fields], filter, false)
  const marked = read(['ip.dsfield.ecn', 'infiniband.bth.destqp'], `ip.dsfield.ecn == ${CE}`)
  t.equal(marked.length, result.ports.find(({ name }) => name === 's1:s2')!.ecnMarks)
  t.ok(marked.length > 10, `${marked.length} marks`)
  for (const [, , to] of marked) t.equal(to, '10.0.0.3')
  const fields = [
    'ip.dsfield.dscp',
    'ip.dsfield.ecn',
    'ip.len',
    'udp.dstport',
    'infiniband.bth',
    'infiniband.bth.opcode',
    'infiniband.bth.m',
    'infiniband.bth.p_key',
    'infiniband.bth.a',
    'infiniband.bth.psn',
    '_ws.malformed',
  ]
  const cnps = read(fields, 'infiniband.bth.opcode == 0x81')
  t.ok(cnps.length > 10 && cnps.length <= marked.length, `${cnps.length} CNPs`)
  const lastOf = new Map<string, number>()
  for (const [time, from, to, ...row] of cnps) {
    t.equal(from, '10.0.0.3', 'the receiver of the data sends them')
    // 28 bytes of headers, BTH, 16 reserved bytes, ICRC. DSCP 48 is the class selector of priority 6.
    const [header, ...others] = row.splice(4, 1).concat(row)
    t.same(others, ['48', ECT0, '60', '4791', '129', '0', '65535', '0', '0', ''])
    // Opcode, flags, partition key; then BECN, with all other bits beside the QPN clear.
    t.match(header, /^8100ffff40[0-9a-f]{6}00000000$/)
    const ns = Number(time) * 1e9
    t.ok(ns - (lastOf.get(to!) ?? Number.NEGATIVE_INFINITY) >= 49_000, 'once in 50 us for a flow')
    lastOf.set(to!, ns)
    t.ok(
      marked.some(([at, sender]) => sender === to && Number(at) < Number(time)),
      'after a mark of that sender',
    )
  }
})

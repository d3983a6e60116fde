/** CNPs in a capture as Wireshark reads it without our script: those that answer CE marks, and those that a switch with IPCC sends. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
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

/** The same without ECN: s1 itself sends CNPs. The receiver is 100 us away. */
const IPCC_NETWORK = NETWORK.replace('{ ecn: { kmin: 5KB, kmax: 200KB, pmax: 1% } }', '{ ipcc: {} }').replace(
  's1--s2,',
  '{ ends: s1--s2, delay: 100us },',
)

const FIELDS = [
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

/** ECN codepoints of the IP header (RFC 3168, section 5). */
const ECT0 = '2'
const CE = '3'

/** Fields of a CNP, as FIELDS has them. */
function isWellFormed(t: Test, fields: readonly string[]): void {
  // 28 bytes of headers, BTH, 16 reserved bytes, ICRC. DSCP 48 is the class selector of priority 6.
  t.same(fields.toSpliced(4, 1), ['48', ECT0, '60', '4791', '129', '0', '65535', '0', '0', ''])
  // Opcode, flags, partition key; then BECN, with all other bits beside the QPN clear.
  t.match(fields[4], /^8100ffff40[0-9a-f]{6}00000000$/)
}

t.test('opcode, BECN, fields and class of CNPs are those of hardware', { skip: noTshark }, async t => {
  const folder = t.testdir({})
  const result = new VirtualRun(parseScenario(NETWORK, 'cnps.yaml'), { captures: { folder } }).run()
  const read = (fields: string[], filter: string) =>
    tshark(join(folder, 's1--s2.pcapng'), ['frame.time_epoch', 'ip.src', 'ip.dst', ...fields], filter, false)
  const marked = read(['ip.dsfield.ecn', 'infiniband.bth.destqp'], `ip.dsfield.ecn == ${CE}`)
  t.equal(marked.length, result.ports.find(({ name }) => name === 's1:s2')!.ecnMarks)
  t.ok(marked.length > 10, `${marked.length} marks`)
  for (const [, , to] of marked) t.equal(to, '10.0.0.3')
  const cnps = read(FIELDS, 'infiniband.bth.opcode == 0x81')
  t.ok(cnps.length > 10 && cnps.length <= marked.length, `${cnps.length} CNPs`)
  const lastOf = new Map<string, number>()
  for (const [time, from, to, ...row] of cnps) {
    t.equal(from, '10.0.0.3', 'the receiver of the data sends them')
    // 28 bytes of headers, BTH, 16 reserved bytes, ICRC. DSCP 48 is the class selector of priority 6.
    isWellFormed(t, row)
    const ns = Number(time) * 1e9
    t.ok(ns - (lastOf.get(to!) ?? Number.NEGATIVE_INFINITY) >= 49_000, 'once in 50 us for a flow')
    lastOf.set(to!, ns)
    t.ok(
      marked.some(([at, sender]) => sender === to && Number(at) < Number(time)),
      'after a mark of that sender',
    )
  }
})

t.test(
  'those of a switch with IPCC are the same, in the name of the receiver',
  { skip: noTshark },
  async t => {
    const folder = t.testdir({})
    const result = new VirtualRun(parseScenario(IPCC_NETWORK, 'ipcc.yaml'), { captures: { folder } }).run()
    const { ipcc } = result.ports.find(({ name }) => name === 's1:s2') as unknown as {
      ipcc: { sent: number }
    }
    t.ok(ipcc.sent > 4, `${ipcc.sent} CNPs`)
    const read = (link: string, fields: string[], filter: string) =>
      tshark(join(folder, `${link}.pcapng`), ['ip.src', 'ip.dst', ...fields], filter, false)
    let seen = 0
    for (const [link, sender] of [
      ['s1--h1', '10.0.0.1'],
      ['s1--h2', '10.0.0.2'],
    ] as const) {
      const qpns = new Set(
        read(link, ['infiniband.bth.destqp'], 'infiniband.bth.opcode == 0x11').map(([, , qpn]) => qpn),
      )
      t.equal(qpns.size, 1, 'acknowledgements name the sender')
      for (const [from, to, qpn, ...fields] of read(
        link,
        ['infiniband.bth.destqp', ...FIELDS],
        'infiniband.bth.opcode == 0x81',
      )) {
        seen++
        t.same([from, to], ['10.0.0.3', sender])
        t.ok(qpns.has(qpn!), 'to the queue pair that sends')
        isWellFormed(t, fields)
      }
    }
    t.equal(seen, ipcc.sent)
    t.equal(read('s1--s2', [], 'infiniband.bth.opcode == 0x81').length, 0, 'the receiver sends none')
  },
)

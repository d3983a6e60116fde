/**
 * Wireshark's reading of compact records, INT-MD, IFA and IOAM: by switch-emu/wireshark/weir.lua, and of IOAM
 * over IPv6 by itself.
 */
import { join } from 'node:path'
import t from 'tap'
import { PacketDirection, PcapngWriter } from '../../lib/capture/pcapng-writer.js'
import { Frame } from '../../lib/frame/frame.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { HopSnapshot } from '../../lib/wire/telemetry/hop-snapshot.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { growthBytes, stamp } from '../../lib/wire/telemetry/telemetry-hop.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { compare, noTshark, tshark, twoSenders } from '../support/tshark.js'
import { buildRoce, PLAIN } from '../wire/helpers.js'

const skip = noTshark

for (const format of ['p4-int-md', 'ifa', 'ioam'] as const) {
  t.test(`a virtual run, ${format}: both read the same from every packet`, { skip }, async t => {
    const folder = t.testdir({})
    new VirtualRun(twoSenders(format, '1Gbps', `{format: ${format}, hops: 5}`), {
      captures: { folder },
    }).run()
    const path = join(folder, 's2--h3.pcapng')
    const seen = compare(t, path)
    t.ok(seen.withHops > 200, `${seen.withHops} packets with hop records`)
    for (const name of ['RC_RDMA_WRITE_MIDDLE', 'RC_ACKNOWLEDGE']) t.ok(seen.opcodes.has(name), name)
    const two = tshark(path, ['weir.hop.switch_id'], 'infiniband.bth.opcode == 7')
    t.ok(two.length > 100)
    t.ok(
      two.every(([ids]) => ids === '1,2'),
      'the first switch first',
    )
    t.same(tshark(path, ['frame.number'], 'weir.malformed'), [])
  })
}

t.test('a virtual run, compact records, more hops than slots', { skip }, async t => {
  const folder = t.testdir({})
  new VirtualRun(twoSenders('compact', '10Gbps', '{format: compact, hops: 1}'), {
    captures: { folder },
  }).run()
  const path = join(folder, 's2--h3.pcapng')
  const seen = compare(t, path)
  t.ok(seen.withHops > 200, `${seen.withHops} packets with hop records`)
  t.ok(tshark(path, ['frame.number'], 'weir.int.flags.overflow == 1').length > 100)
  t.ok(tshark(path, ['frame.number'], 'weir.int.flags.echo == 1 && infiniband.aeth').length > 10)
})

t.test('IFA of another IP protocol, by a preference', { skip }, async t => {
  const folder = t.testdir({})
  const int = '{format: ifa, hops: 5, ifaProtocol: 131}'
  new VirtualRun(twoSenders('ifa', '1Gbps', int), { captures: { folder } }).run()
  const path = join(folder, 's2--h3.pcapng')
  const withHops = (...more: string[]) =>
    tshark(path, ['frame.number'], 'weir.hop.switch_id == 2', true, more)
  const read = withHops('-o', 'weir_ifa.protocol:131').length
  t.ok(read > 100, `${read} packets with hop records`)
  // Acknowledgements echo telemetry behind UDP.
  const ofIfa = tshark(path, ['frame.number'], 'ip.proto == 131').length
  t.ok(ofIfa > 100)
  t.equal(withHops().length, read - ofIfa, 'without it they are another protocol')
})

/** A RoCEv2 packet over IPv6 with an IOAM trace for three nodes, of which two have written their data. */
function traced(): Frame {
  const plain = buildRoce({ ...PLAIN, family: 6, payloadBytes: 16 })
  parseFrame(plain)
  const frame = new Frame(0, Buffer.alloc(1024))
  frame.bytes.set(plain.bytes.subarray(0, plain.bth))
  Object.assign(frame, { l3: plain.l3, l4: plain.l4, payload: plain.bth })
  frame.bth = telemetry.begin(frame, telemetry.IOAM, 3, 0)
  frame.bytes.set(plain.bytes.subarray(plain.bth), frame.bth)
  frame.length = frame.bth + plain.length - plain.bth
  frame.wireLength = frame.length
  ipv6.setPayloadLength(frame.view, frame.l3, frame.length - frame.l3 - ipv6.BYTES)
  icrc.write(frame)
  const hop = new HopSnapshot()
  Object.assign(hop, { ingressPort: 4, egressPort: 5, rateBps: 25e9, txBytes: 0x1_0000_0002, qlenBytes: 77 })
  for (const switchId of [0x11, 0x22]) {
    Object.assign(hop, { switchId, ttl: 64 - switchId, startNs: 9_000_000_000 + switchId })
    if (parseFrame(frame) !== WireError.OK) throw new Error('malformed')
    stamp(frame, hop, growthBytes(frame, 1500))
  }
  return frame
}

t.test(
  'IOAM over IPv6: Wireshark reads the trace as RFC 9197 has it, and RoCEv2 behind it',
  { skip },
  async t => {
    const path = join(t.testdir({}), 'made.pcapng')
    const writer = new PcapngWriter(path, { interfaceName: 's1:s2', rateBps: 1e9 })
    writer.write(0, traced(), PacketDirection.SENT)
    writer.close()
    const trace = 'ipv6.opt.ioam.trace.'
    const node = `${trace}node.`
    const fields = ['ns', 'nodelen', 'flag.o', 'remlen', 'type'].map(name => trace + name)
    const data = ['hlim', 'id', 'iif', 'eif', 'tss', 'tsf', 'nsdata', 'qdepth', 'nsdata_wide'].map(
      name => node + name,
    )
    const more = ['ipv6.opt.ioam.opt_type', 'udp.dstport', 'infiniband.bth.opcode', '_ws.malformed']
    const faults = ['invalid_nodelen', 'invalid_remlen', 'invalid_type'].map(name => trace + name)
    t.same(tshark(path, [...fields, ...data, ...more, ...faults]), [
      [
        '22341',
        '8',
        '0',
        '8',
        '0xf62000',
        // The last node first.
        '30,47',
        '0x000022,0x000011',
        '0x0004,0x0004',
        '0x0005,0x0005',
        '0x00000009,0x00000009',
        '0x00000022,0x00000011',
        '0x017d7840,0x017d7840',
        '0x0000004d,0x0000004d',
        '0x0000000100000002,0x0000000100000002',
        '0',
        '4791',
        '4',
        // Nothing is malformed.
        '',
        '',
        '',
        '',
      ],
    ])
  },
)

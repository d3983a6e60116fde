/** Ethernet, IPv4, IPv6, UDP, VXLAN, PFC: bytes from the standards or computed by hand. */
import t from 'tap'
import { WireError } from '../../lib/wire/bytes/wire-error.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import * as udp from '../../lib/wire/net/udp.js'
import * as vxlan from '../../lib/wire/net/vxlan.js'
import { fc, property } from '../support/property.js'
import { blank, viewOf } from './helpers.js'

t.test('Ethernet, plain and tagged', async t => {
  const plain = blank(14)
  ethernet.write(plain.view, 0, 0x5254_0099_0001, 0x5254_0099_0002, ethernet.TYPE_IPV4)
  t.equal(plain.hex(), '5254009900015254009900020800')
  t.equal(ethernet.headerBytes(plain.view, 0), 14)
  t.equal(ethernet.destination(plain.view, 0), 0x5254_0099_0001)
  t.equal(ethernet.source(plain.view, 0), 0x5254_0099_0002)
  t.equal(ethernet.etherType(plain.view, 0), 0x0800)
  t.equal(ethernet.check(plain.view, 0, 14), WireError.OK)
  t.equal(ethernet.check(plain.view, 0, 13), WireError.SHORT_ETHERNET)

  const tagged = blank(18)
  ethernet.writeTagged(tagged.view, 0, 0xffff_ffff_ffff, 1, 5, true, 0xabc, ethernet.TYPE_IPV6)
  // 802.1Q: PCP 101, DEI 1, VID 0xabc = 0xbabc.
  t.equal(tagged.hex(), 'ffffffffffff0000000000018100babc86dd')
  t.ok(ethernet.hasVlan(tagged.view, 0))
  t.equal(ethernet.headerBytes(tagged.view, 0), 18)
  t.equal(ethernet.etherType(tagged.view, 0), 0x86dd)
  t.equal(ethernet.vlanPriority(tagged.view, 0), 5)
  t.equal(ethernet.vlanId(tagged.view, 0), 0xabc)
  t.equal(ethernet.check(tagged.view, 0, 17), WireError.SHORT_ETHERNET)
  ethernet.setVlanPriority(tagged.view, 0, 2)
  ethernet.setDestination(tagged.view, 0, 0x0200_0000_0003)
  ethernet.setSource(tagged.view, 0, 0x8000_0000_0004)
  t.equal(tagged.hex(), '02000000000380000000000481005abc86dd')
  t.equal(ethernet.print(tagged.view, 0), '80:00:00:00:00:04 > 02:00:00:00:00:03 vlan 2748 p 2 type 0x86dd')
})

t.test('IPv4 header and checksum', async t => {
  // A header whose checksum, 0xb861, is the usual textbook example of RFC 1071.
  const textbook = viewOf('4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7')
  t.ok(ipv4.verifyChecksum(textbook, 0))
  const written = blank(20)
  ipv4.write(written.view, 0, {
    tos: 0,
    totalLength: 0x73,
    identification: 0,
    dontFragment: true,
    ttl: 64,
    protocol: 17,
    source: 0xc0a8_0001,
    destination: 0xc0a8_00c7,
  })
  t.equal(written.hex(), '45000073000040004011b861c0a80001c0a800c7')
  for (let byte = 1; byte < 20; byte++) {
    const bad = viewOf('4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7')
    bad.setUint8(byte, bad.getUint8(byte) ^ 0x01)
    t.notOk(ipv4.verifyChecksum(bad, 0), `a flipped bit in byte ${byte} is seen`)
  }
  t.equal(ipv4.version(textbook, 0), 4)
  t.equal(ipv4.headerBytes(textbook, 0), 20)
  t.equal(ipv4.totalLength(textbook, 0), 0x73)
  t.equal(ipv4.identification(textbook, 0), 0)
  t.ok(ipv4.dontFragment(textbook, 0))
  t.notOk(ipv4.isFragment(textbook, 0))
  t.equal(ipv4.ttl(textbook, 0), 64)
  t.equal(ipv4.protocol(textbook, 0), 17)
  t.equal(ipv4.source(textbook, 0), 0xc0a8_0001)
  t.equal(ipv4.destination(textbook, 0), 0xc0a8_00c7)
})

t.test('IPv4 fields one by one', async t => {
  const { view, hex } = blank(20)
  view.setUint8(0, 0x45)
  ipv4.setTos(view, 0, 0xb9)
  ipv4.setTotalLength(view, 0, 0x1234)
  ipv4.setIdentification(view, 0, 0x5678)
  view.setUint16(6, 0x2005)
  ipv4.setTtl(view, 0, 9)
  ipv4.setProtocol(view, 0, 6)
  ipv4.setSource(view, 0, 0x0102_0304)
  ipv4.setDestination(view, 0, 0xfffe_fdfc)
  t.equal(hex(), '45b91234567820050906000001020304fffefdfc')
  t.equal(ipv4.tos(view, 0), 0xb9)
  t.equal(ipv4.dscp(view, 0), 46)
  t.equal(ipv4.ecn(view, 0), ipv4.ECN_ECT1)
  t.ok(ipv4.isFragment(view, 0))
  t.equal(ipv4.fragmentOffset(view, 0), 5)
  ipv4.setChecksum(view, 0, 0xbeef)
  t.equal(ipv4.checksum(view, 0), 0xbeef)
  ipv4.updateChecksum(view, 0)
  t.ok(ipv4.verifyChecksum(view, 0))
})

t.test('IPv4 check', async t => {
  const header = (change: (view: DataView) => void) => {
    const view = viewOf('4500 0020 0000 4000 4011 0000 c0a8 0001 c0a8 00c7 000000000000000000000000')
    change(view)
    return view
  }
  const untouched = header(() => {})
  t.equal(ipv4.check(untouched, 0, 32), WireError.OK)
  t.equal(ipv4.check(untouched, 0, 20, 32), WireError.OK, 'the payload need not be there')
  t.equal(ipv4.check(untouched, 0, 19, 32), WireError.SHORT_IPV4)
  t.equal(ipv4.check(untouched, 0, 31), WireError.BAD_IPV4_LENGTH)
  t.equal(
    ipv4.check(
      header(v => v.setUint8(0, 0x65)),
      0,
      32,
    ),
    WireError.BAD_IPV4_HEADER,
  )
  t.equal(
    ipv4.check(
      header(v => v.setUint8(0, 0x44)),
      0,
      32,
    ),
    WireError.BAD_IPV4_HEADER,
  )
  t.equal(
    ipv4.check(
      header(v => v.setUint8(0, 0x49)),
      0,
      32,
    ),
    WireError.SHORT_IPV4,
  )
  t.equal(
    ipv4.check(
      header(v => v.setUint16(2, 19)),
      0,
      32,
    ),
    WireError.BAD_IPV4_LENGTH,
  )
})

t.test('TTL and ECN change with an incremental checksum that is the computed one (RFC 1624)', async t => {
  const headers = fc.record({
    tos: fc.integer({ min: 0, max: 255 }),
    id: fc.integer({ min: 0, max: 0xffff }),
    ttl: fc.integer({ min: 2, max: 255 }),
    from: fc.integer({ min: 0, max: 0xffff_ffff }),
    to: fc.integer({ min: 0, max: 0xffff_ffff }),
    ecn: fc.integer({ min: 0, max: 3 }),
    dscp: fc.integer({ min: 0, max: 63 }),
  })
  property(t, 'valid before, valid after', headers, h => {
    const { view } = blank(20)
    ipv4.write(view, 0, {
      tos: h.tos,
      totalLength: 100,
      identification: h.id,
      dontFragment: true,
      ttl: h.ttl,
      protocol: 17,
      source: h.from,
      destination: h.to,
    })
    if (!ipv4.decrementTtl(view, 0)) throw new Error('refused')
    if (ipv4.ttl(view, 0) !== h.ttl - 1 || !ipv4.verifyChecksum(view, 0)) throw new Error('ttl')
    ipv4.setEcn(view, 0, h.ecn)
    if (ipv4.tos(view, 0) !== (h.tos & 0xfc) + h.ecn || !ipv4.verifyChecksum(view, 0)) throw new Error('ecn')
    ipv4.setDscp(view, 0, h.dscp)
    if (ipv4.tos(view, 0) !== h.dscp * 4 + h.ecn || !ipv4.verifyChecksum(view, 0)) throw new Error('dscp')
    ipv4.markCe(view, 0)
    if (ipv4.ecn(view, 0) !== 3 || !ipv4.verifyChecksum(view, 0)) throw new Error('ce')
  })
  for (const ttl of [0, 1]) {
    const { view, hex } = blank(20)
    ipv4.write(view, 0, {
      tos: 0,
      totalLength: 20,
      identification: 0,
      dontFragment: false,
      ttl,
      protocol: 17,
      source: 1,
      destination: 2,
    })
    const before = hex()
    t.notOk(ipv4.decrementTtl(view, 0), `a packet with TTL ${ttl} has expired`)
    t.equal(hex(), before)
  }
})

t.test('IPv6', async t => {
  const { view, hex } = blank(40)
  const from = Buffer.from('20010db8000000000000000000000001', 'hex')
  const to = Buffer.from('20010db8000000000000000000000002', 'hex')
  ipv6.write(view, 0, {
    trafficClass: 0xb9,
    flowLabel: 0xfedcb,
    payloadLength: 0x1234,
    nextHeader: 17,
    hopLimit: 64,
    source: from,
    destination: to,
  })
  t.equal(hex(), `6b9fedcb12341140${from.toString('hex')}${to.toString('hex')}`)
  t.equal(ipv6.version(view, 0), 6)
  t.equal(ipv6.trafficClass(view, 0), 0xb9)
  t.equal(ipv6.dscp(view, 0), 46)
  t.equal(ipv6.ecn(view, 0), 1)
  t.equal(ipv6.flowLabel(view, 0), 0xfedcb)
  t.equal(ipv6.payloadLength(view, 0), 0x1234)
  t.equal(ipv6.nextHeader(view, 0), 17)
  t.equal(ipv6.hopLimit(view, 0), 64)
  t.equal(ipv6.sourceWord(view, 0, 0), 0x2001_0db8)
  t.equal(ipv6.destinationWord(view, 0, 3), 2)
  ipv6.markCe(view, 0)
  t.equal(ipv6.trafficClass(view, 0), 0xbb)
  ipv6.setDscp(view, 0, 0x0a)
  t.equal(ipv6.trafficClass(view, 0), 0x2b, 'DSCP 10, CE')
  ipv6.setTrafficClass(view, 0, 0x12)
  ipv6.setPayloadLength(view, 0, 1)
  ipv6.setHopLimit(view, 0, 2)
  t.equal(hex().slice(0, 16), '612fedcb00011102')
  t.ok(ipv6.decrementHopLimit(view, 0))
  t.notOk(ipv6.decrementHopLimit(view, 0), 'the last hop')
  t.equal(ipv6.hopLimit(view, 0), 1)
  t.equal(ipv6.check(view, 0, 41), WireError.OK)
  t.equal(ipv6.check(view, 0, 40, 41), WireError.OK)
  t.equal(ipv6.check(view, 0, 40), WireError.BAD_IPV6_LENGTH)
  t.equal(ipv6.check(view, 0, 39, 41), WireError.SHORT_IPV6)
  view.setUint8(0, 0x41)
  t.equal(ipv6.check(view, 0, 41), WireError.BAD_IPV6_HEADER)
})

t.test('UDP', async t => {
  const { view, hex } = blank(8)
  udp.write(view, 0, 0xd872, udp.PORT_ROCE, 288)
  // The CM datagrams of the captures: 55410 > 4791, 288 bytes, no checksum.
  t.equal(hex(), 'd87212b701200000')
  t.equal(udp.sourcePort(view, 0), 55410)
  t.equal(udp.destinationPort(view, 0), 4791)
  t.equal(udp.length(view, 0), 288)
  t.equal(udp.checksum(view, 0), 0)
  udp.setSourcePort(view, 0, 1)
  udp.setDestinationPort(view, 0, 2)
  udp.setLength(view, 0, 8)
  udp.setChecksum(view, 0, 0xabcd)
  t.equal(hex(), '000100020008abcd')
  t.equal(udp.check(view, 0, 8), WireError.OK)
  t.equal(udp.check(view, 0, 7), WireError.SHORT_UDP)
  udp.setLength(view, 0, 9)
  t.equal(udp.check(view, 0, 8), WireError.BAD_UDP_LENGTH)
  t.equal(udp.check(view, 0, 8, 9), WireError.OK)
  udp.setLength(view, 0, 7)
  t.equal(udp.check(view, 0, 8), WireError.BAD_UDP_LENGTH)
})

t.test('VXLAN (RFC 7348, section 5)', async t => {
  const { view, hex } = blank(8)
  vxlan.write(view, 0, 0xabcdef)
  t.equal(hex(), '08000000abcdef00')
  t.equal(vxlan.vni(view, 0), 0xabcdef)
  t.equal(vxlan.check(view, 0, 8), WireError.OK)
  t.equal(vxlan.check(view, 0, 7), WireError.SHORT_VXLAN)
  view.setUint8(0, 0xf7)
  t.equal(vxlan.check(view, 0, 8), WireError.BAD_VXLAN, 'without the I flag there is no VNI')
  view.setUint8(0, 0xff)
  t.equal(vxlan.check(view, 0, 8), WireError.OK, 'reserved flags are ignored')
  vxlan.setVni(view, 0, 1)
  t.equal(vxlan.print(view, 0), 'VXLAN vni 1')
})

t.test('PFC frame (802.1Qbb)', async t => {
  const { view, hex } = blank(pfc.BYTES)
  for (let i = 0; i < pfc.BYTES; i++) view.setUint8(i, 0xee)
  pfc.write(view, 0, 0x0200_0000_0007, 0b0000_1001, 0xffff)
  const quanta = `ffff00000000ffff${'0000'.repeat(4)}`
  t.equal(hex(), `0180c2000001020000000007880801010009${quanta}${'00'.repeat(26)}`)
  t.equal(pfc.check(view, 0, 60), WireError.OK)
  t.ok(pfc.isPfc(view, 0, 60))
  t.equal(pfc.enableVector(view, 0), 9)
  t.ok(pfc.isEnabled(view, 0, 0))
  t.notOk(pfc.isEnabled(view, 0, 1))
  t.equal(pfc.quanta(view, 0, 3), 0xffff)
  pfc.setEnableVector(view, 0, 0b1000)
  pfc.setQuanta(view, 0, 3, 0)
  t.equal(pfc.print(view, 0), 'PFC p3 0')
  t.equal(pfc.check(view, 0, 33), WireError.SHORT_PFC)
  view.setUint16(14, 0x0001)
  t.equal(pfc.check(view, 0, 60), WireError.BAD_PFC, 'PAUSE of 802.3x is another opcode')
  t.notOk(pfc.isPfc(view, 0, 60))
  view.setUint16(14, 0x0101)
  view.setUint8(5, 0x02)
  t.equal(pfc.check(view, 0, 60), WireError.BAD_PFC, 'another destination')
})

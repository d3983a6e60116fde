/** Output for people: one line a frame, checked against fields chosen here. */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'
import * as arp from '../../lib/wire/net/arp.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import * as udp from '../../lib/wire/net/udp.js'
import * as vxlan from '../../lib/wire/net/vxlan.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as sack from '../../lib/wire/weir/sack.js'
import { buildRoce, PLAIN, type Shape } from './helpers.js'

function roce(shape: Partial<Shape>, change: (view: DataView, frame: Frame) => void = () => {}): string {
  const frame = buildRoce({ ...PLAIN, ...shape })
  parseFrame(frame)
  change(frame.view, frame)
  return printFrame(frame)
}

function link(bytes: number, fill: (view: DataView) => void): Frame {
  const frame = new Frame(0, Buffer.alloc(bytes))
  fill(frame.view)
  frame.length = bytes
  frame.wireLength = bytes
  return frame
}

const HOSTS = 'IP 10.99.0.1.49443 > 10.99.0.2.4791 ect0:'

t.test('transport packets', async t => {
  t.equal(
    roce({ opcode: Opcode.RC_RDMA_WRITE_FIRST, payloadBytes: 1024 }, (v, f) => {
      reth.write(v, f.bth + 12, 0x7f58_0059_6008, 0x12db, 65_536)
    }),
    `${HOSTS} RC_RDMA_WRITE_FIRST qp 0x11 psn 1 ack-req, va 0x7f5800596008 rkey 0x12db dmalen 65536, payload 1024`,
  )
  const ack = (syndrome: number) =>
    roce({ opcode: Opcode.RC_ACKNOWLEDGE }, (v, f) => {
      bth.setAckRequest(v, f.bth, false)
      aeth.write(v, f.bth + 12, syndrome, 7)
    })
  t.equal(ack(0x1f), `${HOSTS} RC_ACKNOWLEDGE qp 0x11 psn 1, ack msn 7`)
  t.equal(ack(0x05), `${HOSTS} RC_ACKNOWLEDGE qp 0x11 psn 1, ack credits 6 msn 7`)
  t.equal(ack(0x60), `${HOSTS} RC_ACKNOWLEDGE qp 0x11 psn 1, nak psn-sequence msn 7`)
  t.equal(ack(0x62), `${HOSTS} RC_ACKNOWLEDGE qp 0x11 psn 1, nak remote-access msn 7`)
  t.equal(ack(0x6f), `${HOSTS} RC_ACKNOWLEDGE qp 0x11 psn 1, nak 15 msn 7`)
  t.equal(ack(0x2c), `${HOSTS} RC_ACKNOWLEDGE qp 0x11 psn 1, rnr-nak 640us msn 7`)
  t.equal(
    roce({ opcode: Opcode.SACK }, (v, f) => {
      bth.setAckRequest(v, f.bth, false)
      aeth.write(v, f.bth + 12, 0x1f, 7)
      sack.write(v, f.bth + 16, 0xfffffe)
      for (const bit of [1, 2, 3, 255]) sack.add(v, f.bth + 16, bit)
    }),
    `${HOSTS} SACK qp 0x11 psn 1, ack msn 7, sack 16777215-1 253`,
  )
})

t.test('marks, tags, IPv6, INT', async t => {
  t.match(
    roce({ family: 6, vlan: true }),
    /^vlan 42 IP6 102:304:506:708:90a:b0c:d0e:f10\.49443 > f0ef:.*\.4791 ect1: RC_SEND_ONLY qp 0x11 psn 1 ack-req$/,
  )
  t.match(
    roce({}, (v, f) => {
      ipv4.markCe(v, f.l3)
      bth.setBecn(v, f.bth, true)
      bth.setSolicited(v, f.bth, true)
      bth.setPartitionKey(v, f.bth, 0x8001)
    }),
    /4791 ce: RC_SEND_ONLY qp 0x11 psn 1 ack-req solicited becn pkey 0x8001$/,
  )
  t.match(
    roce({ slots: 5, payloadBytes: 4 }, (v, f) => {
      intShim.stamp(v, f.shim, f.length, {
        switchId: 0xab,
        egressPort: 1,
        rateBps: 1e9,
        startNs: 2,
        txBytes: 3,
        qlenBytes: 4,
      })
    }),
    /4792 ect0: INT wide hops 1\/5 path 0xab, RC_SEND_ONLY qp 0x11 psn 1 ack-req, payload 4$/,
  )
})

t.test('faults are named', async t => {
  t.match(
    roce({}, (v, f) => bth.setOpcode(v, f.bth, 0x15)),
    /: 0x15 qp 0x11 psn 1 ack-req \[malformed: unknown-opcode\]$/,
  )
  t.match(
    roce({ slots: 1 }, (v, f) => v.setUint8(f.shim, 0x20)),
    /: UDP, length \d+ \[malformed: bad-shim\]$/,
  )
  t.equal(printFrame(link(5, () => {})), '5 bytes [malformed: short-ethernet]')
})

t.test('other traffic', async t => {
  const request = link(60, view => {
    ethernet.write(view, 0, 0xffff_ffff_ffff, 1, ethernet.TYPE_ARP)
    arp.write(view, 14, arp.REQUEST, 0x02_00_00_00_00_01, 0x0a00_0001, 0, 0x0a00_0002)
  })
  t.equal(printFrame(request), 'ARP who-has 10.0.0.2 tell 10.0.0.1')
  request.view.setUint16(20, arp.REPLY)
  t.equal(printFrame(request), 'ARP reply 10.0.0.1 is-at 02:00:00:00:00:01')
  request.view.setUint16(14, 6)
  t.equal(printFrame(request), 'ARP', 'of another kind of hardware nothing more is known')
  t.equal(printFrame(link(pfc.BYTES, view => pfc.write(view, 0, 1, 0b1000, 0xffff))), 'PFC p3 65535')
  const unknown = link(60, view => ethernet.write(view, 0, 2, 1, 0x88cc))
  t.equal(printFrame(unknown), '00:00:00:00:00:01 > 00:00:00:00:00:02 type 0x88cc, length 60')
  t.equal(
    roce({}, (v, f) => ipv4.setProtocol(v, f.l3, 6)),
    'IP 10.99.0.1 > 10.99.0.2 ect0: TCP, length 24',
  )
  t.equal(
    roce({}, (v, f) => udp.setDestinationPort(v, f.l4, 53)),
    'IP 10.99.0.1.49443 > 10.99.0.2.53 ect0: UDP, length 16',
  )
  t.match(
    roce({}, (v, f) => v.setUint16(f.l3 + 6, 0x2010)),
    /^IP 10.99.0.1 > 10.99.0.2 ect0 frag 128: UDP, length 24$/,
  )
})

t.test('VXLAN shows the frame within, to a bounded depth', async t => {
  const wrap = (inner: Frame) =>
    link(50 + inner.length, view => {
      const frameBytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
      ethernet.write(view, 0, 2, 1, ethernet.TYPE_IPV4)
      ipv4.write(view, 14, {
        tos: 0,
        totalLength: 36 + inner.length,
        identification: 0,
        dontFragment: true,
        ttl: 64,
        protocol: 17,
        source: 0x7f00_0001,
        destination: 0x7f00_0001,
      })
      udp.write(view, 34, 5000, udp.PORT_VXLAN, 16 + inner.length)
      vxlan.write(view, 42, 77)
      frameBytes.set(inner.bytes.subarray(0, inner.length), 50)
    })
  let frame = buildRoce(PLAIN)
  const plain = printFrame(frame)
  frame = wrap(frame)
  t.equal(printFrame(frame), `IP 127.0.0.1.5000 > 127.0.0.1.4789: VXLAN vni 77 | ${plain}`)
  for (let i = 0; i < 10; i++) frame = wrap(frame)
  t.equal(printFrame(frame).split('VXLAN').length - 1, 5)
})

t.test(
  'the reserved bits beside AckReq: the window that data was sent with, duplicates in acknowledgements',
  async t => {
    const frame = buildRoce(PLAIN)
    const plain = printFrame(frame)
    bth.setWindowNumber(frame.view, frame.bth, 128 + 5)
    t.equal(printFrame(frame), plain.replace(/( psn [^,]*)/, '$1 window #5'))
    const answer = new DataView(new ArrayBuffer(bth.BYTES))
    bth.write(
      answer,
      0,
      new bth.Bth({ opcode: Opcode.RC_ACKNOWLEDGE, migrated: true, destQpn: 0x11, psn: 1 }),
    )
    bth.setDuplicates(answer, 0, 3)
    t.equal(bth.print(answer, 0), 'RC_ACKNOWLEDGE qp 0x11 psn 1 duplicates 3')
  },
)

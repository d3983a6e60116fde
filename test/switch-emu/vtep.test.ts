/** An end of VXLAN tunnels: its bytes, its ECN fields, what it drops, and what other features see. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { flowHash } from '../../switch-emu/core/forwarding/ecmp.js'
import { Switch, type SwitchOptions } from '../../switch-emu/core/switch.js'
import type { VtepOptions, VtepReport } from '../../switch-emu/core/vxlan/vtep.js'
import { fc, property } from '../support/property.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { drain, HOST } from './helpers.js'

const OWN = '10.254.0.1'
const PEER = '10.254.0.2'
const MACS = { [OWN]: 0x025700000001, [PEER]: 0x025700000002 }
const VNI = 0x123456
const ACCESS = 0
const UNDERLAY = 1

/** Hosts 0 and 2 are behind this end (port 0 and 2), host 1 behind the peer, which the underlay's port leads to. */
function end(
  network: Partial<VtepOptions['networks'][0]> = {},
  options: Partial<SwitchOptions> = {},
  peer = PEER,
) {
  const address = (n: number) => HostAddress.fromIpv4(HOST(n))
  const own = HostAddress.parse(peer === PEER ? OWN : 'fd00::1')
  const vtep: VtepOptions = {
    address: own,
    mac: MACS[OWN]!,
    networks: [
      {
        vni: VNI,
        ecn: 'normal',
        mtuBytes: 4500,
        hosts: [
          { address: address(0), port: ACCESS },
          { address: address(2), port: 2 },
        ],
        remotes: [{ address: HostAddress.parse(peer), mac: MACS[PEER]!, hosts: [address(1)] }],
        ...network,
      },
    ],
  }
  const pool = new FramePool(64, 1024)
  const { features, ...more } = options
  const ports = [{ rateBps: 1e9 }, { rateBps: 1e9 }, { rateBps: 1e9 }]
  const node = new Switch({
    id: 7,
    name: 'leaf',
    bufferBytes: 1 << 24,
    random: () => 0.5,
    pool,
    ports,
    ...more,
    features: { ...features, vtep },
  })
  node.routes.set(HostAddress.parse(peer), [UNDERLAY])
  let now = 0
  const report = (port: number) => node.report(0, port).vtep as VtepReport
  const pass = (frame: Frame, port: number) => {
    const sent: Frame[] = []
    now += 1e6
    node.onFrame(now, port, frame)
    drain(node, now + 1e6, one => sent.push(one))
    return sent
  }
  return { node, pool, pass, report }
}

const FROM_0_TO_1: FrameSpec = { from: HOST(0), to: HOST(1), wireBytes: 1082, tos: (26 << 2) | 2 }

t.test('a packet gets the headers of RFC 7348, byte for byte', async t => {
  const { pool, pass, report } = end()
  const frame = buildFrame(pool, FROM_0_TO_1)
  const inner = Buffer.from(frame.bytes.subarray(0, frame.length))
  const [out] = pass(frame, ACCESS)
  t.equal(out!.port, UNDERLAY)
  t.equal(out!.wireLength, 1082 + 50, '50 bytes over IPv4')
  const bytes = out!.bytes.subarray(0, out!.length).toString('hex')
  const port = bytes.slice(68, 72)
  // Ethernet, IPv4 (DSCP 26, ECT(0), 1118 bytes, DF, TTL 64, UDP), UDP without a checksum, VXLAN with the I flag.
  const expected = `025700000002025700000001080045 6a 045e 0000 4000 4011 sum 0afe0001 0afe0002 ${port} 12b5 044a 0000 08000000 12345600`
  t.equal(bytes.slice(0, 100).replace(bytes.slice(48, 52), 'sum'), expected.replaceAll(' ', ''))
  t.ok(ipv4.verifyChecksum(out!.view, 14))
  t.ok(Number.parseInt(port, 16) >= 49_152, 'the source port is a dynamic one')
  // The TTL of the inner packet has fallen: the end is a router too.
  inner[14 + 8]! -= 1
  const sum = out!.bytes.readUInt16BE(50 + 14 + 10)
  inner.writeUInt16BE(sum, 14 + 10)
  t.equal(bytes.slice(100), inner.toString('hex'))
  t.ok(ipv4.verifyChecksum(out!.view, 64), 'the inner checksum is right')
  t.same([out!.l3, out!.l4, out!.shim, out!.bth], [14, 34, -1, -1])
  t.match(report(UNDERLAY), { encapsulated: 1, decapsulated: 0 })
})

t.test('70 bytes over IPv6, with a UDP checksum of zero', async t => {
  const { pool, pass } = end({}, {}, 'fd00::2')
  const [out] = pass(buildFrame(pool, FROM_0_TO_1), ACCESS)
  t.equal(out!.wireLength, 1082 + 70)
  const bytes = out!.bytes.subarray(0, 70).toString('hex')
  const address = (n: number) => `fd00${'0'.repeat(27)}${n}`
  const head = `0257000000020257000000 0186dd 66a00000 044a 11 40 ${address(1)} ${address(2)} ${bytes.slice(108, 112)} 12b5 044a 0000 08000000 12345600`
  t.equal(bytes, head.replaceAll(' ', ''))
})

t.test('the hash of the tunnel is that of its bytes, and the same both ways', async t => {
  const there = end()
  const [out] = there.pass(buildFrame(there.pool, FROM_0_TO_1), ACCESS)
  const known = out!.flowHash
  t.equal(known, flowHash(out!.view, out!.length, out!.l3, out!.l4))
  const ports = new Set<number>()
  for (let sourcePort = 0xc000; sourcePort < 0xc040; sourcePort++) {
    const { pool, pass } = there
    const [one] = pass(buildFrame(pool, { ...FROM_0_TO_1, sourcePort }), ACCESS)
    ports.add(udp.sourcePort(one!.view, one!.l4))
    const [back] = pass(answerTo(one!, pool), UNDERLAY)
    t.equal(back!.port, ACCESS)
    pool.give(one!)
    pool.give(back!)
  }
  t.ok(ports.size > 60, `${ports.size} source ports of 64 flows`)
})

/** What the peer would send back: the inner packet and the outer one with their addresses exchanged. */
function answerTo(frame: Frame, pool: FramePool): Frame {
  const answer = pool.take()!
  answer.copyFrom(frame)
  for (const l3 of [14, 64]) {
    const source = ipv4.source(answer.view, l3)
    ipv4.setSource(answer.view, l3, ipv4.destination(answer.view, l3))
    ipv4.setDestination(answer.view, l3, source)
  }
  return answer
}

/** A packet from host 1 to host 0, as the peer puts it into the tunnel. */
function fromPeer(pool: FramePool, spec: Partial<FrameSpec> = {}, outerEcn?: number): Frame {
  const { pass, pool: other } = end()
  const [out] = pass(buildFrame(other, { ...FROM_0_TO_1, ...spec }), ACCESS)
  const frame = answerTo(out!, pool)
  if (outerEcn !== undefined) ipv4.setEcn(frame.view, 14, outerEcn)
  return frame
}

t.test('what comes out is the inner packet, with the field of RFC 6040', async t => {
  const { pool, pass, report } = end()
  const [out] = pass(fromPeer(pool, {}, ipv4.ECN_CE), UNDERLAY)
  t.equal(out!.port, ACCESS)
  t.equal(out!.wireLength, 1082)
  t.equal(ipv4.ecn(out!.view, out!.l3), ipv4.ECN_CE, 'ECT(0) and CE make CE')
  t.ok(ipv4.verifyChecksum(out!.view, out!.l3))
  t.same([out!.l3, out!.l4, out!.bth, out!.payloadLength], [14, 34, 42, 1082 - 42 - 12 - 4])
  t.match(report(UNDERLAY), { decapsulated: 1, unusualEcn: 0 })
})

t.test('Not-ECT inside and CE outside is dropped and counted', async t => {
  const { node, pool, pass, report } = end()
  t.same(pass(fromPeer(pool, { tos: 26 << 2 }, ipv4.ECN_CE), UNDERLAY), [])
  t.match(report(UNDERLAY), { decapsulated: 1, unusualEcn: 1, dropped: { ecn: 1 } })
  t.match(node.report(0, UNDERLAY), { drops: 1, dropsByReason: { tunnelEcn: 1 } })
  t.equal(pass(fromPeer(pool, { tos: 26 << 2 }, ipv4.ECN_ECT1), UNDERLAY).length, 1)
  t.match(report(UNDERLAY), { decapsulated: 2, unusualEcn: 2, dropped: { ecn: 1 } })
})

t.test('foreign and malformed packets are counted by reason', async t => {
  const { node, pool, pass, report } = end()
  const change = (edit: (frame: Frame) => void, port = UNDERLAY) => {
    const frame = fromPeer(pool)
    edit(frame)
    ipv4.updateChecksum(frame.view, 14)
    frame.l3 = -1
    t.same(pass(frame, port), [])
  }
  change(({ view }) => view.setUint8(42, 0)) // no I flag
  change(({ view }) => udp.setDestinationPort(view, 34, 4788))
  change(({ view }) => ipv4.setProtocol(view, 14, ipv4.PROTOCOL_TCP))
  change(({ view }) => view.setUint16(50 + 12, ethernet.TYPE_VLAN)) // a tag inside
  change(({ view }) => view.setUint8(64, 0x46)) // options that are not there
  change(({ view }) => view.setUint16(64 + 10, 0)) // the inner checksum
  change(({ view }) => view.setUint16(34 + 4, 8 + 8 + 13)) // an inner frame without its EtherType
  change(({ view }) => view.setUint16(34 + 4, 8 + 7)) // half a VXLAN header
  t.match(report(UNDERLAY).dropped, { malformed: 8 })
  change(({ view }) => view.setUint32(46, (VNI + 1) << 8))
  t.match(report(UNDERLAY).dropped, { unknownVni: 1 })
  change(({ view }) => ipv4.setSource(view, 14, 0x0afe0003))
  t.match(report(UNDERLAY).dropped, { unknownVtep: 1 })
  // A host behind the end sends what looks like VXLAN of the peer.
  change(() => undefined, ACCESS)
  t.match(report(ACCESS).dropped, { unknownVni: 1 })
  t.equal(pool.inUse, 0)
  t.equal(node.report(0, UNDERLAY).dropsByReason.badVxlan, 8)
})

t.test('no packet leaves a tunnel for another one, or for an unknown host', async t => {
  const { node, pool, pass } = end()
  const toRemote = fromPeer(pool)
  ipv4.setDestination(toRemote.view, 64, HOST(1))
  ipv4.updateChecksum(toRemote.view, 64)
  t.same(pass(toRemote, UNDERLAY), [])
  t.same(pass(buildFrame(pool, { from: HOST(0), to: HOST(9) }), ACCESS), [])
  t.match(node.report(0, UNDERLAY).dropsByReason, { noRoute: 1 })
  t.match(node.report(0, ACCESS).dropsByReason, { noRoute: 1 })
  const [local] = pass(buildFrame(pool, { from: HOST(0), to: HOST(2) }), ACCESS)
  t.same([local!.port, local!.l3, udp.destinationPort(local!.view, local!.l4)], [2, 14, udp.PORT_ROCE])
})

t.test('packets that the underlay does not take are dropped and counted; a tag does not count', async t => {
  const { pool, pass, report } = end({ mtuBytes: 1118 })
  t.equal(pass(buildFrame(pool, FROM_0_TO_1), ACCESS).length, 1, '1,068 bytes of IP and 50')
  t.same(pass(buildFrame(pool, { ...FROM_0_TO_1, wireBytes: 1083 }), ACCESS), [])
  t.match(report(ACCESS).dropped, { tooBig: 1 })
  const [tagged] = pass(buildFrame(pool, { ...FROM_0_TO_1, wireBytes: 1086, vlanPriority: 3 }), ACCESS)
  t.equal(tagged!.wireLength, 1082 + 50)
  t.equal(ethernet.etherType(tagged!.view, 50), ethernet.TYPE_IPV4)
  t.equal(ethernet.destination(tagged!.view, 50), 0x020000000001)
})

t.test('a queue of the ingress marks both headers, and no header in compatibility mode', async t => {
  const ecn = { kminBytes: 0, kmaxBytes: 0, pmax: 1 }
  const marks = (mode: 'normal' | 'compatibility', tos: number) => {
    const { node, pool } = end({ ecn: mode }, { features: { ecn } })
    const sent: number[][] = []
    for (let i = 0; i < 4; i++) node.onFrame(0, ACCESS, buildFrame(pool, { ...FROM_0_TO_1, tos }))
    drain(node, 1e12, ({ view }) => sent.push([ipv4.ecn(view, 14), ipv4.ecn(view, 64)]))
    return {
      sent,
      marked: node.report(0, UNDERLAY).ecnMarks,
      wred: node.report(0, UNDERLAY).dropsByReason.wred,
    }
  }
  // The first one starts when the switch is asked, so each of the others finds a queue.
  t.same(marks('normal', 2), {
    sent: [
      [2, 2],
      [3, 3],
      [3, 3],
      [3, 3],
    ],
    marked: 3,
    wred: 0,
  })
  t.same(marks('compatibility', 2), { sent: [[0, 2]], marked: 0, wred: 3 }, 'the queue drops instead')
})

t.test('a queue of the egress marks what came with an ECN-capable outer header', async t => {
  const ecn = { kminBytes: 0, kmaxBytes: 0, pmax: 1 }
  const through = (outer: number) => {
    const { node, pool } = end({}, { features: { ecn } })
    const sent: number[] = []
    for (let i = 0; i < 3; i++) node.onFrame(0, UNDERLAY, fromPeer(pool, {}, outer))
    drain(node, 1e12, ({ view }) => sent.push(ipv4.ecn(view, 14)))
    return sent
  }
  t.same(through(ipv4.ECN_ECT0), [2, 3, 3])
  t.same(through(ipv4.ECN_NOT_ECT), [2])
})

t.test('telemetry of the ends is in the inner packet; the tunnel hides it from the underlay', async t => {
  const { pool, pass } = end()
  const [out] = pass(
    buildFrame(pool, { ...FROM_0_TO_1, int: { format: intShim.FORMAT_WIDE, slots: 3 } }),
    ACCESS,
  )
  t.equal(out!.shim, -1)
  t.equal(intShim.hopCount(out!.view, 50 + 42), 1)
  // Pushed records make the packet longer before it goes into the tunnel.
  t.equal(parseFrame(out!), WireError.OK)
  t.equal(out!.bth, -1)
})

t.test('any bytes to an end are dropped, or come out as a frame within its bounds', async t => {
  const { pool, pass } = end()
  const changes = fc.tuple(fc.uint8Array({ minLength: 0, maxLength: 200 }), fc.integer({ min: 0, max: 249 }))
  property(t, 'bounds', changes, ([bytes, at]) => {
    const frame = fromPeer(pool, { wireBytes: 96 })
    for (let i = 0; i < bytes.length && at + i < frame.length; i++) frame.bytes[at + i] = bytes[i]!
    frame.wireLength = frame.length
    frame.l3 = -1
    for (const out of pass(frame, UNDERLAY)) {
      if (out.length > out.wireLength || out.wireLength > 1024)
        throw new Error(`${out.length} of ${out.wireLength}`)
      pool.give(out)
    }
    if (pool.inUse !== 0) throw new Error('a frame is lost')
  })
})

/**
 * What a host's packet port takes from its interface, what it leaves to the kernel, and which errors it has.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Neighbours } from '../../lib/io/linux/neighbours.js'
import { HostPacketPort } from '../../lib/io/ports/host-packet-port.js'
import { PacketPort } from '../../lib/io/ports/packet-port.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import * as udp from '../../lib/wire/net/udp.js'
import { Namespaces, noNamespaces } from '../support/netns.js'

const skip = noNamespaces()
const MAC_A = 0x02_57_0a_00_00_01
const MAC_B = 0x02_57_0a_00_00_02
const A = HostAddress.parse('10.0.0.1')
const B = HostAddress.parse('10.0.0.2')
const A6 = HostAddress.parse('fd00::1')
const B6 = HostAddress.parse('fd00::2')
const PAYLOAD_BYTES = 40

interface Datagram {
  port: number
  to?: HostAddress
  protocol?: number
  /** Bytes of IP options. */
  options?: number
  /** Flags and offset of the fragment. */
  fragment?: number
  vlan?: number
}

/** Writes an Ethernet frame with an IPv4 datagram of PAYLOAD_BYTES; returns its length. */
function writeIpv4(frame: Frame, { port, to = B, protocol = 17, options = 0, fragment = 0, vlan }: Datagram) {
  const { view } = frame
  const l3 = vlan === undefined ? ethernet.BYTES : ethernet.TAGGED_BYTES
  if (vlan === undefined) ethernet.write(view, 0, MAC_B, MAC_A, ethernet.TYPE_IPV4)
  else ethernet.writeTagged(view, 0, MAC_B, MAC_A, 3, false, vlan, ethernet.TYPE_IPV4)
  const bytes = ipv4.BYTES + options + udp.BYTES + PAYLOAD_BYTES
  ipv4.write(view, l3, {
    tos: 0x02,
    totalLength: bytes,
    identification: 0x1234,
    dontFragment: false,
    ttl: 64,
    protocol,
    source: A.ipv4,
    destination: to.ipv4,
  })
  view.setUint8(l3, 0x40 | ((ipv4.BYTES + options) / 4))
  view.setUint16(l3 + 6, fragment)
  for (let i = 0; i < options; i++) view.setUint8(l3 + ipv4.BYTES + i, 1)
  ipv4.updateChecksum(view, l3)
  udp.write(view, l3 + ipv4.BYTES + options, 0xc000, port, udp.BYTES + PAYLOAD_BYTES)
  return l3 + bytes
}

function writeIpv6(frame: Frame, port: number, to = B6, next = 17) {
  const { view } = frame
  ethernet.write(view, 0, MAC_B, MAC_A, ethernet.TYPE_IPV6)
  ipv6.write(view, 14, {
    trafficClass: 0x02,
    flowLabel: 0,
    payloadLength: udp.BYTES + PAYLOAD_BYTES,
    nextHeader: next,
    hopLimit: 64,
    source: A6.gid,
    destination: to.gid,
  })
  udp.write(view, 54, 0xc000, port, udp.BYTES + PAYLOAD_BYTES)
  return 54 + udp.BYTES + PAYLOAD_BYTES
}

function writePfc(frame: Frame, destination = pfc.DESTINATION) {
  pfc.write(frame.view, 0, MAC_A, 1, 100)
  ethernet.setDestination(frame.view, 0, destination)
  return pfc.BYTES
}

async function pair(t: Test): Promise<{ ns: Namespaces; a: string; b: string }> {
  const ns = new Namespaces(t)
  const [a, b] = [ns.add('a'), ns.add('b')]
  ns.veth(
    { ns: a, name: 'eth0', mac: '02:57:0a:00:00:01', address: '10.0.0.1/24' },
    { ns: b, name: 'eth0', mac: '02:57:0a:00:00:02', address: '10.0.0.2/24' },
  )
  // The kernel reports a link that has come up after some time.
  while (!ns.exec(b, 'ip', 'link', 'show', 'eth0').includes('LOWER_UP')) await sleep(5)
  while (!ns.exec(b, 'cat', '/sys/class/net/eth0/operstate').includes('up')) await sleep(5)
  return { ns, a, b }
}

/**
 * Everything that `port` receives up to a frame of these bytes. Frames do not overtake each other on a veth
 * pair.
 */
async function upTo(last: Buffer, port: HostPacketPort, pool: FramePool): Promise<Buffer[]> {
  const frames: Buffer[] = []
  while (frames.at(-1)?.equals(last) !== true) {
    await sleep(1)
    for (let frame = port.receive(); frame !== null; frame = port.receive()) {
      frames.push(Buffer.from(frame.bytes.subarray(0, frame.length)))
      pool.give(frame)
    }
  }
  return frames
}

/** [name, writer, whether a NIC must see it]. If a case has several frames, the last one counts. */
type Case = readonly [string, (frame: Frame) => number, boolean]

async function check(t: Test, cases: readonly Case[], address: HostAddress): Promise<void> {
  const { ns, a, b } = await pair(t)
  if (address.family === 6) {
    ns.exec(b, 'sh', '-c', 'echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6')
    ns.exec(b, 'ip', 'addr', 'add', `${address}/64`, 'dev', 'eth0', 'nodad')
  }
  const pool = new FramePool(64)
  const sender = ns.inside(a, () => new PacketPort({ pool, interface: 'eth0' }))
  const port = ns.inside(b, () => HostPacketPort.open({ pool, address }))
  t.teardown(() => Promise.all([sender.close(), port.close()]))
  t.equal(port.interface, 'eth0')
  t.equal(port.mac, MAC_B)
  const sent = cases.map(([, write]) => {
    const frame = pool.take()!
    frame.length = write(frame)
    frame.wireLength = frame.length
    const bytes = Buffer.from(frame.bytes.subarray(0, frame.length))
    sender.transmit(frame)
    return bytes
  })
  sender.flush()
  const received = await upTo(sent.at(-1)!, port, pool)
  const labels = received.map(bytes => cases[sent.findIndex(other => other.equals(bytes))]?.[0] ?? 'another')
  const expected = cases.filter(([, , accepted]) => accepted).map(([what]) => what)
  t.same(
    labels.filter(label => label !== 'another'),
    expected,
  )
  t.same(
    labels.filter(label => label === 'another'),
    [],
    'every byte as it was sent',
  )
  t.equal(pool.inUse, 0)
}

t.test('IPv4: RoCEv2 for its address and MAC control, with every byte; nothing else', { skip }, async t => {
  const cases: Case[] = [
    ['RoCEv2', frame => writeIpv4(frame, { port: 4791 }), true],
    ['RoCEv2 behind a shim', frame => writeIpv4(frame, { port: 4792 }), true],
    ['with IP options', frame => writeIpv4(frame, { port: 4791, options: 8 }), true],
    ['with a VLAN tag', frame => writeIpv4(frame, { port: 4792, vlan: 5 }), true],
    ['other ports', frame => writeIpv4(frame, { port: 4793 }), false],
    ['to somebody else', frame => writeIpv4(frame, { port: 4791, to: HostAddress.parse('10.0.0.3') }), false],
    ['TCP', frame => writeIpv4(frame, { port: 4791, protocol: 6 }), false],
    ['a first fragment', frame => writeIpv4(frame, { port: 4791, fragment: 0x2000 }), false],
    ['a later fragment', frame => writeIpv4(frame, { port: 4791, fragment: 100 }), false],
    ['IPv6', frame => writeIpv6(frame, 4791), false],
    ['PFC', frame => writePfc(frame), true],
    ['MAC control to this MAC', frame => writePfc(frame, MAC_B), true],
    ['don’t fragment', frame => writeIpv4(frame, { port: 4791, fragment: 0x4000 }), true],
  ]
  await check(t, cases, B)
})

t.test('IPv6: the same', { skip }, async t => {
  const cases: Case[] = [
    ['RoCEv2', frame => writeIpv6(frame, 4791), true],
    ['RoCEv2 behind a shim', frame => writeIpv6(frame, 4792), true],
    ['other ports', frame => writeIpv6(frame, 53), false],
    ['to somebody else', frame => writeIpv6(frame, 4791, HostAddress.parse('fd00::3')), false],
    ['to somebody else, first word', frame => writeIpv6(frame, 4791, HostAddress.parse('fd01::2')), false],
    ['TCP', frame => writeIpv6(frame, 4791, B6, 6), false],
    ['IPv4', frame => writeIpv4(frame, { port: 4791 }), false],
    ['PFC', frame => writePfc(frame), true],
  ]
  await check(t, cases, B6)
})

t.test('one daemon a port; what is not there is said', { skip }, async t => {
  const { ns, b } = await pair(t)
  const pool = new FramePool(16)
  const open = (address: string, name?: string) =>
    ns.inside(b, () => HostPacketPort.open({ pool, address: HostAddress.parse(address), interface: name }))
  const port = open('10.0.0.2', 'eth0')
  t.throws(() => open('10.0.0.2'), { code: 'WEIR_BAD_ARGUMENT', message: /4791/ }, 'the port is taken')
  t.throws(() => open('10.0.0.9'), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /no interface that is up has the address 10.0.0.9/,
  })
  t.throws(() => open('10.0.0.2', 'eth7'), { code: 'WEIR_BAD_ARGUMENT', message: /interface eth7/ })
  await port.close()
  const again = open('10.0.0.2')
  await again.close()
  t.equal(again.counters.dropped, 0)
})

/** Lets a namespace speak IPv6 on its interface. */
function addIpv6(ns: Namespaces, name: string, address: HostAddress): void {
  ns.exec(name, 'sh', '-c', 'for k in all eth0; do echo 0 > /proc/sys/net/ipv6/conf/$k/disable_ipv6; done')
  ns.exec(name, 'ip', 'addr', 'add', `${address}/64`, 'dev', 'eth0', 'nodad')
}

t.test('neighbours and gateways: the kernel resolves them when they are wanted', { skip }, async t => {
  const { ns, a, b } = await pair(t)
  addIpv6(ns, a, A6)
  addIpv6(ns, b, B6)
  for (const [from, to, gateway] of [
    [A, B, '10.1.2.3'],
    [A6, B6, 'fd99::7'],
  ] as const) {
    const far = HostAddress.parse(gateway)
    ns.exec(a, 'ip', 'route', 'add', `${far}`, 'via', `${to}`)
    const neighbours = ns.inside(a, () => new Neighbours('eth0', from))
    t.teardown(() => neighbours.close())
    // Within this time a busy machine may not answer: a connection manager asks again.
    let mac: number | undefined
    for (let tries = 0; mac === undefined && tries < 50; tries++) {
      mac = ns.inside(a, () => neighbours.macOf(to))
      if (mac === undefined) await sleep(100)
    }
    t.equal(mac, MAC_B, `${to}, which the kernel did not know`)
    t.equal(
      ns.inside(a, () => neighbours.macOf(far)),
      MAC_B,
      `${far} behind ${to}`,
    )
    const nobody = HostAddress.parse(from.family === 4 ? '10.0.0.77' : 'fd00::77')
    t.equal(
      ns.inside(a, () => neighbours.macOf(nobody)),
      undefined,
      'a host that is not there',
    )
  }
})

/**
 * What the kernel makes of IP identifications and UDP checksums that RoCEv2's ICRC and Linux's rdma_rxe depend on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { libcFault, loadLibc } from '../../lib/io/linux/libc.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { PacketPort } from '../../lib/io/ports/packet-port.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { Namespaces, noNamespaces } from '../support/netns.js'
import { freePort, nextFrame, udpFrame4 } from './helpers.js'

const A = '10.0.0.1'
const B = '10.0.0.2'
const PACKETS = 10
const PAYLOAD = new Uint8Array(1000).fill(7)

/** Sends equal packets of one run to that port. Identifications, as they are on the wire. */
async function identifications(ns: Namespaces, names: { a: string; b: string }, destinationPort: number) {
  const pool = new FramePool(512, undefined, RECEIVER_ROOM_BYTES)
  const port = ns.inside(names.a, () => new BatchPort({ pool, address: A }))
  const wire = ns.inside(names.b, () => new PacketPort({ pool, interface: 'eth0' }))
  const ids: number[] = []
  for (let n = 0; n < PACKETS; n++) {
    const sourcePort = port.sourcePorts[0]!
    const frame = udpFrame4(pool, {
      source: A,
      destination: B,
      sourcePort,
      destinationPort,
      payload: PAYLOAD,
    })
    port.transmit(frame)
  }
  port.flush()
  while (ids.length < PACKETS) {
    await sleep(1)
    for (let frame = wire.receive(); frame !== null; frame = wire.receive()) {
      const isOurs = frame.view.getUint16(12) === 0x0800 && frame.view.getUint16(36) === destinationPort
      if (isOurs) ids.push(ipv4.identification(frame.view, 14))
      pool.give(frame)
    }
  }
  await Promise.all([port.close(), wire.close()])
  return ids
}

t.test(
  'packets for any RoCEv2 host have 0; those that only Weir takes are cut, and numbered',
  { skip: noNamespaces() },
  async t => {
    const ns = new Namespaces(t)
    const names = { a: ns.add('a'), b: ns.add('b') }
    const [macA, macB] = ['02:57:0a:00:00:01', '02:57:0a:00:00:02']
    ns.veth(
      { ns: names.a, name: 'eth0', mac: macA, address: `${A}/24` },
      { ns: names.b, name: 'eth0', mac: macB, address: `${B}/24` },
    )
    ns.exec(names.a, 'ip', 'neigh', 'replace', B, 'lladdr', macB, 'dev', 'eth0')
    t.same(await identifications(ns, names, 4791), new Array(PACKETS).fill(0))
    t.same(
      await identifications(ns, names, 4792),
      Array.from({ length: PACKETS }, (_, n) => n),
    )
  },
)

t.test(
  'datagrams over IPv6 without a UDP checksum arrive, as rdma_rxe sends them',
  { skip: libcFault() ?? noIpv6() },
  async t => {
    const rocePort = freePort()
    const pool = new FramePool(64, undefined, RECEIVER_ROOM_BYTES)
    const port = new BatchPort({ pool, address: '::1', rocePort, intPort: rocePort + 1, sourcePorts: 1 })
    const payload = Buffer.from('no checksum')
    sendWithoutChecksum(rocePort, payload)
    const frame: Frame = await nextFrame(port)
    t.same(Buffer.from(frame.bytes.subarray(62, 62 + payload.length)), payload)
    pool.give(frame)
    await port.close()
  },
)

/** UDP_NO_CHECK6_TX, udp(7). */
function sendWithoutChecksum(port: number, payload: Uint8Array): void {
  const libc = loadLibc()
  const [AF_INET6, SOCK_DGRAM, SOL_UDP, UDP_NO_CHECK6_TX] = [10, 2, 17, 101]
  const fd = libc.socket(AF_INET6, SOCK_DGRAM, 0)
  const on = new Uint8Array(Int32Array.of(1).buffer)
  if (libc.setsockopt(fd, SOL_UDP, UDP_NO_CHECK6_TX, on, 4) !== 0) throw new Error('UDP_NO_CHECK6_TX')
  const to = new Uint8Array(28)
  const view = new DataView(to.buffer)
  view.setUint16(0, AF_INET6, true)
  view.setUint16(2, port)
  to[23] = 1 // ::1
  libc.connect(fd, to, to.length)
  libc.send(fd, payload, payload.length, 0)
  libc.close(fd)
}

/** Why there is no ::1 here, or false. */
function noIpv6(): string | false {
  const libc = loadLibc()
  const fd = libc.socket(10, 2, 0)
  if (fd < 0) return 'needs IPv6'
  const to = new Uint8Array(28)
  to[0] = 10
  to[23] = 1
  const bound = libc.bind(fd, to, to.length)
  libc.close(fd)
  return bound === 0 ? false : 'needs ::1'
}

import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { BUCKETS, bucketOf, flowHash } from '../../switch-emu/core/forwarding/ecmp.js'
import { ForwardingTable } from '../../switch-emu/core/forwarding/forwarding.js'
import { buildFrame } from './build-frame.js'
import { seeded } from './helpers.js'

const pool = new FramePool(1, HEADER_SLOT_BYTES)

function egressPort(table: ForwardingTable, to: HostAddress, sourcePort = 0xc000): number {
  const from = to.family === 4 ? 0x01020304 : new Uint8Array(16).fill(1)
  const frame = buildFrame(pool, { from, to: to.family === 4 ? to.ipv4 : to.gid, sourcePort })
  const port = table.egressPort(frame)
  pool.give(frame)
  return port
}

t.test('thousands of hosts of both families are found, all others are not', async t => {
  const random = seeded(t, 6)
  const table = new ForwardingTable()
  const expected = new Map<string, number>()
  const address = () =>
    random.below(2) === 0
      ? HostAddress.fromIpv4(random.u32())
      : HostAddress.fromGid(Uint8Array.from({ length: 16 }, () => random.below(256)))
  for (let i = 0; i < 4000; i++) {
    const host = address()
    table.set(host, [i % 200])
    expected.set(host.toString(), i % 200)
  }
  t.equal(table.size, expected.size)
  let wrong = 0
  for (const [text, port] of expected) if (egressPort(table, HostAddress.parse(text)) !== port) wrong++
  t.equal(wrong, 0)
  for (let i = 0; i < 1000; i++) {
    const host = address()
    if (!expected.has(host.toString()) && egressPort(table, host) !== -1) wrong++
  }
  t.equal(wrong, 0, 'strangers have no route')
})

t.test('IPv6 addresses that differ in one word only are different hosts', async t => {
  for (let word = 0; word < 4; word++) {
    const table = new ForwardingTable()
    const host = (n: number) => {
      const gid = new Uint8Array(16).fill(0xfd)
      new DataView(gid.buffer).setUint32(4 * word, n)
      return HostAddress.fromGid(gid)
    }
    for (let n = 0; n < 500; n++) table.set(host(n), [n % 200])
    let wrong = 0
    for (let n = 0; n < 1500; n++) if (egressPort(table, host(n)) !== (n < 500 ? n % 200 : -1)) wrong++
    t.equal(wrong, 0, `word ${word}`)
  }
})

t.test('addresses at the ends of the range are no special case', async t => {
  const table = new ForwardingTable()
  const edges = [
    '0.0.0.0',
    '255.255.255.255',
    '128.0.0.0',
    '::',
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ].map(text => HostAddress.parse(text))
  for (const host of edges) t.equal(egressPort(table, host), -1, `${host} before`)
  for (const [i, host] of edges.entries()) table.set(host, [i])
  for (const [i, host] of edges.entries()) t.equal(egressPort(table, host), i, `${host}`)
})

t.test('a route that is set again replaces the one before', async t => {
  const table = new ForwardingTable()
  const host = HostAddress.parse('10.0.0.1')
  table.set(host, [1])
  table.set(host, [2])
  t.equal(table.size, 1)
  t.equal(egressPort(table, host), 2)
})

t.test('several ports: each flow takes the port of its bucket', async t => {
  const table = new ForwardingTable()
  const host = HostAddress.parse('10.0.0.9')
  const buckets = Uint8Array.from({ length: BUCKETS }, (_, bucket) => bucket % 251)
  table.setBuckets(host, buckets)
  const seen = new Set<number>()
  for (let sourcePort = 0xc000; sourcePort < 0xc400; sourcePort++) {
    const frame = buildFrame(pool, { from: 0x01020304, to: host.ipv4, sourcePort })
    const bucket = bucketOf(flowHash(frame.view, frame.length, frame.l3, frame.l4))
    pool.give(frame)
    const port = egressPort(table, host, sourcePort)
    if (port !== bucket % 251) return t.fail(`source port ${sourcePort}: ${port}`)
    seen.add(port)
  }
  t.ok(seen.size > 200)
})

t.test('impossible routes are refused', async t => {
  const table = new ForwardingTable()
  const host = HostAddress.parse('10.0.0.1')
  for (const ports of [[], [256], [-1], [0.5]])
    t.throws(() => table.set(host, ports), { code: 'WEIR_BAD_ARGUMENT' })
  t.throws(() => table.setBuckets(host, new Uint8Array(3)), { code: 'WEIR_BAD_ARGUMENT' })
})

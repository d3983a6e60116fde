/** Prepared headers, completed per packet: against the standards' checksum and lengths, computed from scratch. */
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { beginFrame, completeHeaders, prepareHeaders } from '../../lib/nic/tx/headers.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { fixedSeed } from '../support/seeds.js'
import { connected, frameName, makePair, memoryOf } from './pair.js'

/**
 * RFC 791: the ones' complement of the ones' complement sum of all 16-bit words. 0 when the checksum is
 * right.
 */
function internetChecksum(bytes: Buffer): number {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += bytes.readUInt16BE(i)
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x10000)
  return ~sum & 0xffff
}

const MACS = { fromMac: 0x025700000001, toMac: 0x025745495200 }
const pool = new FramePool(1)

t.test('IPv4: the checksum is right for every length', async t => {
  const pairs = [
    ['10.0.0.1', '10.0.0.2'],
    ['255.255.255.254', '255.255.255.255'],
    ['0.0.0.0', '0.0.0.1'],
    ['192.168.7.9', '172.16.254.3'],
  ] as const
  for (const [from, to] of pairs) {
    const ends = { from: HostAddress.parse(from), to: HostAddress.parse(to), ...MACS }
    const headers = prepareHeaders(ends, 0xc123)
    t.equal(headers.length, 14 + 20 + 8)
    let wrong = ''
    for (let wireLength = 58; wireLength < 4608; wireLength++) {
      const frame = pool.take()!
      const at = beginFrame(frame, headers)
      frame.wireLength = wireLength
      completeHeaders(frame, 4791)
      const ip = frame.bytes.subarray(14, 34)
      if (internetChecksum(ip) !== 0) wrong ||= `checksum of length ${wireLength}`
      if (ip.readUInt16BE(2) !== wireLength - 14) wrong ||= `total length of ${wireLength}`
      if (frame.bytes.readUInt16BE(38) !== wireLength - 34) wrong ||= `UDP length of ${wireLength}`
      if (at !== 42 || frame.l3 !== 14 || frame.l4 !== 34) wrong ||= 'offsets'
      pool.give(frame)
    }
    t.equal(wrong, '', `${from} to ${to}`)
  }
})

t.test('IPv4: the checksum is right for any address', async t => {
  const seed = fixedSeed(t, 1)
  const random = new Random(seed)
  let wrong = ''
  for (let n = 0; n < 2000; n++) {
    const [from, to] = [HostAddress.fromIpv4(random.u32()), HostAddress.fromIpv4(random.u32())]
    const headers = prepareHeaders({ from, to, ...MACS }, 0xc000)
    for (let k = 0; k < 10; k++) {
      const frame = pool.take()!
      beginFrame(frame, headers)
      frame.wireLength = 58 + random.below(4500)
      completeHeaders(frame, 4791)
      if (internetChecksum(frame.bytes.subarray(14, 34)) !== 0)
        wrong ||= `${from} to ${to}, ${frame.wireLength} B`
      pool.give(frame)
    }
  }
  t.equal(wrong, '', `SEED=${seed}`)
})

t.test('IPv4: the fields', async t => {
  const ends = { from: HostAddress.parse('10.1.2.3'), to: HostAddress.parse('10.4.5.6'), ...MACS }
  const frame = pool.take()!
  beginFrame(frame, prepareHeaders(ends, 0xc123))
  frame.wireLength = 100
  completeHeaders(frame, 4792)
  const hex = frame.bytes.toString('hex', 0, 42)
  // Ethernet to, from, type; version 4 and 5 words, ECT(0), length 86; ID 0, DF; TTL 64, UDP, checksum by hand.
  const words = [0x4502, 86, 0, 0x4000, 0x4011, 0x0a01, 0x0203, 0x0a04, 0x0506]
  let sum = words.reduce((a, b) => a + b)
  sum = (sum & 0xffff) + (sum >>> 16)
  const checksum = (~sum & 0xffff).toString(16).padStart(4, '0')
  t.equal(hex, `025745495200025700000001080045020056000040004011${checksum}0a0102030a040506c12312b800420000`)
  pool.give(frame)
})

t.test('IPv6: lengths and fields', async t => {
  const ends = { from: HostAddress.parse('fd00::1'), to: HostAddress.parse('fd00::2'), ...MACS }
  const headers = prepareHeaders(ends, 0xffff)
  t.equal(headers.length, 14 + 40 + 8)
  const frame = pool.take()!
  beginFrame(frame, headers)
  frame.wireLength = 200
  completeHeaders(frame, 4791)
  t.equal(
    frame.bytes.toString('hex', 12, 62),
    `86dd60200000${(200 - 54).toString(16).padStart(4, '0')}1140` +
      `fd000000000000000000000000000001fd000000000000000000000000000002` +
      `ffff12b7${(200 - 54).toString(16).padStart(4, '0')}0000`,
  )
  pool.give(frame)
})

t.test('a MAC address that becomes known while the peer answers is that of all that follows', async t => {
  let known = 0x025745495200
  const pair = makePair({ a: { macOfPeer: () => known } })
  const to: [name: string, mac: number][] = []
  pair.tap.watch = (frame, _now, fromA) => {
    const name = frameName(frame)
    if (fromA) to.push([name, frame.bytes.readUIntBE(0, 6)])
    if (name === 'REP') known = 0x02aabbccddee
    return true
  }
  const { left } = connected(pair)
  left.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.SEND,
    region: memoryOf(pair.a, Buffer.alloc(3000)),
    offset: 0,
    length: 3000,
  })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.same(to.shift(), ['REQ', 0x025745495200])
  t.ok(to.some(([name]) => name === 'RC_SEND_LAST'))
  t.same([...new Set(to.map(([, mac]) => mac))], [known])
})

/**
 * INT-MD, IFA and IOAM of other writers: everything that their specifications allow is parsed, used where
 * possible, and otherwise skipped by its length. Bytes are spelled out, without the codecs.
 */
import t, { type Test } from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { parseFrame, WIRE_ERROR_NAMES, WireError } from '../../lib/wire/parse.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import { HopSnapshot } from '../../lib/wire/telemetry/hop-snapshot.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { growthBytes, stamp } from '../../lib/wire/telemetry/telemetry-hop.js'
import { fc, property } from '../support/property.js'
import { buildRoce, PLAIN } from './helpers.js'

const SLOT = 4096
const NO_LIMIT = 0xffff
const ONES = 'ffffffff'

const HOP = Object.assign(new HopSnapshot(), {
  switchId: 0x0102,
  ingressPort: 0x0a,
  egressPort: 0x0b,
  rateBps: 100e9,
  arrivalNs: 5_000_000_000,
  startNs: 5_000_000_123,
  txBytes: 0x0123_4567_89ab,
  qlenBytes: 0xc0ffee,
  priority: 3,
  ecn: 3,
  ttl: 63,
})

/** A packet of IPv4 to the RoCEv2 port with bytes before and after its UDP header. */
function carrying(udp: string, { before = '', port = 4792, protocol = 17, inUdp = true } = {}): Frame {
  const plain = buildRoce({ ...PLAIN, family: 4, payloadBytes: 40 })
  parseFrame(plain)
  const { l3, l4 } = plain
  const [ahead, behind] = [Buffer.from(before, 'hex'), Buffer.from(udp, 'hex')]
  const header = Buffer.from(plain.bytes.subarray(l4, l4 + 8))
  header.writeUInt16BE(port, 2)
  header.writeUInt16BE(header.readUInt16BE(4) + (inUdp ? behind.length : 0), 4)
  const ip = Buffer.from(plain.bytes.subarray(l3, l4))
  ip[9] = protocol
  ip.writeUInt16BE(ip.readUInt16BE(2) + ahead.length + behind.length, 2)
  const parts = [
    plain.bytes.subarray(0, l3),
    ip,
    ahead,
    header,
    behind,
    plain.bytes.subarray(l4 + 8, plain.length),
  ]
  const bytes = Buffer.concat(parts)
  const frame = new Frame(0, Buffer.alloc(SLOT))
  bytes.copy(frame.bytes)
  frame.length = bytes.length
  frame.wireLength = bytes.length
  if (parseFrame(frame) === WireError.OK && frame.bth >= 0) icrc.write(frame)
  return frame
}

/**
 * @param header instructions, domain, its instructions, its flags
 * @param hop words that a hop inserts
 */
function intMd(
  hop: number,
  header: string,
  stack = '',
  { remaining = 5, reserved = 0, first = 0x14 } = {},
): Frame {
  const words = (3 + stack.length / 8).toString(16).padStart(2, '0')
  const version = (0x2000_0000 + (reserved << 13) + (hop << 8) + remaining).toString(16)
  return carrying(`${first.toString(16)}${words}12b7${version}${header}${stack}`)
}

function told(test: Test, frame: Frame): HopRecords {
  test.equal(WIRE_ERROR_NAMES[parseFrame(frame)], 'ok')
  test.ok(icrc.verify(frame), 'the ICRC is that of the packet without telemetry')
  test.equal(frame.payloadLength, 40)
  const hops = new HopRecords()
  telemetry.read(frame, hops)
  const echo = new DataView(new ArrayBuffer(telemetry.ECHO_BYTES_MAX))
  telemetry.writeEcho(echo, 0, frame)
  return hops
}

/** What a Weir hop does to the frame. */
function through(test: Test, frame: Frame): void {
  test.equal(WIRE_ERROR_NAMES[parseFrame(frame)], 'ok')
  stamp(frame, HOP, growthBytes(frame, NO_LIMIT))
}

function hexFrom(frame: Frame, from: number, bytes: number): string {
  return frame.bytes.toString('hex', from, from + bytes)
}

t.test(
  'INT-MD: stacks of other instructions and domains are skipped, and say that hops are not known',
  async t => {
    const stack = `0000beef${'11'.repeat(4)}00000102${'22'.repeat(4)}`
    const hops = told(t, intMd(2, 'a000' + '0000' + '0000' + '0000', stack))
    t.same(
      [hops.count, hops.overflow, hops.pathId],
      [0, true, 0xbeef ^ 0x0102],
      'node ids tell one path from another',
    )
    t.same(told(t, intMd(1, '2000000000000000', ONES)).count, 0, 'no node ids')
    t.notOk(told(t, intMd(1, '2000000000000000')).overflow, 'no hop, and none missing')
    t.notOk(told(t, intMd(0, '0000000000000000')).overflow, 'nothing asked for')
    const sourceOnly = '33'.repeat(12)
    t.ok(
      told(t, intMd(2, '8000abcd80000000', `0000000144444444${sourceOnly}`)).overflow,
      'source-only metadata',
    )
    t.equal(told(t, intMd(8, 'd4005745c0000020')).count, 0)
  },
)

t.test('INT-MD: reserved bits may be set; lengths must agree', async t => {
  const ours = intMd(8, 'd4005745c0000000', '', { reserved: 0xfff, first: 0x17 })
  through(t, ours)
  t.equal(told(t, ours).count, 1)
  const bad = (frame: Frame) => WIRE_ERROR_NAMES[parseFrame(frame)]
  t.equal(bad(intMd(2, 'd400000000000000')), 'bad-int-md', 'a hop is shorter than what is asked for')
  t.equal(bad(intMd(0, '0000000000000000', ONES)), 'bad-int-md')
  t.equal(bad(intMd(3, '8000000000000000', `${ONES}${ONES}`)), 'bad-int-md', 'no whole hop')
  t.equal(bad(carrying(`140212b7${'20000805'}d4005745`)), 'bad-int-md', 'shorter than its header')
  t.equal(bad(carrying(`14ff12b7${'20000105'}8000000000000000${ONES.repeat(3)}`)), 'short-int-md')
})

t.test('INT-MD: a hop inserts what was asked for, and all ones for what it does not know', async t => {
  // Every baseline instruction, a reserved one (bit 9), the checksum complement; another domain with two words.
  const all = intMd(16, 'ffc1' + 'abcd' + 'c000' + '0000')
  through(t, all)
  const expected = [
    '00000102', // node
    '000a000b', // level 1 interfaces
    '0000007b', // hop latency
    '03c0ffee', // queue
    '000000012a05f200', // ingress time
    '000000012a05f27b', // egress time
    '0000000a0000000b', // level 2 interfaces
    ONES, // utilization
    ONES, // buffer
    ONES, // reserved
    ONES.repeat(2), // the domain's
    ONES, // checksum complement
  ].join('')
  t.equal(expected.length, 2 * 4 * 16)
  t.equal(hexFrom(all, all.shim, 16 + 64), `141312b7${'20001004'}ffc1abcdc0000000${expected}`)
  t.same([told(t, all).count, told(t, all).overflow], [0, true])
  // Our domain with another bitmap: node and the bytes sent.
  const some = intMd(3, '8000' + '5745' + '8000' + '0000')
  through(t, some)
  t.equal(hexFrom(some, some.shim + 16, 12), '00000102' + '00000123456789ab')
  const none = intMd(0, '0000000000000000')
  through(t, none)
  t.equal(
    hexFrom(none, none.shim, 16),
    `140312b7${'20000005'}0000000000000000`,
    'nothing asked, nothing refused',
  )
})

const LNS_1 =
  '1001023f' +
  'fc300004' +
  '000b000a' +
  '3b9ab847' +
  '00001234' +
  '05f5e100' +
  '00c0ffee' +
  '0000012345678900'

/** @param header before UDP; @param rest metadata header and stack */
function ifa(header: string, rest: string): Frame {
  return carrying(rest, { before: header, port: 4791, protocol: 253, inUdp: false })
}

t.test(
  'IFA: global name spaces are skipped by the length of the stack, and no hop of ours inserts there',
  async t => {
    const frame = ifa('231100ff', `8000fe03${'ab'.repeat(12)}`)
    t.same([told(t, frame).count, told(t, frame).overflow], [0, true])
    const { length } = frame
    through(t, frame)
    t.equal(frame.length, length)
    t.equal(hexFrom(frame, frame.shim, 4), '8000fd03', 'it counts itself in the hop limit')
    t.notOk(told(t, ifa('231100ff', '0000ff00')).overflow)
  },
)

t.test('IFA: flags that move nothing, and another local name space below ours', async t => {
  const known = `${LNS_1}00000000`.slice(0, 72)
  t.equal(told(t, ifa('2f11e6ff', `0000fe09${known}`)).count, 1, 'reserved, inband, turn-around')
  const mixed = told(t, ifa('2f1100ff', `0000fd0b${known}${'7'.padEnd(16, '0')}`))
  t.same([mixed.count, mixed.overflow, mixed.switchId[0]], [1, true, 0x0102])
  const hidden = told(t, ifa('2f1100ff', `0000fd0b${'7'.padEnd(16, '0')}${known}`))
  t.same([hidden.count, hidden.overflow], [0, true], 'what lies below cannot be found')
  const tcp = ifa('2f0600ff', '0000ff00')
  t.equal(WIRE_ERROR_NAMES[parseFrame(tcp)], 'ok')
  t.equal(tcp.bth, -1, 'what is not UDP is no RoCEv2')
})

t.test('IFA: the congestion bits are the ECN field', async t => {
  for (const ecn of [0, 1, 2, 3]) {
    const frame = ifa('2f1100ff', '0000ff00')
    HOP.ecn = ecn
    through(t, frame)
    t.equal((frame.view.getUint8(frame.shim + 8) >>> 2) & 3, ecn)
  }
})

/** @param lengths node length and remaining length, in words */
function ioam(
  space: string,
  nodeWords: number,
  remaining: number,
  type: string,
  data: string,
  flags = 0,
): Frame {
  const words = 3 + data.length / 8
  const lengths = ((nodeWords << 11) | (flags << 7) | remaining).toString(16).padStart(4, '0')
  return carrying(`00${words.toString(16).padStart(2, '0')}aa00${space}${lengths}${type}55${data}`)
}

t.test('IOAM: other name spaces and trace types are skipped by their lengths', async t => {
  const seen = (frame: Frame) => [told(t, frame).count, told(t, frame).overflow]
  t.same(seen(ioam('0000', 8, 0, 'f62000', '11'.repeat(32))), [0, true])
  t.same(seen(ioam('0000', 8, 8, 'f62000', '11'.repeat(32))), [0, false], 'no node has filled in')
  t.same(seen(ioam('5745', 1, 0, '800000', '0000000100000002')), [0, true])
  t.same(seen(ioam('5745', 3, 0, '808000', '11'.repeat(24))), [0, true], 'a wide field')
  t.same(seen(ioam('5745', 2, 0, '800800', '11'.repeat(16))), [0, true], 'a field that is not defined yet')
  // Opaque snapshots of two words and of none.
  t.same(seen(ioam('5745', 1, 0, '800002', `00000001${'02000009'}${ONES.repeat(2)}0000000200ffffff`)), [
    0,
    true,
  ])
  t.same(seen(ioam('5745', 8, 8, 'f62000', '00'.repeat(32), 0b1111)), [0, true], 'all flags')
  const bad = (frame: Frame) => WIRE_ERROR_NAMES[parseFrame(frame)]
  t.equal(bad(ioam('5745', 1, 0, '800002', '0000000103000009')), 'bad-ioam', 'a snapshot beyond the option')
  t.equal(bad(ioam('5745', 2, 0, '800000', '0000000100000002')), 'bad-ioam', 'longer nodes than the type has')
  t.equal(bad(ioam('5745', 0, 0, '000000', ONES)), 'bad-ioam', 'nodes without data')
})

t.test('IOAM: a node fills in what was asked for, and nothing in another name space', async t => {
  const foreign = ioam('0001', 1, 2, '800000', '0000000000000000')
  const before = hexFrom(foreign, foreign.shim, 16)
  through(t, foreign)
  t.equal(hexFrom(foreign, foreign.shim, 16), before)
  // Bits 0 to 12, and an opaque snapshot: 11 fields of a word, 3 of two.
  const all = ioam('5745', 16, 17, 'fff802', '00'.repeat(68))
  through(t, all)
  const expected = [
    '3f000102', // hop limit, node
    '000a000b', // interfaces
    '00000005', // seconds
    '0000007b', // nanoseconds
    '0000007b', // transit delay
    '05f5e100', // rate
    '00c0ffee', // queue
    ONES, // checksum complement
    '3f00000000000102', // wide
    '0000000a0000000b',
    '00000123456789ab', // bytes sent
    ONES, // buffer occupancy
    ONES, // not defined
    '00ffffff', // no snapshot
  ].join('')
  t.equal(hexFrom(all, all.shim, 8 + 68), `57458000fff80255${expected}`)
  t.ok(told(t, all).overflow)
  through(t, all)
  t.equal(hexFrom(all, all.shim, 4), '57458400', 'overflow')
  const short = ioam('5745', 2, 1, '800800', '00000000')
  through(t, short)
  t.equal(hexFrom(short, short.shim, 12), `57451401${'800800'}55${'00000000'}`, 'half a node is no room')
})

t.test(
  'whatever the headers say: no throw, nothing read outside, and what hops insert can be parsed again',
  async t => {
    const word = fc.nat(0xffff)
    const shapes = fc.record({
      kind: fc.constantFrom('int-md', 'ifa', 'ioam'),
      a: word,
      b: word,
      c: word,
      hop: fc.nat(31),
      rest: fc.uint8Array({ maxLength: 60 }),
    })
    const hex = (value: number) => value.toString(16).padStart(4, '0')
    let parsed = 0
    property(
      t,
      'headers',
      shapes,
      ({ kind, a, b, c, hop, rest }) => {
        const stack = Buffer.from(rest.subarray(0, rest.length & ~3)).toString('hex')
        const frame =
          kind === 'int-md'
            ? intMd(hop, `${hex(a)}${hex(b)}${hex(c)}0000`, stack)
            : kind === 'ifa'
              ? ifa(
                  `2${hex(a).slice(0, 1)}11${hex(b & 0xe6ff)}`,
                  `${hex(c)}fe${(stack.length / 8).toString(16).padStart(2, '0')}${stack}`,
                )
              : ioam(hex(b & 1 ? 0x5745 : b), hop, c & 0x0f, `${hex(a)}00`, stack)
        for (let n = 0; n < 3; n++) {
          if (parseFrame(frame) !== WireError.OK || frame.shim < 0) {
            if (n > 0) throw new Error(`after hop ${n}: ${WIRE_ERROR_NAMES[parseFrame(frame)]}`)
            return
          }
          parsed++
          const into = new HopRecords()
          telemetry.read(frame, into)
          if (into.count > 16) throw new Error(`${into.count} records`)
          if (!icrc.verify(frame)) throw new Error(`after hop ${n}: ICRC`)
          stamp(frame, HOP, growthBytes(frame, NO_LIMIT))
        }
      },
      2000,
    )
    t.ok(parsed > 100, `${parsed} were parsed`)
  },
)

t.test('IFA has the IP protocol that the network has chosen', async t => {
  const pool = new FramePool(2, SLOT, 0, 131)
  const sender = pool.take()!
  const plain = buildRoce({ ...PLAIN, family: 4, payloadBytes: 40 })
  parseFrame(plain)
  sender.bytes.set(plain.bytes.subarray(0, plain.bth))
  Object.assign(sender, { l3: plain.l3, l4: plain.l4, payload: plain.bth })
  telemetry.begin(sender, telemetry.IFA, 5, 0)
  t.equal(sender.bytes[sender.l3 + 9], 131)
  const bytes = ifa('2f1100ff', '0000ff00')
  const receiver = pool.take()!
  bytes.bytes.copy(receiver.bytes)
  receiver.length = bytes.length
  receiver.wireLength = bytes.length
  t.equal(parseFrame(receiver), WireError.OK)
  t.equal(receiver.bth, -1, '253 is no IFA there')
  receiver.bytes[receiver.l3 + 9] = 131
  t.equal(parseFrame(receiver), WireError.OK)
  t.equal(receiver.intFormat, telemetry.IFA)
})

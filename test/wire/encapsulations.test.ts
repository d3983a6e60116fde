/**
 * INT-MD, IFA and IOAM: bytes from their specifications, hops that fill in or insert, and the rest when they
 * are removed.
 */
import t, { type Test } from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WIRE_ERROR_NAMES, WireError } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import { HopSnapshot } from '../../lib/wire/telemetry/hop-snapshot.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { growthBytes, stamp } from '../../lib/wire/telemetry/telemetry-hop.js'
import { fc, property } from '../support/property.js'
import { buildRoce, cut, PLAIN } from './helpers.js'

const { INT_MD, IFA, IOAM } = telemetry
const FOREIGN = [INT_MD, IFA, IOAM]
const SLOT = 2048
const NO_LIMIT = 0xffff

/** Two hops whose numbers are easily distinguished in hex. */
const HOP_1 = snapshot(0x0102, 0x0a, 0x0b, 100e9, 0x1234, 0x0123_4567_89ab, 0x00c0ffee, 3, 63)
const HOP_2 = snapshot(0xbeef, 0x01, 0x02, 1e9, 7, 0x55, 0x11, 0, 62)

function snapshot(
  switchId: number,
  ingressPort: number,
  egressPort: number,
  rateBps: number,
  residenceNs: number,
  txBytes: number,
  qlenBytes: number,
  priority: number,
  ttl: number,
): HopSnapshot {
  const hop = new HopSnapshot()
  const startNs = 5_000_000_123
  const arrivalNs = startNs - residenceNs
  Object.assign(hop, { switchId, ingressPort, egressPort, rateBps, arrivalNs, startNs, txBytes })
  return Object.assign(hop, { qlenBytes, priority, ttl })
}

/** A RoCEv2 packet with its ICRC. */
function plain(family: 4 | 6, payloadBytes = 100): Frame {
  const frame = buildRoce({ ...PLAIN, family, payloadBytes })
  parseFrame(frame)
  icrc.write(frame)
  return frame
}

/** The same packet with telemetry from its sender: `begin`, lengths, ICRC, as in the tx pipeline. */
function sent(from: Frame, format: number, hops: number, flagBits = 0): Frame {
  const frame = new Frame(0, Buffer.alloc(SLOT))
  const { view } = frame
  frame.bytes.set(from.bytes.subarray(0, from.bth))
  Object.assign(frame, { l3: from.l3, l4: from.l4, payload: from.bth })
  frame.bth = telemetry.begin(frame, format, hops, flagBits)
  frame.bytes.set(from.bytes.subarray(from.bth, from.length), frame.bth)
  frame.length = frame.bth + from.length - from.bth
  frame.wireLength = frame.length
  const total = frame.length - frame.l3
  if (ipv4.version(view, frame.l3) === 4) {
    ipv4.setTotalLength(view, frame.l3, total)
    ipv4.updateChecksum(view, frame.l3)
  } else {
    ipv6.setPayloadLength(view, frame.l3, total - ipv6.BYTES)
  }
  udp.setDestinationPort(view, frame.l4, telemetry.destinationPort(frame))
  udp.setLength(view, frame.l4, frame.length - frame.l4 - telemetry.foreignBytes(frame))
  icrc.write(frame)
  return frame
}

/** A hop on the way: parses, writes its record. */
function through(t: Test, frame: Frame, hop: HopSnapshot, mtu = NO_LIMIT): void {
  t.equal(WIRE_ERROR_NAMES[parseFrame(frame)], 'ok')
  const growth = growthBytes(frame, mtu)
  const before = frame.length
  stamp(frame, hop, growth)
  t.equal(frame.length, before + growth)
  t.equal(frame.wireLength, frame.length)
}

function hex(frame: Frame, from: number, to: number): string {
  return frame.bytes.toString('hex', from, to)
}

function told(t: Test, frame: Frame): HopRecords {
  t.equal(WIRE_ERROR_NAMES[parseFrame(frame)], 'ok')
  t.ok(icrc.verify(frame), 'the ICRC holds')
  if (ipv4.version(frame.view, frame.l3) === 4) t.ok(ipv4.verifyChecksum(frame.view, frame.l3))
  const hops = new HopRecords()
  // Records are reused: nothing of earlier ones may remain.
  Object.assign(hops, {
    flows: 9,
    overflow: true,
    ratioOnly: true,
    accumulated: true,
    busiestOnly: true,
    pathId: 1,
  })
  t.equal(telemetry.read(frame, hops), WireError.OK)
  t.same([hops.flows, hops.ratioOnly, hops.accumulated, hops.busiestOnly], [0, false, false, false])
  return hops
}

function row(hops: HopRecords, i: number): number[] {
  const { switchId, port, rateBps, tsNs, txBytes, qlenBytes } = hops
  return [switchId[i]!, port[i]!, rateBps[i]!, tsNs[i]!, txBytes[i]!, qlenBytes[i]!]
}

t.test('INT-MD 2.1: shim, header and stack byte by byte', async t => {
  const frame = sent(plain(4), INT_MD, 5, intShim.FLAG_SUBSCRIBED)
  const at = frame.l4 + 8
  // Type 1, NPT 1; 3 words follow; port 4791. Version 2, hop ML 8 words, 5 hops remain. Node id, level 1 interfaces, queue, egress
  // time. Domain "WE", its first two instructions, its flags.
  t.equal(hex(frame, at, at + 16), '140312b7' + '20000805' + 'd4005745' + 'c0000020')
  t.equal(udp.destinationPort(frame.view, frame.l4), 4792)
  t.equal(ipv4.protocol(frame.view, frame.l3), 17)
  through(t, frame, HOP_1)
  // 5,000,000,123 ns = 0x1_2a05_f27b. 100 Gbit/s = 0x05f5e100 kbit/s.
  const first = '00000102' + '000a000b' + '03c0ffee' + '000000012a05f27b' + '00000123456789ab' + '05f5e100'
  t.equal(hex(frame, at, at + 48), `140b12b7${'20000804'}d4005745c0000020${first}`)
  through(t, frame, HOP_2)
  const second = '0000beef' + '00010002' + '00000011' + '000000012a05f27b' + '0000000000000055' + '000f4240'
  t.equal(
    hex(frame, at, at + 80),
    `141312b7${'20000803'}d4005745c0000020${second}${first}`,
    'the last hop on top',
  )
  t.equal(udp.length(frame.view, frame.l4), frame.length - frame.l4)
  t.equal(telemetry.flags(frame), intShim.FLAG_SUBSCRIBED)
  t.match(printFrame(frame), /INT-MD hops 2 remaining 3, /)
})

t.test('IFA 2.0: headers before and behind UDP, and the stack, byte by byte', async t => {
  for (const family of [4, 6] as const) {
    const original = plain(family)
    const frame = sent(original, IFA, 5)
    const { view, l3, l4 } = frame
    t.equal(family === 4 ? ipv4.protocol(view, l3) : ipv6.nextHeader(view, l3), 253)
    // Version 2, local name space; next UDP; no flags; 5 x 9 words at most.
    t.equal(hex(frame, l4 - 4, l4), '2f11002d')
    // UDP is unchanged, because it does not include the metadata.
    t.equal(hex(frame, l4, l4 + 8), hex(original, original.l4, original.l4 + 8))
    t.equal(hex(frame, l4 + 8, l4 + 12), '0000ff00')
    through(t, frame, HOP_1)
    // LNS 1, device 0x00102, TTL 63; speed in the rate, queue 3, second 4 (arrival 0x1234 ns before 5.000000123 s).
    const arrival = (1_000_000_123 - 0x1234).toString(16)
    const nanos = '3b9a' + 'b847'
    t.equal(1_000_000_123 - 0x1234, Number.parseInt(arrival, 16))
    const words = [
      '1001023f',
      'f0300004',
      '000b000a',
      nanos,
      '00001234',
      '05f5e100',
      '00c0ffee',
      '00000123',
      '456789ab',
    ]
    t.equal(arrival, nanos)
    t.equal(hex(frame, l4 + 8, l4 + 48), `0000fe09${words.join('')}`)
    through(t, frame, HOP_2)
    t.equal(hex(frame, l4 + 8, l4 + 16), '0000fd12' + '10beef3e', 'the last hop on top')
    t.equal(hex(frame, l4, l4 + 8), hex(original, original.l4, original.l4 + 8))
    t.match(printFrame(frame), /IFA hops 2 passed 2, /)
  }
})

t.test('IOAM over IPv4: behind UDP, byte by byte', async t => {
  const frame = sent(plain(4), IOAM, 2)
  const at = frame.l4 + 8
  // Type 0, 19 words, next 0; name space, node length 8 words, 16 remain; trace type bits 0-3, 5, 6, 10.
  const empty = '00130000' + '57454010' + 'f6200000'
  t.equal(hex(frame, at, at + 76), empty + '00'.repeat(64))
  t.equal(udp.destinationPort(frame.view, frame.l4), 4792)
  through(t, frame, HOP_1)
  // Hop limit 63, node 0x102; interfaces; 5 s and 123 ns; rate; queue; bytes.
  const first =
    '3f000102' + '000a000b' + '00000005' + '0000007b' + '05f5e100' + '00c0ffee' + '00000123456789ab'
  t.equal(
    hex(frame, at, at + 76),
    `0013000057454008f6200000${'00'.repeat(32)}${first}`,
    'filled from the end',
  )
  through(t, frame, HOP_2)
  const second =
    '3e00beef' + '00010002' + '00000005' + '0000007b' + '000f4240' + '00000011' + '0000000000000055'
  t.equal(hex(frame, at, at + 76), `0013000057454000f6200000${second}${first}`)
  t.match(printFrame(frame), /IOAM trace nodes 2\/2, /)
  through(t, frame, HOP_1)
  t.equal(hex(frame, at, at + 76), `0013000057454400f6200000${second}${first}`, 'overflow, and nothing else')
  t.match(printFrame(frame), /IOAM trace nodes 2\/2 overflow, /)
})

t.test('IOAM over IPv6: a hop-by-hop option, byte by byte', async t => {
  const original = plain(6)
  const frame = sent(original, IOAM, 2)
  const { view, l3 } = frame
  const at = l3 + 40
  t.equal(ipv6.nextHeader(view, l3), 0)
  // UDP next, 9 more units of 8 bytes, PadN; option 0x31 of 74 bytes, reserved, pre-allocated trace.
  t.equal(hex(frame, at, at + 16), '1109' + '0100' + '314a0000' + '57454010' + 'f6200000')
  t.equal(frame.l4, at + 80)
  t.equal(hex(frame, frame.l4, frame.l4 + 8), hex(original, original.l4, original.l4 + 8), 'UDP as it was')
  through(t, frame, HOP_1)
  t.equal(hex(frame, at + 8, at + 24), `57454008f6200000${'00'.repeat(8)}`)
  t.equal(hex(frame, at + 48, at + 52), '3f000102')
  t.same(row(told(t, frame), 0), [0x0102, 0x0b, 100e9, 5_000_000_123, 0x0123_4567_89ab, 0x00c0ffee])
  const many = sent(original, IOAM, 15)
  t.equal(many.l4, l3 + 40 + 16 + 7 * 32, 'no more than 7 fit an option')
})

t.test('records come out as they went in, first hop first, and the echo says the same', async t => {
  for (const family of [4, 6] as const) {
    for (const format of FOREIGN) {
      const frame = sent(plain(family), format, 5)
      t.equal(told(t, frame).count, 0)
      through(t, frame, HOP_1)
      through(t, frame, HOP_2)
      const hops = told(t, frame)
      t.equal(hops.count, 2)
      t.equal(hops.pathId, 0x0102 ^ 0xbeef)
      t.notOk(hops.overflow)
      t.equal(hops.flows, 0)
      const first = [0x0102, 0x0b, 100e9, 5_000_000_123, 0x0123_4567_89ab, 0x00c0ffee]
      t.same(row(hops, 0), first)
      t.same(row(hops, 1), [0xbeef, 2, 1e9, 5_000_000_123, 0x55, 0x11])
      t.same([hops.tsModulusNs[0], hops.txModulusBytes[1]], [2 ** 48, 2 ** 48])

      const echo = new DataView(new ArrayBuffer(telemetry.ECHO_BYTES_MAX))
      const bytes = telemetry.writeEcho(echo, 0, frame)
      t.equal(bytes, 8 + 2 * 24)
      t.ok(intShim.isEcho(echo, 0))
      const echoed = new HopRecords()
      t.equal(intShim.read(echo, 0, bytes, echoed), WireError.OK)
      t.same(echoed, hops)
    }
  }
})

/** Removes telemetry by the words of the specifications, without the codecs. */
function strip(frame: Frame): Frame {
  const { l3 } = frame
  const isV4 = frame.bytes[l3]! >>> 4 === 4
  const ipBytes = isV4 ? 20 : 40
  const ip = Buffer.from(frame.bytes.subarray(l3, l3 + ipBytes))
  const next = isV4 ? ip[9]! : ip[6]!
  let at = l3 + ipBytes
  if (next === 253) at += 4
  if (next === 0) at += 8 * (frame.bytes[at + 1]! + 1)
  const header = Buffer.from(frame.bytes.subarray(at, at + 8))
  at += 8
  if (next === 253) at += 4 + 4 * frame.bytes[at + 3]!
  else if (header.readUInt16BE(2) === 4792) {
    const first = frame.bytes[at]!
    at += first === 0x14 ? 4 + 4 * frame.bytes[at + 1]! : 4 * frame.bytes[at + 1]!
  }
  const rest = frame.bytes.subarray(at, frame.length)
  header.writeUInt16BE(4791, 2)
  header.writeUInt16BE(8 + rest.length, 4)
  if (isV4) ip[9] = 17
  else ip[6] = 17
  ip.writeUInt16BE((isV4 ? 20 : 0) + 8 + rest.length, isV4 ? 2 : 4)
  const bytes = Buffer.concat([frame.bytes.subarray(0, l3), ip, header, rest])
  const stripped = new Frame(0, bytes)
  stripped.length = bytes.length
  stripped.wireLength = bytes.length
  return stripped
}

t.test('what is left when telemetry is stripped is the packet, and its ICRC is right', async t => {
  for (const family of [4, 6] as const) {
    for (const payloadBytes of [0, 1, 3, 1024]) {
      const original = plain(family, payloadBytes)
      for (const format of FOREIGN) {
        const frame = sent(original, format, 5)
        through(t, frame, HOP_1)
        through(t, frame, HOP_2)
        told(t, frame)
        const stripped = strip(frame)
        t.equal(parseFrame(stripped), WireError.OK)
        t.ok(icrc.verify(stripped))
        const masked = family === 4 ? Buffer.from(original.bytes) : original.bytes
        if (family === 4) stripped.bytes.copy(masked, original.l3 + 10, original.l3 + 10, original.l3 + 12)
        t.ok(stripped.bytes.equals(masked), 'byte for byte, but for the header checksum')
        frame.bytes[frame.payload + (payloadBytes === 0 ? 0 : payloadBytes - 1)]! ^= 0x10
        t.notOk(icrc.verify(frame), 'damage is found')
        t.notOk(icrc.verifyIgnoringId(frame) && family === 6)
      }
    }
  }
})

t.test('a socket that hides the IP identification finds the ICRC right too', async t => {
  for (const format of [INT_MD, IOAM]) {
    const frame = sent(plain(4), format, 3)
    through(t, frame, HOP_1)
    frame.view.setUint16(frame.l3 + 4, 0x7777)
    ipv4.updateChecksum(frame.view, frame.l3)
    t.notOk(icrc.verify(frame))
    t.ok(icrc.verifyIgnoringId(frame))
  }
})

t.test('bounds: what the sender allows, the MTU, the slot; hops without a record show', async t => {
  for (const format of [INT_MD, IFA]) {
    const hopBytes = telemetry.hopBytes(format)
    const full = sent(plain(4), format, 1)
    through(t, full, HOP_1)
    const length = full.length
    through(t, full, HOP_2)
    t.equal(full.length, length, 'no more than the sender allows')
    let hops = told(t, full)
    t.same([hops.count, hops.overflow], [1, true])

    const long = sent(plain(4), format, 5)
    const mtu = long.wireLength - long.l3 + hopBytes
    through(t, long, HOP_1, mtu)
    through(t, long, HOP_2, mtu)
    hops = told(t, long)
    t.same([hops.count, hops.overflow, long.wireLength - long.l3], [1, true, mtu], 'no more than the MTU')

    const slot = sent(plain(4), format, 5)
    const tight = new Frame(0, Buffer.alloc(slot.length + hopBytes - 1))
    tight.copyFrom(slot)
    through(t, tight, HOP_1)
    hops = told(t, tight)
    t.same([hops.count, hops.overflow], [0, true], 'no more than the slot holds')
  }
  const exceeded = sent(plain(4), INT_MD, 1)
  through(t, exceeded, HOP_1)
  through(t, exceeded, HOP_1)
  t.match(printFrame(exceeded), /INT-MD hops 1 remaining 0 hops-exceeded, /)
  const mtu = sent(plain(4), INT_MD, 1)
  through(t, mtu, HOP_1, 60)
  t.match(printFrame(mtu), /INT-MD hops 0 remaining 1 mtu-exceeded, /)
})

t.test('sixteen records are the most, whatever a header allows', async t => {
  for (const format of FOREIGN) {
    const frame = sent(plain(4), format, 15)
    if (format === INT_MD) frame.view.setUint8(frame.shim + 7, 255)
    if (format === IFA) frame.view.setUint8(frame.l4 - 1, 255)
    for (let i = 0; i < 20; i++) through(t, frame, HOP_2)
    const hops = told(t, frame)
    t.same([hops.count, hops.overflow], [format === IOAM ? 15 : 16, true])
  }
})

t.test('numbers that do not fit: counters by their low 48 bits, queues at the greatest value', async t => {
  const hop = snapshot(0xffff, 0xffff, 0xffff, 400e9, 0, 2 ** 52 + 3, 2 ** 25, 7, 255)
  hop.startNs = 2 ** 52 + 1_000_000_007
  hop.arrivalNs = hop.startNs - 2 ** 40
  for (const format of FOREIGN) {
    const frame = sent(plain(4), format, 1)
    through(t, frame, hop)
    const hops = told(t, frame)
    // IFA's seconds have 20 bits, IOAM's 32: the former have wrapped.
    const seconds = Math.floor((hop.startNs - 0xffff_ffff) / 1e9)
    const since =
      (BigInt(hop.startNs) - (format === IFA ? BigInt(seconds - (seconds % 2 ** 20)) * 10n ** 9n : 0n)) %
      2n ** 48n
    t.equal(hops.tsNs[0], Number(since))
    t.equal(hops.txBytes[0], 3)
    t.equal(hops.qlenBytes[0], format === INT_MD ? 0xff_ffff : 2 ** 25)
    t.equal(hops.rateBps[0], 400e9)
  }
})

t.test('malformed telemetry has its own names', async t => {
  const broken = (family: 4 | 6, format: number, at: (frame: Frame) => number, value: number) => {
    const frame = sent(plain(family), format, 2)
    through(t, frame, HOP_1)
    frame.view.setUint8(at(frame), value)
    const error = parseFrame(frame)
    t.ok(frame.l3 > 0, 'it can be forwarded all the same')
    t.equal(frame.payload, -1, 'and not be received')
    return WIRE_ERROR_NAMES[error]
  }
  for (const [offset, value] of [
    [2, 0], // another port
    [4, 0x10], // version 1
    [6, 0x07], // another hop length
    [8, 0xff], // instructions
    [4, 0x28], // a copy to be discarded
    [1, 2], // shorter than its header
    [1, 10], // half a record
  ] as const) {
    t.equal(
      broken(4, INT_MD, f => f.shim + offset, value),
      'bad-int-md',
      `INT-MD byte ${offset}`,
    )
  }
  t.equal(
    broken(4, INT_MD, f => f.shim + 1, 3 + 16 * 8),
    'short-int-md',
  )
  for (const [offset, value] of [
    [-4, 0x1f], // version 1
    [-2, 0x10], // fragments
    [-2, 0x08], // tail stamps
    [-2, 0x01], // a checksum
  ] as const) {
    t.equal(
      broken(4, IFA, f => f.l4 + offset, value),
      'bad-ifa',
      `IFA byte ${offset}`,
    )
  }
  t.equal(
    broken(4, IFA, f => f.shim + 3, 10),
    'bad-udp-length',
  )
  t.equal(
    broken(4, IFA, f => f.shim + 3, 255),
    'short-ifa',
  )
  t.equal(
    broken(4, IFA, f => f.shim + 3, 0),
    'bad-udp-length',
  )
  for (const family of [4, 6] as const) {
    for (const [offset, value] of [
      [2, 0x38], // another length of nodes than the trace type has
      [3, 0x7f],
      [3, 1],
      [4, 0xff],
    ] as const) {
      t.equal(
        broken(family, IOAM, f => f.shim + offset, value),
        'bad-ioam',
        `IOAM byte ${offset}`,
      )
    }
  }
  t.equal(
    broken(4, IOAM, f => f.shim - 3, 250),
    'short-ioam',
  )
  t.equal(
    broken(6, IOAM, f => f.shim - 3, 255),
    'bad-ioam',
    'an option beyond its header',
  )
})

t.test(
  'random bytes where telemetry is, and every truncation: no throw, no read outside, bounded records',
  async t => {
    const shapes = fc.record({
      family: fc.constantFrom(4 as const, 6 as const),
      format: fc.constantFrom(...FOREIGN),
      hops: fc.integer({ min: 0, max: 3 }),
      changes: fc.array(fc.tuple(fc.nat(120), fc.nat(255)), { maxLength: 4 }),
      cut: fc.nat(300),
    })
    property(
      t,
      'damage',
      shapes,
      ({ family, format, hops, changes, cut: length }) => {
        const frame = sent(plain(family, 16), format, 3)
        for (let i = 0; i < hops; i++) {
          parseFrame(frame)
          stamp(frame, HOP_1, growthBytes(frame, NO_LIMIT))
        }
        for (const [offset, value] of changes) frame.bytes[14 + offset] = value
        // The slot ends with the present bytes, so that access beyond them throws.
        const short = cut(frame, Math.min(length, frame.length), frame.length)
        for (const damaged of [frame, short]) {
          parseFrame(damaged)
          if (damaged.shim < 0) continue
          const into = new HopRecords()
          if (damaged.bth >= 0) telemetry.read(damaged, into)
          if (into.count > 16) throw new Error(`${into.count} records`)
          stamp(damaged, HOP_2, growthBytes(damaged, NO_LIMIT))
          printFrame(damaged)
        }
      },
      3000,
    )
  },
)

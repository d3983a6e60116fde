import { crc32 as zlibCrc32 } from 'node:zlib'
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import * as crc32 from '../../lib/wire/bytes/crc32.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as cnp from '../../lib/wire/ib/cnp.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { fc, property } from '../support/property.js'
import { buildRoce, PLAIN, type Shape, slowCrc32 } from './helpers.js'

/** The rule of IBA 7.8.1 and annex A17, spelled out over a copy of the packet. */
function expectedIcrc(frame: Frame): number {
  const packet = Array.from(frame.bytes.subarray(frame.l3, frame.length - 4))
  const l4 = frame.l4 - frame.l3
  const mask = (...offsets: number[]) => {
    for (const offset of offsets) packet[offset] = 0xff
  }
  if (packet[0]! >>> 4 === 4) mask(1, 8, 10, 11)
  else {
    packet[0]! |= 0x0f
    mask(1, 2, 3, 7)
  }
  mask(l4 + 6, l4 + 7, frame.bth - frame.l3 + 4)
  const isStamped = frame.shim >= 0 && (frame.bytes[frame.shim + 1]! & 0x80) === 0
  if (isStamped) packet.splice(frame.shim - frame.l3, frame.bth - frame.shim)
  return slowCrc32([...new Array(8).fill(0xff), ...packet])
}

function parsed(frame: Frame): Frame {
  const error = parseFrame(frame)
  if (error !== WireError.OK) throw new Error(`parse error ${error}`)
  return frame
}

const shapes: fc.Arbitrary<Shape> = fc.record({
  family: fc.constantFrom(4 as const, 6 as const),
  vlan: fc.boolean(),
  slots: fc.integer({ min: -1, max: 16 }),
  format: fc.constantFrom(0, 1),
  flags: fc.constantFrom(0, 0x80, 0x40),
  opcode: fc.constantFrom(0x04, 0x06, 0x11, 0x13, 0x81, 0xc3),
  payloadBytes: fc.integer({ min: 0, max: 1100 }),
  seed: fc.integer({ min: 1, max: 0xffffff }),
})

t.test('CRC-32', async t => {
  const text = Buffer.from('123456789')
  const view = new DataView(text.buffer, text.byteOffset, text.length)
  // The check value of this CRC in every catalogue.
  t.equal(crc32.finish(crc32.updateByTable(crc32.START, view, 0, 9)), 0xcbf4_3926)
  const pieces = fc.record({
    bytes: fc.uint8Array({ maxLength: 1500 }),
    cuts: fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
  })
  property(t, 'in pieces, by table or native, as zlib computes it at once', pieces, ({ bytes, cuts }) => {
    const [a, b] = cuts.map(c => Math.floor(c * bytes.length)).sort((x, y) => x - y) as [number, number]
    const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let state = crc32.update(crc32.START, bytes, v, 0, a)
    state = crc32.updateByTable(state, v, a, b)
    state = crc32.update(state, bytes, v, b, bytes.length)
    if (crc32.finish(state) !== zlibCrc32(bytes)) throw new Error('differs')
  })
  property(
    t,
    'unwind undoes zero bytes',
    fc.tuple(fc.integer(), fc.integer({ min: 0, max: 9000 })),
    ([state, n]) => {
      const zeros = new DataView(new ArrayBuffer(n))
      const wound = crc32.updateByTable(state, zeros, 0, n)
      if (crc32.unwind(wound, n) !== state >>> 0) throw new Error('differs')
    },
  )
})

t.test('a frame in the slot of a pool, whose address is asked for, has the same ICRC', async t => {
  const pool = new FramePool(3, 8192)
  pool.take()
  for (const payloadBytes of [0, 100, 140, 190, 191, 192, 193, 255, 384, 1024, 4095, 4096]) {
    for (const opcode of [Opcode.RC_SEND_ONLY, Opcode.RC_RDMA_WRITE_ONLY]) {
      const frame = parsed(buildRoce({ ...PLAIN, opcode, payloadBytes }))
      const pooled = pool.take()!
      pooled.copyFrom(frame)
      icrc.write(frame)
      icrc.write(pooled)
      t.ok(pooled.bytes.subarray(0, pooled.length).equals(frame.bytes), `${payloadBytes} bytes`)
      t.ok(icrc.verify(pooled))
      pooled.bytes[pooled.length - 9]! ^= 1
      t.notOk(icrc.verify(pooled))
      pool.give(pooled)
    }
  }
})

t.test('a CNP as a ConnectX-4 Lx sends it', async t => {
  // 10.0.17.1 > 10.0.18.1, TOS 0xc2, ID 0x718c, UDP source port 0, to QP 0x118; its ICRC bytes are 82 fd 00 2a.
  const frame = new Frame(0, Buffer.alloc(74))
  const { view } = frame
  ethernet.write(view, 0, 0xe41d_2dab_2bc2, 0x7cfe_9064_3b32, ethernet.TYPE_IPV4)
  ipv4.write(view, 14, {
    tos: 0xc2,
    totalLength: 60,
    identification: 0x718c,
    dontFragment: true,
    ttl: 64,
    protocol: 17,
    source: 0x0a00_1101,
    destination: 0x0a00_1201,
  })
  t.equal(ipv4.checksum(view, 14), 0x9161)
  udp.write(view, 34, 0, udp.PORT_ROCE, 40)
  cnp.write(view, 42, 0xffff, 0x118)
  frame.length = 74
  frame.wireLength = 74
  parsed(frame)
  icrc.write(frame)
  t.equal(view.getUint32(70), 0x82fd_002a)
  t.ok(icrc.verify(frame))
})

t.test('an UC SEND with MigReq, pad and ECN', async t => {
  // 192.168.0.7 to itself, ID 1144; its ICRC bytes are 78 f3 53 f3 whatever the UDP checksum is.
  const frame = new Frame(0, Buffer.alloc(78))
  const { view } = frame
  ethernet.write(view, 0, 0x248a_07a8_fa22, 0x248a_07a8_fa22, ethernet.TYPE_IPV4)
  ipv4.write(view, 14, {
    tos: 0x01,
    totalLength: 64,
    identification: 1144,
    dontFragment: true,
    ttl: 64,
    protocol: 17,
    source: 0xc0a8_0007,
    destination: 0xc0a8_0007,
  })
  t.equal(ipv4.checksum(view, 14), 0xb4d5)
  udp.write(view, 34, 49152, udp.PORT_ROCE, 44, 0xaca2)
  bth.write(
    view,
    42,
    new bth.Bth({ opcode: Opcode.UC_SEND_ONLY, migrated: true, padCount: 2, destQpn: 211, psn: 13571856 }),
  )
  Buffer.from('4630818be28935d90e9a95505401be885e500000', 'hex').copy(frame.bytes, 54)
  frame.length = 78
  frame.wireLength = 78
  parsed(frame)
  t.equal(frame.payloadLength, 18)
  icrc.write(frame)
  t.equal(view.getUint32(74), 0x78f3_53f3)
  udp.setChecksum(view, 34, 0)
  t.ok(icrc.verify(frame))
})

t.test('any frame: as the rule says, bit by bit', async t => {
  property(t, 'compute', shapes, shape => {
    const frame = parsed(buildRoce(shape))
    if (icrc.compute(frame) !== expectedIcrc(frame)) throw new Error('differs')
    if (icrc.verify(frame)) throw new Error('a frame without ICRC passed')
    icrc.write(frame)
    if (!icrc.verify(frame) || !icrc.verifyIgnoringId(frame)) throw new Error('its own ICRC failed')
  })
})

t.test('what may change on the way does not count, everything else does', async t => {
  for (const family of [4, 6] as const) {
    const frame = parsed(buildRoce({ ...PLAIN, family, payloadBytes: 5 }))
    icrc.write(frame)
    const { l3, l4 } = frame
    const free = new Set(
      family === 4
        ? [l3 + 1, l3 + 8, l3 + 10, l3 + 11, l4 + 6, l4 + 7, frame.bth + 4]
        : [l3 + 1, l3 + 2, l3 + 3, l3 + 7, l4 + 6, l4 + 7, frame.bth + 4],
    )
    const lengths = new Set(family === 4 ? [l3, l3 + 2, l3 + 3] : [l3, l3 + 4, l3 + 5])
    for (let at = l3; at < frame.length; at++) {
      if (lengths.has(at)) continue
      frame.bytes[at]! ^= 0x10
      t.equal(icrc.verify(frame), free.has(at), `IPv${family}: byte ${at - l3}`)
      frame.bytes[at]! ^= 0x10
    }
    frame.bytes[0]! ^= 0xff
    t.ok(icrc.verify(frame), 'Ethernet is not covered')
  }
})

t.test('a stamped shim is left out, an echoed one counts', async t => {
  for (const format of [intShim.FORMAT_WIDE, intShim.FORMAT_COMPACT]) {
    const stamped = parsed(buildRoce({ ...PLAIN, slots: 3, format, payloadBytes: 64 }))
    icrc.write(stamped)
    t.ok(
      intShim.stamp(stamped.view, stamped.shim, stamped.length, {
        switchId: 5,
        egressPort: 6,
        rateBps: 1e9,
        startNs: 7,
        txBytes: 8,
        qlenBytes: 9,
      }),
    )
    t.ok(icrc.verify(stamped), 'a hop may write')
    t.equal(icrc.compute(stamped), expectedIcrc(stamped))

    const echoed = parsed(buildRoce({ ...PLAIN, slots: 3, format, flags: intShim.FLAG_ECHO, opcode: 0x11 }))
    icrc.write(echoed)
    for (let at = echoed.shim + 2; at < echoed.bth; at++) {
      echoed.bytes[at]! ^= 1
      t.notOk(icrc.verify(echoed), `a change of an echo's byte ${at - echoed.shim} is seen`)
      echoed.bytes[at]! ^= 1
    }
    t.ok(icrc.verify(echoed))
  }
})

t.test('without the identification', async t => {
  const cases = fc.tuple(shapes, fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0, max: 0xffff }))
  property(t, 'any identification passes, and no other change', cases, ([shape, seen, sent]) => {
    const frame = parsed(buildRoce({ ...shape, family: 4 }))
    ipv4.setIdentification(frame.view, frame.l3, sent)
    icrc.write(frame)
    ipv4.setIdentification(frame.view, frame.l3, seen)
    if (!icrc.verifyIgnoringId(frame)) throw new Error('refused')
    if (icrc.verify(frame) !== (seen === sent)) throw new Error('the strict check is another one')
    if (icrc.verifyWithZeroId(frame) !== (sent === 0)) throw new Error('zero ID')
    if (icrc.verifyOrWithZeroId(frame) !== (sent === 0 || seen === sent)) throw new Error('seen or zero')
    frame.bytes[frame.bth + 9]! ^= 1 << (shape.seed & 7)
    if (icrc.verifyIgnoringId(frame)) throw new Error('a changed PSN passed')
  })
  property(t, 'IPv6 has no identification', shapes, shape => {
    const frame = parsed(buildRoce({ ...shape, family: 6 }))
    icrc.write(frame)
    if (!icrc.verifyIgnoringId(frame) || !icrc.verifyWithZeroId(frame)) throw new Error('refused')
    frame.bytes[frame.l3 + 9]! ^= 1
    if (icrc.verifyIgnoringId(frame) || icrc.verifyWithZeroId(frame))
      throw new Error('a changed address passed')
  })
  const frame = parsed(buildRoce({ ...PLAIN, payloadBytes: 300 }))
  const right = icrc.compute(frame)
  let passed = 0
  for (let i = 0; i < 20_000; i++) {
    // Multiplicative steps reach everywhere in 32 bits.
    frame.view.setUint32(frame.length - 4, (right ^ Math.imul(i + 1, 0x9e37_79b1)) >>> 0, true)
    if (icrc.verifyIgnoringId(frame)) passed++
  }
  t.ok(passed < 10, `${passed} of 20,000 wrong ICRCs passed; 2^-16 of them are expected`)
})

t.test('frames without a payload in memory, and without a BTH', async t => {
  const whole = parsed(buildRoce({ ...PLAIN, payloadBytes: 1024 }))
  const frame = new Frame(0, Buffer.from(whole.bytes.subarray(0, whole.payload)))
  frame.length = frame.bytes.length
  frame.wireLength = whole.wireLength
  parsed(frame)
  const before = frame.bytes.toString('hex')
  t.notOk(icrc.isPresent(frame))
  icrc.write(frame)
  t.equal(frame.bytes.toString('hex'), before, 'nothing is written')
  t.ok(icrc.verify(frame) && icrc.verifyIgnoringId(frame) && icrc.verifyWithZeroId(frame))
  const none = new Frame(0, Buffer.alloc(100))
  t.notOk(icrc.verify(none) || icrc.verifyIgnoringId(none) || icrc.verifyWithZeroId(none))
  t.throws(() => icrc.write(none), { code: 'WEIR_BAD_STATE' })
})

t.test('bytes behind the IP packet do not matter', async t => {
  const whole = parsed(buildRoce({ ...PLAIN, payloadBytes: 8 }))
  icrc.write(whole)
  const padded = new Frame(0, Buffer.concat([whole.bytes, Buffer.alloc(6, 0xaa)]))
  padded.length = padded.bytes.length
  padded.wireLength = padded.length
  parsed(padded)
  t.equal(padded.payloadLength, 8)
  t.ok(icrc.verify(padded))
  t.equal(icrc.read(padded), icrc.read(whole))
})

t.test('IPv4 options are covered', async t => {
  const plain = buildRoce({ ...PLAIN, payloadBytes: 12 })
  const options = Buffer.from('0101010194040000', 'hex')
  const bytes = Buffer.concat([plain.bytes.subarray(0, 34), options, plain.bytes.subarray(34)])
  const frame = new Frame(0, bytes)
  frame.length = bytes.length
  frame.wireLength = bytes.length
  bytes[14] = 0x47
  ipv4.setTotalLength(frame.view, 14, bytes.length - 14)
  ipv4.updateChecksum(frame.view, 14)
  parsed(frame)
  t.equal(frame.l4, 42)
  t.equal(icrc.compute(frame), expectedIcrc(frame))
  icrc.write(frame)
  bytes[36]! ^= 1
  t.notOk(icrc.verify(frame))
})

t.test('IPv6 lengths', async t => {
  const frame = parsed(buildRoce({ ...PLAIN, family: 6, payloadBytes: 3 }))
  t.equal(frame.l4 - frame.l3, ipv6.BYTES)
  t.equal(frame.payloadLength, 3)
})

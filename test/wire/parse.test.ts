import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { EXTENDED_HEADER_BYTES, isKnown } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WIRE_ERROR_NAMES, WireError } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { fc, property } from '../support/property.js'
import { buildRoce, cut, PLAIN, type Shape } from './helpers.js'

const OPCODES = Array.from({ length: 256 }, (_, code) => code).filter(isKnown)
/** Each kind of packet: every opcode plain, and every framing of a few. */
const KINDS: Shape[] = [
  ...OPCODES.map(opcode => ({ ...PLAIN, opcode, payloadBytes: 6 })),
  ...[4, 6].flatMap(family =>
    [false, true].flatMap(vlan =>
      [-1, 0, 2].flatMap(slots =>
        [0, 1].map(format => ({ ...PLAIN, family: family as 4 | 6, vlan, slots, format, payloadBytes: 9 })),
      ),
    ),
  ),
]

function offsetsAreSane(frame: Frame): boolean {
  const inside = (offset: number) => offset === -1 || (offset >= 0 && offset <= frame.length)
  return (
    [frame.l3, frame.l4, frame.shim, frame.bth, frame.payload].every(inside) &&
    frame.payloadLength >= 0 &&
    (frame.payload < 0 || frame.payload + frame.payloadLength + 4 <= frame.wireLength)
  )
}

t.test('offsets of every kind of packet', async t => {
  for (const shape of KINDS) {
    const frame = buildRoce(shape)
    t.equal(parseFrame(frame), WireError.OK)
    const l3 = shape.vlan ? 18 : 14
    const l4 = l3 + (shape.family === 4 ? 20 : 40)
    const shim = shape.slots < 0 ? -1 : l4 + 8
    const bthAt = l4 + 8 + (shape.slots < 0 ? 0 : 8 + shape.slots * (shape.format === 0 ? 24 : 8))
    const payload = bthAt + 12 + EXTENDED_HEADER_BYTES[shape.opcode]!
    t.same(
      [frame.l3, frame.l4, frame.shim, frame.bth, frame.payload, frame.payloadLength],
      [l3, l4, shim, bthAt, payload, shape.payloadBytes],
      JSON.stringify(shape),
    )
  }
})

t.test('every truncation of every kind of packet is an error', async t => {
  let cuts = 0
  for (const shape of KINDS) {
    const whole = buildRoce(shape)
    for (let length = 0; length < whole.length; length++) {
      const frame = cut(whole, length, length)
      const error = parseFrame(frame)
      if (error === WireError.OK || !offsetsAreSane(frame))
        t.fail(`${JSON.stringify(shape)} cut to ${length}`)
      if (WIRE_ERROR_NAMES[error] === undefined) t.fail(`error ${error} has no name`)
      cuts++
    }
  }
  t.ok(cuts > 5000, `${cuts} truncations`)
})

t.test('headers alone, payload not materialised: right from the payload offset on', async t => {
  for (const shape of KINDS) {
    const whole = buildRoce(shape)
    parseFrame(whole)
    for (let length = 0; length <= whole.length; length++) {
      const frame = cut(whole, length, whole.wireLength)
      const error = parseFrame(frame)
      if ((error === WireError.OK) !== length >= whole.payload)
        t.fail(`${JSON.stringify(shape)} cut to ${length}`)
      if (error === WireError.OK && frame.payloadLength !== shape.payloadBytes) t.fail('payload length')
      if (!offsetsAreSane(frame)) t.fail('offsets')
    }
  }
  t.pass('all lengths')
})

t.test(
  'an IP packet that ends early in a longer frame: nothing behind its end is taken for a header',
  async t => {
    for (const shape of KINDS) {
      const frame = buildRoce(shape)
      parseFrame(frame)
      const { l3, l4, shim, bth: bthAt, payload } = frame
      const pad = bth.padCount(frame.view, bthAt)
      for (let end = l4 + 8; end < frame.length; end++) {
        if (shape.family === 4) ipv4.setTotalLength(frame.view, l3, end - l3)
        else frame.view.setUint16(l3 + 4, end - l3 - 40)
        udp.setLength(frame.view, l4, end - l4)
        const expected =
          shim >= 0 && end < bthAt
            ? 'short-shim'
            : end < bthAt + 12 + 4
              ? 'short-bth'
              : end < payload + 4
                ? 'short-extended-header'
                : end < payload + pad + 4
                  ? 'bad-pad'
                  : 'ok'
        const found = WIRE_ERROR_NAMES[parseFrame(frame)]
        if (found !== expected) t.fail(`${JSON.stringify(shape)} ends at ${end}: ${found}, not ${expected}`)
        if (found === 'ok' && frame.payloadLength !== end - payload - pad - 4) t.fail('payload length')
      }
    }
    t.pass('all lengths')
  },
)

t.test('each rule, broken alone', async t => {
  const broken = (shape: Partial<Shape>, change: (frame: Frame) => void) => {
    const frame = buildRoce({ ...PLAIN, payloadBytes: 8, ...shape })
    parseFrame(frame)
    change(frame)
    const error = parseFrame(frame)
    return [
      WIRE_ERROR_NAMES[error],
      frame.l3 >= 0,
      frame.l4 >= 0,
      frame.shim >= 0,
      frame.bth >= 0,
      frame.payload >= 0,
    ]
  }
  const view = (change: (v: DataView, f: Frame) => void) => (frame: Frame) => change(frame.view, frame)
  t.same(
    broken(
      {},
      view((v, f) => v.setUint8(f.l3, 0x55)),
    ),
    ['bad-ipv4-header', false, false, false, false, false],
  )
  t.same(
    broken(
      {},
      view((v, f) => ipv4.setTotalLength(v, f.l3, f.length)),
    ),
    ['bad-ipv4-length', false, false, false, false, false],
  )
  t.same(
    broken(
      { family: 6 },
      view((v, f) => v.setUint8(f.l3, 0x50)),
    ),
    ['bad-ipv6-header', false, false, false, false, false],
  )
  t.same(
    broken(
      { family: 6 },
      view((v, f) => v.setUint16(f.l3 + 4, f.length)),
    ),
    ['bad-ipv6-length', false, false, false, false, false],
  )
  t.same(
    broken(
      {},
      view((v, f) => udp.setLength(v, f.l4, 7)),
    ),
    ['bad-udp-length', true, false, false, false, false],
  )
  t.same(
    broken(
      {},
      view((v, f) => udp.setLength(v, f.l4, udp.length(v, f.l4) - 4)),
    ),
    ['bad-udp-length', true, true, false, false, false],
    'the ICRC must be at the end of both',
  )
  t.same(
    broken(
      {},
      view((v, f) => ipv4.setTotalLength(v, f.l3, 24)),
    ),
    ['short-udp', true, false, false, false, false],
  )
  t.same(
    broken(
      { slots: 2 },
      view((v, f) => v.setUint8(f.shim, 0x30)),
    ),
    ['bad-shim', true, true, false, false, false],
  )
  t.same(
    broken(
      { slots: 2 },
      view((v, f) => v.setUint8(f.shim + 3, 16)),
    ),
    ['short-shim', true, true, false, false, false],
  )
  t.same(
    broken(
      {},
      view((v, f) => bth.setVersion(v, f.bth, 1)),
    ),
    ['bad-bth-version', true, true, false, false, false],
  )
  t.same(
    broken(
      {},
      view((v, f) => bth.setOpcode(v, f.bth, 0x15)),
    ),
    ['unknown-opcode', true, true, false, true, false],
  )
  t.same(
    broken(
      {},
      view((v, f) => bth.setOpcode(v, f.bth, 0x13)),
    ),
    ['short-extended-header', true, true, false, true, false],
  )
  t.same(
    broken(
      { payloadBytes: 0 },
      view((v, f) => bth.setPadCount(v, f.bth, 1)),
    ),
    ['bad-pad', true, true, false, true, false],
  )
})

t.test('other traffic is no error', async t => {
  const other = (change: (v: DataView, f: Frame) => void) => {
    const frame = buildRoce({ ...PLAIN, payloadBytes: 8 })
    parseFrame(frame)
    change(frame.view, frame)
    return [parseFrame(frame), frame.l3 >= 0, frame.l4 >= 0, frame.bth >= 0]
  }
  t.same(
    other(v => v.setUint16(12, 0x0806)),
    [0, false, false, false],
    'ARP',
  )
  t.same(
    other((v, f) => ipv4.setProtocol(v, f.l3, 6)),
    [0, true, false, false],
    'TCP',
  )
  t.same(
    other((v, f) => udp.setDestinationPort(v, f.l4, 53)),
    [0, true, true, false],
    'other UDP',
  )
  t.same(
    other((v, f) => v.setUint16(f.l3 + 6, 0x2000)),
    [0, true, false, false],
    'first fragment',
  )
  t.same(
    other((v, f) => v.setUint16(f.l3 + 6, 0x0001)),
    [0, true, false, false],
    'later fragment',
  )
})

t.test('a slot is reused: nothing of the frame before remains', async t => {
  const first = buildRoce({ ...PLAIN, slots: 2, payloadBytes: 8 })
  parseFrame(first)
  first.length = 10
  t.equal(parseFrame(first), WireError.SHORT_ETHERNET)
  t.same(
    [first.l3, first.l4, first.shim, first.bth, first.payload, first.payloadLength],
    [-1, -1, -1, -1, -1, 0],
  )
})

t.test('fuzz: random bytes and damaged packets never throw, offsets stay within bounds', async t => {
  const check = (bytes: Uint8Array, extra: number) => {
    const frame = new Frame(0, Buffer.from(bytes))
    frame.length = bytes.length
    frame.wireLength = bytes.length + extra
    const error = parseFrame(frame)
    if (WIRE_ERROR_NAMES[error] === undefined) throw new Error(`unnamed ${error}`)
    if (!offsetsAreSane(frame)) throw new Error('offsets')
    if (typeof printFrame(frame) !== 'string') throw new Error('print')
  }
  const extra = fc.constantFrom(0, 0, 1, 4, 2000)
  property(t, 'random', fc.tuple(fc.uint8Array({ maxLength: 120 }), extra), ([b, e]) => check(b, e), 500)
  const damage = fc.record({
    kind: fc.constantFrom(...KINDS),
    flips: fc.array(fc.tuple(fc.integer({ min: 12, max: 140 }), fc.integer({ min: 0, max: 255 })), {
      maxLength: 4,
    }),
    length: fc.double({ min: 0, max: 1, noNaN: true }),
    extra,
  })
  property(
    t,
    'damaged',
    damage,
    ({ kind, flips, length, extra }) => {
      const { bytes } = buildRoce(kind)
      for (const [at, value] of flips) if (at < bytes.length) bytes[at] = value
      check(bytes.subarray(0, Math.ceil(bytes.length * Math.max(length, 0.3))), extra)
      check(bytes, 0)
    },
    1000,
  )
})

t.test('INT shim formats are seen through the parser', async t => {
  const frame = buildRoce({ ...PLAIN, slots: 4, format: intShim.FORMAT_COMPACT })
  t.equal(parseFrame(frame), WireError.OK)
  t.equal(intShim.totalBytes(frame.view, frame.shim), 40)
})

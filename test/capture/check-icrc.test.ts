/** ICRCs of captured packets, by whatever port they were sent. */
import t from 'tap'
import { checkIcrc } from '../../lib/capture/check-icrc.js'
import { RocePorts } from '../../lib/capture/roce-ports.js'
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { buildRoce, PLAIN, type Shape } from '../wire/helpers.js'

const SHAPES: Shape[] = [
  { ...PLAIN, payloadBytes: 40 },
  { ...PLAIN, payloadBytes: 700, seed: 0x77, slots: 2 },
  { ...PLAIN, payloadBytes: 40, family: 6 },
]

/** A packet whose ICRC is that of identification 0 and "don't fragment", with these values on the wire. */
function bySocket(shape: Shape, id: number, dontFragment: boolean): Frame {
  const frame = buildRoce(shape)
  parseFrame(frame)
  const flags = frame.l3 + 6
  if (shape.family === 4) ipv4.setIdentification(frame.view, frame.l3, 0)
  icrc.write(frame)
  if (shape.family === 6) return frame
  ipv4.setIdentification(frame.view, frame.l3, id)
  if (!dontFragment) frame.view.setUint16(flags, 0)
  return frame
}

t.test('what an ordinary socket sends is right, whatever its kernel writes into the IP header', async t => {
  for (const id of [0, 1, 18766, 0xffff]) {
    for (const dontFragment of [true, false]) {
      const expected = id === 0 && dontFragment ? 'right' : 'as-meant'
      t.equal(checkIcrc(bySocket(PLAIN, id, dontFragment)), expected, `id ${id}, DF ${dontFragment}`)
    }
  }
  t.equal(checkIcrc(bySocket({ ...PLAIN, family: 6 }, 0, true)), 'right', 'IPv6 has none of it')
})

t.test('an ICRC of 0 is not used, unless it is right', async t => {
  for (const shape of SHAPES) {
    const frame = bySocket(shape, 0, true)
    frame.view.setUint32(frame.length - icrc.BYTES, 0)
    t.equal(checkIcrc(frame), 'unused')
    frame.view.setUint32(frame.length - icrc.BYTES, 1)
    t.equal(checkIcrc(frame), 'wrong')
  }
})

t.test('any damaged bit that counts makes it wrong', async t => {
  for (const shape of SHAPES) {
    const frame = bySocket(shape, 18766, true)
    const { l3, l4, shim, bth: bthAt } = frame
    // Fields that may change on the way or that the kernel sets: TOS, identification, flags, TTL, both
    // checksums, FECN and BECN.
    const free =
      shape.family === 4
        ? [l3 + 1, l3 + 4, l3 + 5, l3 + 6, l3 + 7, l3 + 8, l3 + 10, l3 + 11]
        : [l3, l3 + 1, l3 + 2, l3 + 3, l3 + 7]
    free.push(l4 + 6, l4 + 7, bthAt + bth.CONGESTION)
    let tried = 0
    for (let at = l3; at < frame.length; at++) {
      if (free.includes(at) || (shim >= 0 && at >= shim && at < bthAt)) continue
      for (let bit = 0; bit < 8; bit++) {
        frame.bytes[at]! ^= 1 << bit
        // Other checks find damage that makes it another kind of packet.
        if (parseFrame(frame) === WireError.OK && frame.bth >= 0) {
          if (checkIcrc(frame) !== 'wrong') t.fail(`bit ${bit} of byte ${at}`)
          tried++
        }
        frame.bytes[at]! ^= 1 << bit
      }
    }
    parseFrame(frame)
    t.not(checkIcrc(frame), 'wrong', `${tried} bits of a packet that is right without`)
    t.ok(tried > 400)
  }
})

t.test('a packet to another port: right for the well-known one or for that one', async t => {
  const ports = new RocePorts([5791])
  for (const counted of [udp.PORT_ROCE, 5791]) {
    const frame = buildRoce({ ...PLAIN, payloadBytes: 100 })
    parseFrame(frame)
    udp.setDestinationPort(frame.view, frame.l4, counted)
    icrc.write(frame)
    udp.setDestinationPort(frame.view, frame.l4, 5791)
    const { error, port } = ports.parse(frame)
    t.same([error, port], [WireError.OK, 5791])
    t.equal(checkIcrc(frame, port), 'right', `computed for ${counted}`)
    frame.bytes[frame.payload]! ^= 1
    t.equal(checkIcrc(frame, port), 'wrong')
  }
  const telemetry = buildRoce({ ...PLAIN, slots: 2 })
  parseFrame(telemetry)
  udp.setDestinationPort(telemetry.view, telemetry.l4, 5792)
  t.equal(ports.parse(telemetry).port, 5792)
  t.ok(telemetry.shim > 0 && telemetry.bth > telemetry.shim, 'telemetry is at the next one')
  t.throws(() => new RocePorts(Array(65).fill(1)), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('what was not captured is neither', async t => {
  const frame = buildRoce({ ...PLAIN, payloadBytes: 100 })
  parseFrame(frame)
  frame.length -= 50
  t.equal(checkIcrc(frame), 'not-captured')
})

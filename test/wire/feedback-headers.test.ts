/** The headers of Weir's own feedback packets, byte by byte, as in the comments of their files. */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as arrival from '../../lib/wire/weir/arrival.js'
import * as delayedAck from '../../lib/wire/weir/delayed-ack.js'
import * as rate from '../../lib/wire/weir/rate.js'
import * as rateRequest from '../../lib/wire/weir/rate-request.js'

function blank(bytes: number): { view: DataView; hex: () => string } {
  const buffer = Buffer.alloc(bytes, 0xee)
  return {
    view: new DataView(buffer.buffer, buffer.byteOffset, buffer.length),
    hex: () => buffer.toString('hex'),
  }
}

t.test('delayed acknowledgement', async t => {
  const { view, hex } = blank(6)
  delayedAck.write(view, 1, delayedAck.KIND_RESPONSE, 0x1_abcdef)
  t.equal(hex(), 'ee82abcdefee')
  t.ok(delayedAck.acknowledges(view, 1))
  t.equal(delayedAck.psn(view, 1), 0xabcdef)
  t.equal(delayedAck.kind(view, 1), delayedAck.KIND_RESPONSE)
  t.equal(delayedAck.print(view, 1), `answers response acks ${0xabcdef}`)
  delayedAck.write(view, 1, delayedAck.KIND_REQUEST, -1)
  t.equal(hex(), 'ee01000000ee')
  t.notOk(delayedAck.acknowledges(view, 1))
  t.equal(delayedAck.print(view, 1), 'answers request')
})

t.test('window', async t => {
  const { view, hex } = blank(10)
  rate.write(view, 1, 70_000, 0x1234_5678_9abc)
  t.equal(hex(), 'eeffff123456789abcee')
  t.equal(rate.flows(view, 1), 65_535)
  t.equal(rate.windowBytes(view, 1), 0x1234_5678_9abc)
  rate.write(view, 1, 0, 1234.5)
  t.equal(rate.windowBytes(view, 1), 1235)
  t.equal(rate.print(view, 1), 'window 1235')
  rate.write(view, 1, 3, Number.MAX_SAFE_INTEGER)
  t.equal(rate.windowBytes(view, 1), 2 ** 48 - 1)
})

t.test('request for a window', async t => {
  const { view, hex } = blank(rateRequest.BYTES + 2)
  rateRequest.write(view, 1, 8320, 100e9, 1024)
  rateRequest.setOption(view, 1, 11, 0.5)
  // IEEE 754: 8320 = 2^13 x 1.015625, 1e11 = 0x4237...; 0.5 = 2^-1.
  t.equal(hex().slice(0, 18), 'ee40c0400000000000')
  t.equal(hex().slice(-18), '3fe0000000000000ee')
  t.equal(rateRequest.baseRttNs(view, 1), 8320)
  t.equal(rateRequest.lineRateBps(view, 1), 100e9)
  t.equal(rateRequest.mtuBytes(view, 1), 1024)
  t.ok(Number.isNaN(rateRequest.option(view, 1, 0)))
  t.equal(rateRequest.option(view, 1, 11), 0.5)
})

t.test('how a packet arrived, behind an ACK', async t => {
  const frame = new Frame(0, Buffer.alloc(64, 0xee))
  frame.bth = 0
  bth.write(frame.view, 0, new bth.Bth({ opcode: Opcode.RC_ACKNOWLEDGE, migrated: true, destQpn: 7, psn: 9 }))
  frame.payload = bth.BYTES + aeth.BYTES
  frame.length = frame.payload
  frame.wireLength = frame.payload
  arrival.add(frame, 2 ** 48 + 0x1234_5678_9abc, 0x1234_5678_9abf, 61)
  t.equal(frame.bytes.toString('hex', 16, 33), '3d00123456789abc' + '0000123456789abf' + 'ee')
  t.same([frame.payload, frame.length, frame.wireLength], [32, 32, 32])
  t.equal(bth.opcode(frame.view, 0), Opcode.STAMPED_ACK)
  t.equal(arrival.plainOpcode(Opcode.STAMPED_ACK), Opcode.RC_ACKNOWLEDGE)
  t.equal(arrival.plainOpcode(Opcode.STAMPED_SACK), Opcode.SACK)
  t.ok(arrival.isSound(frame.view, 16))
  t.equal(arrival.hopLimit(frame.view, 16), 61)
  t.equal(arrival.arrivedNs(frame.view, 16), 0x1234_5678_9abc, 'modulo 2^48')
  t.equal(arrival.leftNs(frame.view, 16), 0x1234_5678_9abf)
  t.equal(arrival.print(frame.view, 16), `arrived ${0x1234_5678_9abc} ttl 61 left ${0x1234_5678_9abf}`)
  for (const reserved of [1, 8, 9]) {
    frame.view.setUint8(16 + reserved, 1)
    t.notOk(arrival.isSound(frame.view, 16), `byte ${reserved}`)
    frame.view.setUint8(16 + reserved, 0)
  }
})

/** One check of the ICRCs of a whole run says what a check of each of its packets says. */
import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import { Frame } from '../../lib/frame/frame.js'
import { ReceivedRun } from '../../lib/frame/received-run.js'
import * as crc32 from '../../lib/wire/bytes/crc32.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { countAlike, countUnasked } from '../../lib/wire/ib/run.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { fc, property } from '../support/property.js'
import { buildRoce, PLAIN, type Shape } from './helpers.js'

const BIT_31 = 0x8000_0000

/** The frame's successor by `n`: its headers with a PSN `n` higher, other payload, and the right ICRC. */
function successor(frame: Frame, n: number, asks = false): Frame {
  const next = new Frame(0, Buffer.from(frame.bytes))
  next.copyFrom(frame)
  for (let i = 0; i < frame.payloadLength; i++) next.bytes[frame.payload + i]! ^= (i * n * 7 + n) & 0xff
  bth.setPsn(next.view, next.bth, bth.psn(next.view, next.bth) + n)
  bth.setAckRequest(next.view, next.bth, asks)
  next.shim = frame.shim
  next.intFormat = frame.intFormat
  icrc.write(next)
  return next
}

/** The packets of `frames` as the run behind another one. */
function runOf(frames: Frame[], headerBytes: number): ReceivedRun {
  const payloads = frames.map(frame => frame.bytes.subarray(headerBytes, frame.length))
  const run = new ReceivedRun(new Backing(Buffer.concat([Buffer.alloc(100), ...payloads])))
  run.begin(100, payloads[0]!.length, headerBytes, frames.length)
  return run
}

function firstOf(shape: Shape): Frame {
  const frame = buildRoce(shape)
  const error = parseFrame(frame)
  if (error !== WireError.OK) throw new Error(`parse error ${error}`)
  icrc.write(frame)
  return frame
}

const runs = fc.record({
  shape: fc.record({
    family: fc.constantFrom(4 as const, 6 as const),
    vlan: fc.constant(false),
    slots: fc.integer({ min: -1, max: 16 }),
    format: fc.constantFrom(0, 1),
    flags: fc.constantFrom(0, 0x80),
    opcode: fc.constantFrom(0x01, 0x07),
    payloadBytes: fc.integer({ min: 0, max: 700 }),
    seed: fc.integer({ min: 1, max: 0xffffff }),
  }),
  count: fc.integer({ min: 1, max: 40 }),
  /** Which packet is damaged, and which of its bits behind the constant headers. */
  packet: fc.nat(),
  bit: fc.nat(),
})

property(t, 'whole runs pass; one wrong bit in PSN, payload or ICRC is found', runs, drawn => {
  const first = firstOf(drawn.shape)
  const headerBytes = first.l4 + udp.BYTES
  const frames = Array.from({ length: drawn.count }, (_, n) => successor(first, n + 1, n % 3 === 0))
  if (!frames.every(frame => icrc.verify(frame))) throw new Error('a packet is not right')
  const run = runOf(frames, headerBytes)
  if (!icrc.verifyRun(first, run, drawn.count)) throw new Error('the run is refused')
  const damaged = frames[drawn.packet % drawn.count]!
  const from = damaged.bth + bth.SEQUENCE
  const bit = drawn.bit % ((damaged.length - from) * 8)
  damaged.bytes[from + (bit >> 3)]! ^= 1 << (bit & 7)
  if (icrc.verify(damaged)) throw new Error('the damage is not one')
  if (icrc.verifyRun(first, runOf(frames, headerBytes), drawn.count)) throw new Error('it is not found')
})

t.test('two packets that are damaged alike do not make up for each other', async t => {
  const first = firstOf({ ...PLAIN, opcode: 0x07, payloadBytes: 256 })
  const frames = [1, 2, 3, 4].map(n => successor(first, n))
  for (const n of [0, 2]) frames[n]!.bytes[first.payload + 9]! ^= 1
  t.notOk(icrc.verifyRun(first, runOf(frames, 42), 4))
  t.ok(icrc.verifyRun(first, runOf(frames.slice(3), 42), 1), 'the last one is right')
})

t.test('countAlike: what differs in more than payload, AckReq and the next PSN ends the run', async t => {
  const shape = { ...PLAIN, opcode: 0x07, payloadBytes: 256, slots: 2 }
  const first = firstOf(shape)
  const count = (change: (frame: Frame) => void) => {
    const frames = [1, 2, 3].map(n => successor(first, n))
    change(frames[1]!)
    return countAlike(first, runOf(frames, 42), 3)
  }
  t.equal(
    count(() => {}),
    3,
  )
  t.equal(
    count(frame => bth.setAckRequest(frame.view, frame.bth, true)),
    3,
  )
  for (const [what, change] of [
    ['opcode', frame => bth.setOpcode(frame.view, frame.bth, 0x08)],
    ['SE', frame => bth.setSolicited(frame.view, frame.bth, true)],
    ['pad', frame => bth.setPadCount(frame.view, frame.bth, 1)],
    ['partition', frame => bth.setPartitionKey(frame.view, frame.bth, 1)],
    ['queue pair', frame => frame.view.setUint8(frame.bth + 7, 99)],
    ['BECN', frame => bth.setBecn(frame.view, frame.bth, !bth.becn(first.view, first.bth))],
    ['telemetry', frame => frame.view.setUint8(frame.shim + 20, frame.view.getUint8(frame.shim + 20) ^ 1)],
    [
      'window',
      frame => bth.setWindowNumber(frame.view, frame.bth, bth.windowNumber(frame.view, frame.bth) ^ 1),
    ],
    ['PSN', frame => bth.setPsn(frame.view, frame.bth, bth.psn(frame.view, frame.bth) + 1)],
  ] satisfies [string, (frame: Frame) => void][])
    t.equal(count(change), 1, what)
  const frames = [1, 2].map(n => successor(first, n, n === 2))
  t.equal(countUnasked(first, runOf(frames, 42), 1), 1)
  t.equal(countUnasked(first, runOf(frames, 42), 2), 1)
  t.equal(
    countAlike(first, runOf([successor(firstOf({ ...shape, payloadBytes: 260 }), 1)], 42), 1),
    0,
    'length',
  )
})

t.test('PSNs of a run go on behind 2^24 - 1', async t => {
  const first = firstOf({ ...PLAIN, opcode: 0x07, payloadBytes: 256 })
  bth.setPsn(first.view, first.bth, 0xff_fffe)
  icrc.write(first)
  const run = runOf(
    [1, 2, 3, 4].map(n => successor(first, n)),
    42,
  )
  t.equal(countAlike(first, run, 4), 4)
  t.ok(icrc.verifyRun(first, run, 4))
})

const states = fc.record({
  state: fc.integer({ min: -BIT_31, max: BIT_31 - 1 }),
  bytes: fc.uint8Array({ maxLength: 300 }),
  times: fc.integer({ min: 0, max: 70 }),
})

property(t, 'shift and repeated: as the bytes themselves', states, ({ state, bytes, times }) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const alone = crc32.updateByTable(0, view, 0, bytes.length)
  const shifted = crc32.shift(state, bytes.length) ^ alone
  if (shifted !== crc32.updateByTable(state, view, 0, bytes.length)) throw new Error('shift')
  let whole = 0
  for (let n = 0; n < times; n++) whole = crc32.updateByTable(whole, view, 0, bytes.length)
  if (crc32.repeated(alone, bytes.length, times) !== whole) throw new Error('repeated')
})

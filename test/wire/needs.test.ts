/** The list of needs in REQ and REP: its bytes, what is skipped, what is malformed. */
import fc from 'fast-check'
import t from 'tap'
import {
  BYTES_MAX,
  decode,
  encode,
  NeedId,
  ReverseTelemetry,
  TelemetryReturn,
} from '../../lib/wire/weir/needs.js'
import { drawnSeed } from '../support/seeds.js'

const seed = drawnSeed(t)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const list = (text: string) => decode(Buffer.from(text, 'hex'))

t.test('ids and bytes are wire format: they never change', async t => {
  t.same(NeedId, {
    TELEMETRY: 1,
    REVERSE_TELEMETRY: 2,
    TIME_STAMPS: 3,
    HOP_COUNT: 4,
    CNPS: 5,
    RECEIVING_PART: 6,
    MARKS: 7,
    ACK_EVERY: 8,
    PROBES: 9,
  })
  t.same(TelemetryReturn, { AS_SET: 0, ACK: 1, NOTIFY: 2 })
  t.same(ReverseTelemetry, { OWN_WAY: 0, DATA_WAY: 1 })
  const needs = [
    { id: NeedId.TELEMETRY, value: TelemetryReturn.AS_SET },
    { id: NeedId.CNPS, value: 50_000 },
    { id: NeedId.RECEIVING_PART, value: 3 },
  ]
  t.equal(hex(encode(needs)), '08' + '2ac350' + '3103')
  t.same(list('082ac3503103'), needs)
})

t.test('an id that is not known is skipped by its length, whatever that is', async t => {
  t.same(list('ff01020304050607' + '18'), [{ id: NeedId.TIME_STAMPS, value: 0 }])
  t.same(list('f90918'), [
    { id: 31, value: 9 },
    { id: NeedId.TIME_STAMPS, value: 0 },
  ])
})

t.test('what is cut off, says a need twice or has the id 0 is malformed', async t => {
  for (const text of ['09', '2ac3', '0808', '00', '0100', 'ff']) t.equal(list(text), null, text)
  t.equal(decode(new Uint8Array(BYTES_MAX + 1).fill(0x08)), null)
  t.same(decode(new Uint8Array(0)), [])
})

t.test('what is encoded is decoded; no bytes make it throw', async t => {
  const needs = fc.uniqueArray(
    fc.record({ id: fc.integer({ min: 1, max: 31 }), value: fc.integer({ min: 0, max: 0xffffffff }) }),
    { selector: ({ id }) => id, maxLength: 8 },
  )
  const same = fc.property(needs, given => JSON.stringify(decode(encode(given))) === JSON.stringify(given))
  t.doesNotThrow(() => fc.assert(same, { seed, numRuns: 300 }))
  const anything = fc.property(fc.uint8Array({ maxLength: 50 }), bytes => {
    const found = decode(bytes)
    return found === null || found.every(({ id, value }) => id > 0 && id < 32 && value <= 0xffffffff)
  })
  t.doesNotThrow(() => fc.assert(anything, { seed, numRuns: 1000 }))
})

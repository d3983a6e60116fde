import t from 'tap'
import { WireError } from '../../lib/wire/bytes/wire-error.js'
import { HopRecords, MAX_HOPS } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as units from '../../lib/wire/telemetry/int-units.js'
import { fc, property } from '../support/property.js'
import { blank } from './helpers.js'

const WIDE = intShim.FORMAT_WIDE
const COMPACT = intShim.FORMAT_COMPACT

t.test(
  "the receiving host's record goes behind the others of an echo, whatever slots there were",
  async t => {
    for (const [format, slotBytes] of [
      [WIDE, 24],
      [COMPACT, 8],
    ] as const) {
      for (let hops = 0; hops < 15; hops++) {
        const { view } = blank(8 + 16 * 24)
        const { view: echo } = blank(8 + 16 * 24)
        intShim.write(view, 0, format, hops, 0)
        for (let n = 0; n < hops; n++)
          intShim.stamp(view, 0, 392, {
            switchId: n + 1,
            egressPort: 0,
            rateBps: 10e9,
            startNs: 1000 + n,
            txBytes: 1280 * n,
            qlenBytes: 640 * n,
          })
        const bytes = intShim.writeEcho(echo, 0, view, 0)
        const before = new HopRecords()
        intShim.read(echo, 0, 392, before)
        t.equal(intShim.appendHost(echo, 0, 2.5e9, 64_000, 128_000, 6400), bytes + slotBytes)
        t.equal(intShim.totalBytes(echo, 0), bytes + slotBytes)
        const after = new HopRecords()
        t.equal(intShim.read(echo, 0, bytes + slotBytes, after), WireError.OK)
        t.equal(after.count, hops + 1)
        t.ok(after.endsAtHost && !before.endsAtHost)
        t.equal(after.pathId, before.pathId ^ 0xffff)
        t.same([...after.txBytes.subarray(0, hops)], [...before.txBytes.subarray(0, hops)])
        t.equal(after.switchId[hops], format === WIDE ? 0xffff : 0)
        t.same(
          [after.rateBps[hops], after.tsNs[hops], after.txBytes[hops], after.qlenBytes[hops]],
          [2.5e9, 64_000, 128_000, 6400],
        )
      }
    }
    const { view, hex } = blank(8 + 24)
    intShim.write(view, 0, WIDE, 0, intShim.FLAG_ECHO)
    intShim.appendHost(view, 0, 10e9, 0x1234_5678_9abc, 0xfedc_ba98_7654, 0x0bad_cafe)
    // Flags: echo 0x80, host 0x01. Rate: 10,000,000 kbit/s = 0x00989680.
    t.equal(hex(), '10810101ffff0000' + 'ffff000000989680123456789abcfedcba9876540badcafe')
  },
)

t.test('wide: layout byte by byte', async t => {
  const { view, hex } = blank(8 + 48)
  for (let i = 0; i < 56; i++) view.setUint8(i, 0xee)
  t.equal(intShim.bytes(WIDE, 2), 56)
  t.equal(intShim.write(view, 0, WIDE, 2, intShim.FLAG_SUBSCRIBED), 56)
  t.equal(hex(), `1020000200000000${'00'.repeat(48)}`, 'slots begin empty')
  intShim.setFlows(view, 0, 0x0102)
  t.ok(
    intShim.stamp(view, 0, 56, {
      switchId: 0xabcd,
      egressPort: 7,
      rateBps: 100e9,
      startNs: 0x1234_5678_9abc,
      txBytes: 0xfedc_ba98_7654,
      qlenBytes: 0x0bad_cafe,
    }),
  )
  // Rate: 100,000,000 kbit/s = 0x05f5e100.
  const first = 'abcd000705f5e100123456789abcfedcba9876540badcafe'
  t.equal(hex(), `10200102abcd0102${first}${'00'.repeat(24)}`)
  t.ok(
    intShim.stamp(view, 0, 56, {
      switchId: 0x00ff,
      egressPort: 0x1234,
      rateBps: 1e9,
      startNs: 5,
      txBytes: 6,
      qlenBytes: 7,
    }),
  )
  const second = '00ff1234000f4240000000000005000000000006' + '00000007'
  // Path id: 0xabcd ^ 0x00ff = 0xab32.
  t.equal(hex(), `10200202ab320102${first}${second}`)

  const hops = new HopRecords()
  t.equal(intShim.read(view, 0, 56, hops), WireError.OK)
  t.equal(hops.count, 2)
  t.equal(hops.pathId, 0xab32)
  t.equal(hops.flows, 0x0102)
  t.notOk(hops.overflow)
  t.notOk(hops.ratioOnly)
  t.same([hops.switchId[0], hops.port[0], hops.rateBps[0]], [0xabcd, 7, 100e9])
  t.same(
    [hops.tsNs[0], hops.txBytes[0], hops.qlenBytes[0]],
    [0x1234_5678_9abc, 0xfedc_ba98_7654, 0x0bad_cafe],
  )
  t.same([hops.tsModulusNs[0], hops.txModulusBytes[0]], [2 ** 48, 2 ** 48])
  t.same([hops.switchId[1], hops.port[1], hops.rateBps[1]], [0xff, 0x1234, 1e9])
})

t.test('compact: layout bit by bit', async t => {
  const { view, hex } = blank(8 + 16)
  t.equal(intShim.bytes(COMPACT, 2), 24)
  intShim.write(view, 0, COMPACT, 2, 0)
  // 100 Gbit/s is code 12: stamp in ns, 512 B, 80 B.
  t.ok(
    intShim.stamp(view, 0, 24, {
      switchId: 3,
      egressPort: 9,
      rateBps: 100e9,
      startNs: 0xabcdef,
      txBytes: 0x54321 * 512 + 511,
      qlenBytes: 0x1234 * 80 + 79,
    }),
  )
  t.equal(hex(), '1100010200030000' + 'cabcdef543211234' + '0000000000000000')
  const hops = new HopRecords()
  t.equal(intShim.read(view, 0, 24, hops), WireError.OK)
  t.equal(hops.count, 1)
  t.equal(hops.pathId, 3)
  t.same([hops.switchId[0], hops.port[0], hops.rateBps[0]], [0, 0, 100e9])
  t.same([hops.tsNs[0], hops.txBytes[0], hops.qlenBytes[0]], [0xabcdef, 0x54321 * 512, 0x1234 * 80])
  t.same([hops.tsModulusNs[0], hops.txModulusBytes[0]], [2 ** 24, 2 ** 20 * 512])
})

t.test(
  'overflow: hops are counted and folded into the path id, no byte beyond the slots is touched',
  async t => {
    for (const format of [WIDE, COMPACT]) {
      const end = intShim.bytes(format, 1)
      const { view, hex } = blank(end + 24)
      intShim.write(view, 0, format, 1, 0)
      t.ok(
        intShim.stamp(view, 0, end, {
          switchId: 1,
          egressPort: 1,
          rateBps: 1e9,
          startNs: 1,
          txBytes: 1,
          qlenBytes: 1,
        }),
      )
      t.equal(intShim.flags(view, 0), 0)
      const slot = hex().slice(16, 2 * end)
      t.ok(
        intShim.stamp(view, 0, end, {
          switchId: 2,
          egressPort: 1,
          rateBps: 1e9,
          startNs: 2,
          txBytes: 2,
          qlenBytes: 2,
        }),
      )
      t.ok(
        intShim.stamp(view, 0, end, {
          switchId: 4,
          egressPort: 1,
          rateBps: 1e9,
          startNs: 3,
          txBytes: 3,
          qlenBytes: 3,
        }),
      )
      t.equal(intShim.flags(view, 0), intShim.FLAG_OVERFLOW)
      t.equal(intShim.hopCount(view, 0), 3)
      t.equal(intShim.pathId(view, 0), 7)
      t.equal(hex().slice(16), slot + '00'.repeat(24))
      const hops = new HopRecords()
      t.equal(intShim.read(view, 0, end, hops), WireError.OK)
      t.equal(hops.count, 1)
      t.ok(hops.overflow)
      for (let i = 0; i < 300; i++)
        intShim.stamp(view, 0, end, {
          switchId: 0,
          egressPort: 1,
          rateBps: 1e9,
          startNs: 3,
          txBytes: 3,
          qlenBytes: 3,
        })
      t.equal(intShim.hopCount(view, 0), 255, 'the count stays at its greatest')
      t.equal(intShim.check(view, 0, end), WireError.OK)
    }
  },
)

t.test('a shim without slots still counts hops', async t => {
  const { view } = blank(8)
  intShim.write(view, 0, WIDE, 0, 0)
  t.equal(intShim.check(view, 0, 8), WireError.OK)
  t.ok(
    intShim.stamp(view, 0, 8, {
      switchId: 9,
      egressPort: 1,
      rateBps: 1e9,
      startNs: 1,
      txBytes: 1,
      qlenBytes: 1,
    }),
  )
  t.equal(intShim.hopCount(view, 0), 1)
  t.equal(intShim.pathId(view, 0), 9)
})

t.test('malformed shims are neither stamped nor read', async t => {
  const end = intShim.bytes(WIDE, 2)
  const cases: [string, WireError, (view: DataView) => void, number][] = [
    ['version 0', WireError.BAD_SHIM, v => v.setUint8(0, 0x00), end],
    ['version 2', WireError.BAD_SHIM, v => v.setUint8(0, 0x20), end],
    ['format 2', WireError.BAD_SHIM, v => v.setUint8(0, 0x12), end],
    ['17 slots', WireError.BAD_SHIM, v => v.setUint8(3, MAX_HOPS + 1), 1000],
    ['more hops than slots without the flag', WireError.BAD_SHIM, v => v.setUint8(2, 3), end],
    ['the flag without more hops', WireError.BAD_SHIM, v => v.setUint8(1, intShim.FLAG_OVERFLOW), end],
    ['slots beyond the end', WireError.SHORT_SHIM, () => {}, end - 1],
    ['cut within the fixed part', WireError.SHORT_SHIM, () => {}, 7],
  ]
  for (const [name, error, spoil, limit] of cases) {
    const { view, hex } = blank(1000)
    intShim.write(view, 0, WIDE, 2, 0)
    spoil(view)
    const before = hex()
    const hops = new HopRecords()
    hops.count = 5
    t.equal(intShim.check(view, 0, limit), error, name)
    t.notOk(
      intShim.stamp(view, 0, limit, {
        switchId: 1,
        egressPort: 2,
        rateBps: 1e9,
        startNs: 3,
        txBytes: 4,
        qlenBytes: 5,
      }),
      name,
    )
    t.equal(hex(), before, `${name}: untouched`)
    t.equal(intShim.read(view, 0, limit, hops), error)
    t.equal(hops.count, 0, `${name}: no rows`)
  }
})

t.test('an echo: trimmed to the filled slots, flagged, never stamped, and reads as the original', async t => {
  for (const format of [WIDE, COMPACT]) {
    const from = blank(intShim.bytes(format, 5))
    intShim.write(from.view, 0, format, 5, intShim.FLAG_RATIO_ONLY)
    for (const id of [1, 2, 3])
      intShim.stamp(from.view, 0, from.view.byteLength, {
        switchId: id,
        egressPort: id,
        rateBps: 1e9,
        startNs: 1000 * id,
        txBytes: 1 << 20,
        qlenBytes: 640,
      })
    const to = blank(intShim.bytes(format, 5) + 2)
    const bytes = intShim.writeEcho(to.view, 2, from.view, 0)
    t.equal(bytes, intShim.bytes(format, 3))
    t.equal(intShim.totalBytes(to.view, 2), bytes)
    t.ok(intShim.isEcho(to.view, 2))
    t.equal(intShim.slots(to.view, 2), 3)
    t.equal(intShim.check(to.view, 2, 2 + bytes), WireError.OK)
    const before = to.hex()
    t.notOk(
      intShim.stamp(to.view, 2, 2 + bytes, {
        switchId: 9,
        egressPort: 9,
        rateBps: 1e9,
        startNs: 9,
        txBytes: 9,
        qlenBytes: 9,
      }),
    )
    t.equal(to.hex(), before)
    const original = new HopRecords()
    const echoed = new HopRecords()
    intShim.read(from.view, 0, from.view.byteLength, original)
    t.equal(intShim.read(to.view, 2, 2 + bytes, echoed), WireError.OK)
    t.same(echoed, original)
    t.ok(echoed.ratioOnly)
  }
  const from = blank(16)
  intShim.write(from.view, 0, COMPACT, 1, 0)
  for (const id of [1, 2])
    intShim.stamp(from.view, 0, 16, {
      switchId: id,
      egressPort: id,
      rateBps: 1e9,
      startNs: 1000 * id,
      txBytes: 1,
      qlenBytes: 1,
    })
  const to = blank(16)
  intShim.writeEcho(to.view, 0, from.view, 0)
  t.equal(intShim.check(to.view, 0, 16), WireError.OK, 'an overflow stays one')
  t.equal(intShim.hopCount(to.view, 0), 2)
})

t.test('flags and flows', async t => {
  const { view } = blank(8)
  intShim.write(view, 0, COMPACT, 0, intShim.FLAG_REVERSE)
  t.ok(intShim.isReverse(view, 0))
  t.notOk(intShim.isEcho(view, 0))
  intShim.setFlags(view, 0, intShim.FLAG_ECHO | intShim.FLAG_RATIO_ONLY)
  t.ok(intShim.isEcho(view, 0))
  t.equal(intShim.version(view, 0), 1)
  t.equal(intShim.format(view, 0), COMPACT)
  intShim.setFlows(view, 0, 70_000)
  t.equal(intShim.flows(view, 0), 65_535)
  t.equal(intShim.print(view, 0), 'INT compact hops 0/0 path 0x0 flows 65535 echo ratio-only')
})

t.test('speed codes: the nearest speed that is not above', async t => {
  const speeds = [
    10e6, 50e6, 100e6, 200e6, 500e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9,
  ]
  t.same(Array.from(units.RATE_BPS), speeds)
  for (const [code, speed] of speeds.entries()) {
    t.equal(units.rateCode(speed), code)
    t.equal(units.rateCode(speed + 1), code)
    if (code > 0) t.equal(units.rateCode(speed - 1), code - 1)
  }
  t.equal(units.rateCode(1), 0)
  t.equal(units.rateCode(3.2e12), 15)
})

t.test('units: fine enough, and no counter wraps early', async t => {
  for (const [code, speed] of units.RATE_BPS.entries()) {
    const packetNs = 8e12 / speed
    const tsWrapNs = units.TS_STEPS * units.TS_UNIT_NS[code]!
    const txWrapNs = (units.TX_STEPS * units.TX_UNIT_BYTES[code]! * 8e9) / speed
    t.ok(units.TS_UNIT_NS[code]! <= packetNs / 10, `code ${code}: stamp against a 1,000 B packet`)
    t.ok(txWrapNs > tsWrapNs, `code ${code}: bytes wrap after the stamp`)
    t.ok(tsWrapNs >= (speed <= 1e9 ? 500e6 : 16e6), `code ${code}: stamp wrap`)
    t.ok(units.QLEN_MAX * units.QLEN_UNIT_BYTES[code]! > 1e6, `code ${code}: 1 MB of queue fits`)
  }
  t.same([units.TS_UNIT_NS[12], units.TX_UNIT_BYTES[12], units.QLEN_UNIT_BYTES[12]], [1, 512, 80])
})

t.test('differences survive the wrap of a counter', async t => {
  const samples = fc.record({
    format: fc.constantFrom(WIDE, COMPACT),
    code: fc.integer({ min: 0, max: 15 }),
    ts: fc.integer({ min: 0, max: 2 ** 50 }),
    tx: fc.integer({ min: 0, max: 2 ** 50 }),
    part: fc.double({ min: 0, max: 0.99, noNaN: true }),
    qlen: fc.integer({ min: 0, max: 2 ** 33 }),
  })
  const before = new HopRecords()
  const after = new HopRecords()
  property(t, 'new - old modulo the modulus is the time and the bytes that passed', samples, s => {
    const rate = units.RATE_BPS[s.code]!
    const stampInto = (into: HopRecords, ts: number, tx: number) => {
      const { view } = blank(8 + 24)
      intShim.write(view, 0, s.format, 1, 0)
      intShim.stamp(view, 0, 32, {
        switchId: 1,
        egressPort: 1,
        rateBps: rate,
        startNs: ts,
        txBytes: tx,
        qlenBytes: s.qlen,
      })
      intShim.read(view, 0, 32, into)
    }
    const wrapNs = s.format === COMPACT ? units.TS_STEPS * units.TS_UNIT_NS[s.code]! : 2 ** 48
    const elapsed = Math.floor(wrapNs * s.part)
    const sent = Math.min(Math.floor((elapsed * rate) / 8e9), 2 ** 47)
    stampInto(before, s.ts, s.tx)
    stampInto(after, s.ts + elapsed, s.tx + sent)
    const near = (value: number, expected: number, unit: number, what: string) => {
      if (Math.abs(value - expected) >= unit) throw new Error(`${what}: ${value}, not ${expected}`)
    }
    const difference = (column: 'tsNs' | 'txBytes', modulus: number) =>
      (after[column][0]! - before[column][0]! + modulus) % modulus
    const compact = s.format === COMPACT
    near(difference('tsNs', after.tsModulusNs[0]!), elapsed, compact ? units.TS_UNIT_NS[s.code]! : 1, 'time')
    near(
      difference('txBytes', after.txModulusBytes[0]!),
      sent,
      compact ? units.TX_UNIT_BYTES[s.code]! : 1,
      'bytes',
    )
    const unit = compact ? units.QLEN_UNIT_BYTES[s.code]! : 1
    near(after.qlenBytes[0]!, Math.min(s.qlen, compact ? unit * 0xffff : 0xffff_ffff), unit, 'queue')
  })
})

t.test('fuzz: any bytes, any end', async t => {
  const hops = new HopRecords()
  const inputs = fc.record({ bytes: fc.uint8Array({ maxLength: 80 }), valid: fc.boolean() })
  property(
    t,
    'no throw, rows within bounds',
    inputs,
    ({ bytes, valid }) => {
      if (valid && bytes.length > 0) bytes[0] = 0x10 | (bytes[0]! & 1)
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      const error = intShim.read(view, 0, bytes.length, hops)
      if (error !== WireError.OK && hops.count !== 0) throw new Error('rows of a malformed shim')
      if (hops.count > MAX_HOPS) throw new Error('too many rows')
      intShim.stamp(view, 0, bytes.length, {
        switchId: 1,
        egressPort: 2,
        rateBps: 1e9,
        startNs: 3,
        txBytes: 4,
        qlenBytes: 5,
      })
    },
    500,
  )
})

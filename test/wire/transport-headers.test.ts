/** BTH and the extended headers: bytes laid out by hand from the tables of IBA volume 1, chapter 9. */
import t from 'tap'
import { WireError } from '../../lib/wire/bytes/wire-error.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as atomicAckEth from '../../lib/wire/ib/atomic-ack-eth.js'
import * as atomicEth from '../../lib/wire/ib/atomic-eth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as cnp from '../../lib/wire/ib/cnp.js'
import * as deth from '../../lib/wire/ib/deth.js'
import * as ieth from '../../lib/wire/ib/ieth.js'
import * as immdt from '../../lib/wire/ib/immdt.js'
import * as reth from '../../lib/wire/ib/reth.js'
import { fc, property } from '../support/property.js'
import { blank } from './helpers.js'

const u24 = fc.integer({ min: 0, max: 0xffffff })
const u32 = fc.integer({ min: 0, max: 0xffff_ffff })

t.test('BTH', async t => {
  const { view, hex } = blank(12)
  bth.write(
    view,
    0,
    new bth.Bth({
      opcode: 0x0a,
      solicited: true,
      migrated: true,
      padCount: 3,
      partitionKey: 0x8001,
      destQpn: 0xabcdef,
      ackRequest: true,
      psn: 0xfedcba,
    }),
  )
  t.equal(hex(), '0af0800100abcdef80fedcba')
  t.equal(bth.opcode(view, 0), 0x0a)
  t.ok(bth.solicited(view, 0))
  t.ok(bth.migrationRequest(view, 0))
  t.equal(bth.padCount(view, 0), 3)
  t.equal(bth.version(view, 0), 0)
  t.equal(bth.partitionKey(view, 0), 0x8001)
  t.notOk(bth.fecn(view, 0))
  t.notOk(bth.becn(view, 0))
  t.equal(bth.destQpn(view, 0), 0xabcdef)
  t.ok(bth.ackRequest(view, 0))
  t.equal(bth.psn(view, 0), 0xfedcba)
  t.equal(bth.check(view, 0, 12), WireError.OK)
  t.equal(bth.check(view, 0, 11), WireError.SHORT_BTH)
  bth.setVersion(view, 0, 1)
  t.equal(bth.check(view, 0, 12), WireError.BAD_BTH_VERSION)
})

t.test('BTH setters touch their own bits alone', async t => {
  const { view, hex } = blank(12)
  const step = (set: () => void, expected: string, name: string) => {
    set()
    t.equal(hex(), expected, name)
  }
  step(() => bth.setOpcode(view, 0, 0xc3), 'c30000000000000000000000', 'opcode')
  step(() => bth.setSolicited(view, 0, true), 'c38000000000000000000000', 'solicited')
  step(() => bth.setMigrationRequest(view, 0, true), 'c3c000000000000000000000', 'migration request')
  step(() => bth.setPadCount(view, 0, 2), 'c3e000000000000000000000', 'pad')
  step(() => bth.setVersion(view, 0, 0xf), 'c3ef00000000000000000000', 'version')
  step(() => bth.setPartitionKey(view, 0, 0x7fff), 'c3ef7fff0000000000000000', 'P_Key')
  step(() => bth.setFecn(view, 0, true), 'c3ef7fff8000000000000000', 'FECN')
  step(() => bth.setBecn(view, 0, true), 'c3ef7fffc000000000000000', 'BECN')
  step(() => bth.setAckRequest(view, 0, true), 'c3ef7fffc000000080000000', 'AckReq')
  step(() => bth.setPsn(view, 0, 0x1_654321), 'c3ef7fffc000000080654321', 'PSN')
  step(() => bth.setSolicited(view, 0, false), 'c36f7fffc000000080654321', 'solicited off')
  step(() => bth.setMigrationRequest(view, 0, false), 'c32f7fffc000000080654321', 'migration request off')
  step(() => bth.setPadCount(view, 0, 0), 'c30f7fffc000000080654321', 'pad off')
  step(() => bth.setFecn(view, 0, false), 'c30f7fff4000000080654321', 'FECN off')
  step(() => bth.setBecn(view, 0, false), 'c30f7fff0000000080654321', 'BECN off')
  step(() => bth.setAckRequest(view, 0, false), 'c30f7fff0000000000654321', 'AckReq off')
})

t.test('RETH', async t => {
  const { view, hex } = blank(16)
  reth.write(view, 0, 0x1f_0123_4567_89ab, 0xfedc_ba98, 0x8000_0000)
  t.equal(hex(), '001f0123456789abfedcba9880000000')
  t.equal(reth.address(view, 0), 0x1f_0123_4567_89ab)
  t.equal(reth.rkey(view, 0), 0xfedc_ba98)
  t.equal(reth.length(view, 0), 0x8000_0000)
  reth.setAddress(view, 0, Number.MAX_SAFE_INTEGER)
  t.equal(hex().slice(0, 16), '001fffffffffffff')
  t.equal(reth.address(view, 0), Number.MAX_SAFE_INTEGER)
  reth.setRkey(view, 0, 1)
  reth.setLength(view, 0, 2)
  t.equal(hex().slice(16), '0000000100000002')
  view.setUint32(0, 0x20_0000)
  t.ok(Number.isNaN(reth.address(view, 0)), '2^53 and above is no exact number')
  view.setUint32(0, 0xffff_ffff)
  t.ok(Number.isNaN(reth.address(view, 0)))
  property(t, 'every address below 2^53 survives', fc.maxSafeNat(), address => {
    reth.setAddress(view, 0, address)
    if (reth.address(view, 0) !== address) throw new Error(String(address))
  })
})

t.test('AETH syndromes (IBA 9.7.5)', async t => {
  const { view, hex } = blank(4)
  aeth.write(view, 0, aeth.NAK_PSN_SEQUENCE_ERROR, 0x1_abcdef)
  t.equal(hex(), '60abcdef')
  t.equal(aeth.syndrome(view, 0), 0x60)
  t.equal(aeth.msn(view, 0), 0xabcdef)
  aeth.setSyndrome(view, 0, 0xff)
  t.equal(hex(), 'ffabcdef')
  t.ok(aeth.isAck(0x00) && aeth.isAck(0x1f))
  t.ok(aeth.isRnrNak(0x20) && aeth.isRnrNak(0x3f))
  t.ok(aeth.isNak(0x60) && aeth.isNak(0x64))
  t.equal(aeth.kind(0x40), aeth.KIND_RESERVED)
  for (const syndrome of [0x1f, 0x2e, 0x63]) {
    const kinds = [aeth.isAck(syndrome), aeth.isRnrNak(syndrome), aeth.isNak(syndrome)]
    t.equal(kinds.filter(Boolean).length, 1, `0x${syndrome.toString(16)} is of one kind`)
  }
  t.equal(aeth.value(0x6e), 0x0e)
  t.equal(aeth.rnrNakSyndrome(12), 0x2c)
  t.equal(aeth.ackSyndrome(0x1f), 0x1f)
})

t.test('RNR timer table', async t => {
  // Milliseconds, IBA 9.7.5.2.8, table 45, from code 0.
  const expectedMs = [
    655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92, 2.56,
    3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
  ]
  t.equal(aeth.RNR_TIMER_NS.length, 32)
  for (const [code, ms] of expectedMs.entries()) {
    t.equal(aeth.RNR_TIMER_NS[code], Math.round(ms * 1e6), `code ${code}`)
  }
})

t.test('credit table: 2^(n/2) in steps, as IBA 9.7.7.2.4', async t => {
  const expected = [0, 1, 2, 3]
  for (let power = 4; power <= 32_768; power *= 2) expected.push(power, power * 1.5)
  expected.length = 31
  t.same(Array.from(aeth.CREDITS.subarray(0, 31)), expected)
  t.equal(aeth.CREDITS[aeth.CREDITS_UNLIMITED], Number.POSITIVE_INFINITY)
  for (let code = 0; code < 31; code++) t.equal(aeth.creditCode(expected[code]!), code)
  property(
    t,
    'a code promises no more than there is, and nearly all',
    fc.integer({ min: 0, max: 40_000 }),
    n => {
      const code = aeth.creditCode(n)
      if (aeth.CREDITS[code]! > n) throw new Error('too much')
      if (code < 30 && aeth.CREDITS[code + 1]! <= n) throw new Error('too little')
    },
  )
})

t.test('atomics', async t => {
  const request = blank(28)
  atomicEth.write(request.view, 0, {
    address: 0x7f58_0059_6008,
    rkey: 0x12db,
    swapOrAddHigh: 0x99aa_bbcc,
    swapOrAddLow: 0xddee_ff00,
    compareHigh: 0x1122_3344,
    compareLow: 0x5566_7788,
  })
  t.equal(request.hex(), '00007f5800596008000012db99aabbccddeeff001122334455667788')
  t.equal(atomicEth.address(request.view, 0), 0x7f58_0059_6008)
  t.equal(atomicEth.rkey(request.view, 0), 0x12db)
  t.equal(atomicEth.swapOrAddHigh(request.view, 0), 0x99aa_bbcc)
  t.equal(atomicEth.swapOrAddLow(request.view, 0), 0xddee_ff00)
  t.equal(atomicEth.compareHigh(request.view, 0), 0x1122_3344)
  t.equal(atomicEth.compareLow(request.view, 0), 0x5566_7788)
  atomicEth.setAddress(request.view, 0, 8)
  atomicEth.setRkey(request.view, 0, 9)
  atomicEth.setSwapOrAdd(request.view, 0, 1, 2)
  atomicEth.setCompare(request.view, 0, 3, 4)
  t.equal(request.hex(), '00000000000000080000000900000001000000020000000300000004')
  const answer = blank(8)
  atomicAckEth.write(answer.view, 0, 0x312a_231c, 0x150e_0700)
  t.equal(answer.hex(), '312a231c150e0700')
  t.equal(atomicAckEth.originalHigh(answer.view, 0), 0x312a_231c)
  t.equal(atomicAckEth.originalLow(answer.view, 0), 0x150e_0700)
})

t.test('ImmDt, IETH, DETH', async t => {
  const word = blank(4)
  immdt.write(word.view, 0, 0xcafe_0001)
  t.equal(word.hex(), 'cafe0001')
  t.equal(immdt.immediate(word.view, 0), 0xcafe_0001)
  ieth.write(word.view, 0, 0x8000_01e1)
  t.equal(word.hex(), '800001e1')
  t.equal(ieth.rkey(word.view, 0), 0x8000_01e1)
  ieth.setRkey(word.view, 0, 6)
  t.equal(word.hex(), '00000006')
  const datagram = blank(8)
  deth.write(datagram.view, 0, deth.QKEY_GSI, deth.QPN_GSI)
  t.equal(datagram.hex(), '8001000000000001')
  deth.write(datagram.view, 0, 0x1111_1111, 0xabcdef)
  t.equal(deth.qkey(datagram.view, 0), 0x1111_1111)
  t.equal(deth.sourceQpn(datagram.view, 0), 0xabcdef)
})

t.test('CNP (IBA annex A17)', async t => {
  const { view, hex } = blank(28)
  for (let i = 0; i < 28; i++) view.setUint8(i, 0xee)
  cnp.write(view, 0, 0xffff, 0x118)
  t.equal(hex(), `8100ffff4000011800000000${'00'.repeat(16)}`)
})

t.test('round trips at any offset', async t => {
  const fields = fc.record({
    at: fc.integer({ min: 0, max: 9 }),
    qpn: u24,
    psn: u24,
    a: u32,
    b: u32,
    ack: fc.boolean(),
  })
  property(t, 'BTH, AETH, RETH', fields, f => {
    const { view } = blank(40)
    bth.write(
      view,
      f.at,
      new bth.Bth({ opcode: 4, migrated: false, padCount: 1, destQpn: f.qpn, ackRequest: f.ack, psn: f.psn }),
    )
    if (bth.destQpn(view, f.at) !== f.qpn || bth.psn(view, f.at) !== f.psn) throw new Error('bth')
    if (bth.ackRequest(view, f.at) !== f.ack || bth.padCount(view, f.at) !== 1) throw new Error('bth flags')
    aeth.write(view, f.at, f.a & 0xff, f.psn)
    if (aeth.syndrome(view, f.at) !== (f.a & 0xff) || aeth.msn(view, f.at) !== f.psn) throw new Error('aeth')
    reth.write(view, f.at, f.a, f.b, f.a)
    if (reth.address(view, f.at) !== f.a || reth.rkey(view, f.at) !== f.b) throw new Error('reth')
    if (reth.length(view, f.at) !== f.a) throw new Error('reth length')
  })
})

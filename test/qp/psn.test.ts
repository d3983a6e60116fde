import fc from 'fast-check'
import t from 'tap'
import { PSN_HALF, PSN_MODULUS, packetsOf, unwrapPsn, wrapPsn } from '../../lib/qp/queues/psn.js'
import { fixedSeed } from '../support/seeds.js'

const SEED = fixedSeed(t, 20240601)

t.test('what is within half of the number space comes back as it was (IBA 9.7.1)', async () => {
  const near = fc.integer({ min: 0, max: 2 ** 48 })
  const distance = fc.integer({ min: -PSN_HALF, max: PSN_HALF - 1 })
  fc.assert(
    fc.property(near, distance, (near, distance) => {
      const psn = (((near + distance) % PSN_MODULUS) + PSN_MODULUS) % PSN_MODULUS
      return wrapPsn(near + distance) === psn && unwrapPsn(psn, near) === near + distance
    }),
    { seed: SEED },
  )
})

t.test('around the wrap, by hand', async t => {
  t.equal(unwrapPsn(0, 0xffffff), 0x1000000)
  t.equal(unwrapPsn(0xffffff, 0x1000000), 0xffffff)
  t.equal(unwrapPsn(0xfffffe, 1), -2)
  t.equal(unwrapPsn(0x7fffff, 0), 0x7fffff)
  t.equal(unwrapPsn(0x800000, 0), -0x800000)
})

t.test('packets of a message', async t => {
  t.equal(packetsOf(0, 1024), 1)
  t.equal(packetsOf(1, 1024), 1)
  t.equal(packetsOf(1024, 1024), 1)
  t.equal(packetsOf(1025, 1024), 2)
  t.equal(packetsOf(2 ** 31, 256), PSN_HALF)
})

import t from 'tap'
import { doubled, NEVER, serialisationNs } from '../../lib/time/nanos.js'

t.test('time on the wire, rounded up to a whole nanosecond', async t => {
  t.equal(serialisationNs(1000, 100e9), 80)
  t.equal(serialisationNs(1048, 100e9), 84, '83.84')
  t.equal(serialisationNs(1, 1e12), 1, '0.008: nothing takes no time')
  t.equal(serialisationNs(0, 1e9), 0)
  t.equal(serialisationNs(1500, 1e9), 12_000)
  t.equal(serialisationNs(125_000_000, 1e9), 1_000_000_000)
})

t.test('doubled so many times', async t => {
  t.same(
    [0, 1, 2, 10].map(times => doubled(3, times)),
    [3, 6, 12, 3072],
  )
  t.equal(doubled(NEVER, 0), NEVER)
  t.equal(doubled(NEVER, 3), NEVER)
})

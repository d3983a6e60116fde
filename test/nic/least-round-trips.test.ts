/** What connections of a host learn of each other's round trips. */
import t from 'tap'
import { LeastRoundTrips } from '../../lib/nic/feedback/least-round-trips.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'

const ONE = HostAddress.parse('10.0.0.1')
const OTHER = HostAddress.parse('10.0.0.2')

t.test('the least to each peer', async t => {
  const least = new LeastRoundTrips(10 * SECOND)
  t.equal(least.add(0, ONE, 30_000), 30_000)
  t.equal(least.add(MILLISECOND, ONE, 901 * MILLISECOND), 30_000, 'made under load')
  t.equal(least.add(MILLISECOND, ONE, 20_000), 20_000)
  t.equal(least.add(MILLISECOND, OTHER, 901 * MILLISECOND), 901 * MILLISECOND, 'another peer')
})

t.test('one counts for half of the window at least, and no longer than all of it', async t => {
  for (const [at, wanted] of [
    [0, 100],
    [4.9, 100],
    [5.1, 100],
    [9.9, 100],
    [10, 300],
    [100, 300],
  ] as const) {
    const least = new LeastRoundTrips(10 * SECOND)
    least.add(0, ONE, 100)
    t.equal(least.add(at * SECOND, ONE, 300), wanted, `after ${at} s`)
  }
})

t.test('many peers take no more room than there is', async t => {
  const least = new LeastRoundTrips(10 * SECOND)
  for (let n = 0; n < 3000; n++) least.add(0, HostAddress.parse(`10.1.${n >> 8}.${n & 255}`), 100 + n)
  t.equal(least.add(0, HostAddress.parse('10.1.11.183'), 5000), 3099, 'the last one is known')
  const full = new LeastRoundTrips(10 * SECOND)
  const peers = Array.from({ length: 1024 }, (_, n) => HostAddress.parse(`10.2.${n >> 8}.${n & 255}`))
  for (const peer of peers) full.add(0, peer, 100)
  t.same(
    new Set(peers.map(peer => full.add(0, peer, 300))),
    new Set([100]),
    'as many as there is room for stay known',
  )
})

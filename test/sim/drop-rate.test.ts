/**
 * A sender that begins carefully never keeps a drop rate above 1 % for longer than ten round trips: every controller, on queues that
 * drop what they have no room for, without telemetry and without marks.
 * `test/bench/silent-drop-rate` has the paths of `bench -- silent-paths`.
 */
import t from 'tap'
import { ccNames } from '../../lib/cc/catalogue.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { variants } from '../support/long.js'
import { DAEMON } from './beside.js'
import { type PathOptions, SPAN_NS, write } from './bottleneck.js'
import { AVERAGED, longestAbove, ROUND_TRIPS_MOST, SHARE_MOST } from './drop-rate.js'

const PATHS: readonly [name: string, path: PathOptions, bytes: number][] = [
  ['50 Mbit/s, 64 KiB', { rateBps: 50e6, rttNs: 0.1 * MILLISECOND, bufferBytes: 65_536 }, 10e6],
  ['100 Mbit/s, 10 ms', { rateBps: 100e6, rttNs: 10 * MILLISECOND, bufferBytes: 125_000 }, 20e6],
  ['1 Gbit/s, 0.1 ms', { rateBps: 1e9, rttNs: 0.1 * MILLISECOND, bufferBytes: 250_000 }, 60e6],
  [
    '100 Mbit/s, 20 ms, a tenth of it',
    { rateBps: 100e6, rttNs: 20 * MILLISECOND, bufferBytes: 25_000 },
    20e6,
  ],
]
/** It reacts to nothing, and is there to compare with. */
const EXCEPT = ['fixed-window']

t.test('the checker: a burst counts for four round trips, a flood for as long as it lasts', async t => {
  const spans = (count: number, value: number) => Array<number>(count).fill(value)
  const came = spans(100, 10)
  t.equal(longestAbove(came, [...spans(20, 0), 5, ...spans(79, 0)], SPAN_NS), AVERAGED)
  t.equal(longestAbove(came, [...spans(20, 0), ...spans(30, 1)], SPAN_NS), 30 + AVERAGED - 1)
  t.equal(longestAbove(came, spans(100, 0), SPAN_NS), 0)
})

for (const [name, path, bytes] of variants(PATHS, 1)) {
  t.test(name, async t => {
    const roundTripNs = path.rttNs + (path.bufferBytes * 8e9) / path.rateBps
    const trips = (cc: string, options = {}) => {
      const { came, overflowed, error } = write(path, { ...DAEMON, cc: { name: cc, options } }, bytes, 1)
      t.equal(error, null, cc)
      return longestAbove(came, overflowed, roundTripNs)
    }
    for (const cc of ccNames().filter(one => !EXCEPT.includes(one))) {
      const found = trips(cc)
      t.comment(`${cc}: ${found} round trips`)
      t.ok(found <= ROUND_TRIPS_MOST, `${cc}: ${found} round trips above ${SHARE_MOST}`)
    }
    const window = 2 * (path.bufferBytes + (path.rateBps * path.rttNs) / 8e9)
    t.ok(trips('fixed-window', { window }) > ROUND_TRIPS_MOST, 'a window of twice the path is found')
  })
}

import t from 'tap'
import { Pacer } from '../../lib/nic/flow/pacer.js'
import { TURN_PACKETS } from '../../lib/nic/flow/turn.js'

const MS = 1e6
const PACKET_BYTES = 1250
/** Bits of a packet by its time. */
const rateOf = (packetNs: number) => (PACKET_BYTES * 8e9) / packetNs

/** When packets leave by a pacer that is looked at whenever one may leave. */
function departures(pacer: Pacer, rateBps: number, packets: number): number[] {
  const times: number[] = []
  let now = 5 * MS
  for (let n = 0; n < packets; n++) {
    now = Math.max(now, pacer.nextSendNs(rateBps))
    times.push(now)
    pacer.onSent(now, rateBps, PACKET_BYTES)
  }
  return times
}

t.test('without runs every packet has its own time', async t => {
  t.same(departures(new Pacer(0, 0), rateOf(1000), 4), [5 * MS, 5 * MS + 1000, 5 * MS + 2000, 5 * MS + 3000])
  const exact = new Pacer(0, MS)
  t.same(
    departures(exact, rateOf(1000), 3),
    [5 * MS, 5 * MS + 1000, 5 * MS + 2000],
    'nor where the controller allows none',
  )
})

t.test('the packets of a run leave together, and the next run when they have taken their time', async t => {
  const pacer = new Pacer(0, MS)
  pacer.runPackets = TURN_PACKETS
  const times = departures(pacer, rateOf(MS / 4), 12)
  const begins = (n: number) => 5 * MS + n * MS
  t.same(times, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2].map(begins))
})

t.test('a run is no longer than a turn of the scheduler', async t => {
  const pacer = new Pacer(0, MS)
  pacer.runPackets = TURN_PACKETS
  const times = departures(pacer, rateOf(1000), 3 * TURN_PACKETS)
  for (const [n, at] of times.entries())
    t.equal(at, 5 * MS + Math.floor(n / TURN_PACKETS) * TURN_PACKETS * 1000)
})

t.test('packets that take as long as a run leave one by one', async t => {
  const pacer = new Pacer(0, MS)
  pacer.runPackets = TURN_PACKETS
  t.same(departures(pacer, rateOf(2 * MS), 3), [5 * MS, 7 * MS, 9 * MS])
  const other = new Pacer(0, MS)
  other.runPackets = TURN_PACKETS
  const due = [0, 0.9, 1.8].map(ms => 5 * MS + ms * MS)
  t.same(departures(other, rateOf(0.9 * MS), 3), due, 'two would take longer than a run')
})

t.test('so many packets leave together whatever time they take, and the rate is kept', async t => {
  const pacer = new Pacer(0, MS)
  pacer.runPackets = TURN_PACKETS
  pacer.runPacketsLeast = 3
  const begins = (n: number) => 5 * MS + n * 6 * MS
  t.same(departures(pacer, rateOf(2 * MS), 7), [0, 0, 0, 1, 1, 1, 2].map(begins))
  pacer.runPacketsLeast = 2 * TURN_PACKETS
  const turn = departures(pacer, rateOf(2 * MS), 2 * TURN_PACKETS + 2)
  const first = turn.lastIndexOf(turn[0]!)
  const next = turn.indexOf(turn[first + 1]!, first)
  t.equal(turn.filter(at => at === turn[next]).length, TURN_PACKETS, 'no more than a turn')
})

t.test('a rate that falls in the middle of a run ends it', async t => {
  const pacer = new Pacer(0, MS)
  pacer.runPackets = TURN_PACKETS
  departures(pacer, rateOf(MS / 8), 2)
  t.equal(pacer.nextSendNs(rateOf(4 * MS)), 5 * MS + MS / 8 + 4 * MS)
})

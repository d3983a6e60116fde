/**
 * Faults of links in every place: what they lose, damage, delay and slow down is what the scenario says, within the bounds of
 * chance, and every byte arrives all the same.
 */
import t from 'tap'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { Place } from '../lab/support.js'
import { REAL_TIME, runOn, type Where, wayNs } from './run-on.js'

const FILE = `
name: faults
link: { rate: 50Mbps, delay: 1ms }
hosts: [h1..h4]
switches: [s1, s2]
links: [h1..h2--s1, s1--s2, s2--h3..h4]
cc: { name: dcqcn }
transport: { pathMtu: 1024, ackTimeout: 400ms }
EVENTS
traffic:
  - { name: a, from: h1, to: h3, size: 1MB }
  - { name: b, from: h2, to: h4, size: 1MB }
`

const all = [{ on: 'virtual' as const, skip: false as const }, ...REAL_TIME]

async function inEach(
  places: readonly Where[],
  what: string,
  events: string,
  check: (t: Tap, result: RunResult, ways: Ways) => void,
  withCaptures = false,
) {
  for (const { on, skip } of all.filter(place => places.includes(place.on))) {
    await t.test(`${what}, on ${on}`, { skip }, async t => {
      const place = withCaptures ? new Place(t) : undefined
      const result = await runOn(t, FILE.replace('EVENTS', events), on, place)
      for (const { name, bytes, ackedBytes } of result.flows) t.equal(ackedBytes, bytes, `${name}: all bytes`)
      check(t, result, {
        there: () => wayNs(place!, 's1', 's2', host => host <= 2).slice(FIRST_FRAMES),
        back: () => wayNs(place!, 's2', 's1', host => host >= 3).slice(FIRST_FRAMES),
      })
    })
  }
}
type Tap = Pick<typeof t, 'ok' | 'equal' | 'same' | 'comment'>
/** How long frames took from s1 to s2, and back, ns. */
interface Ways {
  there(): number[]
  back(): number[]
}
/** Handshakes and the probes of T, some of them repeated, which precede the traffic and so the events. */
const FIRST_FRAMES = 40
/** A frame of a full packet at 50 Mbit/s, and at 8. */
const [FRAME_NS, SLOW_FRAME_NS] = [200e3, 1.2e6]

/** Within four and a half standard deviations of a binomial with that share. */
function isShare(t: Tap, what: string, count: number, of: number, share: number, clumps = 1): void {
  const deviation = Math.sqrt(of * share * (1 - share) * clumps)
  t.ok(Math.abs(count - of * share) <= 4.5 * deviation + 1, `${what}: ${count} of ${of}, ${share} expected`)
}

function isBetween(t: Tap, what: string, ns: readonly number[], least: number, most: number): void {
  const [min, max] = [Math.min(...ns), Math.max(...ns)]
  t.ok(
    ns.length > 0 && min >= least && max <= most,
    `${what}: ${ns.length} frames, ${min / 1e6} to ${max / 1e6} ms`,
  )
}

export async function faults(...places: Where[]): Promise<void> {
  await inEach(places, 'independent loss', 'events: [{ link: s1:s2, loss: 5% }]', (t, { links }) => {
    t.same(links!.map(({ name }) => name).sort(), ['s1:s2', 's2:s1'])
    const link = links!.find(({ name }) => name === 's1:s2')!
    t.ok(link.frames > 1900)
    isShare(t, 'lost', link.lost, link.frames, 0.05)
    t.equal(links!.find(({ name }) => name === 's2:s1')!.lost, 0, 'the other direction loses nothing')
  })
  // The losses of bursts of 5 come in clumps: the variance is (1 + c) / (1 - c) as large, with c = 1 - 1/5 - 1/5 x 5/95.
  const c = 1 - 0.2 - 0.2 * (0.05 / 0.95)
  await inEach(places, 'loss in bursts', 'events: [{ link: s1:s2, loss: 5%, burst: 5 }]', (t, { links }) => {
    const link = links!.find(({ name }) => name === 's1:s2')!
    isShare(t, 'lost', link.lost, link.frames, 0.05, (1 + c) / (1 - c))
  })
  await inEach(
    places,
    'corruption, duplication, reordering',
    'events: [{ link: s1:s2, corruption: 2%, duplication: 3%, reorder: 4%, reorderBy: 3ms }]',
    (t, { links }) => {
      const link = links!.find(({ name }) => name === 's1:s2')!
      isShare(t, 'corrupted', link.corrupted, link.frames, 0.02)
      isShare(t, 'duplicated', link.duplicated, link.frames, 0.03)
      isShare(t, 'reordered', link.reordered, link.frames + link.duplicated, 0.04)
    },
  )
  await inEach(
    places,
    'a slower, longer link',
    'events: [{ link: s1--s2, delay: 20ms, rate: 8Mbps }]',
    (t, { flows, ports }, ways) => {
      isBetween(t, 'there', ways.there(), 20e6, 20e6 + SLOW_FRAME_NS)
      isBetween(t, 'back', ways.back(), 20e6, 20e6 + SLOW_FRAME_NS)
      // Both flows share 8 Mbit/s: at most 0.93 of that is payload, and the last acknowledgement takes a round trip.
      const last = Math.max(...flows.map(({ fctNs }) => fctNs!))
      t.ok(last > (2e6 * 8e9) / 8e6 + 44e6, `${last / 1e9} s`)
      t.equal(ports.find(({ name }) => name === 's1:s2')!.rateBps, 8e6)
    },
    true,
  )
  await inEach(
    places,
    'jitter',
    'events: [{ link: s1:s2, delay: 20ms, jitter: 10ms }, { link: s2:s1, delay: 5ms }]',
    (t, _result, ways) => {
      const there = ways.there()
      t.ok(there.length > 1900)
      isBetween(t, 'there', there, 20e6, 30e6 + FRAME_NS)
      // Frames keep their order, so one waits for those before it that have more.
      t.ok(Math.max(...there) > 29e6, 'some have nearly all of it')
      t.ok(new Set(there).size > there.length / 4, 'it is drawn for each')
      isBetween(t, 'back', ways.back(), 5e6, 5e6 + FRAME_NS)
    },
    true,
  )
  await inEach(
    places,
    'a link that is down for a while, and a switch that restarts',
    'events: [{ at: 50ms, for: 50ms, restart: s2 }, { at: 120ms, for: 100ms, link: s1--s2, down: true }]',
    (t, { links, ports, timeline, flows }) => {
      t.same(timeline, [
        { atNs: 50e6, event: 'restart of s2' },
        { atNs: 100e6, event: 'restart of s2 ends' },
        { atNs: 120e6, event: 's1--s2 down' },
        { atNs: 220e6, event: 's1--s2 down ends' },
      ])
      // What was on its way, or what was retransmitted meanwhile.
      const cut = links!.reduce((sum, link) => sum + link.cut, 0)
      const dropped = ports.reduce((sum, { dropsByReason }) => sum + (dropsByReason?.linkDown ?? 0), 0)
      t.ok(cut + dropped > 0, `${cut} cut, ${dropped} dropped`)
      t.ok(Math.min(...flows.map(({ fctNs }) => fctNs!)) > 220e6, 'the flows take longer than both')
    },
  )
}

/**
 * Faults of links in every place: what they lose, damage, delay and slow down is what the scenario says, within the bounds of
 * chance, and every byte arrives all the same.
 */
import t from 'tap'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { REAL_TIME, runOn, type Where } from './run-on.js'

const FILE = `
name: faults
link: { rate: 50Mbps, delay: 1ms }
hosts: [h1..h4]
switches: [s1, s2]
links: [h1..h2--s1, s1--s2, s2--h3..h4]
cc: { name: dcqcn }
transport: { pathMtu: 1024 }
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
  check: (t: Tap, result: RunResult) => void,
) {
  for (const { on, skip } of all.filter(place => places.includes(place.on))) {
    await t.test(`${what}, on ${on}`, { skip }, async t => {
      const result = await runOn(t, FILE.replace('EVENTS', events), on)
      for (const { name, bytes, ackedBytes } of result.flows) t.equal(ackedBytes, bytes, `${name}: all bytes`)
      check(t, result)
    })
  }
}
type Tap = Pick<typeof t, 'ok' | 'equal' | 'same' | 'comment'>

/** Within four and a half standard deviations of a binomial with that share. */
function isShare(t: Tap, what: string, count: number, of: number, share: number, clumps = 1): void {
  const deviation = Math.sqrt(of * share * (1 - share) * clumps)
  t.ok(Math.abs(count - of * share) <= 4.5 * deviation + 1, `${what}: ${count} of ${of}, ${share} expected`)
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
    (t, { flows, ports }) => {
      // Both flows share 8 Mbit/s: at most 0.93 of that is payload, and the last acknowledgement takes a round trip.
      const last = Math.max(...flows.map(({ fctNs }) => fctNs!))
      t.ok(last > (2e6 * 8e9) / 8e6 + 44e6, `${last / 1e9} s`)
      t.equal(ports.find(({ name }) => name === 's1:s2')!.rateBps, 8e6)
    },
  )
  await inEach(
    places,
    'a link that is down for a while, and a switch that restarts',
    'events: [{ at: 50ms, for: 100ms, link: s1--s2, down: true }, { at: 200ms, restart: s2, for: 50ms }]',
    (t, { links, timeline, flows }) => {
      t.same(timeline, [
        { atNs: 50e6, event: 's1--s2 down' },
        { atNs: 150e6, event: 's1--s2 down ends' },
        { atNs: 200e6, event: 'restart of s2' },
        { atNs: 250e6, event: 'restart of s2 ends' },
      ])
      t.ok(
        links!.some(({ cut }) => cut > 0),
        'frames were on their way',
      )
      t.ok(Math.min(...flows.map(({ fctNs }) => fctNs!)) > 250e6, 'the flows take longer than both')
    },
  )
}

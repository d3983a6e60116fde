/** `events` of scenario files: links and restarts. What is said becomes what is done, and mistakes are found. */
import t from 'tap'
import { settingsOf } from '../../lib/scenario/model/settings.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { resultDifferences, scenarioOfResult } from '../../lib/scenario/repeat.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { checkProblems } from './problems-at.js'

/** Ports of s1: h1 0, h2 1, s2 2 and 3; of s2: s1 0 and 1, h3 2. */
const NET =
  'hosts: [h1, h2, h3]\nswitches: {s1: {}, s2: {}}\nlinks: [h1--s1, h2--s1, {ends: s1--s2, count: 2}, s2--h3]\n'

function eventsOf(text: string) {
  return parseScenario(`${NET}events: ${text}`, 'x.yaml').events!
}

t.test('links: both ways, one way, one of parallel ones, ranges', async t => {
  const ends = (link: string) => {
    const [event] = eventsOf(`[{link: '${link}', loss: 1%}]`)
    return event!.kind === 'link' ? event!.ends.map(({ node, port }) => `${node}:${port}`) : []
  }
  t.same(ends('s1--s2'), ['s1:2', 's2:0', 's1:3', 's2:1'])
  t.same(ends('s2--s1#1'), ['s2:1', 's1:3'])
  t.same(ends('s1:s2'), ['s1:2', 's1:3'])
  t.same(ends('h1..h2--s1'), ['h1:0', 's1:0', 'h2:0', 's1:1'])
  t.same(ends('h3:s2'), ['h3:0'])
})

t.test('settings and times', async t => {
  const [event, , restart] = eventsOf(
    `[{at: 2ms, every: exp 10ms, for: exp 1ms, repeat: 3, link: s2--h3, delay: 5ms, jitter: 1ms, rate: 50Mbps, loss: 1%, burst: 8},
      {every: 10ms, for: 9ms, link: s2--h3, down: true}, {at: 5ms, restart: s1..s2, for: 20ms}]`,
  )
  t.match(event, {
    kind: 'link',
    atNs: 2e6,
    every: { ns: 10e6, random: true },
    for: { ns: 1e6, random: true },
    repeat: 3,
    settings: { delayNs: 5e6, jitterNs: 1e6, rate: 50e6, loss: 0.01, burst: 8 },
    reset: false,
  })
  t.same(restart, { kind: 'restart', atNs: 5e6, for: { ns: 20e6, random: false }, switches: ['s1', 's2'] })
  const scenario = parseScenario(`${NET}reroute: 50ms\nevents: [{link: s2--h3, down: true}]`, 'x.yaml')
  t.equal(settingsOf(scenario).rerouteNs, 50e6)
})

t.test('events that cannot be', async t => {
  checkProblems(t, NET, [
    ['events: [{link: ¦s1--s9, down: true}]', ["no host or switch is called 's9'"]],
    ['events: [{link: ¦h1--s2, down: true}]', ['there is no link h1--s2', 'the neighbours of h1 are s1']],
    ['events: [{link: ¦s1--s2#2, down: true}]', ['s1 has 2 links to s2']],
    ['events: [{link: ¦s1, down: true}]', ['a link is written as s1--s2']],
    ['events: [{link: s1:s2, ¦down: true}]', ['both ways: write s1--s2 and not s1:s2']],
    ['events: [{link: h3:s2, ¦down: true}]', ['both ways: write h3--s2 and not h3:s2']],
    ['events: [¦{link: s1--s2}]', ['says nothing about s1--s2']],
    ['events: [{link: s1--s2, loss: ¦2}]', ['from 0 to 1']],
    ['events: [{link: s1--s2, ¦los: 2%}]', ["unknown key 'los'", "did you mean 'loss'"]],
    ['events: [{link: s1--s2, delay: 1ms, ¦burst: 8}]', ['loss']],
    ['events: [{link: s1--s2, loss: 90%, ¦burst: 2}]', ['66.667% at most']],
    ['events: [{link: s1--s2, down: true, every: ¦often}]', ['a time is written as']],
    ['events: [{link: s1--s2, down: true, every: ¦exp}]', ['has no mean']],
    ['events: [{link: s1--s2, down: true, ¦repeat: 2}]', ['repeat needs every']],
    ['events: [{link: s1--s2, down: true, every: 10ms, for: ¦10ms}]', ['for is shorter than every']],
    ['events: [{link: s1--s2, ¦reset: true, for: 10ms}]', ['leave out for']],
    ['events: [{link: s1--s2, down: true, ¦every: 10ms}]', ['every without for', 'set for, or add an event']],
    [
      'events: [{link: s1--s2, down: true, ¦every: 10ms}, {link: h1--s1, down: false}]',
      ['nothing else changes that of s1--s2'],
    ],
    // Another setting, the same value, and what happens before the first time change nothing back.
    ...[
      'loss: 1%, at: 15ms',
      'down: true, at: 15ms',
      'down: false, at: 0ms',
      'down: false, at: 1ms, every: 2ms, repeat: 3',
      'down: false, at: 6ms, every: 10ms, for: 1ms',
    ].map((other): [string, string[]] => [
      `events: [{link: s1--s2, down: true, at: 5ms, ¦every: 10ms}, {link: s1--s2, ${other}}]`,
      ['every without for'],
    ]),
    ['events: [{restart: ¦h1, for: 1ms}]', ["no switch is called 'h1'"]],
    ['events: [¦{restart: s1}]', ['for is missing']],
    ['reroute: ¦soon', ['a time is written as']],
  ])
})

t.test(
  'a result that older versions wrote, whose events do not name their kind, can be repeated',
  async t => {
    const switches = '{s1: {pfc: {xoff: 100KB, watchdog: {limit: {deadlocks: 3, window: 100ms}}}}}'
    const net = `hosts: [h1, h2]\nswitches: ${switches}\nlinks: [h1--s1, s1--h2]\n`
    const resultOf = (events: string, then: object[]) => {
      const text = `${net}events: ${events}\ntraffic: [{from: h1, to: h2, size: 1MB}]`
      const scenario = parseScenario(text, 'x.yaml')
      const settings = { ...settingsOf(scenario), events: then }
      return {
        version: '0.1.0',
        scenario: { text, file: 'x.yaml' },
        seed: 1,
        settings,
      } as unknown as RunResult
    }
    // As version 0.1.0 wrote them before there were other kinds.
    const old = { atNs: 1_000_000, switch: 's1', ports: [1] }
    for (const [priority, key] of [
      [null, ''],
      [3, ', priority: 3'],
    ] as const) {
      const result = resultOf(`[{at: 1ms, pfcOn: 's1:h2'${key}}]`, [{ ...old, priority }])
      const [event] = scenarioOfResult(result, 'old.json').events!
      t.match(event, { kind: 'pfcOn', ...old })
    }
    const text = "[{at: 1ms, pfcOn: 's1:h2'}]"
    const before = resultOf(text, [{ ...old, priority: null }])
    const now = { ...resultOf(text, [{ kind: 'pfcOn', ...old }]), timeline: [] }
    t.same(resultDifferences(before, now), [], 'it had no timeline')
    t.same(resultDifferences({ ...now, timeline: [{ atNs: 1, event: 'x' }] }, now), ['timeline'])
    const other = resultOf("[{at: 2ms, pfcOn: 's1:h2'}]", [{ ...old, priority: null }])
    t.throws(() => scenarioOfResult(other, 'old.json'), { message: /other settings .* events/ })
  },
)

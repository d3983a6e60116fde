/** Static routes, the watchdog and deadlock prevention in scenario files. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { checkProblems } from './problems-at.js'

/** Lines 1 to 3. Ports of s1: h1 0, h2 1, s2 2 and 3; of s2: s1 0 and 1, h3 2. */
const NET =
  'hosts: [h1, h2, h3]\nswitches: {s1: {}, s2: {}}\nlinks: [h1--s1, h2--s1, {ends: s1--s2, count: 2}, s2--h3]\n'

t.test('routes: for good, for a while, to the end; over all parallel links or one', async t => {
  const { routes } = parseScenario(
    `${NET}routes:
  - { switch: s1, to: h3, via: s2 }
  - { switch: s2, to: h3, via: s1#1, start: 10ms, duration: 5ms }
  - { switch: s2, to: h3, via: 0, start: 15ms }
  - { switch: s2, to: h1..h2, via: s1 }`,
    'x.yaml',
  )
  t.same(routes, [
    { switch: 's1', to: 'h3', ports: [2, 3] },
    { switch: 's2', to: 'h3', ports: [1], startNs: 10_000_000, endNs: 15_000_000 },
    { switch: 's2', to: 'h3', ports: [0], startNs: 15_000_000 },
    { switch: 's2', to: 'h1', ports: [0, 1] },
    { switch: 's2', to: 'h2', ports: [0, 1] },
  ])
  t.equal(parseScenario(NET, 'x.yaml').routes, undefined)
})

t.test('routes that cannot be', async t => {
  checkProblems(t, NET, [
    ['routes: ¦{s1: s2}', ['routes is a list', 'a mapping']],
    ['routes: [¦3]', ['a route is a mapping', 'switch, to, via, start, duration']],
    ['routes: [¦{switch: s1, to: h3}]', ['via is a neighbour of s1']],
    ['routes: [¦{to: h3, via: s2}]', ['switch is missing']],
    ['routes: [{switch: ¦s9, to: h3, via: s2}]', ["no switch is called 's9'", 's1, s2']],
    ['routes: [{switch: ¦h1, to: h3, via: s2}]', ["no switch is called 'h1'"]],
    ['routes: [{switch: s1, to: ¦h4, via: s2}]', ["no host is called 'h4'", "did you mean 'h1'"]],
    ['routes: [{switch: s1, to: ¦h3..h1, via: s2}]', ['backwards']],
    ['routes: [{switch: s1, to: h3, via: ¦s3}]', ["s1 has no port to 's3'", 'h1, h2, s2']],
    ['routes: [{switch: s1, to: h3, via: ¦7}]', ['s1 has no port 7']],
    ['routes: [{switch: s1, to: h3, via: ¦s2#2}]', ["s1 has 2 links to 's2'"]],
    ['routes: [{switch: s1, to: h3, via: ¦h2}]', ['h2 is a host and does not forward']],
    ['routes: [{switch: s1, to: h3, via: s2, duration: ¦5ms}]', ['needs a start']],
    ['routes: [{switch: s1, to: h3, via: s2, start: ¦5}]', ['unit is missing']],
    [
      'routes: [{switch: s1, to: h3, via: s2}, ¦{switch: s1, to: h1..h3, via: s2}]',
      ['s1 has another route to h3 at the same time'],
    ],
    [
      'routes: [{switch: s1, to: h3, via: s2, start: 1s}, ¦{switch: s1, to: h3, via: s2, start: 9s, duration: 1s}]',
      ['another route'],
    ],
  ])
  const apart = 'hosts: [h1, h2]\nswitches: {s1: {}, s2: {}, s3: {}}\nlinks: [h1--s1, s1--s3, h2--s2]\n'
  checkProblems(t, apart, [
    ['routes: [¦{switch: s1, to: h2, via: s3}]', ['h2 cannot be reached from s1 by any path']],
  ])
})

t.test('events: an operator turns PFC on again', async t => {
  const net = NET.replace(
    's1: {}',
    's1: {pfc: {xoff: 100KB, watchdog: {limit: {deadlocks: 3, window: 10s}}}}',
  )
  const { events } = parseScenario(
    `${net}events: [{at: 2s, pfcOn: s1:s2}, {at: 0ms, pfcOn: s1:h2, priority: 3}]`,
    'x.yaml',
  )
  t.same(events, [
    { kind: 'pfcOn', atNs: 2e9, switch: 's1', ports: [2, 3] },
    { kind: 'pfcOn', atNs: 0, switch: 's1', ports: [1], priority: 3 },
  ])
  t.equal(parseScenario(net, 'x.yaml').events, undefined)
  checkProblems(t, net, [
    ['events: ¦{at: 2s}', ['events is a list']],
    ['events: [¦{at: 2s}]', ['one of the keys pfcOn, link, restart']],
    ['events: [¦{at: 2s, pfcOn: s1:s2, link: s1--s2}]', ['not pfcOn and link']],
    ['events: [{at: 2s, pfcOn: ¦3}]', ['the port of an event is written as s1:s2']],
    ['events: [¦{pfcOn: s1:s2}]', ['at is missing']],
    ['events: [{at: 2s, pfcOn: ¦s1:h3}]', ["s1 has no port to 'h3'"]],
    ['events: [{at: 2s, pfcOn: ¦s2:s1}]', ['s2 has no watchdog with a limit']],
    ['events: [{at: 2s, pfcOn: ¦s1:s2, priority: 4}]', ['priority 4 is lossy at s1']],
  ])
})

t.test('the watchdog: defaults are those of pfcwd', async t => {
  const watchdogOf = (text: string) => {
    const net = 'hosts: [h1, h2]\nlinks: [h1--s1, h2--s1]\n'
    const file = `${net}switches: {s1: {buffer: 4MB, pfc: {xoff: 500KB, watchdog: ${text}}}}`
    return parseScenario(file, 'x.yaml').switches[0]!.pfc?.watchdog
  }
  t.same(watchdogOf('{}'), { detectionTimeNs: 200e6, restorationTimeNs: 200e6, action: 'drop' })
  t.same(
    watchdogOf(
      '{detectionTime: 100ms, restorationTime: 2s, action: forward, limit: {deadlocks: 3, window: 1s}}',
    ),
    {
      detectionTimeNs: 100e6,
      restorationTimeNs: 2e9,
      action: 'forward',
      limit: { deadlocks: 3, windowNs: 1e9 },
    },
  )
})

t.test('watchdogs that cannot be', async t => {
  const net =
    'hosts: [h1, h2]\nlinks: [h1--s1, h2--s1]\nswitches: {s1: {buffer: 4MB, pfc: {xoff: 1MB, watchdog: '
  checkProblems(t, net, [
    ['¦yes}}}', ['a watchdog is a mapping', 'detectionTime, restorationTime, action, limit']],
    ['{detectionTime: ¦0s}}}}', ['a time above zero']],
    ['{restorationTime: ¦100}}}}', ['unit is missing']],
    ['{action: ¦reset}}}}', ["'reset'", 'drop, forward, alert']],
    ['{¦detection_time: 1s}}}}', ["unknown key 'detection_time'", "did you mean 'detectionTime'"]],
    ['{limit: ¦3}}}}', ['a limit is a mapping', 'deadlocks, window']],
    ['{limit: {deadlocks: ¦0, window: 1s}}}}}', ['1 to 500']],
    ['{limit: ¦{deadlocks: 3}}}}}', ['window is missing']],
    ['{action: alert, limit: ¦{deadlocks: 3, window: 1s}}}}}', ['alert changes nothing']],
  ])
})

t.test('deadlock prevention', async t => {
  const prevention = (text: string) =>
    parseScenario(`${NET}deadlockPrevention: ${text}`, 'x.yaml').deadlockPrevention
  t.same(prevention('{groups: [[s1:s2, s1:h1], [s2:s1#1]], to: 4}'), {
    groups: [
      { switch: 's1', ports: [2, 3, 0], dscp: 32 },
      { switch: 's2', ports: [1], dscp: 32 },
    ],
    from: 3,
    to: 4,
  })
  t.same(prevention('{groups: [[s1:s2]], from: 5, to: 0, dscp: 1}'), {
    groups: [{ switch: 's1', ports: [2, 3], dscp: 1 }],
    from: 5,
    to: 0,
  })
  const mapped = NET.replace('s1: {}', 's1: {dscpToTc: {40: 3, 41: 4, 42: 4}}')
  t.same(
    parseScenario(`${mapped}deadlockPrevention: {groups: [[s1:s2]], to: 4}`, 'x.yaml').deadlockPrevention,
    {
      groups: [{ switch: 's1', ports: [2, 3], dscp: 41 }],
      from: 3,
      to: 4,
    },
  )
  checkProblems(t, mapped, [
    ['deadlockPrevention: {groups: [[s1:s2]], to: ¦5}', ['s1 maps no DSCP to priority 5']],
  ])
  checkProblems(t, NET, [
    ['deadlockPrevention: ¦true', ['is a mapping with the keys groups, from, to, dscp']],
    ['deadlockPrevention: ¦{groups: [[s1:s2]]}', ['to is missing']],
    ['deadlockPrevention: {groups: [[s1:s2]], to: ¦3}', ['must move to another one']],
    ['deadlockPrevention: {groups: [[s1:s2]], to: 4, dscp: ¦64}', ['0 to 63']],
    ['deadlockPrevention: {groups: ¦[s1:s2], to: 4}', ['a list of lists of ports']],
    ['deadlockPrevention: {groups: ¦[], to: 4}', ['a list of lists of ports']],
    ['deadlockPrevention: {groups: [¦[]], to: 4}', ['at least one port']],
    ['deadlockPrevention: {groups: [¦[s1:s2, s2:s1]], to: 4}', ['s1 and s2 need groups of their own']],
    ['deadlockPrevention: {groups: [[s1:s2]], to: 4, dscp: ¦31}', ['s1 maps DSCP 31 to priority 3, not 4']],
  ])
})

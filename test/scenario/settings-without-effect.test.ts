/**
 * Settings without effect beside the controllers, the switches or the place of a run are refused with the
 * reason.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VethLab } from '../../switch-emu/lab/veth-lab.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { checkProblems } from './problems-at.js'

const BASE = 'hosts: [h1, h2]\ntraffic: [{from: h1, to: h2, size: 1MB}]\nlinks: [h1--s1, s1--h2]\n'
const MIXED =
  'hosts: [h1, h2]\nlinks: [h1--s1, s1--h2]\nswitches: [s1]\ntraffic: [{from: h1, to: h2, size: 1MB}, {from: h1, to: h2, size: 1MB, cc: hpcc}]\n'
const ANSWERS = 'switches: {s1: {telemetry: {direct: {threshold: 1KB}}}}\n'

t.test('telemetry, and how it lies in packets, where no controller uses any', async t => {
  const fixed = (rest: string) => `switches: [s1]\ncc: fixed-window\n${rest}`
  const why = /no effect while cc is fixed-window, which uses no telemetry: leave it out, or set cc to hpcc/
  checkProblems(t, BASE, [
    [fixed('telemetry: {¦collect: probe}'), [why]],
    [fixed('telemetry: {¦answer: notify}'), [why]],
    [fixed('telemetry: {¦loadMax: 4}'), [why]],
    [fixed('int: {¦format: ifa}'), [why]],
    [fixed('int: {¦hops: 5}'), [why]],
  ])
  for (const right of [
    `${BASE}${fixed('telemetry: {collect: data}')}`,
    `${BASE}${fixed('paths: {count: 4}\nint: {hops: 5}\ntelemetry: {loadMax: 4}')}`,
    `${MIXED}cc: fixed-window\nint: {format: ifa}\ntelemetry: {hops: busiest, answer: notify}`,
  ]) {
    t.doesNotThrow(() => parseScenario(right, 'x.yaml'), right)
  }
})

t.test('a default of scenarios asks for nothing, also where hosts have another one', async t => {
  const why = /hostHop has no effect while cc is fixed-window/
  checkProblems(t, BASE, [['switches: [s1]\ncc: fixed-window\ntelemetry: {¦hostHop: true}', [why]]])
  const right = `${BASE}switches: [s1]\ncc: fixed-window\ntelemetry: {hostHop: false}`
  t.doesNotThrow(() => parseScenario(right, 'x.yaml'))
})

t.test('a file without traffic is for a lab, whose programs say the rest by themselves', async t => {
  const network = 'hosts: [h1, h2]\nlinks: [h1--s1, s1--h2]\n'
  for (const right of [
    'switches: {s1: {telemetry: {direct: {threshold: 1KB, of: subscribed}}}}',
    'switches: [s1]\ncc: fixed-window\nint: {format: ifa}\ntelemetry: {collect: probe}',
  ]) {
    t.doesNotThrow(() => parseScenario(network + right, 'x.yaml'), right)
  }
})

t.test('plain packets, where every packet collects', async t => {
  checkProblems(t, BASE, [
    [
      'switches: [s1]\ntelemetry: {¦plain: true}',
      [/every packet collects telemetry: .*everyPackets above 1/],
    ],
    ['switches: [s1]\ncc: rx-hpcc\ntelemetry: {¦plain: true}', [/every packet collects/]],
    [
      'switches: {s1: {telemetry: {direct: {threshold: 1KB, of: subscribed}}}}\ntelemetry: {collect: probe, ¦plain: true, subscribe: flag}',
      [/each packet carries the flag: .*subscribe to dscp/],
    ],
  ])
  for (const right of [
    'cc: cubic\ntelemetry: {plain: true}',
    'telemetry: {plain: true, everyPackets: 2}',
    'telemetry: {plain: true, collect: probe}',
    'telemetry: {plain: false}',
  ]) {
    t.doesNotThrow(() => parseScenario(`${BASE}switches: [s1]\n${right}`, 'x.yaml'), right)
  }
})

t.test(
  'questions that no switch or no controller answers, and answers to questions that nobody asks',
  async t => {
    checkProblems(t, BASE, [
      ['switches: [s1]\ntelemetry: {¦subscribe: flag}', [/no switch has telemetry.direct/]],
      [
        'switches: {s1: {telemetry: {direct: {threshold: 1KB, ¦of: subscribed}}}}',
        [/s1: direct of subscribed has no effect while subscribe of telemetry is off/, /or of to all/],
      ],
      [`${ANSWERS}cc: cubic\ntelemetry: {¦subscribe: flag}`, [/cc is cubic, which ignores direct responses/]],
    ])
    const both =
      'switches: {s1: {telemetry: {direct: {threshold: 1KB, of: subscribed}}}}\ntelemetry: {subscribe: flag}'
    for (const right of [both, `${ANSWERS}telemetry: {subscribe: dscp, subscribeDscp: 26}`, ANSWERS]) {
      t.doesNotThrow(() => parseScenario(BASE + right, 'x.yaml'), right)
    }
  },
)

t.test('notifications, where probes have answers of their own', async t => {
  checkProblems(t, BASE, [
    [
      'switches: [s1]\ntelemetry: {collect: probe, ¦answer: notify}',
      [/while collect is probe.*set collect to data/],
    ],
  ])
})

t.test('the reaction to losses that flows which begin at line rate do not have', async t => {
  const why = /lossBeta has no effect while lossReaction is not given and flows begin at line rate/
  checkProblems(t, BASE, [
    ['switches: [s1]\ncc: {name: hpcc, ¦lossBeta: 0.5}', [why]],
    ['switches: [s1]\ncc: {name: rx-hpcc, ¦lossBeta: 0.5}', [why]],
  ])
  const network = 'hosts: [h1, h2]\nlinks: [h1--s1, s1--h2]\nswitches: [s1]\n'
  const own = 'traffic: [{from: h1, to: h2, size: 1MB, cc: {name: hpcc, ¦lossBeta: 0.5}}]'
  checkProblems(t, network, [[own, [why]]])
  for (const right of [
    'transport: {start: careful}\ncc: {name: hpcc, lossBeta: 0.5}',
    'cc: {name: hpcc, lossReaction: true, lossBeta: 0.5}',
  ]) {
    t.doesNotThrow(() => parseScenario(`${BASE}switches: [s1]\n${right}`, 'x.yaml'), right)
  }
})

t.test('bounds on fair rates that no switch sends', async t => {
  const why = /has no effect while cc is rocc and no switch has rocc/
  checkProblems(t, BASE, [
    ['switches: [s1]\ncc: {name: rocc, ¦minRate: 1Mbps}', [why]],
    ['switches: [s1]\ncc: {name: rocc, ¦intervalMost: 1ms}', [why]],
  ])
  for (const right of [
    'switches: {s1: {rocc: {}}}\ncc: {name: rocc, minRate: 1Mbps, intervalMost: 1ms}',
    // Other controllers have a minRate of their own.
    'switches: [s1]\ncc: {name: timely, minRate: 1Mbps}',
  ]) {
    t.doesNotThrow(() => parseScenario(BASE + right, 'x.yaml'), right)
  }
})

t.test('HAI of TIMELY in flows that begin carefully, which are patched', async t => {
  const why = /has no effect while patched is not given and flows begin carefully.*set patched to false/
  const careful = 'switches: [s1]\ntransport: {start: careful}\n'
  checkProblems(t, BASE, [
    [`${careful}cc: {name: timely, ¦hyperSteps: 3}`, [why]],
    [`${careful}cc: {name: timely, ¦hyperBelowLow: true}`, [why]],
  ])
  for (const right of [
    `${careful}cc: {name: timely, patched: false, hyperSteps: 3}`,
    'switches: [s1]\ncc: {name: timely, hyperSteps: 3, hyperBelowLow: true}',
  ]) {
    t.doesNotThrow(() => parseScenario(BASE + right, 'x.yaml'), right)
  }
})

t.test('hosts as hops in virtual time, which have no queue of their own', async t => {
  const scenario = parseScenario(`${BASE}switches: [s1]\ntelemetry: {hostHop: true}`, 'x.yaml')
  t.throws(() => new VirtualRun(scenario), {
    code: 'WEIR_BAD_SCENARIO',
    message:
      /^x.yaml:5:22: hostHop has no effect in virtual time.*leave it out, or use a lab with --io batch/,
  })
})

t.test('hosts as hops in a lab whose daemons do not know how much waits for them', async t => {
  const scenario = parseScenario(`${BASE}switches: [s1]\ntelemetry: {hostHop: true}`, 'x.yaml')
  for (const io of [undefined, 'packet', 'dgram', 'raw']) {
    const message = new RegExp(`^x.yaml:5:22: hostHop has no effect with io ${io ?? 'packet'}, .*--io batch`)
    await t.rejects(VethLab.up(scenario, { io }), { code: 'WEIR_BAD_SCENARIO', message })
  }
})

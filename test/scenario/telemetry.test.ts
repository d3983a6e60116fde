/** `telemetry` of scenario files, and of their switches. */
import t from 'tap'
import { DEFAULT_TELEMETRY, parseTelemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { switchOptions } from '../../switch-emu/network/switch-options.js'
import { daemonArguments } from '../../switch-emu/real-time/daemon-arguments.js'
import { checkProblems } from './problems-at.js'

const BASE = 'hosts: [h1, h2]\ntraffic: [{from: h1, to: h2, size: 1MB}]\nlinks: [h1--s1, s1--h2]\n'

const parse = (text: string) => parseScenario(BASE + text, 'x.yaml')

t.test('settings and their defaults', async t => {
  t.same(parse('switches: [s1]').telemetry, { ...DEFAULT_TELEMETRY, hostHop: false })
  const { telemetry } = parse(
    'switches: {s1: {telemetry: {direct: {threshold: 50KB}}}}\ntelemetry: {everyBytes: 64KB, plain: true, answer: notify, subscribe: dscp, subscribeEvery: 4}',
  )
  t.same(telemetry, {
    ...DEFAULT_TELEMETRY,
    hostHop: false,
    everyBytes: 64_000,
    plain: true,
    answer: 'notify',
    subscribe: 'dscp',
    subscribeEvery: 4,
  })
})

t.test(
  'of a switch, with the addressee of responses: the receiver where that computes the window',
  async t => {
    const text = (cc: string) =>
      `cc: ${cc}\nswitches: {s1: {telemetry: {queue: sojourn, rate: share, direct: {threshold: 50KB}}}}\ntelemetry: {subscribe: dscp, subscribeDscp: 26}`
    for (const [cc, to] of [
      ['hpcc', 'sender'],
      ['rx-hpcc', 'receiver'],
    ] as const) {
      const scenario = parse(text(cc))
      const options = switchOptions(scenario, scenario.switches[0]!, [{ rateBps: 1e9, delayNs: 1000 }])
      t.same(options.features?.telemetry, { queue: 'sojourn', rate: 'share', ratioOnly: false })
      t.same(options.features?.direct, {
        thresholdBytes: 50_000,
        intervalNs: 10_000,
        to,
        of: 'all',
        subscribedDscp: 26,
      })
    }
  },
)

t.test('a daemon gets all of it that has an effect', async t => {
  const args = daemonArguments(parse('switches: [s1]\ntelemetry: {collect: probe}'), 'h1', {
    socket: 's',
    inbox: 'i',
  })
  const told = args.filter((_, i) => args[i - 1] === '--telemetry')
  t.ok(told.includes('collect=probe'))
  const idle = ['everyPackets', 'everyBytes', 'subscribeEvery', 'subscribeDscp']
  t.equal(told.length, Object.keys(DEFAULT_TELEMETRY).length - idle.length)
  t.match(parseTelemetrySettings(told), { collect: 'probe', hostHop: false })
})

t.test('what is refused', async t => {
  checkProblems(t, BASE, [
    ['switches: [s1]\ntelemetry: {collect: ¦sometimes}', [/data, probe/]],
    ['switches: [s1]\ntelemetry: {everyPackets: ¦0}', [/from 1 to 65536/]],
    ['switches: [s1]\ntelemetry: {¦everyPackets: 2, everyBytes: 1KB}', [/while everyBytes is above 0/]],
    ['switches: [s1]\ntelemetry: {¦every: 2}', [/unknown key/]],
    ['switches: [s1]\nint: {format: compact}\ntelemetry: {¦hops: busiest}', [/wide/]],
    [
      'switches: {s1: {telemetry: {direct: {threshold: 1KB}}}}\ntelemetry: {subscribe: dscp, subscribeDscp: ¦40}',
      [/priority 5/, /overtake/],
    ],
    ['switches: [s1]\ntelemetry: {collect: probe, ¦everyBytes: 1KB}', [/while collect is probe/]],
    ['switches: [s1]\ntelemetry: {¦probeShare: 5%}', [/while collect is data/]],
    ['switches: [s1]\ntelemetry: {¦subscribeEvery: 5}', [/while subscribe is off/]],
    [
      'switches: {s1: {telemetry: {direct: {threshold: 1KB}}}}\ntelemetry: {subscribe: flag, ¦subscribeDscp: 5}',
      [/while subscribe is flag/],
    ],
    ['switches: {s1: {telemetry: {queue: ¦long}}}', [/sojourn/]],
    ['switches: {s1: {telemetry: ¦never}}', [/or it is off/]],
    ['switches: {s1: {telemetry: {direct: ¦{}}}}', [/threshold is missing/]],
    ['switches: {s1: {telemetry: {direct: ¦null}}}', [/direct is a mapping/, /not nothing/]],
    ['switches: {s1: {telemetry: {direct: ¦{of: subscribed}}}}', [/threshold is missing/]],
    ['switches: {s1: {telemetry: {direct: {threshold: 1KB, of: ¦some}}}}', [/subscribed/]],
  ])
})

t.test('what the format or the controller leaves without effect is refused', async t => {
  const given = (int: string, telemetry: string, cc = 'hpcc') =>
    `switches: {s1: {telemetry: {direct: {threshold: 1KB}}}}\ncc: ${cc}\nint: ${int}\ntelemetry: ${telemetry}`
  const format = (name: string) => `{format: ${name}}`
  checkProblems(t, BASE, [
    [
      given(format('ifa'), '{¦subscribe: flag}'),
      [/no effect while the format is ifa.*set subscribe to dscp/],
    ],
    [given(format('ioam'), '{¦subscribe: flag}'), [/no effect while the format is ioam/]],
    [given(format('p4-int-md'), '{collect: probe, ¦subscribe: flag}'), [/p4-int-md and collect is probe/]],
    [given(format('ioam'), '{everyPackets: 8, ¦plain: true}'), [/always plain/]],
    [
      given(format('wide'), '{¦answer: notify}', 'rx-hpcc'),
      [/no effect while cc is rx-hpcc.*set cc to hpcc/],
    ],
    [given(format('wide'), '{¦hops: busiest}', 'rx-hpcc'), [/no effect while cc is rx-hpcc/]],
    ['switches: [s1]\ncc: {name: hpcc, ¦countFlows: true}\ntelemetry: {hops: busiest}', [/set hops to all/]],
    ['switches: [s1]\nint: {¦ifaProtocol: 131}', [/while format is wide.*set format to ifa/]],
  ])
  const own = (cc: string, telemetry: string) =>
    parseScenario(
      `hosts: [h1, h2]\nlinks: [h1--s1, s1--h2]\nswitches: [s1]\ntelemetry: ${telemetry}\ntraffic: [{from: h1, to: h2, size: 1MB, cc: ${cc}}]`,
      'x.yaml',
    )
  const refused = (message: RegExp) => ({ code: 'WEIR_BAD_SCENARIO', message })
  t.throws(() => own('rx-hpcc', '{answer: notify}'), refused(/x.yaml:4:13: answer has no effect/))
  t.throws(
    () => own('{name: hpcc, countFlows: true}', '{hops: busiest}'),
    refused(/x.yaml:4:13: .*countFlows/),
  )
  for (const text of [
    given(format('p4-int-md'), '{subscribe: flag}'),
    given(format('ifa'), '{subscribe: dscp}'),
    given(format('compact'), '{collect: probe, subscribe: flag}'),
    given('{format: ifa, ifaProtocol: 131}', '{answer: notify}'),
  ]) {
    const answering = text.replace(
      'switches: [s1]',
      'switches: {s1: {telemetry: {direct: {threshold: 1KB}}}}',
    )
    t.doesNotThrow(() => parse(answering), text)
  }
})

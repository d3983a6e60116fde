/**
 * An option is one row of one table. A test adds rows to the tables of a controller, of telemetry, of paths
 * and of a switch feature. Without another change they are in command lines and their help, in scenario
 * files, their reference and JSON Schema, in settings of results, and are checked. This file runs in a
 * process of its own, because the tables keep them.
 */
import type { Command } from 'commander'
import t from 'tap'
import { HPCC_OPTIONS } from '../../lib/cc/hpcc/hpcc.js'
import { PATH_OPTIONS } from '../../lib/cc/path-options.js'
import { TELEMETRY_OPTIONS } from '../../lib/cc/telemetry-options.js'
import type { Option } from '../../lib/options/option.js'
import { TRANSPORT_OPTIONS } from '../../lib/qp/transport-options.js'
import { MARKING } from '../../switch-emu/core/marking/marking.js'

function add(table: readonly Option[], option: Option): void {
  const rows = table as Option[]
  rows.push(option)
}

add(HPCC_OPTIONS, {
  name: 'calm',
  kind: 'time',
  min: 0,
  max: 1e9,
  default: 50_000,
  doc: 'time without a change after a reduction (section 9.9)',
  idle: [{ while: { wAi: { given: true } } }],
})
add(TELEMETRY_OPTIONS, {
  name: 'tilt',
  kind: 'share',
  min: 0,
  max: 0.5,
  default: 0.1,
  doc: 'share of tilted packets',
  source: 'draft-02, section 9.9',
  example: '20%',
  with: { everyPackets: 2 },
  idle: [{ while: { everyPackets: 1 }, mend: 'everyPackets above 1' }],
})
add(PATH_OPTIONS, {
  name: 'colour',
  kind: 'choice',
  choices: ['red', 'blue'],
  default: 'red',
  doc: 'colour of the paths',
  example: 'blue',
})
add(TRANSPORT_OPTIONS, {
  name: 'burst',
  kind: 'bytes',
  min: 1,
  max: 1 << 20,
  default: 4096,
  doc: 'bytes that leave together',
  example: '8KiB',
  command: { flag: '--burst <bytes>', default: 16_384 },
})
add(MARKING.options!, {
  name: 'slack',
  kind: 'bytes',
  min: 1,
  max: 1 << 20,
  default: 2048,
  doc: 'Bytes between two marks.',
  example: '4KB',
})

// Imported only now, because these modules make settings, help and schema from the tables.
const { daemonCommand } = await import('../../bin/commands/daemon.js')
const { perfCommand } = await import('../../bin/commands/perf.js')
const { createCongestionControl } = await import('../../lib/cc/catalogue.js')
const { parseCcOptions } = await import('../../lib/cc/parse-options.js')
const { parsePathSettings, pathSettings } = await import('../../lib/cc/path-settings.js')
const { parseTelemetrySettings, telemetrySettings } = await import('../../lib/cc/telemetry-settings.js')
const { settingsOf } = await import('../../lib/scenario/model/settings.js')
const { parseScenario } = await import('../../lib/scenario/read/load-scenario.js')
const { generatedFiles } = await import('../../lib/scenario/schema/generated-files.js')
const { daemonArguments } = await import('../../switch-emu/real-time/daemon-arguments.js')
const { VirtualRun } = await import('../../switch-emu/virtual/virtual-run.js')
const { checkProblems } = await import('../scenario/problems-at.js')

const BASE = `hosts: [h1, h2]
links: [h1--s1, h2--s1]
traffic: [{from: h1, to: h2, size: 10KB}]
`
const PLAIN = `${BASE}switches: [s1]\n`

t.test('help of the commands', async t => {
  for (const command of [daemonCommand(), ...perfCommand().commands]) {
    const help = helpOf(command)
    for (const line of [
      'calm=0 to 1s, default 50us: time without a change after a reduction (section 9.9); not beside wAi',
      'tilt=0 to 0.5, default 0.1: share of tilted packets (draft-02, section 9.9); not while everyPackets is 1',
      'colour=red|blue, default red: colour of the paths',
    ]) {
      t.ok(help.includes(line), `${command.name()}: ${line}`)
    }
  }
})

t.test('an option of the transport is one of weir daemon, and labs give it to their daemons', async t => {
  t.match(
    helpOf(daemonCommand()),
    /--burst <bytes> +bytes that leave together \(1B to 1MiB, default: 16KiB\)\n/,
  )
  const scenario = parseScenario(`${PLAIN}transport: {burst: 5KB}`, 'x.yaml')
  t.match(scenario.transport, { burstBytes: 5000 })
  t.match(daemonArguments(scenario, 'h1', { socket: 's', inbox: 'i' }).join(' '), ' --burst 5KB ')
  t.match(parseScenario(PLAIN, 'x.yaml').transport, { burstBytes: 4096 })
  await t.rejects(daemonCommand().parseAsync(['--burst', '2MB'], { from: 'user' }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: '--burst is a size from 1B to 1MiB, not "2MB"',
  })
})

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: more => (text += more), getOutHelpWidth: () => 1000 })
  command.outputHelp()
  return text
}

t.test('command lines', async t => {
  t.same(parseCcOptions('hpcc', ['calm=1ms']), { calm: 1e6 })
  t.same(parseTelemetrySettings(['tilt=20%', 'everyPackets=2']), { tilt: 0.2, everyPackets: 2 })
  t.same(parsePathSettings(['colour=blue']), { colour: 'blue' })
  for (const [parse, texts, message] of [
    [parseHpcc, ['calm=2s'], 'hpcc: calm is a time from 0 to 1s, not "2s"'],
    [parseHpcc, ['calm=soon'], "hpcc: calm: 'soon' is not understood: "],
    [parseHpcc, ['calm=1us', 'wAi=1KB'], 'hpcc: calm has no effect beside wAi: leave one of them out'],
    [parseTelemetrySettings, ['tilt=60%'], 'telemetry: tilt is a share from 0 to 0.5, not "60%"'],
    [parseTelemetrySettings, ['tilt=20%'], 'telemetry: tilt has no effect while everyPackets is 1'],
    [parsePathSettings, ['colour=pink'], 'paths: colour is one of red, blue, not "pink"'],
    [parsePathSettings, ['color=red'], 'paths has no option color; it has count, '],
  ] as const) {
    t.throws(() => parse(texts), { code: 'WEIR_BAD_ARGUMENT', message })
  }
})

function parseHpcc(texts: readonly string[]): unknown {
  return parseCcOptions('hpcc', texts)
}

t.test('programs', async t => {
  const context = { lineRateBps: 1e9, baseRttNs: 20_000, mtuBytes: 1024 }
  t.ok(createCongestionControl('hpcc', context, { calm: 1e9 }))
  t.throws(() => createCongestionControl('hpcc', context, { calm: 1e9 + 1 }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: 'hpcc: calm is a number of ns from 0 to 1000000000, not 1000000001',
  })
  t.equal((telemetrySettings() as unknown as { tilt: number }).tilt, 0.1)
  t.throws(() => telemetrySettings({ tilt: 0.7 } as never), {
    message: 'telemetry: tilt is a share from 0 to 0.5, not 0.7',
  })
  t.equal((pathSettings() as unknown as { colour: string }).colour, 'red')
})

t.test('scenario files: what is right, with the defaults; what the result says of it', async t => {
  const text = `${BASE}switches: {s1: {ecn: {kmin: 1KB, kmax: 2KB, slack: 4KiB}}}
cc: {name: hpcc, calm: 1ms}
telemetry: {tilt: 20%, everyPackets: 4}
paths: {colour: blue}
`
  const scenario = parseScenario(text, 'x.yaml')
  t.same(scenario.cc.options, { calm: 1e6 })
  t.match(scenario.telemetry, { tilt: 0.2, everyPackets: 4 })
  t.match(scenario.paths, { colour: 'blue' })
  t.match(scenario.switches[0]!.ecn, [{ slackBytes: 4096 }])
  t.match(settingsOf(scenario), { cc: { options: { calm: 1e6 } }, telemetry: { tilt: 0.2 } })
  t.equal(new VirtualRun(scenario).run().flows[0]!.ackedBytes, 10_000)
  const told = daemonArguments(scenario, 'h1', { socket: 's', inbox: 'i' }).join(' ')
  t.match(told, '--telemetry tilt=0.2')
  t.match(told, '--paths colour=blue')
  const without = parseScenario(PLAIN, 'x.yaml')
  t.match(without.telemetry, { tilt: 0.1 })
  t.match(settingsOf(without).cc.options, { calm: 50_000 })
})

t.test('scenario files: what is wrong, with file, line and column', async t => {
  checkProblems(t, PLAIN, [
    ['cc: {name: hpcc, calm: ¦2s}', ['hpcc: calm: a time from 0 to 1s is needed, not 2s']],
    ['cc: {name: hpcc, ¦calm: 1us, wAi: 1KB}', ['hpcc: calm has no effect beside wAi']],
    ['telemetry: {tilt: ¦0.6, everyPackets: 2}', ['tilt: a share from 0 to 0.5 is needed, not 0.6']],
    [
      'telemetry: {¦tilt: 0.2}',
      ['tilt has no effect while everyPackets is 1: leave it out, or set everyPackets'],
    ],
    ['transport: {burst: ¦0}', ['burst: a size from 1B to 1MiB is needed, not 0B']],
    ['paths: {colour: ¦pink}', ["colour: 'pink' is not among the choices: red, blue"]],
  ])
  checkProblems(t, BASE, [
    [
      'switches: {s1: {ecn: {kmin: 1, kmax: 2, slack: ¦2MB}}}',
      ['slack: a size from 1B to 1MiB is needed, not 2MB'],
    ],
  ])
})

t.test('reference and JSON Schema', async t => {
  const { 'docs/scenario-reference.md': page = '', 'schema/scenario.schema.json': schema = '' } =
    generatedFiles()
  for (const row of [
    '| `cc.calm` | time, 0 to 1s | `50us` | Time without a change after a reduction (section 9.9). Not beside wAi. |',
    '| `telemetry.tilt` | share, 0 to 0.5 | `0.1` | Share of tilted packets. (draft-02, section 9.9) Not while everyPackets is 1. | `{ everyPackets: 2, tilt: 20% }` |',
    '| `transport.burst` | size, 1B to 1MiB | `4KiB` | Bytes that leave together. | `burst: 8KiB` |',
    '| `paths.colour` | `red` or `blue` | `red` | Colour of the paths. | `colour: blue` |',
    '| `switches.NAME.ecn.slack` | size, 1B to 1MiB | `2KiB` | Bytes between two marks. | `slack: 4KB` |',
  ]) {
    t.ok(page.includes(row), row)
  }
  const json = JSON.stringify(JSON.parse(schema))
  for (const part of ['"calm":{"', '"tilt":{"', '"enum":["red","blue"]', '"slack":{"']) {
    t.ok(json.includes(part), part)
  }
})

/**
 * Every option of every mode is in scenario files, in the help of `weir daemon` and `weir perf`, and in the
 * reference of scenario files, with its section. docs/telemetry.md has the encapsulations and the settings of
 * switches.
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import t from 'tap'
import { daemonCommand } from '../../bin/commands/daemon.js'
import { perfCommand } from '../../bin/commands/perf.js'
import { ccNames, ccOptions, ccTakesFairRates } from '../../lib/cc/catalogue.js'
import type { OptionSpec } from '../../lib/cc/options.js'
import { parseCcOptions } from '../../lib/cc/parse-options.js'
import { PATH_OPTIONS } from '../../lib/cc/path-options.js'
import { parsePathSettings, pathSettings, pathSettingTexts } from '../../lib/cc/path-settings.js'
import { TELEMETRY_OPTIONS } from '../../lib/cc/telemetry-options.js'
import { parseTelemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { neededBeside } from '../../lib/options/idle.js'
import { isNumber, keyOf, type ValueOption } from '../../lib/options/option.js'
import { packageFile } from '../../lib/package-file.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { FORMAT_NAMES } from '../../lib/wire/telemetry/telemetry.js'
import { otherValue } from '../support/other-value.js'

const PAGE = readFileSync(packageFile('docs/telemetry.md'), 'utf8')
const REFERENCE = readFileSync(packageFile('docs/scenario-reference.md'), 'utf8')
const BASE = 'hosts: [h1, h2]\ntraffic: [{from: h1, to: h2, size: 1MB}]\nlinks: [h1--s1, s1--h2]\n'

function helpOf(command: Command): string {
  let text = ''
  // So wide that no line is broken.
  command.configureOutput({ writeOut: more => (text += more), getOutHelpWidth: () => 1000 })
  command.outputHelp()
  return text
}

const HELPS: [string, string][] = [
  ['weir daemon', helpOf(daemonCommand())],
  ...perfCommand().commands.map((test): [string, string] => [`weir perf ${test.name()}`, helpOf(test)]),
]

/** Other settings that a setting needs to have an effect. */
const BESIDE_TELEMETRY: Record<string, string[]> = {
  probeShare: ['collect=probe'],
  plain: ['everyPackets=2'],
  subscribeEvery: ['subscribe=flag'],
  subscribeDscp: ['subscribe=dscp'],
}

/** The upper bound, or a value that is not the default. */
function otherText(option: ValueOption): string {
  return isNumber(option) ? String(option.max) : String(otherValue(option))
}

t.test('telemetry: scenario, daemon, perf, reference', async t => {
  t.equal(HELPS.length, 3)
  for (const option of TELEMETRY_OPTIONS) {
    const { name, source } = option
    const value = otherText(option)
    const beside = (BESIDE_TELEMETRY[name] ?? []).map(pair => `, ${pair.replace('=', ': ')}`).join('')
    const s1 = 'switches: {s1: {telemetry: {direct: {threshold: 5KB}}}}'
    const yaml = `${BASE}${s1}\nint: {format: wide}\ntelemetry: {${name}: ${value}${beside}}`
    const inFile =
      name === 'subscribeDscp' ? '63' : String(valueIn(parseScenario(yaml, 'x.yaml').telemetry, option))
    t.equal(inFile, value, `scenario: ${name}`)
    const typed = [`${name}=${value}`, ...(BESIDE_TELEMETRY[name] ?? [])]
    t.equal(String(valueIn(parseTelemetrySettings(typed), option)), value, `command line: ${name}`)
    for (const [command, help] of HELPS) t.match(help, `${name}=`, `${command}: ${name}`)
    for (const [command, help] of HELPS) t.match(help, source, `${command}: ${source}`)
    t.match(REFERENCE, `| \`telemetry.${name}\` |`, `page: ${name}`)
    t.match(source, /^draft-0[12], /)
  }
})

function valueIn(settings: object, option: ValueOption): unknown {
  return (settings as Record<string, unknown>)[keyOf(option)]
}

const BESIDE_PATHS: Record<string, string[]> = {
  start: ['count=2'],
  move: ['count=2'],
  margin: ['count=2', 'move=idle'],
  interval: ['count=2'],
  admissionWait: ['admission=0.5'],
  admissionQueue: ['admission=0.5', 'admissionWait=1s'],
}

t.test('settings without effect are refused with the reason', async t => {
  for (const [name, beside] of Object.entries(BESIDE_PATHS)) {
    const option = PATH_OPTIONS.find(known => known.name === name)!
    const value = option.kind === 'choice' ? option.choices[0] : option.kind === 'time' ? '2ms' : '1'
    const alone = {
      code: 'WEIR_BAD_ARGUMENT',
      message: new RegExp(`^paths: ${name} has no effect while .*: leave`),
    }
    t.throws(() => parsePathSettings([`${name}=${value}`]), alone)
    t.doesNotThrow(() => parsePathSettings([`${name}=${value}`, ...beside]))
  }
  for (const [texts, why] of [
    [['collect=probe', 'everyPackets=8'], /everyPackets has no effect while collect is probe/],
    [['everyBytes=64KB', 'everyPackets=8'], /everyPackets has no effect while everyBytes is above 0/],
    [['collect=probe', 'everyBytes=64KB'], /everyBytes has no effect while collect is probe/],
    [['subscribeEvery=2'], /subscribeEvery has no effect while subscribe is off/],
    [['subscribe=flag', 'subscribeDscp=26'], /subscribeDscp has no effect while subscribe is flag/],
  ] as const) {
    t.throws(() => parseTelemetrySettings(texts), { code: 'WEIR_BAD_ARGUMENT', message: why })
  }
})

t.test('paths: scenario, daemon, perf, reference', async t => {
  for (const option of PATH_OPTIONS) {
    const { name, kind, source } = option
    const value =
      option.kind === 'choice' ? option.choices.at(-1)! : kind === 'time' ? '2ms' : otherText(option)
    const others = (BESIDE_PATHS[name] ?? []).map(pair => `, ${pair.replace('=', ': ')}`).join('')
    const yaml = `${BASE}switches: [s1]\npaths: {${name}: ${value}${others}}`
    const read = kind === 'time' ? '2000000' : String(value)
    t.equal(String(valueIn(parseScenario(yaml, 'x.yaml').paths, option)), read, `scenario: ${name}`)
    const typed = [`${name}=${value}`, ...(BESIDE_PATHS[name] ?? [])]
    t.equal(String(valueIn(parsePathSettings(typed), option)), read, `command line: ${name}`)
    for (const [command, help] of HELPS) t.match(help, `${name}=`, `${command}: ${name}`)
    for (const [command, help] of HELPS) t.match(help, source, `${command}: ${name}`)
    t.match(REFERENCE, `| \`paths.${name}\` |`, `page: ${name}`)
  }
  const settings = pathSettings({
    count: 7,
    move: 'drain',
    intervalNs: 12_345,
    admission: 0.75,
    margin: 0.25,
  })
  t.same(
    pathSettings(parsePathSettings(pathSettingTexts(settings))),
    settings,
    'as daemons of a lab are told',
  )
  for (const text of [
    'count=0',
    'count=17',
    'count=',
    'count=2.5',
    'move=off',
    'interval=soon',
    'margin=2',
    'ways=3',
  ]) {
    t.throws(() => parsePathSettings([text]), { code: 'WEIR_BAD_ARGUMENT' }, text)
  }
})

function sample(option: OptionSpec): [inFile: string, typed: string, value: number | boolean] {
  if (option.kind === 'flag') return ['true', 'true', true]
  const { kind, min } = option
  if (kind === 'bytes') return ['2KB', '2KB', 2000]
  if (kind === 'rate') return ['2Mbps', '2Mbps', 2e6]
  if (kind === 'time') return ['2us', '2us', 2000]
  return [String(Math.max(min, 0)), String(Math.max(min, 0)), Math.max(min, 0)]
}

/** Flows that begin carefully are patched, which leaves some out; and a greatest value is no less than the least one. */
const BESIDE: Record<string, Record<string, boolean | number>> = {
  hystartRttMost: { hystartRttLeast: 0 },
  hyperAfter: { patched: false },
  hyperSteps: { patched: false },
  hyperBelowLow: { patched: false },
}

t.test('controllers: scenario, daemon, perf, reference', async t => {
  for (const controller of ccNames()) {
    for (const spec of ccOptions(controller)) {
      const { name } = spec
      const [inFile, typed, value] = sample(spec)
      const needed = Object.entries({ ...neededBeside(ccOptions(controller), spec), ...BESIDE[name] })
      const { cc } = parseScenario(
        `${BASE}switches: ${ccTakesFairRates(controller) ? '{s1: {rocc: {}}}' : '[s1]'}\ntransport: {start: careful, pathMtu: 512}\ncc: {name: ${controller}, ${name}: ${inFile}${needed.map(([key, flag]) => `, ${key}: ${flag}`).join('')}}`,
        'x.yaml',
      )
      t.equal(cc.options[name], value, `scenario: ${controller} ${name}`)
      t.equal(
        parseCcOptions(controller, [`${name}=${typed}`, ...needed.map(pair => pair.join('='))])[name],
        value,
        `command line: ${controller} ${name}`,
      )
      for (const [command, help] of HELPS) {
        const part = help.slice(help.indexOf(`${controller}:\n`))
        // Its options of another controller are listed there.
        const listed = /and the options of/.test(part) ? help : part
        t.match(listed, `${name}=`, `${command}: ${controller} ${name}`)
      }
      t.match(REFERENCE, `| \`cc.${name}\` |`, `page: ${controller} ${name}`)
    }
  }
  for (const text of ['eta', 'eta=', 'etta=1', 'eta=high', 'minRate=fast', 'countFlows=2']) {
    t.throws(() => parseCcOptions('hpcc', [text]), { code: 'WEIR_BAD_ARGUMENT' }, text)
  }
  t.throws(() => parseCcOptions('nobody', []), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('encapsulations, keys and switches: scenario, daemon, page', async t => {
  const [, daemon] = HELPS[0]!
  for (const format of FORMAT_NAMES) {
    t.match(daemon, format)
    t.match(PAGE, `| \`${format}\` |`)
    t.equal(parseScenario(`${BASE}switches: [s1]\nint: {format: ${format}}`, 'x.yaml').int.format, format)
  }
  t.match(daemon, '--key-file')
  t.match(PAGE, '--key-file')
  const { switches } = parseScenario(
    `${BASE}switches: {s1: {telemetry: {queue: own, rate: share, ratioOnly: true, direct: {threshold: 5KB, interval: 3us, to: receiver, of: subscribed}}}}\ntelemetry: {subscribe: flag}`,
    'x.yaml',
  )
  t.same(switches[0]!.telemetry, {
    writes: true,
    queue: 'own',
    rate: 'share',
    ratioOnly: true,
    direct: { thresholdBytes: 5000, intervalNs: 3000, to: 'receiver', of: 'subscribed' },
  })
  for (const key of ['queue', 'rate', 'direct.threshold', 'direct.interval', 'direct.of', 'direct.to']) {
    t.match(PAGE, new RegExp(`\\| \`${key}\` \\|.*(draft-0[12]|same section|default)`), key)
  }
  t.match(PAGE, 'ratioOnly: true')
  const silent = parseScenario(`${BASE}switches: {s1: {telemetry: off}}`, 'x.yaml').switches[0]!
  t.equal(silent.telemetry!.writes, false)
  t.match(PAGE, '| `off`', 'a switch that writes none')
})

/** Every row of the table of conflicts is refused where users can write it: by `weir daemon` and in scenario files; help and reference say it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemonCommand } from '../../bin/commands/daemon.js'
import '../matrix/needing.js'
import { addController } from '../../lib/cc/catalogue.js'
import { CONFLICTS, type ConflictRow, checkModes, describeConflicts } from '../../lib/cc/conflicts.js'
import { FixedWindow } from '../../lib/cc/fixed-window/fixed-window.js'
import { pathSettings } from '../../lib/cc/path-settings.js'
import { type TelemetrySettings, telemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { packageFile } from '../../lib/package-file.js'
import { problemsOf } from '../scenario/problems-at.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'

addController({
  name: 'needs-probes',
  options: [],
  needs: { telemetry: 'probes' },
  create: context => new FixedWindow(context),
})

/** A pair that the row refuses, as a daemon gets it and as a file has it, and the option that is refused. */
interface Example {
  name: string
  typed?: readonly string[]
  file?: string
}

const DIRECT = 'switches: {s1: {telemetry: {direct: {threshold: 1KB}}}}\n'

const EXAMPLES: Readonly<Record<string, Example>> = {
  'telemetry: the format is p4-int-md, ifa or ioam, with which packets that collect nothing are always plain':
    {
      name: 'plain',
      typed: ['--int', 'p4-int-md:5', '--telemetry', 'plain=true', '--telemetry', 'everyPackets=8'],
      file: 'int: {format: p4-int-md}\ntelemetry: {plain: true, everyPackets: 8}',
    },
  'telemetry: it is flag and the format is ifa or ioam, which has no flag that asks switches': {
    name: 'subscribe',
    typed: ['--int', 'ioam:5', '--telemetry', 'subscribe=flag'],
    file: `${DIRECT}int: {format: ioam}\ntelemetry: {subscribe: flag}`,
  },
  'telemetry: it is flag, the format is p4-int-md and collect is probe: data packets have no header for the flag':
    {
      name: 'subscribe',
      typed: ['--int', 'p4-int-md:5', '--telemetry', 'subscribe=flag', '--telemetry', 'collect=probe'],
      file: `${DIRECT}int: {format: p4-int-md}\ntelemetry: {subscribe: flag, collect: probe}`,
    },
  'telemetry: it is busiest and the format is compact, whose records name no links': {
    name: 'hops',
    typed: ['--int', 'compact:5', '--telemetry', 'hops=busiest'],
    file: 'int: {format: compact}\ntelemetry: {hops: busiest}',
  },
  'telemetry: cc is one that uses no telemetry, such as fixed-window': {
    name: 'collect',
    typed: ['--cc', 'fixed-window', '--telemetry', 'collect=probe'],
    file: 'cc: fixed-window\ntelemetry: {collect: probe}',
  },
  'telemetry: cc is rx-hpcc, whose receiver returns windows': {
    name: 'hops',
    typed: ['--cc', 'rx-hpcc', '--telemetry', 'hops=busiest'],
    file: 'cc: rx-hpcc\ntelemetry: {hops: busiest}',
  },
  'telemetry: cc is cubic, which ignores direct responses': {
    name: 'subscribe',
    typed: ['--cc', 'cubic', '--telemetry', 'subscribe=flag'],
    file: `${DIRECT}cc: cubic\ntelemetry: {subscribe: flag}`,
  },
  'telemetry: cc is one whose probes alone collect telemetry: none of the controllers here, but a program may add one':
    {
      name: 'everyPackets',
      typed: ['--cc', 'needs-probes', '--telemetry', 'everyPackets=8'],
      file: 'cc: needs-probes\ntelemetry: {everyPackets: 8}',
    },
  'telemetry: collect is data, and cc is not one whose probes alone collect telemetry': {
    name: 'probeShare',
    typed: ['--cc', 'hpcc', '--telemetry', 'probeShare=5%'],
    file: 'telemetry: {probeShare: 5%}',
  },
  'telemetry: collect is probe: each probe has an answer of its own': {
    name: 'answer',
    file: 'telemetry: {collect: probe, answer: notify}',
  },
  'telemetry: cc is one that needs telemetry to return in one way: none of the controllers here, but a program may add one':
    { name: 'answer', file: 'cc: needs-way-back\ntelemetry: {answer: notify}' },
  'telemetry: everyPackets is 1 and cc is one that takes all telemetry, such as hpcc: every packet collects':
    {
      name: 'plain',
      typed: ['--cc', 'hpcc', '--telemetry', 'plain=true'],
      file: 'telemetry: {plain: true}',
    },
  'telemetry: no switch has telemetry.direct': { name: 'subscribe', file: 'telemetry: {subscribe: flag}' },
  'telemetry: --io is dgram, raw or packet, which do not tell how much waits for this host': {
    name: 'hostHop',
    typed: ['--io', 'dgram', '--telemetry', 'hostHop=true'],
  },
  'int: no flow has a cc that uses telemetry': {
    name: 'format',
    file: 'cc: fixed-window\nint: {format: compact}',
  },
  'cc: hops of telemetry is busiest, which does not tell the last hop': {
    name: 'countFlows',
    typed: ['--cc', 'hpcc', '--cc-option', 'countFlows=true', '--telemetry', 'hops=busiest'],
    file: 'cc: {name: hpcc, countFlows: true}\ntelemetry: {hops: busiest}',
  },
  'cc: lossReaction is not given and flows begin at line rate': {
    name: 'lossBeta',
    typed: ['--cc', 'hpcc', '--cc-option', 'lossBeta=0.5', '--start', 'line-rate'],
    file: 'cc: {name: hpcc, lossBeta: 0.5}',
  },
  'cc: patched is not given and flows begin carefully': {
    name: 'hyperAfter',
    typed: ['--cc', 'timely', '--cc-option', 'hyperAfter=3'],
    file: 'cc: {name: timely, hyperAfter: 3}\ntransport: {start: careful}',
  },
  'cc: cc is rocc and no switch has rocc': { name: 'recovery', file: 'cc: {name: rocc, recovery: 3}' },
  'transport: no flow has a cc that asks for CNPs, such as dcqcn': {
    name: 'cnpPriority',
    file: 'cc: cubic\ntransport: {cnpPriority: 6}',
  },
  'transport: cc is one that takes no notice of CNPs, such as hpcc': {
    name: 'untaggedCnps',
    typed: ['--cc', 'swift', '--untagged-cnps', '0.1', '--key-file', 'KEY'],
    file: 'cc: hpcc\ntransport: {key: sixteen bytes or more, untaggedCnps: 0.1}',
  },
}

const BASE = 'hosts: [h1, h2]\ntraffic: [{from: h1, to: h2, size: 1MB}]\nlinks: [h1--s1, s1--h2]\n'

const keyOf = ({ group, when }: ConflictRow) => `${group}: ${when}`

t.test('each row has an example', async t => {
  t.same(Object.keys(EXAMPLES).sort(), CONFLICTS.map(keyOf).sort())
})

t.test('weir daemon', async t => {
  const folder = await scratch(t)
  const where = ['--address', loopbackAddress(), '--inbox', join(folder, 'i'), '--socket', join(folder, 's')]
  const key = join(folder, 'key')
  writeFileSync(key, 'sixteen bytes or more', { mode: 0o600 })
  for (const row of CONFLICTS) {
    const { name, typed } = EXAMPLES[keyOf(row)]!
    t.equal(typed === undefined, row.only === 'files', `${keyOf(row)} is typed`)
    if (typed === undefined) continue
    const words = typed.map(word => (word === 'KEY' ? key : word))
    const daemon = daemonCommand().parseAsync([...where, '--no-worker', ...words], { from: 'user' })
    const message = new RegExp(`: ${name} has no effect while .*: leave it out, or set .`)
    await t.rejects(daemon, { code: 'WEIR_BAD_ARGUMENT', message }, typed.join(' '))
  }
})

t.test(
  'a controller that needs probes: how data collects is refused, and how often probes leave is not',
  async t => {
    const check = (given: Partial<TelemetrySettings>) => () => {
      checkModes({
        given,
        telemetry: telemetrySettings(given),
        paths: pathSettings({}),
        cc: { name: 'needs-probes' },
      })
    }
    t.throws(check({ collect: 'probe' }), {
      message: /collect has no effect while cc is needs-probes, whose/,
    })
    t.throws(check({ everyBytes: 1e6 }), { message: /everyBytes has no effect/ })
    t.doesNotThrow(check({ collect: 'data', probeShare: 0.05 }))
    const problems = problemsOf(`${BASE}switches: [s1]\ncc: needs-probes\ntelemetry: {collect: probe}`)
    t.match(problems[0], /collect has no effect/)
    t.same(problemsOf(`${BASE}switches: [s1]\ncc: needs-probes\ntelemetry: {probeShare: 5%}`), [])
  },
)

t.test('scenario files', async t => {
  for (const row of CONFLICTS) {
    const { name, file } = EXAMPLES[keyOf(row)]!
    t.equal(file === undefined, row.only === 'commands', `${keyOf(row)} stands in files`)
    if (file === undefined) continue
    const switches = file.includes('switches:') ? '' : 'switches: [s1]\n'
    const problems = problemsOf(`${BASE}${switches}${file}`)
    t.equal(problems.length, 1, problems.join(' | '))
    t.match(
      problems[0],
      new RegExp(`^x.yaml:\\d+:\\d+: .*${name} has no effect while .*: leave it out, or set .`),
    )
  }
})

t.test('CNPs: whoever may hear or ask for them may set something of them', async t => {
  const transport = 'transport: {key: sixteen bytes or more, untaggedCnps: 0.1, cnpPriority: 6}'
  for (const cc of ['dcqcn', 'cubic', 'dctcp', 'auto', 'rttcc']) {
    const priority = cc === 'dcqcn' ? transport : transport.replace(', cnpPriority: 6', '')
    t.same(problemsOf(`${BASE}switches: [s1]\ncc: ${cc}\n${priority}`), [], cc)
  }
  const mixed = BASE.replace('size: 1MB', 'size: 1MB, cc: dcqcn')
  t.same(problemsOf(`${mixed}switches: [s1]\ncc: hpcc\n${transport}`), [], 'one flow is enough')
  const lab = BASE.replace(/traffic.*\n/, '')
  t.same(problemsOf(`${lab}switches: [s1]\ncc: hpcc\n${transport}`), [], 'a lab, whose programs choose')
})

t.test('help and reference', async t => {
  const reference = readFileSync(packageFile('docs/scenario-reference.md'), 'utf8')
  const help = describeConflicts().join('\n')
  for (const { when, only } of CONFLICTS) {
    t.equal(help.includes(`while ${when}`), only !== 'files', when)
    t.equal(reference.includes(`| ${when} |`), only !== 'commands', when)
  }
})

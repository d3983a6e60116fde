/** `weir run` as a user runs it. */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageFile } from '../../lib/package-file.js'
import { CommandLines } from '../support/command-lines.js'
import { Run, scratch } from '../support/daemon-process.js'
import { undocumented } from '../support/documented.js'
import { long, usual } from '../support/long.js'
import { checkLostFlow } from './lost-flow.js'

const SCENARIO = `
name: small
link: { rate: 10Gbps, delay: 1us }
hosts: [h1, h2, h3]
switches: [s1]
links: [h1--s1, h2--s1, s1--h3]
cc: { name: hpcc }
traffic:
  - { name: a, from: h1, to: h3, size: 300KB }
  - { name: b, from: h2, to: h3, size: 200KB, start: 50us }
watch: { queues: [s1:h3], every: 10us }
`

const lines = new CommandLines(t)

usual(
  'a run in virtual time: tables on stdout, JSON in the file, the same again but for the clock',
  async t => {
    const folder = await scratch(t)
    const file = join(folder, 'small.yaml')
    writeFileSync(file, SCENARIO)
    const results = []
    for (const name of ['a.json', 'b.json']) {
      const json = join(folder, name)
      const words = ['run', file, '--on', 'virtual', '--seed', '5', '--json', json]
      if (name === 'b.json') words.push('--report', join(folder, 'b.html'))
      const ended = await (name === 'a.json' ? new Run(t, words).ended : lines.run(words))
      t.equal(ended.code, 0, ended.stderr)
      t.match(ended.stdout, /s1:h3/)
      t.equal(ended.stderr, '', 'no progress in a pipe')
      results.push(JSON.parse(readFileSync(json, 'utf8')))
    }
    t.match(readFileSync(join(folder, 'b.html'), 'utf8'), /<h1>.*<svg.*<\/html>/s)
    const refused = await lines.run(['run', file, '--report', join(folder, 'none', 'b.html')])
    t.not(refused.code, 0)
    t.match(refused.stderr, /b\.html cannot be written/)
    t.equal(refused.stdout, '', 'refused before the run')
    const same = await lines.run(['run', file, '--json', join(folder, 'c'), '--report', `${folder}/./c`])
    t.match(same.stderr, /--json and --report both name .*WEIR_BAD_ARGUMENT/)
    const json = join(folder, 'd.json')
    const page = (await lines.run(['run', file, '--report', '-', '--json', json])).stdout
    t.match(page, /^<!doctype html>.*<\/html>\n$/s, 'the page alone')
    t.match(JSON.parse(readFileSync(json, 'utf8')), { on: 'virtual' })
    const [first, second] = results
    t.same(Object.keys(first), [
      'version',
      'scenario',
      'on',
      'seed',
      'settings',
      'totals',
      'flows',
      'ports',
      'series',
      'feedback',
      'summary',
      'events',
      'command',
      'machine',
      'wallSeconds',
    ])
    for (const fields of [first, first.totals, first.flows[0], first.ports[0]]) {
      t.same(undocumented('scenarios.md', fields), [], 'every field is in the documents')
    }
    const withoutPlace = (result: object) => ({ ...result, command: null, machine: null, wallSeconds: 0 })
    t.same(withoutPlace(first), withoutPlace(second))
    t.equal(first.seed, 5)
    t.same(first.command, ['run', file, '--on', 'virtual', '--seed', '5', '--json', join(folder, 'a.json')])
    t.equal(first.version, JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version)
    t.match(first.machine, { node: process.versions.node, cpus: Number, cpuModel: String, os: String })
    t.match(first.scenario, { name: 'small', file, text: SCENARIO })
    t.equal(first.scenario.sha256, createHash('sha256').update(SCENARIO).digest('hex'))
    t.match(first.settings.cc, { name: 'hpcc', options: { eta: 0.95, maxStage: 5, flows: 100, wAi: null } })
    t.same(
      first.flows.map((flow: { name: string; bytes: number; ackedBytes: number }) => [
        flow.name,
        flow.ackedBytes,
      ]),
      [
        ['a', 300_000],
        ['b', 200_000],
      ],
    )
    t.equal(first.ports.length, 3)
    t.ok(first.series['queue/s1:h3'].values.length > 10)
  },
)

usual('the result goes to standard output when it is asked for there', async t => {
  const folder = await scratch(t)
  const file = join(folder, 'small.yaml')
  writeFileSync(file, SCENARIO)
  const ended = await lines.run(['run', file, '--json', '-'])
  t.equal(ended.code, 0, ended.stderr)
  t.equal(JSON.parse(ended.stdout).scenario.name, 'small')
})

usual('a wrong scenario: place, choices, exit code', async t => {
  const folder = await scratch(t)
  const file = join(folder, 'wrong.yaml')
  writeFileSync(file, SCENARIO.replace('to: h3, size: 200KB', 'to: h33, size: 200XB'))
  const ended = await lines.run(['run', file])
  t.equal(ended.code, 1)
  t.equal(ended.stdout, '')
  t.match(ended.stderr, /wrong\.yaml:10:\d+: .*'h33'.*h1, h2, h3/)
  t.match(ended.stderr, /wrong\.yaml:10:\d+: .*'200XB'/)
  t.match(ended.stderr, /WEIR_BAD_SCENARIO/)
})

usual('what cannot be run or written is said', async t => {
  const folder = await scratch(t)
  const missing = await lines.run(['run', join(folder, 'none.yaml')])
  t.equal(missing.code, 1)
  t.match(missing.stderr, /WEIR_NO_FILE/)
  const file = join(folder, 'pfc.yaml')
  writeFileSync(file, SCENARIO.replace('switches: [s1]', 'switches: { s1: { pfc: { xof: 500KB } } }'))
  const pfc = await lines.run(['run', file])
  t.equal(pfc.code, 1)
  t.match(pfc.stderr, /pfc\.yaml:\d+:\d+: unknown key 'xof' .*xoff/)
  writeFileSync(file, SCENARIO)
  const unwritable = await lines.run(['run', file, '--json', join(folder, 'no', 'such', 'folder.json')])
  t.equal(unwritable.code, 1)
  t.match(unwritable.stderr, /WEIR_NO_FILE/)
  const seed = await lines.run(['run', file, '--seed', 'x'])
  t.equal(seed.code, 1)
  t.match(seed.stderr, /--seed/)
})

usual('captures go where they are asked for', async t => {
  const folder = await scratch(t)
  const file = join(folder, 'small.yaml')
  writeFileSync(file, SCENARIO)
  const ended = await lines.run(['run', file, '--pcap', 'captures/here', '--snaplen', '64'], folder)
  t.equal(ended.code, 0, ended.stderr)
  t.match(ended.stdout, /captures: captures\/here \(.*the traffic begins at \d/)
  const ports = ['s1--h1.pcapng', 's1--h2.pcapng', 's1--h3.pcapng']
  t.same(readdirSync(join(folder, 'captures', 'here')).sort(), ports)
  for (const [flags, said] of [
    [['--snaplen', '64'], /--pcap/],
    [['--pcap', 'x', '--snaplen', '63'], /64B to 65535B, not "63"/],
    [['--pcap', join(file, 'x')], /cannot make the folder.*WEIR_NO_FILE/],
    [['--pcap', '/proc/x'], /cannot make the folder.*; choose another with --pcap.*WEIR_NO_FILE/],
  ] as const) {
    const refused = await lines.run(['run', file, ...flags], folder)
    t.equal(refused.code, 1)
    t.match(refused.stderr, said)
  }
})

usual('a flow whose connection is lost: said in the report, while many others go on', async t => {
  await checkLostFlow(t, lines, 'virtual')
})

usual('a scenario from standard input', async t => {
  const folder = await scratch(t)
  const from = (file: string) => ['sh', '-c', `exec "$@" < ${file}`, 'sh']
  writeFileSync(join(folder, 'a.yaml'), SCENARIO.replace('name: small\n', ''))
  const run = new Run(t, ['run', '-', '--json', '-'], folder, from('a.yaml'))
  const { code, stdout, stderr } = await run.ended
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout).scenario, { name: 'stdin', file: 'stdin' })
  writeFileSync(join(folder, 'b.yaml'), SCENARIO.replace('hosts:', 'host:'))
  const wrong = new Run(t, ['run', '-'], folder, from('b.yaml'))
  t.match((await wrong.ended).stderr, /^weir: stdin:\d+:\d+: /)
})

usual('a captured run repeats one that was not captured, and the other way round', async t => {
  const folder = await scratch(t)
  // It lasts longer than the ACK timeout: timers of connections that packets have made fire meanwhile.
  const text = `
link: { rate: 100Mbps, delay: 50us }
hosts: [h1, h2, h3]
switches: [s1]
links: [h1..h3--s1]
traffic:
  - { name: a, from: h1, to: h3, size: 10KB, start: 150ms }
  - { name: b, from: h2, to: h3, size: 1KB, repeat: 50, every: 2ms }
`
  writeFileSync(join(folder, 'long.yaml'), text)
  const weir = async (...words: string[]) => await lines.run(words, folder)
  const plain = await weir('run', 'long.yaml', '--json', 'plain.json')
  t.equal(plain.code, 0, plain.stderr)
  const captured = await weir('run', '--repeat', 'plain.json', '--pcap', 'caps', '--json', 'captured.json')
  t.match(captured.stdout, /^the same as plain\.json$/m)
  t.match((await weir('run', '--repeat', 'captured.json')).stdout, /^the same as captured\.json$/m)
})

usual('a result is repeated from itself', async t => {
  const folder = await scratch(t)
  writeFileSync(
    join(folder, 'a.yaml'),
    SCENARIO.replace(
      'traffic:',
      'transport: { key: "a secret\\u0020of all hosts" }\ntraffic:\n  - { workload: ./sizes.txt, load: 30%, duration: 200us, seed: 7, priority: 1 }',
    ),
  )
  writeFileSync(join(folder, 'sizes.txt'), '0 0\n2000 50\n40000 100\n')
  const weir = async (...words: string[]) => await lines.run(words, folder)
  for (const flags of [[], ['--seed', '11']]) {
    const first = await weir('run', 'a.yaml', ...flags, '--json', 'a.json')
    t.equal(first.code, 0, first.stderr)
    const text = readFileSync(join(folder, 'a.json'), 'utf8')
    t.notMatch(text, /a secret/, 'a secret is in no result')
    const again = await weir('run', '--repeat', 'a.json', '--json', 'b.json')
    t.equal(again.code, 0, again.stderr)
    t.match(again.stdout, /^the same as a\.json$/m)
    const [a, b] = [JSON.parse(text), JSON.parse(readFileSync(join(folder, 'b.json'), 'utf8'))]
    t.same([b.flows, b.ports, b.settings, b.seed], [a.flows, a.ports, a.settings, a.seed])
    t.ok(a.flows.length > 4)
  }
  const result = readFileSync(join(folder, 'a.json'), 'utf8')
  rmSync(join(folder, 'sizes.txt'))
  const alone = await weir('run', '--repeat', 'a.json')
  t.match(alone.stdout, /^the same as a\.json$/m, 'flow sizes are in the result')
  for (const [text, says] of [
    [
      result.replace('"ackEvery":1,', '"ackEvery":2,'),
      /a\.json was made by Weir \S+ with other settings .*: transport; .*\(WEIR_BAD_ARGUMENT\)/,
    ],
    [
      result.replace(/("sizesBytes":\[)[^\]]*/, '$13, 2, 1'),
      /settings\.workloads\.0\.distribution: sizes and shares must rise/,
    ],
    ['{}', /a\.json is no result that weir run --json has written: version/],
    ['hosts: [a, b]', /a\.json is no result/],
  ] as const) {
    writeFileSync(join(folder, 'a.json'), text)
    const refused = await weir('run', '--repeat', 'a.json')
    t.equal(refused.code, 1)
    t.match(refused.stderr, says)
  }
  t.match((await weir('run', '--repeat', 'none.json')).stderr, /none\.json cannot be read.*WEIR_NO_FILE/)
  t.match(
    (await weir('run', 'a.yaml', '--repeat', 'a.json')).stderr,
    /--repeat has the scenario from the result: leave a\.yaml out.*WEIR_BAD_ARGUMENT/,
  )
  t.match(
    (await weir('run', '--seed', '1', '--repeat', 'a.json')).stderr,
    /--seed has no effect beside --repeat: leave one of them out.*WEIR_BAD_ARGUMENT/,
  )
})

const BEYOND = `
link: { rate: 1Tbps, delay: 50ms }
hosts: [h1, h2]
switches: [s1]
links: [h1..h2--s1]
transport: { pathMtu: 256 }
traffic: [{ from: h1, to: h2, size: 2GB }, { from: h1, to: h2, size: 2GB }]
watch: { queues: [s1:h2], every: 100us }
duration: 1ms # nothing can be acknowledged before 200 ms
`

long('a run in which nothing was carried: said before and after, and no index of nothing', async t => {
  const folder = await scratch(t)
  writeFileSync(join(folder, 'beyond.yaml'), BEYOND)
  for (const on of ['overlay', 'virtual']) {
    const { code, stdout, stderr } = await lines.run(
      ['run', 'beyond.yaml', '--on', on, '--json', 'a.json'],
      folder,
    )
    t.equal(code, 1, stderr)
    t.match(stderr, /^weir: no byte of any flow .* its duration \(1ms\); .*\(WEIR_NOTHING_CARRIED\)\n$/m)
    t.match(stdout, /^flow0 +h1 > h2 +0B of 2GB +cut off /m)
    t.notMatch(stdout, /Jain index [0-9]/)
    const { summary, realTime, totals } = JSON.parse(readFileSync(join(folder, 'a.json'), 'utf8'))
    t.equal(summary?.jainIndex ?? null, null)
    t.match(totals, { ackedBytes: 0, unfinished: 2, completionNs: null, slowdown: null, goodputBps: null })
    if (on === 'virtual') {
      t.equal(realTime, undefined)
      continue
    }
    t.match(
      stderr,
      /^weir: warning: the scenario demands up to 1Tbps \(\d+ packets\/s\), and this machine carries at most /,
    )
    t.match(realTime, { capacity: { io: 'dgram', demandedBps: 1e12 }, lostFrames: Number })
    t.ok(realTime.capacity.demandedPacketsPerSecond > realTime.capacity.packetsPerSecondMost)
  }
})

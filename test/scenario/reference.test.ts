/**
 * The schema of the scenario file: the documentation of its keys, and the reference page and the JSON Schema
 * that are made from it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import { packageFile } from '../../lib/package-file.js'
import { settingsOf } from '../../lib/scenario/model/settings.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { generatedFiles } from '../../lib/scenario/schema/generated-files.js'
import type { Key, Section } from '../../lib/scenario/schema/sections.js'
import { long, usual } from '../support/long.js'
import { documentWith, exampleOf } from './example-document.js'
import { problemsOf } from './problems-at.js'
import { keys, pathOf, validate } from './schema-keys.js'

function read(document: unknown) {
  return parseScenario(stringify(document), 'x.yaml')
}

usual('the page and the schema are those that "npm run docs" writes', async t => {
  const root = dirname(packageFile('package.json'))
  for (const [path, text] of Object.entries(generatedFiles())) {
    t.ok(readFileSync(join(root, path), 'utf8') === text, `${path} is current; "npm run docs" writes it`)
  }
})

usual('every mapping and every key is on the page', async t => {
  t.ok(keys.length > 120, `${keys.length} keys`)
  const page = generatedFiles()['docs/scenario-reference.md']!
  for (const { section, key } of keys)
    t.ok(page.includes(`\n| \`${pathOf(section, key)}\` |`), pathOf(section, key))
  for (const path of [
    'traffic[].incast',
    'traffic[].repeat',
    'traffic[].every',
    'traffic[].count',
    'watch.flows',
  ]) {
    t.ok(page.includes(`| \`${path}\` |`), path)
  }
  t.match(page, /`watch\.queues` \| `all`, or list/)
  t.match(page, /`hosts\[\]\.address` \| IPv4/)
})

usual('every key says what it takes, what it means, what holds without it', async t => {
  for (const { section, key } of keys) {
    const path = pathOf(section, key)
    t.match(key.description, /^[A-Z0-9`].*[.)]$/s, `${path} has a description`)
    t.ok(key.words.length > 3, `${path} says what it takes`)
    t.notSame(key.example, undefined, `${path} has an example`)
    const given = [key.required, key.default !== undefined, key.usual !== undefined].filter(Boolean)
    t.equal(given.length, 1, `${path} is required, has a default value, or says what holds without it`)
  }
})

usual('every example is a scenario, to the parser and to the schema', async t => {
  for (const { section, key } of keys) {
    const document = documentWith(section, exampleOf(key))
    t.same(problemsOf(stringify(document)), [], pathOf(section, key))
    t.ok(validate(document), `${pathOf(section, key)}: ${JSON.stringify(validate.errors)}`)
  }
})

/** True if the default is valid without the other keys of the example. */
function standsAlone(section: Section, { name, default: value }: Key): boolean {
  return problemsOf(stringify(documentWith(section, { [name]: value }))).length === 0
}

usual('a default that is given is as good as none', async t => {
  for (const { section, key } of keys) {
    if (key.default === undefined) continue
    const given = { [key.name]: key.default }
    const others = standsAlone(section, key) ? {} : (key.with ?? {})
    const settings = [others, { ...others, ...given }].map(all =>
      settingsOf(read(documentWith(section, all))),
    )
    t.same(settings[1], settings[0], pathOf(section, key))
    t.ok(validate(documentWith(section, { ...others, ...given })), pathOf(section, key))
  }
})

long('an example other than the default makes a difference', async t => {
  for (const { section, key } of keys) {
    if (key.default === undefined || JSON.stringify(key.default) === JSON.stringify(key.example)) continue
    const others = standsAlone(section, key) ? {} : (key.with ?? {})
    const without = settingsOf(read(documentWith(section, { ...others })))
    t.notSame(settingsOf(read(documentWith(section, exampleOf(key)))), without, pathOf(section, key))
  }
})

long('the parser accepts no value that the schema refuses: nothing, another kind, out of range', async t => {
  let accepted = 0
  for (const { section, key } of keys) {
    for (const value of [null, '', true, -1, 2, [], {}, [null]]) {
      const text = stringify(documentWith(section, { ...key.with, [key.name]: value }))
      if (problemsOf(text).length > 0) continue
      accepted++
      t.ok(validate(parse(text)), `${pathOf(section, key)}: ${JSON.stringify(value)}`)
    }
  }
  t.ok(accepted > 50, `${accepted} scenarios`)
})

usual('every scenario of the bench is right by the schema, and names it for editors', async t => {
  const folder = dirname(packageFile('bench', 'scenarios', 'dumbbell.yaml'))
  for (const file of readdirSync(folder).filter(name => name.endsWith('.yaml'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    t.ok(validate(parse(text)), `${file}: ${JSON.stringify(validate.errors)}`)
    const [, path = ''] = /^# yaml-language-server: \$schema=(\S+)$/m.exec(text) ?? []
    t.equal(join(folder, path), packageFile('schema', 'scenario.schema.json'), file)
  }
})

usual('a default that a controller fills in is no contradiction to the schema either', async t => {
  const base = 'hosts: [h1, h2]\nlinks: [h1--h2]\n'
  for (const right of [
    'cc: {name: auto, wAi: 1KB}',
    'cc: {name: rx-hpcc, wAi: 1KB, countFlows: false}',
    'cc: {name: rx-hpcc, literal: false, ackPackets: 1}',
    'cc: {name: cubic, cssRounds: 1}',
    'transport: {start: careful}\ncc: {name: hpcc, lossBeta: 0.5}',
    'cc: {name: fixed-window, lossReaction: true, lossBeta: 0.5}',
  ]) {
    t.ok(validate(parse(base + right)), `${right}: ${JSON.stringify(validate.errors)}`)
    t.same(problemsOf(base + right), [], right)
  }
})

usual('what the schema can say is wrong, it says', async t => {
  const base = 'hosts: [h1, h2]\nswitches: {s1: {}}\nlinks: [h1--s1, h2--s1]\n'
  t.ok(validate(parse(base)))
  for (const wrong of [
    'trafic: []',
    'seed: -1',
    'duration: 10',
    'duration: 0s',
    'baseRtt: soon',
    'link: {rate: 1Gb}',
    'link: {rate: 1}',
    'link: {dely: 1us}',
    'transport: {pathMtu: 1500}',
    'transport: {key: abc}',
    'int: {hops: 16}',
    'cc: hpc',
    'cc: {eta: 1}',
    'cc: {name: hpcc, eta: 1.5}',
    'cc: {name: hpcc, Eta: 1}',
    'cc: {name: hpcc, wAi: 1KB, flows: 10}',
    'cc: {name: auto, wAi: 1KB, countFlows: true}',
    'cc: {name: rx-hpcc, literal: true, ackPackets: 1}',
    'cc: {name: cubic, hystart: false, cssRounds: 1}',
    'cc: {name: fixed-window, lossBeta: 0.5}',
    'cc: {name: fixed-window, lossReaction: false, lossBeta: 0.5}',
    'telemetry: {collect: date}',
    'paths: {count: 17}',
    'traffic: [{from: h1, size: 1B}]',
    'traffic: [{from: h1, to: h2, size: 1XB}]',
    'traffic: [{from: h1, to: h2, size: 1B, every: 1us}]',
    'traffic: [{workload: websearch, load: 150%, duration: 1s}, {workload: websearch, load: 2, duration: 1s}]',
    'traffic: [{incast: [], to: h2, size: 1B}]',
    'watch: {queues: some}',
    'watch: {queues: [s1]}',
    'watch: {flows: perhaps}',
    'routes: [{switch: s1, to: h2, via: h2, duration: 1ms}]',
    'deadlockPrevention: {groups: [], to: 4}',
    'name:',
  ]) {
    t.notOk(validate(parse(base + wrong)), wrong)
    t.ok(problemsOf(base + wrong).length > 0, `${wrong}, to the parser too`)
  }
  for (const settings of [
    'bufer: 1MB',
    'pfc: {}',
    'pfc: {xoff: 1KB, alpha: 1}',
    'pfc: on',
    'ecn: {kmin: 1KB}',
    'scheduler: {8: 1}',
    'scheduler: {0: 101}',
    'dscpToTc: {64: 1}',
    'telemetry: {direct: {interval: 1us}}',
  ]) {
    const text = base.replace('{s1: {}}', `{s1: {${settings}}}`)
    t.notOk(validate(parse(text)), settings)
    t.ok(problemsOf(text).length > 0, `${settings}, to the parser too`)
  }
  for (const [from, to] of [
    ['[h1, h2]', '[]'],
    ['[h1, h2]', '[1a]'],
    ['[h1, h2]', '[{name: h1, address: 192.168.0.1}, h2]'],
    ['h1--s1', 'h1-s1'],
    ['links:', 'lnks:'],
  ] as const) {
    t.notOk(validate(parse(base.replace(from, to))), to)
  }
})

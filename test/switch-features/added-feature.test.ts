/**
 * A feature that a program adds: one class, and one line in the catalogue. Scenario files, their reference
 * and schema, settings, results and tables use it without another change. This file runs in a process of its
 * own, because the catalogue keeps the feature.
 */
import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { addFeature } from '../../switch-emu/core/catalogue.js'
import { ALL_KINDS, TENTH } from './tenth.js'

addFeature(TENTH)
for (const entry of ALL_KINDS) addFeature(entry)

// Imported only now, because these modules make the schema of scenario files from the catalogue.
const { parseScenario } = await import('../../lib/scenario/read/load-scenario.js')
const { generatedFiles } = await import('../../lib/scenario/schema/generated-files.js')
const { printTables } = await import('../../lib/scenario/result/print-tables.js')
const { resultJson } = await import('../../lib/scenario/result/write-result.js')
const { problemsOf } = await import('../scenario/problems-at.js')
const { Fabric } = await import('../../switch-emu/network/fabric.js')
const { VirtualRun } = await import('../../switch-emu/virtual/virtual-run.js')

const file = (settings: string) => `
hosts: [h1, h2]
switches: {s1: {${settings}}}
links: [h1--s1, h2--s1]
cc: {name: fixed-window}
traffic: [{from: h1, to: h2, size: 300KB}]
`
const TENTHS = 'tenth: {interval: 10us}'

t.test('the reference and the schema name it', async t => {
  const files = generatedFiles()
  const page = files['docs/scenario-reference.md']!
  t.match(page, '| `switches.NAME.tenth` | mapping | the feature is off | Every tenth packet is marked')
  t.match(page, '| `switches.NAME.tenth.every` | whole number, 1 to 1000 | `10` |')
  t.match(page, '| `switches.NAME.tenth.interval` | time above 0 | **required** |')
  const schema = JSON.stringify(JSON.parse(files['schema/scenario.schema.json']!))
  t.match(schema, '"tenth":{"type":"object","properties":{"every":{')
})

t.test('a file with mistakes in it is refused, at their places', async t => {
  for (const [settings, message] of [
    ['tenth: {}', 'interval is missing'],
    ['tenth: {interval: 0s}', 'above zero'],
    ['tenth: {interval: 1us, every: 1001}', '1 to 1000'],
    ['tenth: {interval: 1us, evry: 3}', "unknown key 'evry' in tenth"],
    ['tenht: {interval: 1us}', "unknown key 'tenht' in a switch"],
  ] as const) {
    const problems = problemsOf(file(settings))
    t.equal(problems.length, 1, settings)
    t.match(problems[0], message)
  }
})

t.test('it runs: marks, frames of its own, and what the result says of both', async t => {
  const run = new VirtualRun(parseScenario(file(TENTHS), 'x.yaml'))
  const result = run.run()
  t.same(result.settings.switches[0]!.features, { tenth: { every: 10, intervalNs: 10_000 } })
  const [toH1, toH2] = result.ports as unknown as {
    tenth: { seen: number; marked: number; sent: number }
    drops: number
  }[]
  t.equal(result.flows[0]!.ackedBytes, 300_000)
  const fctNs = result.flows[0]!.fctNs!
  const sent = Math.floor(fctNs / 10_000)
  t.ok(Math.abs(toH2!.tenth.sent - sent) <= 1, `${toH2!.tenth.sent} in ${fctNs} ns`)
  t.equal(toH2!.tenth.seen, Math.ceil(300_000 / 1024) + toH2!.tenth.sent)
  t.equal(toH2!.tenth.marked, Math.floor(toH2!.tenth.seen / 10))
  t.equal(toH1!.tenth.marked, Math.floor(toH1!.tenth.seen / 10))
  t.equal(toH1!.drops + toH2!.drops, 0)
  t.same(JSON.parse(resultJson(result)).ports[1].tenth, toH2!.tenth)
  const lines = printTables(result).split('\n')
  t.match(
    lines.find(line => line.startsWith('port ')),
    /pauses +own peak +tenths +own$/,
  )
  t.match(
    lines.find(line => line.startsWith('s1:h2 ')),
    new RegExp(` ${toH2!.tenth.marked} +${toH2!.tenth.sent}$`),
  )
})

t.test('its timers count from the beginning of the network, which no frame has to wake', async t => {
  const startNs = 1e15
  const pool = new FramePool(16, HEADER_SLOT_BYTES)
  const fabric = new Fabric(parseScenario(file(TENTHS), 'x.yaml'), { pool, random: () => 0, startNs })
  t.equal(fabric.network.nextEventNs(), startNs + 10_000)
})

t.test('where it is off nothing of it is to be seen', async t => {
  const result = new VirtualRun(parseScenario(file('buffer: 1MB'), 'x.yaml')).run()
  t.notOk(JSON.stringify(result.ports).includes('tenth'))
  t.equal(result.settings.switches[0]!.features, undefined)
  t.notMatch(printTables(result), 'tenths')
})

t.test(
  'options of every kind get to the class in bytes and ns, with all defaults; a feature within another is one too',
  async t => {
    const featuresOf = (settings: string) => parseScenario(file(settings), 'x.yaml').switches[0]!.features
    t.same(featuresOf('kinds: {}'), {
      kinds: { roomBytes: 2048, waitNs: 5000, part: 0.5, gain: 1.5, at: 'front', loud: false },
    })
    t.same(
      featuresOf(
        'kinds: {room: 0, wait: 1ms, part: 20%, gain: 2, at: back, loud: true, only: [3, 4], step: {size: 1KB, often: 7}}',
      ),
      {
        kinds: {
          roomBytes: 0,
          waitNs: 1e6,
          part: 0.2,
          gain: 2,
          at: 'back',
          loud: true,
          only: [3, 4],
          step: { sizeBytes: 1000, often: 7 },
        },
      },
    )
    t.same(featuresOf('kinds: {inner: {often: 2}}')!.inner, { often: 2 })
    t.same(featuresOf('telemetry: {deep: [{often: 2}, {often: 3}]}'), { deep: [{ often: 2 }, { often: 3 }] })
    t.equal(featuresOf('kinds: off'), undefined)
    t.same(problemsOf(file('kinds: {gain: 1, at: back, inner: {often: 0}, step: {}}')).length, 4)
    t.match(problemsOf(file('kinds: {gain: 3}'))[0], 'gain is below 3')
  },
)

t.test('names of features are theirs alone', async t => {
  t.throws(() => addFeature(TENTH), { code: 'WEIR_BAD_ARGUMENT', message: /tenth already/ })
  t.throws(() => addFeature({ ...TENTH, name: 'pfc' }), { code: 'WEIR_BAD_ARGUMENT' })
})

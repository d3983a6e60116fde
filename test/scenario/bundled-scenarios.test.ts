/** Scenarios of the package by their names: `weir run dumbbell-100g` without such a file. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bundledScenarios, scenarioFile } from '../../lib/scenario/read/bundled-scenarios.js'
import { loadScenario } from '../../lib/scenario/read/load-scenario.js'

t.test('each has a name, a file that loads and a sentence about it', async t => {
  const all = bundledScenarios()
  t.ok(all.length > 10, `${all.length}`)
  for (const { name, file, about } of all) {
    t.equal(scenarioFile(name), file)
    t.equal(loadScenario(name).name, name, 'it calls itself so')
    t.match(about, /^[A-Z]\S* .{15,200}\.$/, `${name}: ${about}`)
  }
})

t.test('a file of that name wins, a folder does not', async t => {
  const before = process.cwd()
  process.chdir(t.testdir())
  try {
    mkdirSync('five-hops')
    t.not(scenarioFile('five-hops'), 'five-hops')
    writeFileSync('dumbbell', 'hosts: [')
    t.equal(scenarioFile('dumbbell'), 'dumbbell')
    t.throws(() => loadScenario('dumbbell'), { code: 'WEIR_BAD_SCENARIO' })
    t.not(scenarioFile('incast-16'), 'incast-16')
  } finally {
    process.chdir(before)
  }
})

t.test('neither a file nor a name: what there is, and the nearest', async t => {
  t.throws(() => loadScenario('dumbel'), {
    code: 'WEIR_NO_FILE',
    message:
      /^the scenario dumbel is neither a file here nor .*dumbbell, dumbbell-100g.*did you mean 'dumbbell'\?$/,
  })
  for (const path of [join('nowhere', 'dumbbell'), 'dumbell.yaml', 'dumbbell.yml']) {
    t.equal(scenarioFile(path), path, 'a path is a path')
    t.throws(() => loadScenario(path), { code: 'WEIR_NO_FILE', message: /cannot be read/ })
  }
  t.equal(scenarioFile('-'), '-')
})

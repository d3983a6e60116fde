/** Every key of the scenario file with its extreme values: the parser, the schema and the network agree. */
import t from 'tap'
import { parse, stringify } from 'yaml'
import { WeirError } from '../../lib/errors.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { Key } from '../../lib/scenario/schema/sections.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { documentWith } from './example-document.js'
import { keys, pathOf, validate } from './schema-keys.js'
import './reference.test.js'

/** Virtual time refuses these: labs alone reach programs outside. */
const FOR_LABS = ['inof.external', 'inof.ttlSecurity', 'inof.password']

/** The extreme values of a key, by its words. */
function extremes({ words, example }: Key): unknown[] {
  if (words.startsWith('size')) return ['0B', '1B', '1KB', '1TB']
  if (words.startsWith('time')) return [0, '1ns', '100000h']
  if (words.startsWith('rate')) return ['1bps', '1Kbps', '4Tbps']
  const [, low, high] = /([\d.]+) to ([\d.]+)/.exec(words) ?? []
  return low === undefined ? [example] : [Number(low), Number(high)]
}

t.test('what the parser accepts can be built; what it refuses has a place', async t => {
  let built = 0
  for (const { section, key } of keys) {
    for (const value of extremes(key)) {
      const text = stringify(documentWith(section, { ...key.with, [key.name]: value }))
      const what = `${pathOf(section, key)}: ${value}`
      try {
        const scenario = parseScenario(text, 'x.yaml')
        t.ok(validate(parse(text)), `the schema takes ${what}: ${JSON.stringify(validate.errors)}`)
        const build = () => new VirtualRun(scenario, { framesMax: 64 })
        if (FOR_LABS.includes(pathOf(section, key))) t.throws(build, { message: /need a lab/ }, what)
        else build()
        built++
      } catch (error) {
        if (!(error instanceof WeirError)) throw error
        for (const line of error.message.split('\n')) t.match(line, /^x\.yaml:\d+:\d+: \S/, what)
      }
    }
  }
  t.ok(built > 100, `${built} scenarios`)
})

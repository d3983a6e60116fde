import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { WeirError } from '../../lib/errors.js'
import { packageFile } from '../../lib/package-file.js'
import { idealFctNs, Topology } from '../../lib/scenario/model/topology.js'
import { expandTraffic } from '../../lib/scenario/read/expand-traffic.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { fixedSeed, isReplay } from '../support/seeds.js'

const folder = dirname(packageFile('bench', 'scenarios', 'dumbbell.yaml'))
const originals = readdirSync(folder)
  .filter(file => file.endsWith('.yaml'))
  .map(file => readFileSync(join(folder, file), 'utf8').replace(/^#.*\n/gm, ''))

/** Pieces of the format, right and wrong, to insert anywhere. */
const SNIPPETS = [
  'h1',
  'h0..h3',
  's1',
  '--',
  '..',
  ': ',
  '{',
  '}',
  '[',
  ']',
  ',',
  '\n',
  '\n  - ',
  '&a ',
  '*a',
  '<<: ',
  '~',
  'null',
  '-1',
  '0',
  '1e99',
  '.inf',
  '.nan',
  '5us',
  '1Gbps',
  '100%',
  '2GB',
  'true',
  'hpcc',
  'name: ',
  'size: ',
  'ends: ',
  'workload: googlerpc',
  'incast: ',
  'repeat: 3, every: 1us',
  'count: 9',
  'pfc: {xoff: 1KB}',
  '__proto__: ',
  '"',
  "'",
  '!!binary x',
  '? ',
  '|',
  '\t',
  '\u0000',
  '\u{1f600}',
  'constructor',
]

/** `digit`: replaces only the next digit, which often leaves a valid scenario. */
type Edit = { at: number; cut: number; put: string; digit: number | null }

function edited(original: string, edits: readonly Edit[]): string {
  let text = original
  for (const { at, cut, put, digit } of edits) {
    const from = Math.floor(at * text.length)
    const tail = text.slice(from)
    text = text.slice(0, from) + (digit === null ? put + tail.slice(cut) : tail.replace(/\d/, String(digit)))
  }
  return text
}

/** Tests this many damaged scenarios, drawn by a seed. */
export function fuzzScenarios(fixed: number, runs: number): void {
  t.test(
    'a damaged scenario is either a scenario still, or refused with the place of every problem',
    async t => {
      const edit = fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        cut: fc.nat(12),
        put: fc.constantFrom('', ...SNIPPETS),
        digit: fc.option(fc.nat(9), { freq: 3 }),
      })
      const seed = fixedSeed(t, fixed)
      let accepted = 0
      let refused = 0
      const check = (which: number, edits: Edit[]) => {
        const text = edited(originals[which % originals.length]!, edits)
        try {
          const scenario = parseScenario(text, 'x.yaml')
          const topology = new Topology(scenario)
          for (const flow of scenario.flows) {
            // An accepted scenario can be run: numbers are numbers, and every flow has a path.
            if (!(idealFctNs(topology, scenario, flow) > 0 && Number.isInteger(flow.bytes + flow.startNs)))
              return false
          }
          expandTraffic(scenario)
          accepted++
        } catch (error) {
          if (!(error instanceof WeirError) || error.code !== 'WEIR_BAD_SCENARIO') throw error
          const lines = error.message.split('\n')
          const count = text.split('\n').length
          for (const line of lines) {
            const place = /^x\.yaml:(\d+):\d+: \S/.exec(line)
            const inside = place !== null && Number(place[1]) <= count
            if (!inside && !/^x\.yaml: and \d+ more problems$/.test(line)) return false
          }
          refused++
        }
        return true
      }
      fc.assert(fc.property(fc.nat(), fc.array(edit, { minLength: 1, maxLength: 4 }), check), {
        seed,
        numRuns: runs,
      })
      if (!isReplay)
        t.ok(accepted > runs / 10 && refused > runs / 4, `${accepted} accepted, ${refused} refused`)
    },
  )
}

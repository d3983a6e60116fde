/**
 * AI ECN beside static thresholds on the scenario `ai-ecn`, in virtual time: mice, elephants and incast in turn. Each kind by its figure
 * (`ai-ecn/metrics.ts`) and as a multiple of that of the static thresholds that are best for it; the sequence by the geometric mean of
 * these.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { packageFile } from '../lib/package-file.js'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { figureOf, geometricMean, goodputBps, KINDS, type Kind, pausesOf } from './ai-ecn/metrics.js'

/** Static thresholds, KB: over two orders of magnitude. */
const STATIC_KB = [3, 5, 10, 20, 50, 100, 200, 400, 600]
const MODES = ['full', 'models', 'tune']

const SCENARIO = {
  thresholds: 'ecn: { kmin: 50KB, kmax: 50KB, pmax: 1 }',
  aiEcn: 'aiEcn: {}',
  cc: 'cc: dctcp',
  transport: 'pathMtu: 4096',
  xoff: '300KB',
} as const

interface SettingFigures {
  setting: string
  figures: Record<Kind, number>
  /** Multiples of the best static thresholds for that kind. */
  ratios: Record<Kind, number>
  geometricMean: number
  elephantsBps: number
  pauses: number
  meanQueueBytes: number
  changes: number
}

/** Arguments: `--cc dcqcn` instead of DCTCP, `--start careful` for flows that do not begin at line rate, `--xoff 250KB` of PFC. */
export function run(args: string[]): { benchmark: 'ai-ecn'; figures: SettingFigures[] } {
  const { values } = parseArgs({
    args,
    options: {
      cc: { type: 'string', default: 'dctcp' },
      start: { type: 'string', default: 'line-rate' },
      xoff: { type: 'string', default: SCENARIO.xoff },
      json: { type: 'boolean' },
    },
  })
  const text = withController(
    replaced(
      readFileSync(packageFile('bench', 'scenarios', 'ai-ecn.yaml'), 'utf8'),
      `xoff: ${SCENARIO.xoff}`,
      `xoff: ${values.xoff}`,
    ),
    values.cc,
    values.start,
  )
  const statics = STATIC_KB.map(kb => ({
    setting: `${kb}KB`,
    result: runOf(withStatic(text, kb, values.cc)),
  }))
  const followed = MODES.map(mode => ({
    setting: `aiEcn ${mode}`,
    result: runOf(replaced(text, SCENARIO.aiEcn, `aiEcn: { mode: ${mode} }`)),
  }))
  const best = byKind(kind => Math.min(...statics.map(({ result }) => figureOf(kind, result))))
  const figures = [...statics, ...followed].map(({ setting, result }) => figuresOf(setting, result, best))
  if (!values.json) process.stdout.write(printed(figures))
  return { benchmark: 'ai-ecn', figures }
}

function withController(text: string, cc: string, start: string): string {
  const more = `${cc === 'dcqcn' ? ', cnpPriority: 6' : ''}${start === 'line-rate' ? '' : `, start: ${start}`}`
  return replaced(
    replaced(text, SCENARIO.cc, `cc: ${cc}`),
    SCENARIO.transport,
    `${SCENARIO.transport}${more}`,
  )
}

/** A step for DCTCP, which its paper asks for; a ramp for others. */
function withStatic(text: string, kb: number, cc: string): string {
  const ecn = cc === 'dctcp' ? `kmax: ${kb}KB, pmax: 1` : `kmax: ${4 * kb}KB, pmax: 0.2`
  return replaced(
    replaced(text, SCENARIO.thresholds, `ecn: { kmin: ${kb}KB, ${ecn} }`),
    SCENARIO.aiEcn,
    'aiEcn: { mode: observe }',
  )
}

function replaced(text: string, what: string, by: string): string {
  if (!text.includes(what)) throw new Error(`the scenario has no ${what}`)
  return text.replace(what, by)
}

function runOf(text: string): RunResult {
  return new VirtualRun(parseScenario(text, 'ai-ecn.yaml')).run()
}

function figuresOf(setting: string, result: RunResult, best: Record<Kind, number>): SettingFigures {
  const figures = byKind(kind => figureOf(kind, result))
  const ratios = byKind(kind => figures[kind] / best[kind])
  const port = result.ports.find(({ name }) => name === 's1:r')!
  return {
    setting,
    figures,
    ratios,
    geometricMean: geometricMean(Object.values(ratios)),
    elephantsBps: goodputBps(result),
    pauses: pausesOf(result),
    meanQueueBytes: port.meanQueueBytes,
    changes: (port as unknown as { aiEcn: { changes: number } }).aiEcn.changes,
  }
}

function byKind(value: (kind: Kind) => number): Record<Kind, number> {
  return { mice: value('mice'), elephants: value('elephants'), incast: value('incast') }
}

function printed(all: readonly SettingFigures[]): string {
  const head =
    'thresholds      mice p99      elephants        incast         mean ratio  pauses  mean queue  changes\n'
  const rows = all.map(({ setting, figures, ratios, geometricMean: ratio, elephantsBps, ...more }) => {
    const cell = (kind: Kind, value: string) => `${value.padStart(8)} (${ratios[kind].toFixed(3)})`
    const cells = [
      cell('mice', `${(figures.mice / 1e3).toFixed(1)} us`),
      cell('elephants', `${(elephantsBps / 1e9).toFixed(1)}G`),
      cell('incast', `${(figures.incast / 1e3).toFixed(0)} us`),
    ]
    const rest = [ratio.toFixed(3), more.pauses, `${Math.round(more.meanQueueBytes / 1e3)} KB`, more.changes]
    return `${setting.padEnd(13)}${cells.join(' ')}  ${rest.map(value => String(value).padStart(8)).join(' ')}\n`
  })
  return `${head}${rows.join('')}${KINDS.join(', ')}: in brackets the ratio to the best static thresholds for them; less is better\n`
}

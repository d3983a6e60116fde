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
import { parseBytes } from '../lib/units/units.js'
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
export function run(args: string[]): {
  benchmark: 'ai-ecn'
  figures: SettingFigures[]
  belowXoff: SettingFigures[]
} {
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
  const figures = beside(statics, [...statics, ...followed])
  // A static threshold above that of PFC never acts before it, and AI ECN always does.
  const xoff = parseBytes(values.xoff)
  const below = statics.filter((_, i) => kmaxKb(STATIC_KB[i]!, values.cc) * 1000 < xoff)
  const belowXoff = below.length > 0 ? beside(below, [...below, ...followed]) : []
  if (!values.json)
    process.stdout.write(
      `${printed(figures)}\n${verdict('all', figures)}${below.length > 0 ? verdict('those with Kmax below xoff', belowXoff) : ''}`,
    )
  return { benchmark: 'ai-ecn', figures, belowXoff }
}

interface Run {
  setting: string
  result: RunResult
}

/** Figures of runs, with ratios to the best of the static ones. */
function beside(statics: readonly Run[], runs: readonly Run[]): SettingFigures[] {
  const best = byKind(kind => Math.min(...statics.map(({ result }) => figureOf(kind, result))))
  return runs.map(({ setting, result }) => figuresOf(setting, result, best))
}

/** What the experiment is for: AI ECN beside the best static thresholds for each kind, the best single ones, and all their pauses. */
function verdict(which: string, figures: readonly SettingFigures[]): string {
  const followed = figures.find(({ setting }) => setting === `aiEcn ${MODES[0]}`)!
  const statics = figures.filter(({ setting }) => !setting.startsWith('aiEcn'))
  const single = statics.reduce((a, b) => (b.geometricMean < a.geometricMean ? b : a))
  const pauses = statics.map(one => one.pauses).sort((a, b) => a - b)
  const ratios = KINDS.map(kind => `${kind} ${followed.ratios[kind].toFixed(3)}`).join(', ')
  return (
    `of the static thresholds, ${which}: AI ECN ${ratios} of the best for each; mean ${followed.geometricMean.toFixed(3)}, ` +
    `best single ${single.geometricMean.toFixed(3)} (${single.setting}); pauses ${followed.pauses}, of the best single ${single.pauses}, ` +
    `median ${pauses[Math.floor((pauses.length - 1) / 2)]}\n`
  )
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
  const ecn = `kmax: ${kmaxKb(kb, cc)}KB, pmax: ${cc === 'dctcp' ? 1 : 0.2}`
  return replaced(
    replaced(text, SCENARIO.thresholds, `ecn: { kmin: ${kb}KB, ${ecn} }`),
    SCENARIO.aiEcn,
    'aiEcn: { mode: observe }',
  )
}

function kmaxKb(kminKb: number, cc: string): number {
  return cc === 'dctcp' ? kminKb : 4 * kminKb
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

/**
 * Measures every congestion controller that can run on plain networks (`plainNetworks` of its description) on paths
 * whose switches write no telemetry, in virtual time: the common networks of `networks`, links of a data centre
 * without marks and with them, and other RoCEv2 peers. TCP is the model of Linux's CUBIC that the tests have.
 *
 * A row's best is the highest goodput of the controllers that keep to `LIMITS` there. `auto` is to be within 5 %.
 */
import { parseArgs } from 'node:util'
import { describeControllers } from '../lib/cc/describe-controller.js'
import { WeirError } from '../lib/errors.js'
import { jainIndex } from '../lib/scenario/result/fairness.js'
import {
  beside,
  DAEMON,
  type FlowOutcome,
  type FlowPlan,
  goodputBps,
  WEIR_PACKET_BYTES,
} from '../test/sim/beside.js'
import { SEGMENT_BYTES } from '../test/sim/linux-tcp.js'
import { type SilentPath, silentPaths } from './networks/silent-paths.js'
import { table } from './support/table.js'
import { wholeNumber } from './support/whole-number.js'

/** A controller that does not keep to these is no candidate for a row's best. */
const LIMITS = {
  /** Share of data packets dropped by queues; where TCP drops more, as much as TCP. */
  dropsMost: 0.01,
  /** Goodput beside TCP, relative to TCP's, where they share a path. */
  shareLeast: 1 / 3,
  shareMost: 3,
}
/** How far `auto` may be behind the best. */
const NEAR = 0.95
const DEFAULT = 'auto'

/** A controller on a path. */
export interface SilentFigures {
  controller: string
  /** Mean goodput of all its flows together, bit/s, from the time on after which the row is measured. */
  goodputBps: number
  /** Share of its packets that were dropped, over all of the time. */
  dropShare: number
  /** Jain's index of its flows; of one flow 1. */
  jain: number
  /** Goodput of one flow beside one of TCP, relative to TCP's. Null where no TCP is on such paths. */
  share: number | null
  timeouts: number
}

interface SilentRow {
  path: string
  /** That of TCP by itself, if it is measured there. */
  tcp: SilentFigures | null
  figures: SilentFigures[]
  best: string
  /** Goodput of `auto`, relative to the best; null where `auto` was not measured. */
  ratio: number | null
}

interface SilentResult {
  benchmark: 'silent-paths'
  seed: number
  rows: SilentRow[]
}

/**
 * Arguments: `--only PART_OF_A_NAME`, `--cc NAME` (default: all that can run there), `--seed 1`. Throws WEIR_BAD_ARGUMENT for a
 * path or controller that there is not.
 */
export function run(args: string[]): SilentResult {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', default: '' },
      cc: { type: 'string', default: '' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  })
  const paths = silentPaths().filter(({ name }) => name.includes(values.only))
  if (paths.length === 0)
    throw unknown(
      '--only',
      silentPaths().map(({ name }) => name),
    )
  const names = controllersFor(values.cc)
  const seed = wholeNumber('--seed', values.seed)
  const rows = paths.map(path => {
    const row = rowOf(path, names, seed)
    if (!values.json) process.stdout.write(`${printed(row)}\n`)
    return row
  })
  return { benchmark: 'silent-paths', seed, rows }
}

function unknown(option: string, names: readonly string[]): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `${option} is a part of one of: ${names.join('; ')}`)
}

function controllersFor(name: string): string[] {
  const names = describeControllers().filter(({ plainNetworks }) => plainNetworks.works)
  const all = names.map(one => one.name)
  if (name !== '' && !all.includes(name)) throw unknown('--cc', all)
  return name === '' ? all : [name]
}

/** Measures a row. @param names of controllers */
export function rowOf(path: SilentPath, names: readonly string[], seed: number): SilentRow {
  const tcp = path.withTcp ? figuresOf('TCP', path, seed, 'tcp') : null
  const figures = names.map(name => figuresOf(name, path, seed, 'weir'))
  const best = bestOf(figures, tcp)
  const standard = figures.find(({ controller }) => controller === DEFAULT)
  const ratio = standard === undefined ? null : standard.goodputBps / best.goodputBps
  return { path: path.name, tcp, figures, best: best.controller, ratio }
}

function figuresOf(
  controller: string,
  path: SilentPath,
  seed: number,
  kind: FlowPlan['kind'],
): SilentFigures {
  const { flows: count, seconds, settleSeconds, link } = path
  const config = { ...DAEMON, ...path.config, cc: { name: controller, options: {} } }
  const plan = { kind, startNs: 0 }
  const alone = beside(link, Array<FlowPlan>(count).fill(plan), seconds, seed, config)
  const rates = alone.map(flow => goodputBps(flow, settleSeconds))
  return {
    controller,
    goodputBps: rates.reduce((sum, rate) => sum + rate, 0),
    dropShare: dropShare(alone, kind === 'tcp' ? SEGMENT_BYTES : WEIR_PACKET_BYTES),
    jain: jainIndex(rates),
    share: path.withTcp && kind === 'weir' ? shareBesideTcp(path, seed, config) : null,
    timeouts: alone.reduce((sum, flow) => sum + flow.timeouts, 0),
  }
}

/** A second sender's share beside TCP's, from the same time on as a row's. */
function shareBesideTcp({ link, seconds, settleSeconds }: SilentPath, seed: number, config: Config): number {
  const plans: FlowPlan[] = [
    { kind: 'weir', startNs: 0 },
    { kind: 'tcp', startNs: 0 },
  ]
  const [weir, tcp] = beside(link, plans, seconds, seed, config)
  return goodputBps(weir!, settleSeconds) / goodputBps(tcp!, settleSeconds)
}

type Config = Parameters<typeof beside>[4]

function dropShare(flows: readonly FlowOutcome[], packetBytes: number): number {
  const dropped = flows.reduce((sum, flow) => sum + flow.droppedPackets, 0)
  const delivered = flows.reduce((sum, flow) => sum + flow.bytes.at(-1)! / packetBytes, 0)
  return dropped / (delivered + dropped)
}

/** The fastest of those that keep to `LIMITS`; the one that drops least where none does. */
export function bestOf(figures: readonly SilentFigures[], tcp: SilentFigures | null): SilentFigures {
  const dropsMost = Math.max(LIMITS.dropsMost, tcp?.dropShare ?? 0)
  const keeping = figures.filter(
    ({ dropShare, share }) =>
      dropShare <= dropsMost && (share === null || (share >= LIMITS.shareLeast && share <= LIMITS.shareMost)),
  )
  if (keeping.length === 0)
    return figures.reduce((best, one) => (one.dropShare < best.dropShare ? one : best))
  return keeping.reduce((best, one) => (one.goodputBps > best.goodputBps ? one : best))
}

function printed({ path, tcp, figures, best, ratio }: SilentRow): string {
  const rows = [...(tcp === null ? [] : [tcp]), ...figures].map(one => [
    one.controller,
    (one.goodputBps / 1e6).toFixed(2),
    `${(100 * one.dropShare).toFixed(2)} %`,
    one.jain.toFixed(3),
    one.share === null ? '-' : one.share.toFixed(2),
    String(one.timeouts),
  ])
  const verdict =
    ratio === null ? '' : `; auto has ${(100 * ratio).toFixed(1)} % of it: ${ratio >= NEAR ? 'near' : 'FAR'}`
  return `${path}: best ${best}${verdict}\n${table(['controller', 'Mbit/s', 'dropped', 'Jain', 'beside TCP', 'timeouts'], rows, 1)}`
}

/**
 * Times the operations of this checkout beside those of another one, in one process, in short slices in turn. Processes in turn
 * do not do here: a machine may become twice as slow within a second, and a process compiles for some seconds.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { median } from '../../lib/scenario/result/fairness.js'
import { table } from '../support/table.js'
import { type MicroParts, operationsOf } from './operations.js'
import type { Operation } from './time-operations.js'

/** Time of a slice, and of both together before the first counts, ms. */
const SLICE_MS = 15
const WARM_UP_MS = 1500
const COUNT_MAX = 1 << 24

export interface Beside {
  name: string
  /** Medians of the slices, ns. */
  here: number
  other: number
  /** The time here by the other's in the same turn: median and quartiles. */
  ratio: number
  ratioLow: number
  ratioHigh: number
}

/** The operations of a checkout whose names have all these parts: of its bundle, or of its files where there is none. */
export async function operationsIn(folder: string, parts: readonly string[]): Promise<Operation[]> {
  const compiled = join(folder, 'dist', 'bench')
  const bundle = join(compiled, 'bundled', 'micro.js')
  const load = (file: string) => import(pathToFileURL(file).href)
  if (existsSync(bundle)) return (await load(bundle)).chosenOperations(parts)
  const files = ['wire-operations', 'container-operations', 'joined-nics']
  const [wire, container, nics] = await Promise.all(
    files.map(file => load(join(compiled, 'micro', `${file}.js`))),
  )
  return operationsOf({ ...wire, ...container, ...nics } as MicroParts, parts)
}

/** Times the operations that both have. */
export function timeBeside(
  here: readonly Operation[],
  other: readonly Operation[],
  slices: number,
): Beside[] {
  return here.flatMap(operation => {
    const twin = other.find(({ name }) => name === operation.name)
    return twin === undefined ? [] : timePair(operation, twin, slices)
  })
}

function timePair(here: Operation, other: Operation, slices: number): Beside {
  const pair = [here, other] as const
  const count = warmUp(pair)
  const times: [number[], number[]] = [[], []]
  for (let slice = 0; slice < slices; slice++) {
    for (const i of slice % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      times[i].push((wallMsOf(pair[i], count) * 1e6) / count)
    }
  }
  const ratios = times[0].map((ns, slice) => ns / times[1][slice]!).sort((a, b) => a - b)
  return {
    name: here.name,
    here: median(times[0]),
    other: median(times[1]),
    ratio: median(ratios),
    ratioLow: ratios[ratios.length >> 2]!,
    ratioHigh: ratios[(3 * ratios.length) >> 2]!,
  }
}

/** Runs both until V8 has compiled them. Returns how many operations a slice has: as many of one as of the other. */
function warmUp(pair: readonly [Operation, Operation]): number {
  const end = performance.now() + WARM_UP_MS
  let count = 64
  while (performance.now() < end) {
    const ms = Math.max(...pair.map(operation => wallMsOf(operation, count)))
    const next = ms < SLICE_MS / 2 ? 2 * count : Math.round((count * SLICE_MS) / ms)
    count = Math.min(COUNT_MAX, Math.max(1, next))
  }
  return count
}

/** Wall time: what V8 compiles meanwhile in other threads counts as CPU time of the process. */
function wallMsOf(operation: Operation, count: number): number {
  const start = performance.now()
  operation.run(count)
  return performance.now() - start
}

export function printBeside(results: readonly Beside[], against: string, slices: number): string {
  const digits = (ns: number) => ns.toFixed(ns < 100 ? 1 : 0)
  const rows = results.map(({ name, here, other, ratio, ratioLow, ratioHigh }) => [
    name,
    digits(here),
    digits(other),
    ratio.toFixed(3),
    `${ratioLow.toFixed(2)} to ${ratioHigh.toFixed(2)}`,
  ])
  const head = `micro beside ${against}: ns, medians of ${slices} slices in turn in one process`
  return `${head}\n${table(['operation', 'here', 'other', 'ratio', 'quartiles'], rows, 1)}\n`
}

/** The traffic by which the models of AI ECN are trained. It is not that of the scenario `ai-ecn`, but of the same kinds. */
import type { Random } from '../../lib/sim/random.js'
import type { Kind } from './metrics.js'

export interface Workload {
  kind: Kind
  /** Entries of `traffic`. */
  traffic: string[]
}

const MICE_HOSTS = 4
const MICE_MS = 2

/** Kinds of traffic at several loads. The seed draws when mice begin. */
export function workloads(random: Random): Workload[] {
  return [
    mice(random, 8, 0.2, 1),
    mice(random, 24, 0.45, 3),
    elephants(2),
    elephants(4),
    incast(10, 1000),
    incast(12, 400),
    incast(14, 300),
    incast(20, 600),
  ]
}

/** Mice of `kb` at that share of 100 Gbit/s beside long flows, which outlast them. */
function mice(random: Random, kb: number, load: number, beside: number): Workload {
  const everyNs = Math.round((kb * 8000 * MICE_HOSTS) / (load * 100))
  const repeat = Math.floor((MICE_MS * 1e6) / everyNs)
  const of = (i: number) => {
    const startNs = 200_000 + Math.floor(random.next() * everyNs)
    return `{ name: mouse${i}, from: m${i}, to: r, size: ${kb}KB, start: ${startNs}ns, repeat: ${repeat}, every: ${everyNs}ns }`
  }
  const bytes = Math.round((((1.2 * MICE_MS) / 1e3) * (1 - load) * 12.5e9) / beside)
  return {
    kind: 'mice',
    traffic: [
      `{ name: beside, incast: [h1..h${beside}], to: r, size: ${bytes}B }`,
      ...Array.from({ length: MICE_HOSTS }, (_, i) => of(i + 1)),
    ],
  }
}

function elephants(flows: number): Workload {
  const bytes = Math.round((0.0025 * 12.5e9) / flows)
  return {
    kind: 'elephants',
    traffic: [`{ name: elephant, incast: [h1..h${flows}], to: r, size: ${bytes}B }`],
  }
}

function incast(senders: number, kb: number): Workload {
  const everyNs = Math.round(senders * kb * 80 * 1.3)
  return {
    kind: 'incast',
    traffic: [
      `{ name: burst, incast: [h1..h${senders}], to: r, size: ${kb}KB, repeat: 3, every: ${everyNs}ns }`,
    ],
  }
}

/** `watch` of a scenario file: what is sampled. */

import { show } from '../../options/read-value.js'
import type { Problems } from '../model/problems.js'
import type { Watch } from '../model/scenario.js'
import type { PathHop, Topology } from '../model/topology.js'
import { checkShape } from '../schema/check-shape.js'
import { watchSchema } from '../schema/settings.js'
import { resolvePorts } from './ports.js'

const DEFAULT_WATCH_EVERY_NS = 100_000
/** With shorter intervals a run spends most of its time on samples. */
const WATCH_EVERY_LEAST_NS = 100

/** @param topology null when the network has problems of its own; then ports are not checked */
export function resolveWatch(
  problems: Problems,
  value: unknown,
  topology: Topology | null,
  switchNames: readonly string[],
): Watch {
  if (value === undefined) return { queues: [], everyNs: DEFAULT_WATCH_EVERY_NS, flows: false }
  const shape = checkShape(problems, ['watch'], watchSchema, value, 'watch')
  if (shape?.every !== undefined && shape.every < WATCH_EVERY_LEAST_NS)
    problems.at(['watch', 'every'], `every is at least ${WATCH_EVERY_LEAST_NS}ns, not ${shape.every}ns`)
  const hops = resolveQueues(problems, shape?.queues === undefined ? [] : shape.queues, topology, switchNames)
  return {
    queues: [...new Set(hops)].map(hop => ({ switch: hop.node, port: hop.port })),
    everyNs: shape?.every ?? DEFAULT_WATCH_EVERY_NS,
    flows: shape?.flows ?? true,
  }
}

function resolveQueues(
  problems: Problems,
  wanted: unknown,
  topology: Topology | null,
  switchNames: readonly string[],
): PathHop[] {
  const path = ['watch', 'queues']
  if (wanted !== 'all' && !Array.isArray(wanted)) {
    problems.at(
      path,
      `queues is a list of ports ([s1:s2], a switch and its neighbour) or 'all', not ${show(wanted)}`,
    )
    return []
  }
  if (topology === null) return []
  if (wanted === 'all') return switchNames.flatMap(name => [...topology.ports(name)])
  const items = wanted as unknown[]
  return items.flatMap((item, i) =>
    resolvePorts(problems, [...path, i], item, topology, switchNames, 'a watched port'),
  )
}

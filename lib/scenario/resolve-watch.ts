/** What a scenario file wants to have sampled. */
import { show } from './fields.js'
import { offer } from './names.js'
import type { Path, Problems } from './problems.js'
import type { Watch } from './scenario.js'
import { checkShape, watchSchema } from './schema.js'
import type { Hop, Topology } from './topology.js'

export const DEFAULT_WATCH_EVERY_NS = 100_000

/** @param topology null when the network has problems of its own: ports are not looked at then */
export function resolveWatch(
  problems: Problems,
  value: unknown,
  topology: Topology | null,
  switchNames: readonly string[],
): Watch {
  if (value === undefined) return { queues: [], everyNs: DEFAULT_WATCH_EVERY_NS, flows: false }
  const shape = checkShape(problems, ['watch'], watchSchema, value, 'watch')
  const hops = resolveQueues(problems, shape?.queues ?? [], topology, switchNames)
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
): Hop[] {
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
  return items.flatMap((item, i) => resolvePorts(problems, [...path, i], item, topology, switchNames))
}

/** `s1:s2` (all links to that neighbour), `s1:s2#1` (one of parallel links, from 0) or `s1:0` (by port number). */
function resolvePorts(
  problems: Problems,
  path: Path,
  item: unknown,
  topology: Topology,
  switchNames: readonly string[],
): Hop[] {
  const match = typeof item === 'string' ? /^([^:]+):([^:#]+)(?:#(\d+))?$/.exec(item) : null
  if (match === null) {
    problems.at(path, `a watched port is written as s1:s2, a switch and its neighbour, not ${show(item)}`)
    return []
  }
  const [, name = '', peer = '', copy] = match
  if (!switchNames.includes(name)) {
    problems.at(path, `no switch is called '${name}'; there are ${offer(name, switchNames)}`)
    return []
  }
  const ports = topology.ports(name)
  if (/^\d+$/.test(peer)) {
    const hop = ports[Number(peer)]
    if (hop === undefined)
      problems.at(path, `${name} has no port ${peer}; its ports are 0 to ${ports.length - 1}`)
    return hop === undefined ? [] : [hop]
  }
  const links = ports.filter(hop => hop.peer === peer)
  if (links.length === 0) {
    const peers = [...new Set(ports.map(hop => hop.peer))]
    problems.at(path, `${name} has no port to '${peer}'; its neighbours are ${offer(peer, peers)}`)
  }
  if (copy === undefined || links.length === 0) return links
  const chosen = links[Number(copy)]
  if (chosen === undefined) {
    const count = `${links.length} link${links.length === 1 ? '' : 's'}`
    problems.at(path, `${name} has ${count} to '${peer}', counted from #0`)
  }
  return chosen === undefined ? [] : [chosen]
}

/** Ports as scenario files name them: by the neighbour, or by number. */

import { WeirError } from '../../errors.js'
import { offer } from '../../offer.js'
import { show } from '../../options/read-value.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { Scenario } from '../model/scenario.js'
import { type PathHop, portName, Topology } from '../model/topology.js'

/**
 * Returns the ports of a name: `s1:s2` (all links of s1 to s2), `s1:s2#1` (one of parallel links, from 0) or
 * `s1:0` (a port number). Reports what is wrong, and returns no ports then.
 *
 * @param what name of the value in messages, with its article: "a watched port"
 */
export function resolvePorts(
  problems: Pick<Problems, 'at'>,
  path: DocumentPath,
  item: unknown,
  topology: Topology,
  switchNames: readonly string[],
  what: string,
): PathHop[] {
  const match = typeof item === 'string' ? /^([^:]+):([^:#]+)(#\d+)?$/.exec(item) : null
  if (match === null) {
    problems.at(path, `${what} is written as s1:s2, a switch and its neighbour, not ${show(item)}`)
    return []
  }
  const [, name = '', peer = '', copy = ''] = match
  if (!switchNames.includes(name)) {
    problems.at(path, `no switch is called '${name}'; there are ${offer(name, switchNames)}`)
    return []
  }
  return resolvePeer(problems, path, name, peer + copy, topology)
}

/** Returns the ports that a command's argument such as `s1:s2` names. Throws WEIR_BAD_ARGUMENT. */
export function portsOf(scenario: Pick<Scenario, 'hosts' | 'switches' | 'links'>, text: string): PathHop[] {
  const found: string[] = []
  const problems = { at: (_path: DocumentPath, message: string) => void found.push(message) }
  const names = scenario.switches.map(({ name }) => name)
  const hops = resolvePorts(problems, [], text, new Topology(scenario), names, 'a port')
  if (found.length > 0) throw new WeirError('WEIR_BAD_ARGUMENT', found.join('; '))
  return hops
}

/** Returns the names of the scenario's ports in order: `s1:s2`, or `s1:s2#1` for parallel links. */
export function portNames(
  scenario: Pick<Scenario, 'hosts' | 'switches' | 'links'>,
  hops: readonly PathHop[],
): string[] {
  const topology = new Topology(scenario)
  return hops.map(({ node, port }) => portName(topology, node, port))
}

/**
 * Returns the ports of a switch that `s2`, `s2#1` or `0` names. Reports what is wrong, and returns no ports
 * then.
 */
export function resolvePeer(
  problems: Pick<Problems, 'at'>,
  path: DocumentPath,
  name: string,
  text: string,
  topology: Topology,
): PathHop[] {
  const [peer = '', copy] = text.split('#')
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

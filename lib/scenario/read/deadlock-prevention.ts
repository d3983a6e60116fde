/**
 * `deadlockPrevention` of a scenario file: port groups, and the priority of packets that pass two ports of
 * one group.
 */

import { show } from '../../options/read-value.js'
import { dscpMap } from '../model/priorities.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { DeadlockPreventionSettings, PortGroup, ScenarioSwitch } from '../model/scenario.js'
import type { PathHop, Topology } from '../model/topology.js'
import { checkShape } from '../schema/check-shape.js'
import { preventionSchema } from '../schema/network.js'
import { resolvePorts } from './ports.js'

const GROUPS_MAX = 31
const DSCPS = 64

/** By convention the lossless class. */
const DEFAULT_FROM = 3

/** @param topology null when the network has problems of its own; then groups are not checked */
export function resolveDeadlockPrevention(
  problems: Problems,
  value: unknown,
  topology: Topology | null,
  switches: readonly ScenarioSwitch[],
): DeadlockPreventionSettings | undefined {
  if (value === undefined) return undefined
  const path = ['deadlockPrevention']
  const shape = checkShape(problems, path, preventionSchema, value, 'deadlockPrevention')
  if (shape === null) return undefined
  const names = switches.map(({ name }) => name)
  const ports = resolveGroups(problems, [...path, 'groups'], shape.groups, topology, names)
  const { from = DEFAULT_FROM, to } = shape
  if (to === undefined) return undefined
  if (to === from) problems.at([...path, 'to'], `packets of priority ${from} must move to another one`)
  const groups = ports.map(group => {
    const sw = switches.find(({ name }) => name === group.switch)!
    return { ...group, dscp: resolveDscp(problems, path, sw, to, shape.dscp) }
  })
  return { groups, from, to }
}

/** Returns the new DSCP of packets at one switch. It must lead to their new priority there. */
function resolveDscp(
  problems: Problems,
  path: DocumentPath,
  sw: ScenarioSwitch,
  to: number,
  given?: number,
): number {
  const map = dscpMap(sw)
  const leads = (dscp: number) => (map[dscp] ?? 0) === to
  if (sw.pcpToTc !== undefined && to !== 0 && !Object.values(sw.pcpToTc).includes(to)) {
    problems.at([...path, 'to'], `${sw.name} maps no PCP to priority ${to}; map one to it (pcpToTc)`)
  }
  const dscp = [given ?? 8 * to, ...(given === undefined ? Array(DSCPS).keys() : [])].find(leads)
  if (dscp !== undefined) return dscp
  if (given === undefined)
    problems.at([...path, 'to'], `${sw.name} maps no DSCP to priority ${to}; map one to it`)
  else
    problems.at([...path, 'dscp'], `${sw.name} maps DSCP ${given} to priority ${map[given] ?? 0}, not ${to}`)
  return 0
}

function resolveGroups(
  problems: Problems,
  path: DocumentPath,
  value: unknown,
  topology: Topology | null,
  switchNames: readonly string[],
): Omit<PortGroup, 'dscp'>[] {
  if (!Array.isArray(value) || value.length === 0 || !value.every(Array.isArray)) {
    problems.at(
      path,
      `groups is a list of lists of ports ([[s1:s2, s1:s3]]), each of one switch, not ${show(value ?? null)}`,
    )
    return []
  }
  if (topology === null) return []
  const groups: Omit<PortGroup, 'dscp'>[] = []
  for (const [g, items] of (value as unknown[][]).entries()) {
    const hops = items.flatMap((item, i) =>
      resolvePorts(problems, [...path, g, i], item, topology, switchNames, 'a port of a group'),
    )
    const group = oneSwitch(problems, [...path, g], hops)
    if (group === null) continue
    groups.push(group)
    if (groups.filter(({ switch: name }) => name === group.switch).length > GROUPS_MAX)
      problems.at([...path, g], `${group.switch} has more than ${GROUPS_MAX} groups`)
  }
  return groups
}

/** Ingress and egress port of a packet are at one switch, so a group cannot span several. */
function oneSwitch(
  problems: Problems,
  path: DocumentPath,
  hops: readonly PathHop[],
): Omit<PortGroup, 'dscp'> | null {
  const [first] = hops
  if (first === undefined) {
    problems.at(path, 'a group has at least one port')
    return null
  }
  const other = hops.find(hop => hop.node !== first.node)
  if (other !== undefined) {
    problems.at(
      path,
      `a group is of ports of one switch; ${first.node} and ${other.node} need groups of their own`,
    )
    return null
  }
  return { switch: first.node, ports: [...new Set(hops.map(hop => hop.port))] }
}

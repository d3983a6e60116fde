/** `vtep` of a scenario file: the ends of virtual networks, and the hosts behind each. */
import { offer } from '../../offer.js'
import { show } from '../../options/read-value.js'
import { expandNames } from '../model/names.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { Link, Scenario, ScenarioHost, ScenarioSwitch } from '../model/scenario.js'
import { tunnelBytes, type VtepEnd, type VtepNetwork, vniOfHosts } from '../model/vtep.js'
import { longestPacketBytes } from '../model/wire-sizes.js'
import { checkShape } from '../schema/check-shape.js'
import { innerHostSchema, vtepEndSchema, vtepSchema } from '../schema/vtep.js'

const NETWORKS_MAX = 64
const DEFAULT_MTU_BYTES = 4500

interface VtepContext {
  problems: Problems
  hosts: readonly ScenarioHost[]
  switches: readonly ScenarioSwitch[]
  links: readonly Link[]
}

/** Takes one virtual network, or a list of them. */
export function resolveVtep(context: VtepContext, value: unknown): VtepNetwork[] {
  if (value === undefined) return []
  const { problems } = context
  const items = Array.isArray(value)
    ? value.map((item, i) => ({ item, path: ['vtep', i] as DocumentPath }))
    : [{ item: value, path: ['vtep'] as DocumentPath }]
  if (items.length > NETWORKS_MAX) problems.at(['vtep'], `more than ${NETWORKS_MAX} virtual networks`)
  const found: VtepNetwork[] = []
  for (const { item, path } of items.slice(0, NETWORKS_MAX)) {
    const network = resolveNetwork(context, path, item)
    if (network === null) continue
    if (found.some(({ vni }) => vni === network.vni))
      problems.at([...path, 'vni'], `VNI ${network.vni} is described already; give each its own number`)
    checkMembers(context, path, network, found)
    found.push(network)
  }
  return found
}

function resolveNetwork(context: VtepContext, path: DocumentPath, item: unknown): VtepNetwork | null {
  const { problems } = context
  const shape = checkShape(problems, path, vtepSchema, item, 'vtep')
  if (shape === null) return null
  const { vni, ecn = 'normal', mtu: mtuBytes = DEFAULT_MTU_BYTES } = shape
  const at = [...path, 'ends']
  const before = problems.count
  const ends = resolveEnds(context, at, shape.ends)
  if (problems.count === before) checkEnds(problems, at, ends)
  return vni === undefined ? null : { vni, ecn, mtuBytes, ends }
}

function resolveEnds(context: VtepContext, path: DocumentPath, value: unknown): VtepEnd[] {
  const { problems } = context
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMapping && !Array.isArray(value)) {
    problems.at(
      path,
      `ends is a list of names ([s1, s2]), or a mapping of names to settings, not ${show(value ?? null)}`,
    )
    return []
  }
  const entries: [string, unknown, DocumentPath][] = isMapping
    ? Object.entries(value).map(([name, end]) => [name, end ?? {}, [...path, name]])
    : value.map((name, i) => [String(name), {}, [...path, i]])
  const ends: VtepEnd[] = []
  for (const [text, settings, at] of entries) {
    const names = expandNames(text)
    if ('wrong' in names) problems.atKey(at, names.wrong)
    for (const name of 'wrong' in names ? [] : names) {
      const end = resolveEnd(context, at, name, settings)
      if (end === null) continue
      if (ends.some(({ node }) => node === name)) problems.atKey(at, `${name} is an end twice; leave one out`)
      else ends.push(end)
    }
  }
  return ends
}

function resolveEnd(
  context: VtepContext,
  path: DocumentPath,
  node: string,
  settings: unknown,
): VtepEnd | null {
  const { problems, hosts, switches } = context
  const shape = checkShape(problems, path, vtepEndSchema, settings, 'an end of tunnels')
  if (shape === null) return null
  const host = hosts.find(({ name }) => name === node)
  const sw = switches.find(({ name }) => name === node)
  if (host === undefined && sw === undefined) {
    const names = [...switches, ...hosts].map(({ name }) => name)
    problems.atKey(path, `no switch or host is called '${node}'; there are ${offer(node, names)}`)
    return null
  }
  if (sw !== undefined) {
    if (shape.inner !== undefined)
      problems.at([...path, 'inner'], `${node} is a switch; hosts is what is behind it`)
    const address = shape.address ?? `10.254.${sw.id >>> 8}.${sw.id & 0xff}`
    return { node, address, hosts: resolveHosts(context, path, node, shape.hosts), inner: [] }
  }
  for (const key of ['address', 'hosts'] as const)
    if (shape[key] !== undefined)
      problems.at([...path, key], `${node} is a host: its address is its own, and inner is what is behind it`)
  return { node, address: host!.address, hosts: [], inner: resolveInner(problems, path, node, shape.inner) }
}

/** Returns the hosts behind a switch: those that the file names, or all that are linked to it. */
function resolveHosts(context: VtepContext, path: DocumentPath, sw: string, value: unknown): string[] {
  const { problems, hosts, links } = context
  const linked = links
    .filter(({ a, b }) => a.node === sw || b.node === sw)
    .map(({ a, b }) => (a.node === sw ? b.node : a.node))
    .filter(peer => hosts.some(({ name }) => name === peer))
  if (value === undefined) return linked
  const at = [...path, 'hosts']
  if (!Array.isArray(value)) {
    problems.at(at, `hosts is a list of names ([h1, h2]), not ${show(value)}`)
    return []
  }
  const found: string[] = []
  for (const [i, item] of value.entries()) {
    const names = expandNames(String(item))
    if ('wrong' in names) problems.at([...at, i], names.wrong)
    for (const name of 'wrong' in names ? [] : names) {
      if (linked.includes(name)) found.push(name)
      else
        problems.at(
          [...at, i],
          `${name} is no host that is linked to ${sw}; there are ${offer(name, linked)}`,
        )
    }
  }
  return [...new Set(found)]
}

function resolveInner(
  problems: Problems,
  path: DocumentPath,
  host: string,
  value: unknown,
): VtepEnd['inner'] {
  const at = [...path, 'inner']
  if (!Array.isArray(value) || value.length === 0) {
    problems.at(
      value === undefined ? path : at,
      `${host} is a host: inner says what is behind it ([{ address: 10.9.0.1, mac: '02:00:00:00:00:09' }])`,
    )
    return []
  }
  const found: VtepEnd['inner'] = []
  for (const [i, item] of value.entries()) {
    const shape = checkShape(problems, [...at, i], innerHostSchema, item, 'a host behind a host')
    if (shape?.address !== undefined && shape.mac !== undefined)
      found.push({ address: shape.address, mac: shape.mac })
  }
  return found
}

function checkEnds(problems: Problems, path: DocumentPath, ends: readonly VtepEnd[]): void {
  if (ends.length < 2) problems.at(path, 'a tunnel has two ends; name another switch, or leave out vtep')
  const isV6 = ({ address }: VtepEnd) => address.includes(':')
  if (ends.some(isV6) && !ends.every(isV6)) {
    const v4 = ends.find(end => !isV6(end))!.node
    problems.at(
      path,
      `ends have addresses of one family; ${v4} has none of IPv6, so give it one (address: fd00::1)`,
    )
  }
}

/** A host belongs to one network, an address to one node, and a switch has one address in all networks. */
function checkMembers(
  { problems, hosts }: VtepContext,
  path: DocumentPath,
  network: VtepNetwork,
  others: readonly VtepNetwork[],
): void {
  const at = [...path, 'ends']
  const vnis = vniOfHosts(others)
  const owners = new Map(hosts.map(({ name, address }) => [address, name]))
  for (const { node, address } of others.flatMap(({ ends }) => ends)) owners.set(address, node)
  for (const { node, address, hosts: behind, inner } of network.ends) {
    const twice = behind.find(host => vnis.has(host))
    if (twice !== undefined)
      problems.at(
        at,
        `${twice} is in VNI ${vnis.get(twice)} already; say which hosts of ${node} are in which`,
      )
    const other = others.flatMap(({ ends }) => ends).find(end => end.node === node)
    if (other !== undefined && other.address !== address)
      problems.at(at, `${node} has the address ${other.address} in another network; it has one in all`)
    for (const taken of [address, ...inner.map(one => one.address)]) {
      const owner = owners.get(taken)
      if (owner !== undefined && owner !== node)
        problems.at(at, `${taken} of ${node} already belongs to ${owner}`)
      owners.set(taken, node)
    }
  }
}

/** Reports packets that the underlay does not take, and traffic between hosts that do not reach each other. */
export function checkVtep(
  problems: Problems,
  networks: readonly VtepNetwork[],
  around: Pick<Scenario, 'transport' | 'int' | 'flows' | 'workloads'>,
): void {
  if (networks.length === 0) return
  const inner = longestPacketBytes(around)
  for (const [i, network] of networks.entries()) {
    const added = tunnelBytes(network)
    if (inner + added <= network.mtuBytes) continue
    const path = problems.placeOf(['vtep', i]) === problems.placeOf(['vtep']) ? ['vtep'] : ['vtep', i]
    problems.at(
      [...path, 'mtu'],
      `packets of hosts have up to ${inner} B, and ${inner + added} B with the ${added} of the tunnel; the underlay ` +
        `takes ${network.mtuBytes}: give a smaller transport.pathMtu, or a larger mtu`,
    )
  }
  checkTraffic(problems, vniOfHosts(networks), around)
}

function checkTraffic(
  problems: Problems,
  vnis: ReadonlyMap<string, number>,
  { flows, workloads }: Pick<Scenario, 'flows' | 'workloads'>,
): void {
  const networkOf = (host: string) => (vnis.has(host) ? `VNI ${vnis.get(host)}` : 'the underlay')
  const check = (name: string, from: string, to: string) => {
    if (vnis.get(from) === vnis.get(to)) return false
    problems.at(
      ['traffic'],
      `${name}: ${from} is in ${networkOf(from)} and ${to} in ${networkOf(to)}, so neither reaches the other`,
    )
    return true
  }
  flows.find(({ name, from, to }) => check(name, from, to))
  workloads.find(({ name, hosts }) => hosts.some(host => check(name, hosts[0]!, host)))
}

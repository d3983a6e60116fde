/** Hosts, switches and links of a scenario file. */

import { PORTS_MAX } from '../../../switch-emu/core/forwarding/forwarding.js'
import { LINE_RATE } from '../../cc/context-options.js'
import { offer } from '../../offer.js'
import { show } from '../../options/read-value.js'
import { formatRate } from '../../units/units.js'
import { expandNames } from '../model/names.js'
import type { DocumentPath, NodePlaces, Problems } from '../model/problems.js'
import type { Link, ScenarioHost, ScenarioSwitch } from '../model/scenario.js'
import { checkShape } from '../schema/check-shape.js'
import { hostSchema, linkDefaultsSchema, linkSchema } from '../schema/network.js'
import { resolveSwitch } from './resolve-switch.js'

const DEFAULT_RATE_BPS = 1e9
const DEFAULT_DELAY_NS = 10_000
const NODES_MAX = 4096
const LINKS_MAX = 65_536

interface ResolvedNetwork {
  places: NodePlaces
  hosts: ScenarioHost[]
  switches: ScenarioSwitch[]
  links: Link[]
}

export function resolveNetwork(
  problems: Problems,
  file: { link?: unknown; hosts?: unknown; switches?: unknown; links?: unknown },
): ResolvedNetwork {
  const places = new Map<string, DocumentPath>()
  const hosts = resolveHosts(problems, places, file.hosts)
  const switches = resolveSwitches(problems, places, file.switches)
  const before = problems.count
  const links = resolveLinks(problems, places, file, hosts)
  if (problems.count === before && file.links !== undefined)
    checkPorts(problems, places, { hosts, switches, links })
  return { places, hosts, switches, links }
}

function resolveHosts(problems: Problems, places: Map<string, DocumentPath>, value: unknown): ScenarioHost[] {
  if (!Array.isArray(value) || value.length === 0) {
    problems.at(
      ['hosts'],
      `hosts is a list of names or ranges ([h1, h2] or [h0..h15]), not ${show(value ?? null)}`,
    )
    return []
  }
  const hosts: (ScenarioHost & { given: boolean })[] = []
  const before = problems.count
  for (const [i, item] of value.entries()) {
    const path = ['hosts', i]
    const entry =
      typeof item === 'string' ? { name: item } : checkShape(problems, path, hostSchema, item, 'a host')
    if (entry?.name === undefined) continue
    const names = expandNames(entry.name)
    if ('wrong' in names) {
      problems.at(path, names.wrong)
    } else if (entry.address !== undefined && names.length > 1) {
      problems.at(
        [...path, 'address'],
        `one address cannot belong to the ${names.length} hosts of ${entry.name}`,
      )
    } else {
      for (const name of names) {
        if (claim(problems, places, name, path)) {
          hosts.push({ name, address: entry.address ?? '', given: entry.address !== undefined })
        } else if (places.size >= NODES_MAX) break
      }
    }
    // All further nodes exceed the limit too.
    if (places.size >= NODES_MAX && problems.count > before) break
  }
  assignAddresses(problems, places, hosts)
  return hosts.map(({ name, address }) => ({ name, address }))
}

function assignAddresses(
  problems: Problems,
  places: NodePlaces,
  hosts: (ScenarioHost & { given: boolean })[],
): void {
  const owners = new Map<string, string>()
  for (const host of hosts) {
    if (!host.given) continue
    const owner = owners.get(host.address)
    if (owner === undefined) owners.set(host.address, host.name)
    else problems.at([...places.get(host.name)!, 'address'], `${host.address} already belongs to ${owner}`)
  }
  let next = 0
  for (const host of hosts) {
    while (host.address === '') {
      // Each /24 has 254 hosts, so that no default address ends in .0 or .255.
      const candidate = `10.0.${Math.floor(next / 254)}.${(next % 254) + 1}`
      next++
      if (!owners.has(candidate)) host.address = candidate
    }
  }
}

function resolveSwitches(
  problems: Problems,
  places: Map<string, DocumentPath>,
  value: unknown,
): ScenarioSwitch[] {
  if (value === undefined || value === null) return []
  const entries: [string, unknown, DocumentPath][] = []
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) entries.push([String(item), {}, ['switches', i]])
  } else if (typeof value === 'object') {
    for (const [key, settings] of Object.entries(value))
      entries.push([key, settings ?? {}, ['switches', key]])
  } else {
    problems.at(
      ['switches'],
      `switches is a mapping of names to settings (s1: {buffer: 4MB}), not ${show(value)}`,
    )
  }
  const switches: ScenarioSwitch[] = []
  const ids = new Map<number, string>()
  for (const [key, settings, path] of entries) {
    const names = expandNames(key)
    if ('wrong' in names) problems.atKey(path, names.wrong)
    const resolved = resolveSwitch(problems, path, settings)
    for (const name of 'wrong' in names ? [] : names) {
      if (!claim(problems, places, name, path)) continue
      const id = resolved?.id ?? 0
      if (id !== 0) {
        const owner = ids.get(id)
        if (owner === undefined) ids.set(id, name)
        else problems.at([...path, 'id'], `switch id ${id} already belongs to ${owner}`)
      }
      if (resolved !== null) switches.push({ name, ...resolved })
    }
  }
  let next = 1
  for (const draft of switches) {
    if (draft.id !== 0) continue
    while (ids.has(next)) next++
    draft.id = next
    ids.set(next, draft.name)
  }
  return switches
}

function claim(
  problems: Problems,
  places: Map<string, DocumentPath>,
  name: string,
  path: DocumentPath,
): boolean {
  if (places.has(name)) {
    problems.atKey(path, `the name '${name}' is taken already; hosts and switches each need their own`)
    return false
  }
  if (places.size >= NODES_MAX) {
    problems.atKey(path, `more than ${NODES_MAX} hosts and switches`)
    return false
  }
  places.set(name, path)
  return true
}

function resolveLinks(
  problems: Problems,
  places: NodePlaces,
  file: { link?: unknown; links?: unknown },
  hosts: readonly ScenarioHost[],
): Link[] {
  const defaults =
    file.link === undefined
      ? {}
      : (checkShape(problems, ['link'], linkDefaultsSchema, file.link, 'link') ?? {})
  if (!Array.isArray(file.links)) {
    problems.at(
      ['links'],
      `links is a list ([h1--s1, {ends: s1--s2, delay: 100us}]), not ${show(file.links ?? null)}`,
    )
    return []
  }
  const links: Link[] = []
  const hostNames = new Set(hosts.map(host => host.name))
  const portsUsed = new Map<string, number>()
  const take = (node: string) => {
    const port = portsUsed.get(node) ?? 0
    portsUsed.set(node, port + 1)
    return { node, port }
  }
  for (const [i, item] of file.links.entries()) {
    const path = ['links', i]
    const shape =
      typeof item === 'string' ? { ends: item } : checkShape(problems, path, linkSchema, item, 'a link')
    if (shape?.ends === undefined) continue
    const pairs = resolveEnds(
      problems,
      typeof item === 'string' ? path : [...path, 'ends'],
      shape.ends,
      places,
    )
    for (const [a, b] of pairs) {
      for (let copy = 0; copy < (shape.count ?? 1); copy++) {
        const busy = [a, b].find(node => hostNames.has(node) && portsUsed.has(node))
        if (busy !== undefined) {
          problems.at(path, `host ${busy} has a link already; a host has one port`)
          continue
        }
        if (links.length === LINKS_MAX) {
          problems.at(path, `more than ${LINKS_MAX} links are too many`)
          return links
        }
        const rateBps = shape.rate ?? defaults.rate ?? DEFAULT_RATE_BPS
        const host = rateBps > LINE_RATE.max && [a, b].find(node => hostNames.has(node))
        if (host) {
          const most = formatRate(LINE_RATE.max)
          problems.at(
            path,
            `host ${host}: the link of a host has ${most} at most, not ${formatRate(rateBps)}`,
          )
        }
        links.push({
          a: take(a),
          b: take(b),
          rateBps,
          delayNs: shape.delay ?? defaults.delay ?? DEFAULT_DELAY_NS,
        })
      }
    }
  }
  return links
}

/**
 * Returns the pairs of nodes that `h0..h3--s1` joins: every name on the left with every name on the right.
 */
function resolveEnds(
  problems: Problems,
  path: DocumentPath,
  ends: string,
  places: NodePlaces,
): [string, string][] {
  const sides = ends.split('--')
  if (sides.length !== 2) {
    problems.at(path, `'${ends}' is no link; a link is written as h1--s1, several as h0..h15--s1`)
    return []
  }
  const known = sides.map(side => {
    const names = expandNames(side)
    if ('wrong' in names) {
      problems.at(path, names.wrong)
      return []
    }
    return names.filter(name => {
      if (places.has(name)) return true
      problems.at(path, `no host or switch is called '${name}'; there are ${offer(name, [...places.keys()])}`)
      return false
    })
  })
  const pairs: [string, string][] = []
  for (const a of known[0]!) {
    for (const b of known[1]!) {
      if (a === b) problems.at(path, `${a} cannot be linked to itself`)
      else pairs.push([a, b])
    }
  }
  return pairs
}

/** Checks that every node has a link, and that no switch has too many ports. */
function checkPorts(
  problems: Problems,
  places: NodePlaces,
  { hosts, switches, links }: Omit<ResolvedNetwork, 'places'>,
): void {
  const ports = new Map<string, number>()
  for (const { node } of links.flatMap(({ a, b }) => [a, b])) ports.set(node, (ports.get(node) ?? 0) + 1)
  for (const { name } of hosts) {
    if (!ports.has(name))
      problems.at(places.get(name)!, `host ${name} has no link; add one to links (${name}--s1)`)
  }
  for (const { name } of switches) {
    const count = ports.get(name) ?? 0
    if (count === 0) {
      const peer = hosts[0]?.name ?? 'h1'
      problems.atKey(
        places.get(name)!,
        `switch ${name} has no link; add one to links (${peer}--${name}), or leave the switch out`,
      )
    } else if (count > PORTS_MAX) {
      problems.atKey(
        places.get(name)!,
        `switch ${name} has ${count} links; a switch has ${PORTS_MAX} at most`,
      )
    }
  }
}

/** Whole scenario files around one mapping of them, as the schema nests them. */
import type { Key, Section } from '../../lib/scenario/schema/sections.js'

type Mapping = Record<string, unknown>

const NETWORK = {
  hosts: ['h1', 'h2', 'h3'],
  switches: { s1: {}, s2: {} },
  links: ['h1--s1', 'h2--s1', 's1--s2', 's2--h3'],
}

/** A scenario in which the mapping of that section has these keys, and the examples of those that it requires. */
export function documentWith(section: Section, keys: Mapping): Mapping {
  const required = section.keys.filter(key => key.required && !(key.name in keys))
  const full = { ...Object.fromEntries(required.map(key => [key.name, key.example])), ...keys }
  const { parent } = section
  if (parent === undefined) return { ...NETWORK, ...keys }
  const value =
    section.within === 'list' ? [full] : section.within === 'names' ? byName(parent.key.name, full) : full
  if (parent.section.parent === undefined)
    return { ...atRoot(parent.key.name, value, full), ...parent.key.with }
  return documentWith(parent.section, { ...parent.key.with, [parent.key.name]: value })
}

/** A mapping of names in which one has these keys. */
function byName(name: string, item: Mapping): Mapping {
  if (name !== 'ends') return { s1: item }
  // Tunnels have two ends, and only a host has addresses behind itself.
  return 'inner' in item ? { s1: {}, h3: item } : { s1: item, s2: {} }
}

/** It replaces one of the network's own hosts, switches or links. */
function atRoot(name: string, value: unknown, item: Mapping): Mapping {
  if (name === 'hosts' || name === 'links') {
    const others = NETWORK[name].filter(other => other !== (item.name ?? item.ends))
    return { ...NETWORK, [name]: [...others, ...(value as unknown[])] }
  }
  if (name === 'switches') {
    const asking = answersAsked(value as Mapping) ? { telemetry: { subscribe: 'flag' } } : {}
    const switches: Record<string, Mapping> = { ...NETWORK.switches, ...(value as Record<string, Mapping>) }
    if (marksLargeFlows(switches.s1!)) switches.s1 = { largeFlows: { size: '1MB' }, ...switches.s1 }
    if (switches.s1?.aiEcn !== undefined)
      switches.s1 = { ecn: { kmin: '100KB', kmax: '400KB' }, ...switches.s1 }
    return { ...NETWORK, switches, ...asking }
  }
  return { ...NETWORK, [name]: value, ...besides(name, item) }
}

/** What another section needs so that the mapping has an effect. */
function besides(name: string, item: Mapping): Mapping {
  if (name === 'transport') return { cc: 'dcqcn' }
  if (name === 'cc' && item.name === 'rocc') return { switches: { ...NETWORK.switches, s1: { rocc: {} } } }
  const asks = name === 'telemetry' && (item.subscribe ?? 'off') !== 'off'
  return asks
    ? { switches: { ...NETWORK.switches, s1: { telemetry: { direct: { threshold: '50KB' } } } } }
    : {}
}

/** True if it is about a switch that responds only to packets that ask. */
function answersAsked(item: Mapping): boolean {
  return JSON.stringify(item).includes('"of":"subscribed"')
}

/** True if it is about thresholds for large flows. */
function marksLargeFlows(item: Mapping): boolean {
  return JSON.stringify(item).includes('"large":{')
}

/** The mapping's keys in which a key has its example. */
export function exampleOf({ name, example, with: others }: Key): Mapping {
  return { ...others, [name]: example }
}

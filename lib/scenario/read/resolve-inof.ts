/** `inof` of a scenario file. */
import { offer } from '../../offer.js'
import { show } from '../../options/read-value.js'
import { expandNames } from '../model/names.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { InofSettings, InofZone } from '../model/scenario.js'
import { checkShape } from '../schema/check-shape.js'
import { inofSchema, wholeSeconds, zoneSchema } from '../schema/inof.js'

const DEFAULTS = {
  as: 65_000,
  reflectors: 2,
  external: false,
  ttlSecurity: false,
  autoJoin: true,
  hold: 3e9,
  silence: 1e9,
  delay: 50_000,
  failover: true,
}
/** The least that BGP allows, but for 0 (RFC 4271, section 4.2). */
const HOLD_SECONDS_LEAST = 3

/** What surrounds it. */
interface InofContext {
  problems: Problems
  hostNames: readonly string[]
  switchCount: number
}

export function resolveInof(context: InofContext, value: unknown): InofSettings | undefined {
  if (value === undefined) return undefined
  const { problems, switchCount } = context
  const path = ['inof']
  const shape = checkShape(problems, path, inofSchema, value ?? {}, 'inof')
  if (shape === null) return undefined
  const { as, reflectors, external, ttlSecurity, password, autoJoin, hold, silence, delay, failover } = {
    ...DEFAULTS,
    ...shape,
  }
  if (switchCount === 0)
    problems.at(path, 'iNOF needs a switch: hosts announce themselves to it; add one to switches')
  if (switchCount > 1 && reflectors === 0) {
    const text = `${switchCount} switches tell each other by reflectors; set reflectors to 1 or more`
    problems.at([...path, 'reflectors'], text)
  }
  if (external && reflectors === 0)
    problems.at([...path, 'external'], 'there is no reflector; set reflectors to 1 or more')
  if (external && shape.delay !== undefined)
    problems.at([...path, 'delay'], 'delay has no effect on reflectors of your own (external): leave it out')
  for (const name of ['ttlSecurity', 'password'] as const)
    if (!external && shape[name] !== undefined)
      problems.at(
        [...path, name],
        `${name} protects sessions with reflectors of your own: set external to true, or leave it out`,
      )
  if (shape.zones !== undefined && reflectors === 0)
    problems.at([...path, 'zones'], 'zones are set at reflectors; set reflectors to 1 or more')
  const holdSeconds = wholeSeconds(hold)
  if (holdSeconds === null || (holdSeconds !== 0 && holdSeconds < HOLD_SECONDS_LEAST))
    problems.at([...path, 'hold'], 'the hold time of BGP is 0, or whole seconds from 3 on; write 3s')
  const silenceSeconds = wholeSeconds(silence)
  if (silenceSeconds === null)
    problems.at([...path, 'silence'], 'LLDP counts this time in whole seconds, up to 65535s; write 1s')
  return {
    as,
    reflectors,
    ...(external && { external }),
    ...(ttlSecurity && { ttlSecurity }),
    ...(password !== undefined && { password }),
    autoJoin,
    failover,
    delayNs: delay,
    holdSeconds: holdSeconds ?? 0,
    silenceSeconds: silenceSeconds ?? 1,
    zones: resolveZones(context, [...path, 'zones'], shape.zones === undefined ? [] : shape.zones),
    storage: shape.storage === undefined ? [] : hostList(context, [...path, 'storage'], shape.storage),
  }
}

function resolveZones(context: InofContext, path: DocumentPath, value: unknown): InofZone[] {
  const { problems } = context
  if (!Array.isArray(value)) {
    problems.at(path, `zones is a list of mappings ({zone: 7, hosts: [h1, h2]}), not ${show(value)}`)
    return []
  }
  const zones: InofZone[] = []
  for (const [i, item] of value.entries()) {
    const shape = checkShape(problems, [...path, i], zoneSchema, item, 'a zone')
    if (shape?.zone === undefined || shape.hosts === undefined) continue
    const { zone } = shape
    if (zones.some(other => other.zone === zone))
      problems.at([...path, i, 'zone'], `zone ${zone} is there twice`)
    zones.push({ zone, hosts: hostList(context, [...path, i, 'hosts'], shape.hosts) })
  }
  return zones
}

function hostList({ problems, hostNames }: InofContext, path: DocumentPath, value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0) {
    problems.at(path, `a list of hosts is needed here ([h1, h2] or [h1..h4]), not ${show(value)}`)
    return []
  }
  const found = new Set<string>()
  for (const [i, item] of value.entries()) {
    const names =
      typeof item === 'string' ? expandNames(item) : { wrong: `${show(item)} is no name of a host` }
    if ('wrong' in names) {
      problems.at([...path, i], names.wrong)
      continue
    }
    for (const name of names) {
      if (!hostNames.includes(name))
        problems.at([...path, i], `no host is called '${name}'; there are ${offer(name, hostNames)}`)
      else found.add(name)
    }
  }
  return [...found]
}

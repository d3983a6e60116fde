/**
 * Checks the congestion controller of a scenario file, or of one of its flows, against the catalogue of
 * lib/cc.
 */
import { crossedBounds, type OptionBounds } from '../../cc/bounds.js'
import type { OptionSpec } from '../../cc/options.js'
import { offer } from '../../offer.js'
import { idleOptions } from '../../options/idle.js'
import { readValue, show } from '../../options/read-value.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { CcChoice } from '../model/scenario.js'

/** What a scenario needs to know about controllers. `lib/cc/catalogue.ts` provides it. */
export interface CcCatalogue {
  ccNames(): string[]
  ccOptions(name: string): readonly OptionSpec[]
  ccBounds(name: string): readonly OptionBounds[]
}

export const DEFAULT_CC = 'hpcc'

/**
 * Takes `hpcc` or `{name: hpcc, eta: 0.95}`. Returns null after it reported a problem.
 * @param pathMtu payload of a full packet
 */
export function resolveCc(
  problems: Problems,
  path: DocumentPath,
  value: unknown,
  catalogue: CcCatalogue,
  pathMtu: number,
): CcChoice | null {
  const bare = typeof value === 'string'
  const given = bare ? { name: value } : value
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.at(
      path,
      `cc is a name or a mapping with name and options ({name: hpcc, eta: 0.95}), not ${show(value)}`,
    )
    return null
  }
  const { name, ...rest } = given as Record<string, unknown>
  const names = catalogue.ccNames()
  if (name === undefined) {
    problems.at(path, `cc has no name; the controllers are ${names.join(', ')}`)
    return null
  }
  if (typeof name !== 'string' || !names.includes(name)) {
    const at = bare ? path : [...path, 'name']
    problems.at(
      at,
      `no congestion controller is called ${show(name)}; there are ${offer(String(name), names)}`,
    )
    return null
  }
  const specs = catalogue.ccOptions(name)
  const options: CcChoice['options'] = {}
  const before = problems.count
  for (const [key, raw] of Object.entries(rest)) {
    const spec = specs.find(s => s.name === key)
    if (spec === undefined) {
      const known = specs.map(s => s.name)
      problems.atKey([...path, key], `${name} has no option '${key}'; its options are ${offer(key, known)}`)
      continue
    }
    try {
      options[key] = readValue(spec, raw)
    } catch (error) {
      problems.at([...path, key], `${name}: ${key}: ${(error as Error).message}`)
    }
  }
  const idle = idleOptions(specs, options)
  const crossed = crossedBounds(catalogue.ccBounds(name), specs, options, pathMtu)
  for (const { name: key, message } of [...idle, ...crossed]) {
    problems.atKey([...path, key], `${name}: ${message}`)
  }
  return problems.count === before ? { name, options } : null
}

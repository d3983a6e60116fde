/** YAML of documents: whole scenarios, and parts of some. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { WeirError } from '../../lib/errors.js'
import { expandNames } from '../../lib/scenario/model/names.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { repositoryRoot } from '../support/fixtures.js'
import { type Example, placeOf } from './examples.js'

type Keys = Record<string, unknown>

/** What a part is put into if the document names nothing else: a ring of four switches, each with a host. */
const BASE = `
hosts: [h1..h4]
switches: { s1: {}, s2: {}, s3: {}, s4: {} }
links: [h1--s1, h2--s2, h3--s3, h4--s4, s1--s2, s2--s3, s3--s4, s4--s1]
traffic: [{ name: flow0, from: h1, to: h3, size: 1MB }]
`

/** Returns the parser's error for the YAML of an example, or null. */
export function scenarioFault(example: Example): string | null {
  let given: unknown
  try {
    given = parse(example.text)
  } catch (error) {
    return `${placeOf(example)}: ${(error as Error).message}`
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return `${placeOf(example)}: a part of a scenario begins with its top-level key (switches:, traffic:, …)`
  }
  const isWhole = 'hosts' in given && 'links' in given
  const text = isWhole ? example.text : stringify(mergeScenario(baseOf(example), given as Keys))
  try {
    parseScenario(text, `${placeOf(example)}${isWhole ? '' : ' (in its base)'}`)
    return null
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    return error.message
  }
}

function baseOf({ marker }: Example): Keys {
  return parse(marker.base === undefined ? BASE : readFileSync(join(repositoryRoot, marker.base), 'utf8'))
}

/** Keys of the part replace those of the base; switches are joined one by one. */
function mergeScenario(base: Keys, part: Keys): Keys {
  const { switches } = part
  if (typeof switches !== 'object' || switches === null || Array.isArray(switches))
    return { ...base, ...part }
  return { ...base, ...part, switches: { ...perName(base.switches as Keys), ...perName(switches as Keys) } }
}

/** `s1..s4` written out. */
function perName(switches: Keys): Keys {
  return Object.fromEntries(
    Object.entries(switches).flatMap(([range, settings]) => {
      const names = expandNames(range)
      return Array.isArray(names) ? names.map(name => [name, settings]) : [[range, settings]]
    }),
  )
}

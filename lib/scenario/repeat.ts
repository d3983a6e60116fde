/** Repeats a run from its result. */
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { WeirError } from '../errors.js'
import { whyNotRead } from '../file-reason.js'
import { type Scenario, withSeed } from './model/scenario.js'
import { settingsOf } from './model/settings.js'
import { isDistribution } from './model/size-distribution.js'
import { parseScenario } from './read/load-scenario.js'
import type { RunResult } from './result/result.js'
import { resultJson } from './result/write-result.js'

const sizesSchema = z
  .object({ name: z.string(), sizesBytes: z.array(z.number()), cumulative: z.array(z.number()) })
  .refine(isDistribution, 'sizes and shares must rise, the shares from 0 to 1')

/** The members of a result that a repetition needs. */
const resultSchema = z.looseObject({
  version: z.string(),
  on: z.enum(['virtual', 'overlay', 'veth']),
  seed: z.int().min(0),
  scenario: z.looseObject({ file: z.string(), text: z.string() }),
  settings: z.looseObject({
    workloads: z.array(z.looseObject({ distribution: sizesSchema })),
  }),
})

/**
 * Reads a result of `weir run --json`. Throws WEIR_NO_FILE, or WEIR_BAD_ARGUMENT if the file is no result.
 */
export function readResult(file: string): RunResult {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new WeirError('WEIR_NO_FILE', `the result ${file} cannot be read: ${whyNotRead(cause)}`, { cause })
  }
  return parseResult(text, file)
}

/**
 * Parses the text of such a result. Throws WEIR_BAD_ARGUMENT.
 *
 * @param file name of the file in messages
 */
export function parseResult(text: string, file: string): RunResult {
  const result = parsed(text)
  const { error } = resultSchema.safeParse(result)
  // The schema returns the keys in another order, and results are compared as text. So this is the parsed
  // value.
  if (error === undefined) return result as RunResult
  const [issue] = error.issues
  const where =
    issue === undefined || issue.path.length === 0 ? '' : `: ${issue.path.join('.')}: ${issue.message}`
  throw new WeirError('WEIR_BAD_ARGUMENT', `${file} is no result that weir run --json has written${where}`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns the scenario of a result, with its seed. The flow sizes of its workloads come from the result,
 * because their files may be gone. Throws WEIR_BAD_ARGUMENT if a default has changed, so that this version
 * would run the scenario with other settings.
 */
export function scenarioOfResult(result: RunResult, file: string): Scenario {
  const { scenario: source, seed, settings } = result
  const plain = parseScenario(source.text, source.file, {
    sizes: settings.workloads.map(each => each.distribution),
  })
  const candidates = [plain, withSeed(plain, seed)]
  const then = withKinds(settings)
  const same = candidates.find(scenario => differences(settingsOf(scenario), then).length === 0)
  if (same !== undefined) return same
  const keys = differences(settingsOf(candidates[1]!), then)
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${file} was made by Weir ${result.version} with other settings than this one would use: ${keys.join(', ')}; ` +
      'write them into the scenario, and run that',
  )
}

function withKinds<T extends { events?: readonly object[] }>(settings: T): object {
  return settings.events === undefined ? settings : { ...settings, events: settings.events.map(eventOf) }
}

/** An event as this version writes it. Those of older versions had one kind, which they did not name. */
function eventOf(event: object): object {
  if ('kind' in event) return event
  const { atNs, switch: name, ports, priority } = event as Record<string, unknown>
  return { kind: 'pfcOn', atNs, switch: name, ports, ...(priority !== null && { priority }) }
}

/**
 * Returns the members in which two results of one scenario differ, except time, machine and command. Empty if
 * there are none. Events count only where both runs were captured or neither was: connections that packets have made
 * leave timers behind. Timeline and iNOF count only where both have them, because older versions wrote none.
 */
export function resultDifferences(a: RunResult, b: RunResult): string[] {
  const countsEvents = (a.captures === undefined) === (b.captures === undefined)
  const kept = (result: RunResult) => {
    const { captures, command, machine, wallSeconds, scenario, events, timeline, inof, settings, ...rest } =
      JSON.parse(resultJson(result))
    return {
      ...rest,
      settings: withKinds(settings),
      ...(countsEvents && { events }),
      ...(a.timeline && b.timeline && { timeline }),
      ...(a.inof && b.inof && { inof }),
    }
  }
  return differences(kept(a), kept(b))
}

/** Returns the top-level keys whose values differ. */
function differences(a: object, b: object): string[] {
  const [left, right] = [a, b] as Record<string, unknown>[]
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].filter(key => JSON.stringify(left![key]) !== JSON.stringify(right![key]))
}

/**
 * The keys of a scenario file, mapping by mapping. Values that are mappings or lists of their own are `part`
 * here and checked by whoever resolves them, so that one mistake does not hide the others.
 */
import { z } from 'zod'
import { RESERVED_ID_FIRST } from '../wire/hop-records.js'
import { FORMAT_NAMES } from '../wire/telemetry.js'
import * as f from './fields.js'
import { show } from './fields.js'
import { offer } from './names.js'
import type { Path, Problems } from './problems.js'

const part = z.unknown().optional()

/** Slots that a NIC may ask for in a shim. */
export const INT_HOPS_MAX = 15

export const scenarioSchema = z.object({
  name: f.text.optional(),
  /** Defaults of every link: rate 1Gbps, delay 10us unless given. */
  link: part,
  hosts: z.unknown(),
  switches: part,
  links: z.unknown(),
  routes: part,
  deadlockPrevention: part,
  cc: part,
  transport: part,
  int: part,
  telemetry: part,
  paths: part,
  /** A time, or `measured` (default). */
  baseRtt: f.baseRtt.optional(),
  traffic: part,
  watch: part,
  duration: f.positiveDuration.optional(),
  /** Default 1. */
  seed: f.whole(0, Number.MAX_SAFE_INTEGER).optional(),
})

export const linkDefaultsSchema = z.object({ rate: f.rate.optional(), delay: f.duration.optional() })

export const hostSchema = z.object({ name: f.text, address: f.address.optional() })

export const switchSchema = z.object({
  id: f.whole(1, RESERVED_ID_FIRST - 1).optional(),
  buffer: f.positiveBytes.optional(),
  queueBytesMax: f.positiveBytes.optional(),
  ecn: part,
  pfc: part,
  dscpToTc: part,
  pcpToTc: part,
  scheduler: part,
  telemetry: part,
})

const priorities = z.array(f.whole(0, 7)).min(1).optional()

export const ecnSchema = z.object({
  kmin: f.bytes,
  kmax: f.bytes,
  pmax: f.fraction.optional(),
  at: f.oneOf(['enqueue', 'dequeue']).optional(),
  priorities,
})

export const pfcSchema = z.object({
  xoff: f.positiveBytes.optional(),
  alpha: f.between(1 / 1024, 128).optional(),
  xon: f.bytes.optional(),
  xonOffset: f.bytes.optional(),
  reserved: f.bytes.optional(),
  headroom: f.bytes.optional(),
  quanta: f.whole(1, 65_535).optional(),
  priorities,
  watchdog: part,
})

export const linkSchema = z.object({
  ends: f.text,
  rate: f.rate.optional(),
  delay: f.duration.optional(),
  /** Parallel links. Default 1. */
  count: f.whole(1, 64).optional(),
})

export const transportSchema = z.object({
  pathMtu: f.oneOf([256, 512, 1024, 2048, 4096]).optional(),
  ackEvery: f.whole(1, 256).optional(),
  retryCount: f.whole(0, 7).optional(),
  rnrRetryCount: f.whole(0, 7).optional(),
  ackTimeout: f.duration.optional(),
  recovery: f.oneOf(['selective', 'goBackN']).optional(),
  key: f.key.optional(),
})

export const intSchema = z.object({
  format: f.oneOf(FORMAT_NAMES).optional(),
  hops: f.whole(1, INT_HOPS_MAX).optional(),
})

export const watchSchema = z.object({
  queues: part,
  every: f.positiveDuration.optional(),
  flows: f.yesNo.optional(),
})

/** A message of a reliable connection has at most 2^31 bytes (IBA 9.7.2). */
const flowSize = f.bytesUpTo(2 ** 31)

const flowCommon = {
  name: f.name.optional(),
  start: f.duration.optional(),
  cc: part,
  priority: f.whole(0, 7).optional(),
}

const repetition = {
  /** The entry again so many times in all, `every` apart. */
  repeat: f.whole(1, 100_000).optional(),
  every: f.positiveDuration.optional(),
}

export const flowSchema = z.object({
  ...flowCommon,
  from: f.text,
  to: f.text,
  size: flowSize,
  /** UDP source port; the range is that of RoCEv2's flow entropy. */
  sourcePort: f.whole(0xc000, 0xffff).optional(),
  /** Parallel flows. Default 1. */
  count: f.whole(1, 10_000).optional(),
  ...repetition,
})

export const incastSchema = z.object({
  ...flowCommon,
  incast: z.unknown(),
  to: f.text,
  size: flowSize,
  ...repetition,
})

export const workloadSchema = z.object({
  ...flowCommon,
  workload: f.text,
  load: f.positiveFraction,
  duration: f.positiveDuration,
  seed: f.whole(0, Number.MAX_SAFE_INTEGER).optional(),
  hosts: part,
})

/**
 * Checks one mapping and reports everything wrong with it. Returns the values that are right, so that the
 * caller can check those too, or null if it is no mapping at all.
 *
 * @param what how messages call the mapping, with its article: "a link"
 */
export function checkShape<S extends z.ZodObject>(
  problems: Problems,
  path: Path,
  schema: S,
  value: unknown,
  what: string,
): Partial<z.output<S>> | null {
  const keys = Object.keys(schema.shape)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.at(path, `${what} is a mapping with the keys ${keys.join(', ')}, not ${show(value)}`)
    return null
  }
  const good: Record<string, unknown> = {}
  for (const key of keys) {
    const result = z.safeParse(schema.shape[key]!, (value as Record<string, unknown>)[key])
    if (result.success) {
      if (result.data !== undefined) good[key] = result.data
      continue
    }
    for (const issue of result.error.issues) {
      const at = [...path, key, ...(issue.path as (string | number)[])]
      problems.at(at, f.ABSENCE.test(issue.message) ? `${key} ${issue.message}` : `${key}: ${issue.message}`)
    }
  }
  for (const key of Object.keys(value)) {
    if (keys.includes(key)) continue
    problems.atKey([...path, key], `unknown key '${key}' in ${what}; its keys are ${offer(key, keys)}`)
  }
  return good as Partial<z.output<S>>
}

/** `paths` of a scenario file: path selection and admission, of all hosts. */
import { z } from 'zod'
import {
  ADMISSION_MIN,
  DEFAULT_PATHS,
  MOVES,
  PATH_RANGES,
  type PathSettings,
  STARTS,
} from '../cc/path-settings.js'
import * as f from './fields.js'
import type { Problems } from './problems.js'
import { checkShape } from './schema.js'

const pathsSchema = z.object({
  count: f.whole(...PATH_RANGES.count).optional(),
  interval: f.durationUpTo(PATH_RANGES.intervalNs[1]).optional(),
  start: f.oneOf(STARTS).optional(),
  move: f.oneOf(MOVES).optional(),
  margin: f.fraction.optional(),
  admission: f.between(ADMISSION_MIN, PATH_RANGES.admission[1]).optional(),
  admissionWait: f.durationUpTo(PATH_RANGES.admissionWaitNs[1]).optional(),
  admissionQueue: f.whole(...PATH_RANGES.admissionQueue).optional(),
})

export function resolvePaths(problems: Problems, value: unknown): PathSettings {
  const shape = value === undefined ? null : checkShape(problems, ['paths'], pathsSchema, value, 'paths')
  if (shape === null) return { ...DEFAULT_PATHS }
  const { interval, admissionWait, ...same } = shape
  if (same.admission === undefined) {
    for (const key of ['admissionWait', 'admissionQueue'] as const) {
      if (shape[key] === undefined) continue
      problems.at(['paths', key], 'flows wait for the bound of admission; give it too, as in admission: 0.9')
    }
  }
  if (same.move !== undefined && same.move !== 'never' && (same.count ?? DEFAULT_PATHS.count) < 2) {
    problems.at(['paths', 'move'], 'there is one path only; give count: 2 or more')
  }
  return {
    ...DEFAULT_PATHS,
    ...same,
    ...(interval !== undefined && { intervalNs: interval }),
    ...(admissionWait !== undefined && { admissionWaitNs: admissionWait }),
  }
}

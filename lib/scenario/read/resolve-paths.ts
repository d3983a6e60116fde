/** `paths` of a scenario file: path selection and admission, of all hosts. */
import { PATH_OPTIONS } from '../../cc/path-options.js'
import { DEFAULT_PATHS, type PathSettings } from '../../cc/path-settings.js'
import type { Problems } from '../model/problems.js'
import { checkShape } from '../schema/check-shape.js'
import { pathsSchema } from '../schema/settings.js'
import { resolveOptions } from './resolve-options.js'

export function resolvePaths(problems: Problems, value: unknown): PathSettings {
  const path = ['paths']
  const shape = value === undefined ? null : checkShape(problems, path, pathsSchema, value, 'paths')
  return { ...DEFAULT_PATHS, ...resolveOptions<PathSettings>(problems, path, PATH_OPTIONS, shape ?? {}) }
}

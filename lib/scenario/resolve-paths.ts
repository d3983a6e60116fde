/** `paths` of a scenario file: path selection and admission, of all hosts. */
import { PATH_OPTIONS } from '../cc/path-options.js'
import { DEFAULT_PATHS, type PathSettings } from '../cc/path-settings.js'
import type { Problems } from './problems.js'
import { checkShape } from './schema/check-shape.js'
import { pathsSchema } from './schema/settings.js'

export function resolvePaths(problems: Problems, value: unknown): PathSettings {
  const shape = value === undefined ? null : checkShape(problems, ['paths'], pathsSchema, value, 'paths')
  if (shape === null) return { ...DEFAULT_PATHS }
  const given = PATH_OPTIONS.flatMap(({ name, key }) => (name in shape ? [[key, shape[name]]] : []))
  const paths: PathSettings = { ...DEFAULT_PATHS, ...Object.fromEntries(given) }
  if (paths.admission === 0) {
    for (const key of ['admissionWait', 'admissionQueue']) {
      if (!(key in shape)) continue
      problems.at(['paths', key], 'flows wait for the bound of admission; give it too, as in admission: 0.9')
    }
  }
  if (paths.move !== 'never' && paths.count < 2) {
    problems.at(['paths', 'move'], 'there is one path only; give count: 2 or more')
  }
  return paths
}

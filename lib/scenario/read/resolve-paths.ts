/** `paths` of a scenario file: path selection and admission, of all hosts. */
import { idleText } from '../../cc/mode-conflicts.js'
import { PATH_OPTIONS } from '../../cc/path-options.js'
import { DEFAULT_PATHS, type PathSettings } from '../../cc/path-settings.js'
import type { Problems } from '../model/problems.js'
import { checkShape } from '../schema/check-shape.js'
import { pathsSchema } from '../schema/settings.js'

export function resolvePaths(problems: Problems, value: unknown): PathSettings {
  const shape = value === undefined ? null : checkShape(problems, ['paths'], pathsSchema, value, 'paths')
  if (shape === null) return { ...DEFAULT_PATHS }
  const given = PATH_OPTIONS.flatMap(({ name, key }) => (name in shape ? [[key, shape[name]]] : []))
  const paths: PathSettings = { ...DEFAULT_PATHS, ...Object.fromEntries(given) }
  for (const { name, idle } of PATH_OPTIONS) {
    const why = name in shape ? (idle?.(paths) ?? null) : null
    if (why !== null) problems.atKey(['paths', name], idleText(name, why))
  }
  return paths
}

import { writeFileSync } from 'node:fs'
import type { Scenario } from '../../lib/scenario/model/scenario.js'

/** The option by which daemons have the scenario's key, if it has one; writes the file that they read. */
export function keyFileOption(scenario: Scenario, path: string): Record<string, string> {
  const { key } = scenario.transport
  if (key === undefined) return {}
  writeFileSync(path, key, { mode: 0o600, flag: 'wx' })
  return { 'key-file': path }
}

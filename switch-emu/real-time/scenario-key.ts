import { writeFileSync } from 'node:fs'
import type { Scenario } from '../../lib/scenario/model/scenario.js'

/** Returns the option with the scenario's key file for daemons, if it has a key. Writes the file. */
export function keyFileOption(scenario: Scenario, path: string): Record<string, string> {
  const { key } = scenario.transport
  if (key === undefined) return {}
  writeFileSync(path, key, { mode: 0o600, flag: 'wx' })
  return { 'key-file': path }
}

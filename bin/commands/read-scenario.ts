import { text } from 'node:stream/consumers'
import { loadScenario, parseScenario } from '../../lib/scenario/load-scenario.js'
import type { Scenario } from '../../lib/scenario/scenario.js'

/** What messages call standard input, and a scenario that comes from there without a name. */
const STDIN = 'stdin'

/** The scenario of a file that a command line names; `-` is standard input. Throws as `loadScenario` does. */
export async function readScenario(file: string): Promise<Scenario> {
  return file === '-' ? parseScenario(await text(process.stdin), STDIN) : loadScenario(file)
}

import { text } from 'node:stream/consumers'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'

/** Name of standard input in messages, and of a scenario without a name that comes from there. */
const STDIN = 'stdin'

/** What reads scenario files: the engine of virtual time has it too. */
export type ScenarioReader = Pick<
  typeof import('../../lib/scenario/read/load-scenario.js'),
  'loadScenario' | 'parseScenario'
>

/** Reads the scenario that a command line names. `-` is standard input. Throws as `loadScenario` does. */
export async function readScenario(file: string, reader?: ScenarioReader): Promise<Scenario> {
  const { loadScenario, parseScenario } = reader ?? (await import('../../lib/scenario/read/load-scenario.js'))
  return file === '-' ? parseScenario(await text(process.stdin), STDIN) : loadScenario(file)
}

/** Reads the result of a run. `-` is standard input. Throws as `readResult` does. */
export async function readRepeated(file: string): Promise<RunResult> {
  const { parseResult, readResult } = await import('../../lib/scenario/repeat.js')
  return file === '-' ? parseResult(await text(process.stdin), STDIN) : readResult(file)
}

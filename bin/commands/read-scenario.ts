import { text } from 'node:stream/consumers'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { loadScenario, parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { parseResult, readResult } from '../../lib/scenario/repeat.js'
import type { RunResult } from '../../lib/scenario/result/result.js'

/** Name of standard input in messages, and of a scenario without a name that comes from there. */
const STDIN = 'stdin'

/** Reads the scenario that a command line names. `-` is standard input. Throws as `loadScenario` does. */
export async function readScenario(file: string): Promise<Scenario> {
  return file === '-' ? parseScenario(await text(process.stdin), STDIN) : loadScenario(file)
}

/** Reads the result of a run. `-` is standard input. Throws as `readResult` does. */
export async function readRepeated(file: string): Promise<RunResult> {
  return file === '-' ? parseResult(await text(process.stdin), STDIN) : readResult(file)
}

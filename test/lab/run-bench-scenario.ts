import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageFile } from '../../lib/package-file.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { Place } from './support.js'

/** On a busy machine the expected event may not happen in time. */
const ATTEMPTS = 6

/**
 * Runs a scenario of the bench on veth, again if `happened` does not hold. Each run leaves no process behind.
 * Null: it never held.
 */
export async function runBenchScenario(
  t: Test,
  name: string,
  happened: (result: RunResult) => boolean,
): Promise<RunResult | null> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const place = new Place(t)
    const json = join(place.folder, 'result.json')
    const file = packageFile('bench', 'scenarios', `${name}.yaml`)
    const ended = await place.weir(['run', file, '--on', 'veth', '--json', json])
    t.equal(ended.code, 0, ended.stderr)
    t.same(place.processes(), [])
    const result = JSON.parse(readFileSync(json, 'utf8')) as RunResult
    if (happened(result)) return result
    t.comment(`attempt ${attempt}: it did not happen`)
  }
  t.pass('it did not happen', { skip: `in none of ${ATTEMPTS} runs: the machine is busy with other things` })
  return null
}

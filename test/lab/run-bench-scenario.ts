import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageFile } from '../../lib/package-file.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { Place } from './support.js'

/** A machine that is busy with other things may keep what is looked for from happening in time. */
const ATTEMPTS = 6

/** Runs a scenario of the bench on veth, again if not even `happened` holds; each run leaves no process behind. Null: it never did. */
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

/** Runs scenarios that an independent simulator has run, too (bench/reference). */
import t from 'tap'
import { compare, referenceOf } from '../../bench/compare-ns3.js'
import { packageFile } from '../../lib/package-file.js'
import { loadScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const runs = new Map<string, RunResult>()

/** A run with seed 1, made once for all tests that use it. */
export function runOf(name: string): RunResult {
  const result = runs.get(name) ?? run(name)
  runs.set(name, result)
  return result
}

export function run(name: string, seed = 1): RunResult {
  return new VirtualRun(loadScenario(packageFile('bench', 'scenarios', `${name}.yaml`)), { seed }).run()
}

/** Tests a scenario's figures by the rules in bench/compare-ns3.ts. */
export function testAgainstReference(name: string): void {
  t.test(name, async t => {
    const rows = compare(runOf(name), referenceOf(name))
    t.ok(
      rows.some(row => row.measure === 'peakQueue' && row.reference !== undefined),
      'the peak queue has a reference',
    )
    for (const { measure, weir, reference, rule, ok } of rows) {
      if (rule !== undefined) t.ok(ok, `${measure}: ${weir} (reference ${reference}): ${rule}`)
    }
  })
}

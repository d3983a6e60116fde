/**
 * `npm run same-results -- CHECKOUT [SCENARIO...]`: runs the scenarios in virtual time with this checkout and
 * with another built one, and compares their results. Exit code 1: something differs; 2: it could not be
 * compared.
 */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { packageFile, weirProgram } from '../../lib/package-file.js'
import { differences } from './differences.js'

const RESULT_BYTES_MAX = 256 * 1024 * 1024
const SEEDS_MAX = 1000
const USAGE = `Usage: npm run same-results -- CHECKOUT [--seeds N] [SCENARIO...]

Runs the scenario files of CHECKOUT, another folder of Weir that is built, with its program and with this one, in virtual time.

  --seeds N   seeds 1 to N of each scenario, 1 to ${SEEDS_MAX} (default: 5)
  SCENARIO    only scenarios whose names contain this`

const run = promisify(execFile)

await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
})

async function main(): Promise<void> {
  const { checkout, seeds, wanted } = request()
  const other = join(checkout, 'dist', 'weir', 'weir.js')
  if (!existsSync(other)) throw new Error(`${other} is missing: run npm ci in ${checkout}`)
  const folder = join(checkout, 'bench', 'scenarios')
  const files = readdirSync(folder)
    .filter(file => file.endsWith('.yaml') && wanted.some(name => file.includes(name)))
    .sort()
  if (files.length === 0) throw new Error(`no scenario of ${folder} is named like ${wanted.join(' or ')}`)
  let differing = 0
  for (const file of files) {
    for (let seed = 1; seed <= seeds; seed++) {
      const [before, after] = await Promise.all([
        result(other, join(folder, file), seed),
        result(weirProgram(), join(folder, file), seed),
      ])
      const { count, first } = differences(before, after)
      if (count === 0) continue
      differing++
      process.stdout.write(`${basename(file, '.yaml')}, seed ${seed}: ${count} differ, first ${first}\n`)
    }
  }
  process.stdout.write(
    `${files.length} scenarios with ${seeds} seeds each: ${differing === 0 ? 'all the same' : `${differing} runs differ`}\n`,
  )
  if (differing > 0) process.exitCode = 1
}

function request(): { checkout: string; seeds: number; wanted: string[] } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seeds: { type: 'string', default: '5' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) {
    process.stdout.write(`${USAGE}\n`)
    process.exit(0)
  }
  const seeds = Number(values.seeds)
  if (!Number.isInteger(seeds) || seeds < 1 || seeds > SEEDS_MAX)
    throw new Error(`--seeds ${values.seeds} is not a whole number from 1 to ${SEEDS_MAX}`)
  const [checkout, ...wanted] = positionals
  if (checkout === undefined) throw new Error(USAGE)
  return { checkout: resolve(checkout), seeds, wanted: wanted.length > 0 ? wanted : [''] }
}

async function result(program: string, scenario: string, seed: number): Promise<object> {
  // The working folder is this package's, so that both programs find the files that a scenario names.
  const { stdout } = await run(
    process.execPath,
    [program, 'run', scenario, '--seed', String(seed), '--json', '-'],
    { maxBuffer: RESULT_BYTES_MAX, cwd: packageFile('bench') },
  )
  return JSON.parse(stdout) as object
}

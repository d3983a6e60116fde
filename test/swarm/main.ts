/** `npm run swarm -- --seeds N --from S --jobs J`: runs so many seeds, from S on, in J processes. Exit code 1: a seed has failed. */
import { fork } from 'node:child_process'
import { parseArgs } from 'node:util'
import { type Reached, runSeed } from './world.js'

/** Failing seeds that are printed; the run then ends. */
const FAILING_MAX = 20

interface Totals extends Reached {
  seeds: number
  failed: number
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
  },
})
const seeds = whole('seeds', values.seeds)
const from = whole('from', values.from)
const jobs = whole('jobs', values.jobs)

if (jobs <= 1) runAlone()
else await runJobs()

function whole(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  console.error(`--${name} is a whole number from 0 on, not ${text}`)
  process.exit(2)
}

function runAlone(): void {
  const totals: Totals = { ...runSeed(from).reached, seeds: 0, failed: 0 }
  for (const key of Object.keys(totals) as (keyof Totals)[]) totals[key] = 0
  for (let seed = from; seed < from + seeds && totals.failed < FAILING_MAX; seed++) {
    const { findings, reached } = runSeed(seed)
    totals.seeds++
    for (const [key, value] of Object.entries(reached)) totals[key as keyof Reached] += value
    if (findings.length === 0) continue
    totals.failed++
    console.log(`seed ${seed} failed; replay: npm run swarm -- --seeds 1 --from ${seed}`)
    for (const finding of findings) console.log(`  ${finding}`)
  }
  console.log(JSON.stringify(totals))
  process.exitCode = totals.failed > 0 ? 1 : 0
}

async function runJobs(): Promise<void> {
  const each = Math.ceil(seeds / jobs)
  const codes = Array.from({ length: jobs }, (_, job) => {
    const first = from + job * each
    const count = Math.max(0, Math.min(each, from + seeds - first))
    const child = fork(import.meta.filename, [`--seeds=${count}`, `--from=${first}`])
    return new Promise<number>(resolve => child.once('exit', code => resolve(code ?? 1)))
  })
  process.exitCode = Math.max(...(await Promise.all(codes)))
}

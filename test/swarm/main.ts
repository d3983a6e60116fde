/** `npm run swarm`: runs seeds of the swarm, in one process or several. */
import { fork } from 'node:child_process'
import { WeirError } from '../../lib/errors.js'
import { HELP, parseArguments, replayOf, type SwarmArguments } from './arguments.js'
import { added, type Totals } from './totals.js'
import { runSeed } from './world.js'

/** Failing seeds that a process prints; it then ends. */
const FAILING_MAX = 20

try {
  const what = parseArguments(process.argv.slice(2))
  if (what.help) process.stdout.write(HELP)
  else process.exitCode = what.jobs === 1 ? runAlone(what) : await runJobs(what)
} catch (error) {
  if (!(error instanceof WeirError && error.code === 'WEIR_BAD_ARGUMENT')) throw error
  process.stderr.write(`swarm: ${error.message}\n`)
  process.exitCode = 2
}

/** Returns the exit code. */
function runAlone({ seeds, from }: SwarmArguments): number {
  let totals: Totals | null = null
  for (let seed = from; seed < from + seeds && (totals?.failed ?? 0) < FAILING_MAX; seed++) {
    const outcome = runSeed(seed)
    totals = added(totals, outcome)
    if (outcome.findings.length === 0) continue
    console.log(`seed ${seed} failed; replay: ${replayOf(seed)}`)
    for (const finding of outcome.findings) console.log(`  ${finding}`)
  }
  console.log(JSON.stringify(totals))
  return totals!.failed > 0 ? 1 : 0
}

/** Returns the exit code. */
async function runJobs({ seeds, from, jobs }: SwarmArguments): Promise<number> {
  const each = Math.ceil(seeds / jobs)
  const running: Promise<number>[] = []
  for (let first = from; first < from + seeds; first += each) {
    const count = Math.min(each, from + seeds - first)
    const child = fork(import.meta.filename, [`--seeds=${count}`, `--from=${first}`])
    running.push(new Promise(resolve => child.once('exit', code => resolve(code ?? 1))))
  }
  return Math.max(...(await Promise.all(running)))
}

/** `npm run bench -- NAME [ARGUMENTS]`: runs one benchmark. Each is a file here that exports `run`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { WeirError } from '../lib/errors.js'
import { packageFile } from '../lib/package-file.js'
import { fold } from '../lib/scenario/result/fold.js'
import { columnsMost } from '../lib/text-width.js'
import { compareRuns, isCompared, type NamedFigure } from './support/against.js'
import { bundledBenchmark } from './support/benchmark-module.js'

interface Benchmark {
  what: string
  /** An exit code, or figures to print as JSON when `--json` is given. */
  load: () => Promise<BenchmarkModule>
}

interface BenchmarkModule {
  run: (args: string[]) => unknown
  /** Figures of its result for `--against`, if that compares whole processes. */
  comparedFigures?: (result: never) => NamedFigure[]
}

const root = dirname(packageFile('package.json'))

const BENCHMARKS: Record<string, Benchmark> = {
  'ai-ecn': {
    what: '[--cc dctcp]: AI ECN beside static thresholds over mice, elephants and incast in turn, in virtual time',
    load: () => import('./ai-ecn.js'),
  },
  'ai-ecn-train': {
    what: '[--seed 1] [--write]: makes the table of traffic models of AI ECN by a sweep in virtual time; --write replaces the one that ships',
    load: () => import('./ai-ecn-train.js'),
  },
  cc: {
    what: '[NAME…] [--against DIR] [--rounds 3]: what an acknowledgement costs a congestion controller',
    load: () => bundledOr('cc', () => import('./cc.js')),
  },
  'compare-ns3': {
    what: '[RESULT.json…]: scenarios in virtual time, or results of weir run, beside those of an independent simulator',
    load: () => import('./compare-ns3.js'),
  },
  controllers: {
    what: '[CONTROLLER] [NETWORK] [--starts 10] [--seed 1]: every congestion controller by the same figures on three networks and one shared queue, in virtual time: mean and worst of jittered starts',
    load: () => import('./controllers.js'),
  },
  'dgram-blast': {
    what: '[--seconds N] [--payload BYTES]: what a bare one-way node:dgram blast carries on loopback',
    load: () => import('./dgram-blast.js'),
  },
  dumbbells: {
    what: '[--cc NAME] [--rounds 2] [--virtual] [--late 10] [--start careful]: two flows that meet on a link of 200 Mbit/s under every congestion controller, in virtual time and on veth: completed, mean queues and their order; needs root for veth',
    load: () => import('./dumbbells.js'),
  },
  files: {
    what: '[--size 1GB,4GB] [--pairs 3] [--only send] [--daemon "OPTIONS"] [--veth] [--against DIR]: weir send between two daemons on loopback, beside an rsync daemon, perf bw and the bare blast: goodput and memory',
    load: () => import('./files.js'),
  },
  fncc: {
    what: '[GBPS] [--starts 10] [--seed 1]: FNCC beside HPCC++ as in its paper, congestion at the first, middle and last switch, in virtual time',
    load: () => import('./fncc.js'),
  },
  forwarding: {
    what: '[--seconds N] [--pairs N] [--against DIR] [--rounds 3]: packets per second through a switch on veth, beside a Linux bridge; needs root',
    load: () => import('./forwarding.js'),
  },
  heap: {
    what: '[--packets N] [PART OF A NAME] [--against DIR] [--rounds 3]: what a packet allocates: the heap at 1 million and at 10 million packets, collections',
    load: () => import('./heap.js'),
  },
  idle: {
    what: '[--seconds 60] [--connections 100] [--io NAME] [--against DIR]: CPU time and memory of daemons that have nothing to do, by each port',
    load: () => import('./idle.js'),
  },
  ipcc: {
    what: '[near|far]: CNPs of the switch beside those of receivers, DCQCN in virtual time: first slow-down, queue, use of the link',
    load: () => import('./ipcc.js'),
  },
  micro: {
    what: '[PART OF A NAME] [--against DIR] [--slices 60]: nanoseconds of codecs, checksums, containers, and of two NICs joined in memory',
    load: () => bundledOr('micro', () => import('./micro.js')),
  },
  rocc: {
    what: '[FLOWS] [--buffer 5MB]: how fast the fair rates of RoCC settle, 2, 10 and 100 flows at 40 and 100 Gbit/s, in virtual time',
    load: () => import('./rocc.js'),
  },
  'hpcc-modes': {
    what: '[MODE] [NETWORK] [--starts 10] [--seed 1]: every way in which HPCC++ can collect and return telemetry, on three networks in virtual time; fails where a mode is unfair',
    load: () => import('./hpcc-modes.js'),
  },
  networks: {
    what: '[--only PART] [--rounds 1] [--seconds 10] [--daemon "OPTIONS"] [--cc NAME] [--against DIR]: weir perf beside TCP on networks without telemetry: narrow, long and lossy ones; needs root, iperf3',
    load: () => import('./networks.js'),
  },
  parity: {
    what: '[SCENARIO.yaml] [--rounds N] [--seconds N] [--rate R]: FCTs and link rates in real time beside virtual time',
    load: () => import('./parity.js'),
  },
  paths: {
    what: '[--seeds N]: four flows that hash to one of four paths, without a choice and with every way to choose, in virtual time',
    load: () => import('./paths.js'),
  },
  sim: {
    what: '[CASE…] [--against DIR] [--rounds 3]: CPU time, packets x hops per CPU-second and memory of virtual runs, cold and warm; beside those of another checkout, in turn. fat-tree-8 takes minutes, and runs only by its name',
    load: () => import('./sim.js'),
  },
  'silent-paths': {
    what: '[--only PART] [--cc NAME] [--seed 1]: the same and links of a data centre in virtual time, for every controller that can run on plain networks: goodput, drops, the share beside a model of TCP; whether auto is near the best',
    load: () => import('./silent-paths.js'),
  },
  transport: {
    what: '[--rounds N] [--seconds N] [--only bandwidth|latency] [--mtu 1500,9000] [--qps 1,64] [--daemon "OPTIONS"] [--pin] [--against DIR]: bandwidth and latency beside iperf3, node:net, sockperf; needs root for veth pairs',
    load: () => import('./transport.js'),
  },
  'switch-core': {
    what: '[--frames N] [--against DIR] [--rounds 3]: frames per second through one switch, without I/O',
    load: () => bundledOr('switch-core', () => import('./switch-core.js')),
  },
}

const HELP = ['--help', '-h', undefined]

const [name, ...args] = process.argv.slice(2)
const benchmark = name !== undefined && Object.hasOwn(BENCHMARKS, name) ? BENCHMARKS[name] : undefined
if (benchmark === undefined) {
  const isAsked = HELP.includes(name)
  const names = Object.entries(BENCHMARKS).map(([key, { what }]) => `  ${key.padEnd(12)} ${what}`)
  const list = `npm run bench -- NAME [ARGUMENTS], where NAME is one of\n${names.join('\n')}\n`
  if (isAsked) process.stdout.write(fold(list, columnsMost(process.stdout), 15))
  else process.stderr.write(fold(`no benchmark is called ${name}\n${list}`, columnsMost(process.stderr), 15))
  process.exitCode = isAsked ? 0 : 1
} else if (args.some(word => HELP.includes(word))) {
  process.stdout.write(fold(`npm run bench -- ${name} ${benchmark.what}\n`, columnsMost(process.stdout), 2))
} else {
  try {
    const outcome = await measure(name!, await benchmark.load())
    if (typeof outcome === 'number') process.exitCode = outcome
    else {
      keep(name!, outcome)
      if (args.includes('--json')) process.stdout.write(`${JSON.stringify(outcome)}\n`)
    }
  } catch (error) {
    const message = isForUser(error) ? error.message : error instanceof Error ? error.stack : error
    process.stderr.write(`bench ${name}: ${message}\n`)
    process.exitCode = 1
  }
}

async function bundledOr(name: string, compiled: Benchmark['load']): Promise<BenchmarkModule> {
  const bundle = bundledBenchmark(root, name)
  return bundle === null ? compiled() : ((await import(bundle)) as BenchmarkModule)
}

/** With `--against` the processes of both checkouts alternate, or the benchmark alternates by itself. */
async function measure(name: string, { run, comparedFigures }: BenchmarkModule): Promise<unknown> {
  if (comparedFigures !== undefined && isCompared(args)) return await compareRuns(name, comparedFigures, args)
  return await run(args)
}

/**
 * Returns true for an error that a user can mend, such as a wrong option. For any other error, a defect, the
 * stack is printed.
 */
function isForUser(error: unknown): error is Error {
  if (error instanceof WeirError) return true
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')
}

/** Writes the figures, too, to `bench/results`, in a file named by the time. */
function keep(name: string, outcome: unknown): void {
  const folder = join(root, 'bench', 'results')
  mkdirSync(folder, { recursive: true })
  const stamp = new Date().toISOString().replace(/\.\d+|[-:]/g, '')
  writeFileSync(join(folder, `${name}-${stamp}.json`), `${JSON.stringify(outcome, null, 2)}\n`)
}

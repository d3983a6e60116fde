/** The benchmarks' common code: what is compared, repeated and left behind. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { run as runCc } from '../../bench/cc.js'
import { run as runFiles } from '../../bench/files.js'
import { type HeapCase, run as runHeap } from '../../bench/heap.js'
import { run as runIdle } from '../../bench/idle.js'
import { run as runIpcc } from '../../bench/ipcc.js'
import { operationsIn, timeBeside } from '../../bench/micro/beside.js'
import type { OperationTime } from '../../bench/micro/time-operations.js'
import { run as runMicro } from '../../bench/micro.js'
import { run as runNetworks } from '../../bench/networks.js'
import { run as runSim } from '../../bench/sim.js'
import { compareRuns, isCompared, runIn } from '../../bench/support/against.js'
import { checkouts } from '../../bench/support/checkouts.js'
import { inRounds } from '../../bench/support/rounds.js'
import { makeTwoHosts } from '../../bench/support/two-hosts.js'
import { run as runTransport } from '../../bench/transport.js'
import { ccNames } from '../../lib/cc/catalogue.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { packageFile } from '../../lib/package-file.js'
import { noNamespaces } from '../support/netns.js'

/** CPU time of an operation in a round, ms: too short for exact results. */
const ROUND_MS = 4
const MAIN = fileURLToPath(new URL('../../bench/main.js', import.meta.url))

t.test('rounds: candidates alternate; medians, and ratios round by round', async t => {
  const order: string[] = []
  const candidate = (name: string, values: number[]) => ({
    name,
    measure: async () => {
      order.push(name)
      return { value: values.shift() ?? Number.NaN, cpu: { client: 2, server: 3 } }
    },
  })
  const slow = candidate('slow', [10, 20, 60])
  const fast = candidate('fast', [20, 80, 90])
  const { figures, repeated } = await inRounds([slow, fast], 3, 'slow')
  if (repeated > 0) return t.pass('others took the CPU, and rounds were repeated: the values are used up')
  t.same(order, ['slow', 'fast', 'slow', 'fast', 'slow', 'fast'])
  t.match(figures, [
    { name: 'slow', median: 20, min: 10, max: 60, ratio: 1, cpu: { client: 2, server: 3 } },
    // 2, 4 and 1.5: the median of the ratios is not the ratio of the medians.
    { name: 'fast', median: 80, min: 20, max: 90, ratio: 2 },
  ])
})

t.test('another checkout: ratios round by round, of values and of CPU time', async t => {
  const candidate = (name: string, other: string | undefined, values: number[]) => ({
    name,
    ...(other !== undefined && { other }),
    measure: async () => {
      const value = values.shift() ?? Number.NaN
      return { value, cpu: { client: value / 10, server: 1 } }
    },
  })
  const here = candidate('weir', 'weir (other)', [10, 30, 80])
  const other = candidate('weir (other)', undefined, [20, 20, 20])
  const { figures, repeated } = await inRounds([here, other], 3, 'nobody')
  if (repeated > 0) return t.pass('others took the CPU, and rounds were repeated: the values are used up')
  // 0.5, 1.5 and 4.
  t.match(figures[0], { name: 'weir', byOther: { ratio: 1.5, cpu: { client: 1.5, server: 1 } } })
  t.equal(figures[1]!.byOther, undefined)
  t.ok(
    figures.every(({ ratio }) => Number.isNaN(ratio)),
    'there is no such baseline',
  )
})

t.test('--only refuses what is not measured', async t => {
  const refused = { code: 'WEIR_BAD_ARGUMENT', message: /--only takes .*, not "speed"/ }
  await t.rejects(runTransport(['--only', 'speed']), refused)
  await t.rejects(runFiles(['--only', 'speed']), refused)
})

t.test('arguments that would have nothing measured are refused, with what there is', async t => {
  const bad: [(args: string[]) => unknown, string[], RegExp][] = [
    [runTransport, ['--only', 'latency', '--qps', '64'], /--qps has no effect with --only latency/],
    [runTransport, ['--qps', '0'], /--qps is a whole number from 1 to 1000/],
    [runTransport, ['--mtu', '100'], /--mtu is a whole number from 1280/],
    [runSim, ['no-such.yaml'], /no case, and no file \.yaml, is called no-such\.yaml/],
    [runSim, ['--rounds', '0'], /^--rounds is/],
    [runIdle, ['--io', 'batches'], /--io takes batch or dgram or raw/],
    [runIpcc, ['middle'], /NETWORK takes near or far/],
    [runHeap, ['nothing'], /no case has "nothing" in its name/],
  ]
  for (const [run, args, message] of bad) {
    const expected = { code: 'WEIR_BAD_ARGUMENT', message }
    await t.rejects(async () => await run(args), expected, args.join(' '))
  }
})

t.test("--against: the options of the comparison are not the benchmark's", async t => {
  t.equal(isCompared(['BTH', '--json']), false)
  t.equal(isCompared(['BTH', '--against', 'somewhere']), true)
  t.equal(isCompared(['--against=somewhere']), true)
  const nowhere = join(tmpdir(), 'no-checkout')
  t.throws(() => checkouts(nowhere), { code: 'WEIR_BAD_ARGUMENT', message: /--against: .*npm ci/ })
  const [here] = checkouts()
  t.ok(existsSync(here!.weir))
  const folder = await mkdtemp(join(tmpdir(), 'weir-against-'))
  t.teardown(() => rm(folder, { recursive: true }))
  // A checkout with a benchmark whose result says how it was called.
  await mkdir(join(folder, 'dist', 'weir'), { recursive: true })
  await mkdir(join(folder, 'dist', 'bench'))
  await writeFile(join(folder, 'dist', 'weir', 'weir.js'), '')
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await writeFile(join(folder, 'dist', 'bench', 'micro.js'), 'export const run = args => args')
  const called = (result: string[]) =>
    Array.isArray(result)
      ? [{ name: result.join(' '), value: 4 }]
      : [{ name: 'BTH --frames 5 --json', value: 2 }]
  const args = ['BTH', '--against', folder, '--frames', '5', '--rounds=1', '--json']
  const { figures, rounds } = await compareRuns('micro', called as never, args, async (checkout, ...words) =>
    checkout.name === 'here' ? {} : await runIn(checkout, ...words),
  )
  t.equal(rounds, 1)
  t.match(figures, [{ name: 'BTH --frames 5 --json', here: 2, other: 4, ratio: 0.5 }])
})

t.test('micro: operations that two checkouts have, the same number of each in turn', t => {
  const runs: [string, number][] = []
  const operation = (name: string, of: string) => ({
    name,
    run: (count: number) => {
      for (const start = performance.now(); performance.now() < start + 1; );
      runs.push([of, count])
    },
  })
  const here = [operation('a', 'here'), operation('only here', 'none')]
  const [a, ...others] = timeBeside(here, [operation('only there', 'none'), operation('a', 'other')], 4)
  t.same(others, [])
  t.match(a, { name: 'a', here: Number, other: Number })
  t.notOk(runs.some(([of]) => of === 'none'))
  const last = runs.slice(-8)
  t.same(
    last.map(([of]) => of),
    ['here', 'other', 'other', 'here', 'here', 'other', 'other', 'here'],
  )
  t.equal(new Set(last.map(([, count]) => count)).size, 1)
  t.end()
})

t.test('micro: another checkout has its operations in files, or in a bundle', async t => {
  const folder = dirname(packageFile('package.json'))
  const names = (await operationsIn(folder, ['BTH'])).map(({ name }) => name)
  t.ok(names.includes('BTH: write'))
  const old = t.testdir({ dist: { bench: { micro: {} } } })
  for (const part of ['wire-operations', 'container-operations', 'joined-nics'])
    await writeFile(
      join(old, 'dist', 'bench', 'micro', `${part}.js`),
      `export * from ${JSON.stringify(pathToFileURL(join(folder, 'dist', 'bench', 'micro', `${part}.js`)).href)}`,
    )
  await writeFile(join(old, 'package.json'), '{"type": "module"}')
  t.same(
    (await operationsIn(old, ['BTH'])).map(({ name }) => name),
    names,
  )
})

t.test('help runs nothing', async t => {
  const bench = (...words: string[]) => spawnSync(process.execPath, [MAIN, ...words], { encoding: 'utf8' })
  for (const words of [[], ['--help']]) {
    const { status, stdout, stderr } = bench(...words)
    t.match({ status, stderr }, { status: 0, stderr: '' })
    t.match(stdout, /^ {2}sim +\[CASE…\] /m)
  }
  t.match(bench('sim', '--help'), { status: 0, stdout: /^npm run bench -- sim \[CASE…\] [^\n]+\n$/ })
  t.match(bench('constructor'), { status: 1, stdout: '', stderr: /^no benchmark is called constructor\n/ })
})

t.test(
  'two hosts on a veth pair reach each other, and nothing of them is left',
  { skip: noNamespaces() },
  t => {
    const hosts = makeTwoHosts()
    t.equal(hosts.kind, 'veth', hosts.note)
    const mine = () => readdirSync('/run/netns').filter(name => name.startsWith(`weirbench${process.pid}`))
    t.equal(mine().length, 2)
    const [program, ...words] = [...hosts.a.within, 'cat', '/sys/class/net/eth0/mtu']
    t.match(execFileSync(program!, words, { encoding: 'utf8' }).trim(), '9000')
    hosts.close()
    t.equal(existsSync('/run/netns') ? mine().length : 0, 0)
    t.end()
  },
)

t.test('micro and cc measure something', async t => {
  const micro = await runMicro(['BTH', '--json'], ROUND_MS)
  t.same(
    micro.operations.map(({ name }) => name),
    ['BTH: write', 'BTH: opcode, QPN, PSN', 'parse a data packet: Ethernet to BTH'],
  )
  t.ok((micro.operations as OperationTime[]).every(({ ns, bestNs }) => bestNs > 0 && ns >= bestNs))
  const [name] = ccNames()
  const cc = runCc([name!, '--json'], ROUND_MS)
  t.same(
    cc.operations.map(operation => operation.name),
    [`${name}, no telemetry`, `${name}, 1 hop`, `${name}, 5 hops`],
  )
  t.throws(() => runCc(['nobody']), { code: 'WEIR_BAD_ARGUMENT' })
  t.end()
})

t.test('networks knows its controllers before it builds anything', async t => {
  await t.rejects(runNetworks(['--cc', 'reno']), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /--cc is one of hpcc, /,
  })
})

t.test('heap reads both ends twice', { skip: libcFault() ?? false }, async t => {
  const { cases } = await runHeap(['--packets', '5000', '--json', 'SEND'])
  t.equal(cases.length, 1)
  const [{ packets, seconds, active, passive }] = cases as [HeapCase]
  t.ok(packets[0] >= 500 && packets[1] >= 5000 && packets[1] > packets[0], `${packets}`)
  t.ok(seconds > 0)
  for (const end of [active, passive]) {
    t.equal(end.growthBytes, end.heapUsedBytes[1] - end.heapUsedBytes[0])
    t.ok(end.heapUsedBytes.every(bytes => bytes > 1e6))
    t.ok(end.allocatedBytesPerPacket > 0 && end.cpuNsPerPacket > 0)
  }
  await t.rejects(runHeap(['--packets', 'some']), { code: 'WEIR_BAD_ARGUMENT' })
})

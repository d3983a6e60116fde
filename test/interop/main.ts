/**
 * `npm run test:interop`: Weir against Linux's rdma_rxe and the programs of rdma-core, in two guests under QEMU.
 *
 *   npm run test:interop [-- OPTIONS]
 *
 * | option | meaning |
 * |---|---|
 * | --quick | path MTU 4096, without loss |
 * | --only TEXT | cells whose name and column have that text; may be given several times |
 * | --times N | each cell so often |
 * | --minutes N | cells that would begin later are not run: 40 |
 * | --results FILE | writes a line a cell there, and passes over cells that have passed by it: a matrix in parts |
 * | --keep | takes guests that are up, and leaves them up |
 * | --list | says which cells there are |
 *
 * It sets the guests up, if they are not there (`RXE_HOME`, default ~/.cache/rxe-guests: 600 MB of Debian's packages), boots them, runs the
 * matrix, prints a table, and takes the guests down. Where there can be no guests it says why and ends with success. A cell that does not
 * end in its time is ended with the guests, which are booted anew.
 */
import { parseArgs } from 'node:util'
import type { Case, Conditions } from './case.js'
import { commandCases } from './command-cases.js'
import { daemonCases } from './daemon-cases.js'
import { Guests, type Ran } from './guests.js'
import { misfitCases } from './misfit-cases.js'
import { operationCases } from './operation-cases.js'
import { programCases } from './program-cases.js'
import { Results } from './results.js'

const USAGE =
  'Usage: npm run test:interop -- [--quick] [--only TEXT]... [--times N] [--minutes N] [--results FILE] [--keep] [--list]; see docs/interop.md'

/** Ends with exit code 2 where the command line is none. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [''] },
        times: { type: 'string', default: '1' },
        minutes: { type: 'string', default: '40' },
        results: { type: 'string', default: '' },
        keep: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
      },
    })
    for (const name of ['times', 'minutes'] as const)
      if (!(Number(values[name]) > 0))
        throw new Error(`--${name} ${values[name]}: a number above 0 is expected`)
    return values
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    process.exit(2)
  }
}

const values = readOptions()
const ends = performance.now() + Number(values.minutes) * 60_000
const guests = new Guests()
const results = new Results(values.results)
let failures = 0
let isStopped = false

/** The cells under conditions that are the same for all of them: changing those takes a while. */
function casesUnder(conditions: Conditions): Case[] {
  const isUsual = conditions.pathMtu === 4096 && !conditions.lossy
  const all = [
    ...operationCases(guests, conditions),
    ...(isUsual ? programCases(guests) : []),
    ...commandCases(guests, conditions),
    ...misfitCases(guests, conditions),
    ...daemonCases(guests, conditions),
  ]
  return all.filter(({ name, column }) => {
    const text = `${name}, ${column}`
    return values.only.some(wanted => text.includes(wanted)) && !results.has(name, column)
  })
}

function allConditions(): Conditions[] {
  const mtus = values.quick ? ([4096] as const) : ([4096, 1024] as const)
  return mtus.flatMap(pathMtu => (values.quick ? [false] : [false, true]).map(lossy => ({ pathMtu, lossy })))
}

/** Null: it has not ended in its time. */
async function runBounded({ run, seconds }: Case): Promise<Ran | null> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<null>(resolve => {
    timer = setTimeout(() => resolve(null), seconds * 1000)
  })
  const ran = run().catch((error: Error) => ({ ok: false, text: String(error.stack) }))
  const first = await Promise.race([ran, tooLong])
  clearTimeout(timer)
  return first
}

async function check(cell: Case, conditions: Conditions): Promise<void> {
  const { name, column } = cell
  if (isStopped) return
  if (performance.now() > ends) {
    results.add({ name, column, verdict: 'no time', seconds: 0 })
    return
  }
  const began = performance.now()
  const ran = await runBounded(cell)
  if (isStopped) return
  const seconds = (performance.now() - began) / 1000
  const verdict = ran === null ? 'HUNG' : ran.ok ? 'ok' : 'FAILED'
  results.add({ name, column, verdict, seconds })
  console.log(`${verdict} - ${name}, ${column}, ${seconds.toFixed(1)} s`)
  if (verdict === 'ok') return
  failures++
  const lines = (ran?.text ?? '').trim().split('\n').slice(-12)
  console.log(lines.map(line => `    ${line}`).join('\n'))
  if (ran !== null && (await guests.answer())) return
  console.log('    the guests are booted anew')
  await guests.down()
  await boot()
  await guests.setConditions(conditions)
}

async function matrix(): Promise<void> {
  for (const conditions of allConditions()) {
    const cells = casesUnder(conditions)
    if (cells.length === 0) continue
    await guests.setConditions(conditions)
    for (const each of cells) for (let n = Number(values.times); n > 0; n--) await check(each, conditions)
  }
}

async function boot(): Promise<void> {
  const { ok, text } = await guests.up()
  if (!ok) throw new Error(`the guests do not boot:\n${text.trim()}`)
}

/** Why there is no matrix; null: the guests are up. */
async function prepare(): Promise<string | null> {
  const fault = guests.fault()
  if (fault !== null) return fault
  if (values.keep && (await guests.answer())) {
    const { ok, text } = await guests.addIpv6()
    return ok ? null : text
  }
  console.log(`setting the guests up and booting them, in ${guests.home}`)
  const { ok, text } = await guests.setUp()
  if (!ok) return `setting the guests up failed:\n${text.trim()}`
  return await boot().then(
    () => null,
    (error: Error) => error.message,
  )
}

async function main(): Promise<void> {
  if (values.list) {
    for (const conditions of allConditions())
      for (const { name, column } of casesUnder(conditions)) console.log(`${name}, ${column}`)
    return
  }
  const leave = async () => {
    if (!values.keep) await guests.down()
  }
  const stop = () => {
    isStopped = true
    guests.endAll()
    results.print()
    void leave().finally(() => process.exit(130))
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop)
  const fault = await prepare()
  if (isStopped) return
  if (fault !== null) {
    console.log(`skipped: ${fault}`)
    if (guests.fault() === null) await guests.down()
    return
  }
  try {
    await matrix()
  } finally {
    if (!isStopped) await leave()
  }
  if (isStopped) return
  results.print()
  // A cell that was given up may have left something that waits.
  process.exit(failures > 0 ? 1 : 0)
}

await main()

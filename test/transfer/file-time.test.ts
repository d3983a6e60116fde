/** Times of files are those that were meant: to the nanosecond by Linux's own calls, and to the microsecond by Node.js. */
import {
  closeSync,
  lstatSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { libcFault } from '../../lib/io/linux/libc.js'
import { Random } from '../../lib/sim/random.js'
import {
  type FileTime,
  isSameTime,
  nodeTime,
  setTimeAt,
  setTimeOf,
  setTimeOfLink,
  setTimeQuickly,
} from '../../lib/transfer/file/file-time.js'
import { lookedByNode } from '../../lib/transfer/file/looked.js'
import { drawnSeed } from '../support/seeds.js'

/** As old file systems have them: a signed number of 32 bits; newer ones have two bits more. */
const SECONDS_MIN = -(2 ** 31)
const SECONDS = 2 ** 33

interface Drawn {
  time: FileTime
  ns: bigint
}

/** A number of seconds beyond this does not tell one microsecond from the next. */
const NODE_SECONDS_MAX = 2 ** 32

/** Times whose digits are of interest, and others. Those of few digits are all near whole microseconds, or whole seconds. */
function drawTime(random: Random): Drawn {
  const seconds = SECONDS_MIN + random.below(SECONDS)
  const edges = [0, 1, 499, 500, 999]
  const below = random.below(2) === 0 ? edges[random.below(edges.length)]! : random.below(1000)
  const micros = random.below(4) === 0 ? [0, 1, 999_999][random.below(3)]! : random.below(1e6)
  const mtimeNanos = micros * 1000 + below
  // As lookedByStatx has it.
  return {
    time: { mtimeMs: seconds * 1000 + mtimeNanos / 1e6, mtimeNanos },
    ns: BigInt(seconds) * 1_000_000_000n + BigInt(mtimeNanos),
  }
}

function toMicrosecond(ns: bigint): bigint {
  return ns - (((ns % 1000n) + 1000n) % 1000n)
}

function scratch(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-time-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const isExact = libcFault() === null

t.test('what is set is what was said', async t => {
  const folder = scratch(t)
  const [path, link] = [join(folder, 'f'), join(folder, 'link')]
  writeFileSync(path, '')
  symlinkSync('f', link)
  const handle = await open(path, 'r+')
  t.teardown(() => handle.close())
  const random = new Random(drawnSeed(t))
  const ways: [string, (time: FileTime) => void | Promise<void>, string][] = [
    ['quickly', time => setTimeQuickly(handle.fd, time), path],
    ['of an open file', time => setTimeOf(handle, time), path],
    ['by its path', time => setTimeAt(link, time), path],
    ['of a link', time => setTimeOfLink(link, time), link],
  ]
  for (const [what, set, shows] of ways) {
    for (let i = 0; i < 500; i++) {
      const { time, ns } = drawTime(random)
      await set(time)
      const { mtimeNs } = lstatSync(shows, { bigint: true })
      if (mtimeNs !== (isExact ? ns : toMicrosecond(ns))) t.fail(`${what}: ${ns}, and is ${mtimeNs}`)
    }
    t.pass(what)
  }
  await t.rejects(setTimeAt(join(folder, 'missing'), { mtimeMs: 1 }), { code: 'ENOENT' })
  t.throws(() => setTimeQuickly(9_999_999, { mtimeMs: 1 }), { code: 'EBADF' })
})

t.test('what is looked at and set elsewhere is the same', async t => {
  const path = join(scratch(t), 'f')
  closeSync(openSync(path, 'w'))
  const random = new Random(drawnSeed(t))
  for (let i = 0; i < 500; i++) {
    const { time, ns } = drawTime(random)
    await setTimeAt(path, time)
    const looked = lookedByNode(lstatSync(path, { bigint: true }))
    utimesSync(path, 0, 0)
    await setTimeAt(path, looked)
    const { mtimeNs } = lstatSync(path, { bigint: true })
    if (mtimeNs !== (isExact ? ns : toMicrosecond(ns))) t.fail(`${ns}, and is ${mtimeNs}`)
    if (!isSameTime(looked, time)) t.fail(`${ns}: not the same`)
  }
  t.pass('so a copy of a copy has the same time')
})

t.test('by Node.js, and from a host that does not say nanoseconds', async t => {
  const path = join(scratch(t), 'f')
  writeFileSync(path, '')
  const random = new Random(drawnSeed(t))
  for (let i = 0; i < 2000; i++) {
    const { time, ns } = drawTime(random)
    if (time.mtimeMs >= NODE_SECONDS_MAX * 1000) continue
    const set = () => lstatSync(path, { bigint: true }).mtimeNs
    utimesSync(path, 0, nodeTime(time))
    // Before Node.js 24 it is that already.
    if ((set() / 1000n) * 1000n !== toMicrosecond(ns)) t.fail(`${ns}: ${set()} by Node.js`)
    await setTimeAt(path, { mtimeMs: time.mtimeMs })
    const off = (isExact ? set() : (set() / 1000n) * 1000n) - toMicrosecond(ns)
    if (ns % 1000n === 0n ? off !== 0n : off < 0n || off > 1000n) t.fail(`${ns}: ${off} ns off`)
  }
  t.pass('within a microsecond')
})

t.test('times that count as the same', async t => {
  t.ok(isSameTime({ mtimeMs: 1.7e12, mtimeNanos: 1 }, { mtimeMs: 1.7e12 + 0.001 }))
  t.notOk(isSameTime({ mtimeMs: 1.7e12 }, { mtimeMs: 1.7e12 + 0.003 }))
})

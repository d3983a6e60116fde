/** Trees over several connections: what is there of them, what is deleted, what is compared, and what becomes of it when a connection fails. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import type { TransferService } from '../../lib/transfer/service.js'
import type { TransferResult } from '../../lib/transfer/task/transfer.js'
import { type FakeVerbs, fakePair, type Hook } from '../support/fake-verbs.js'
import { CHUNK, WAYS, type Way } from '../support/transfer-bench.js'
import { checkAllReleased, serviceIn } from '../support/transfer-service.js'

/** A part of a file of less than 1 MiB is not looked for. */
const LONG = (1 << 20) + 20 * CHUNK + 5
const never = new AbortController().signal

interface Options {
  streams: number
  retries?: number
  overwrite?: boolean
  checksum?: boolean
  dryRun?: boolean
  delete?: boolean
  deleteMost?: number
}

interface Bench {
  from: string
  to: string
  asks: FakeVerbs
  answers: FakeVerbs
  services: TransferService[]
  moved: Map<number, number>
  onData(act: (connection: number, n: number, work: SendWork) => ReturnType<Hook>): void
  run(options: Options): Promise<TransferResult>
}

/** A folder with short files, a long one and another that is deep. */
function makeTree(folder: string): void {
  mkdirSync(join(folder, 'deep', 'er'), { recursive: true })
  for (let i = 0; i < 200; i++)
    writeFileSync(join(folder, 'deep', `f${i}`), `contents ${i}`.repeat(1 + (i % 40)))
  const long = Buffer.alloc(LONG)
  for (let i = 0; i < LONG; i++) long[i] = (i * 131 + (i >> 8) * 17) & 0xff
  writeFileSync(join(folder, 'deep', 'er', 'long'), long)
  writeFileSync(join(folder, 'empty'), '')
}

async function start(t: Test, way: Way): Promise<Bench> {
  const folder = t.testdir({ here: {}, there: {} })
  const [here, there] = [join(folder, 'here'), join(folder, 'there')]
  const [from, to] =
    way === 'send'
      ? [join(here, 'tree'), join(there, 'in', 'to')]
      : [join(there, 'share', 'tree'), join(here, 'to')]
  mkdirSync(from, { recursive: true })
  mkdirSync(to, { recursive: true })
  makeTree(from)
  const [asks, answers] = fakePair()
  const settings = { slots: 12, allowsDeletion: true }
  const services = [await serviceIn(here, asks, settings), await serviceIn(there, answers, settings)]
  t.teardown(() => Promise.all(services.map(service => service.close(100))))
  const moved = new Map<number, number>()
  let act: (connection: number, n: number, work: SendWork) => ReturnType<Hook> = () => undefined
  asks.hook = (_from, work, _bytes, _index, connection) => {
    const { opcode } = work
    if (opcode !== WorkOpcode.RDMA_WRITE_WITH_IMM && opcode !== WorkOpcode.RDMA_READ) return undefined
    const n = (moved.get(connection) ?? 0) + 1
    moved.set(connection, n)
    return act(connection, n, work)
  }
  const host = answers.address.toString()
  const [service] = services as [TransferService]
  return {
    ...{ from, to, asks, answers, services, moved },
    onData: wanted => {
      act = wanted
    },
    run: options =>
      way === 'send'
        ? service.sendTree(
            { roots: [{ path: from, name: '' }], directory: 'to', host, ...options },
            never,
            () => {},
          )
        : service.getTree({ paths: ['tree/'], directory: to, host, ...options }, never, () => {}),
  }
}

/** Paths of all files in it, sorted. */
function filesBelow(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter(name => statSync(join(folder, name)).isFile()).sort()
}

function contentsOf(folder: string): [string, string][] {
  return filesBelow(folder).map(name => [name, readFileSync(join(folder, name), 'hex')])
}

async function checkArrived(t: Test, { from, to, services, asks, answers }: Bench): Promise<void> {
  t.same(contentsOf(to), contentsOf(from), 'the trees are equal')
  await checkAllReleased(t, services, asks, answers)
}

for (const way of WAYS) {
  t.test(`${way}: each connection carries a part`, async t => {
    const bench = await start(t as Test, way)
    t.match(await bench.run({ streams: 3 }), {
      streams: 3,
      attempts: 1,
      tree: { files: 202, movedFiles: 202 },
    })
    t.same([...bench.moved.keys()].sort(), [1, 2, 3])
    await checkArrived(t as Test, bench)
    t.match(await bench.run({ streams: 3 }), { tree: { movedFiles: 0 } }, 'nothing moves once more')
  })

  t.test(`${way}: a further connection fails`, async t => {
    for (const at of [1, 4]) {
      const bench = await start(t as Test, way)
      bench.onData((connection, n) => (connection === 2 && n === at ? 'lose' : undefined))
      t.match(await bench.run({ streams: 3 }), { attempts: 1 }, `chunk ${at}`)
      await checkArrived(t as Test, bench)
    }
  })

  t.test(`${way}: the first one fails: what is there of a long file is kept`, async t => {
    const bench = await start(t as Test, way)
    let [lost, bytes] = [false, 0]
    bench.onData((connection, _n, work) => {
      bytes += work.length
      const chunks = [...bench.moved.values()].reduce((sum, n) => sum + n, 0)
      if (lost || connection !== 1 || chunks < LONG / CHUNK / 2) return undefined
      lost = true
      return 'break'
    })
    const result = await bench.run({ streams: 3, retries: 5 })
    t.ok(lost)
    t.match(result, { attempts: 2, restarts: 0, streams: 3 })
    const all = filesBelow(bench.from).reduce((sum, name) => sum + statSync(join(bench.from, name)).size, 0)
    t.ok(bytes < 1.6 * all, `of ${all} bytes ${bytes} moved, digests included`)
    await checkArrived(t as Test, bench)
  })

  t.test(`${way}: --delete`, async t => {
    const bench = await start(t as Test, way)
    mkdirSync(join(bench.to, 'old'))
    for (const name of ['old/a', 'old/b', 'gone']) writeFileSync(join(bench.to, name), 'old')
    const deleting = { streams: 3, delete: true, deleteMost: 10 }
    const counts = { deletedFiles: 3, deletedFolders: 1 }
    t.match(await bench.run({ ...deleting, dryRun: true }), { tree: counts })
    t.equal(readFileSync(join(bench.to, 'gone'), 'utf8'), 'old', 'a dry run deletes nothing')
    bench.onData((connection, n) => (connection === 3 && n === 2 ? 'break' : undefined))
    t.match(await bench.run(deleting), { tree: counts, attempts: 1 })
    await checkArrived(t as Test, bench)
  })

  t.test(`${way}: --checksum compares contents`, async t => {
    const bench = await start(t as Test, way)
    await bench.run({ streams: 3 })
    const [same, other] = [join(bench.to, 'deep', 'f1'), join(bench.to, 'deep', 'f2')]
    utimesSync(same, 1, 1)
    chmodSync(same, 0o600)
    const { atime, mtime } = statSync(other)
    writeFileSync(other, readFileSync(other, 'utf8').toUpperCase())
    utimesSync(other, atime, mtime)
    t.match(await bench.run({ streams: 3, checksum: true, overwrite: true }), { tree: { movedFiles: 1 } })
    await checkArrived(t as Test, bench)
    const apartMs = statSync(same).mtimeMs - statSync(join(bench.from, 'deep', 'f1')).mtimeMs
    t.ok(Math.abs(apartMs) < 1, 'its time is set')
  })
}

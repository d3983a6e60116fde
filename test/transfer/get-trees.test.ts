/** Trees that one real host gets of another: what arrives is equal, and nothing else of the host can be had. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Transfer } from '../../lib/transfer/task/transfer.js'
import { scratch } from '../support/daemon-process.js'
import { linesOf, makeOddTree } from '../support/odd-tree.js'
import { realHost } from './real-host.js'

const CLEAN = { loss: 0, duplication: 0, reorder: 0 }
const never = new AbortController().signal

async function twoHosts(t: Test) {
  const folder = await scratch(t)
  const port = 23_780
  const a = await realHost(t, join(folder, 'a'), port, 1, CLEAN)
  const b = await realHost(t, join(folder, 'b'), port, 2, CLEAN)
  const [share, to] = [join(folder, 'b', 'share'), join(folder, 'a', 'to')]
  const get = (paths: string[], more: object = {}) =>
    a.transfers.getTree({ paths, host: b.address, directory: to, ...more }, never, () => {})
  return { share, to, get, a, b }
}

function fill(folder: string, ...names: string[]) {
  for (const name of names) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), `this is ${name}`)
  }
}

t.test('a tree arrives equal, and does not move again', async t => {
  const { share, to, get } = await twoHosts(t)
  mkdirSync(join(share, 'tree'))
  const files = makeOddTree(join(share, 'tree'))
  t.match(await get(['tree']), { path: join(to, 'tree'), tree: { files, movedFiles: files, links: 5 } })
  t.same(linesOf(join(to, 'tree')), linesOf(join(share, 'tree')))
  t.match(await get(['tree']), { tree: { files, movedFiles: 0 } })
  const fresh = join(to, 'fresh')
  t.match(await get(['tree/'], { directory: fresh }), { path: fresh, tree: { movedFiles: files } })
  t.same(linesOf(fresh), linesOf(join(share, 'tree')))
  const all = join(to, 'all')
  await get(['.'], { directory: all, digest: 'sha256' })
  t.same(linesOf(all), linesOf(share))
})

t.test('a dry run says what would move, and changes nothing', async t => {
  const { share, to, get } = await twoHosts(t)
  fill(share, 'd/a', 'd/b')
  const there = join(to, 'new')
  t.match(await get(['d', 'd/a'], { directory: there, dryRun: true }), {
    tree: { files: 3, movedFiles: 3, wouldMove: ['d/a', 'd/b', 'a'] },
  })
  t.notOk(existsSync(there))
  await get(['d'], { directory: there })
  t.match(await get(['d'], { directory: there, dryRun: true }), {
    bytes: 0,
    tree: { files: 2, movedFiles: 0 },
  })
})

t.test(
  'by digests: what has other times stays, and what has the same time and other contents moves',
  async t => {
    const { share, to, get } = await twoHosts(t)
    fill(share, 'd/a', 'd/b')
    await get(['d'])
    utimesSync(join(to, 'd', 'a'), 1e9, 1e9)
    const { mtime } = statSync(join(share, 'd', 'b'))
    writeFileSync(join(to, 'd', 'b'), 'this is d/B')
    utimesSync(join(to, 'd', 'b'), mtime, mtime)
    t.match(await get(['d'], { dryRun: true, overwrite: true }), { tree: { wouldMove: ['d/a'] } })
    const by = { checksum: true, overwrite: true }
    t.match(await get(['d'], { ...by, dryRun: true }), { tree: { wouldMove: ['d/b'] } })
    t.match(await get(['d'], by), { tree: { movedFiles: 1 } })
    t.same(linesOf(join(to, 'd')), linesOf(join(share, 'd')))
  },
)

t.test('several paths and globs', async t => {
  const { share, to, get } = await twoHosts(t)
  fill(
    share,
    'a.csv',
    'b.csv',
    '.hidden.csv',
    'c.txt',
    'x[1].csv',
    'jan/1.log',
    'feb/2.log',
    'feb/3.txt',
    'out/4.log',
  )
  const got = async (...paths: string[]) => {
    rmSync(to, { recursive: true })
    mkdirSync(to)
    await get(paths)
    return readdirSync(to).sort()
  }
  t.same(await got('*.csv'), ['a.csv', 'b.csv', 'x[1].csv'])
  t.same(await got('x[1].csv'), ['x[1].csv'], 'what has that very name comes first')
  t.same(await got('*/*.log', 'c.txt'), ['1.log', '2.log', '4.log', 'c.txt'])
  t.same(await got('[jf]*'), ['feb', 'jan'])
  t.same(await got('.h*'), ['.hidden.csv'])
  await t.rejects(got('a.csv', '*.none'), { code: 'WEIR_NO_FILE' })
  await t.rejects(got('a.csv', 'nothing'), { code: 'WEIR_NO_FILE' })
})

t.test('what is not there, and what leads out', async t => {
  const { share, to, get, b } = await twoHosts(t)
  fill(share, 'a', 'd/b')
  writeFileSync(join(b.folder, 'secret'), 'secret')
  symlinkSync('..', join(share, 'up'))
  symlinkSync('../secret', join(share, 'leak'))
  symlinkSync('d', join(share, 'inside'))
  for (const path of ['nothing', 'a/x', '*.none', 'd/*/z'])
    await t.rejects(get([path]), { code: 'WEIR_NO_FILE' }, path)
  for (const path of [
    '..',
    '../secret',
    'd/../../secret',
    '/etc',
    'up',
    'leak',
    'up/secret',
    '.weir-delivered',
  ]) {
    await t.rejects(get([path]), { code: 'WEIR_REJECTED' }, path)
  }
  await t.rejects(get(['u*/secret']), { code: 'WEIR_NO_FILE' }, 'globs do not lead out')
  await t.rejects(get(['.']), { code: 'WEIR_REJECTED', message: /leads out/ })
  t.same(readdirSync(to), [])
  t.match(await get(['.'], { skipLinks: true }), { tree: { files: 2, links: 1, skipped: 2 } })
  await t.rejects(get(['a'], { directory: join(to, 'not', 'there') }), { code: 'WEIR_NO_FILE' })
})

t.test('globs choose what comes', async t => {
  const { share, to, get } = await twoHosts(t)
  fill(share, 'd/a.tmp', 'd/b.txt', 'd/cache/x', 'd/deep/keep.tmp', 'd/deep/er/c.tmp')
  await get(['d'], { exclude: ['*.tmp', 'cache/'], include: ['keep.tmp'] })
  t.same(readdirSync(join(to, 'd')), ['b.txt', 'deep'])
  t.same(readdirSync(join(to, 'd', 'deep')), ['er', 'keep.tmp'])
  await get(['d/'], { include: ['**/c.tmp'] })
  t.same(readdirSync(join(to, 'deep', 'er')), ['c.tmp'])
  await t.rejects(get(['d'], { exclude: ['{a,b}'] }), { code: 'WEIR_REJECTED', message: /braces/ })
  await t.rejects(get(['d'], { exclude: ['../x'] }), { code: 'WEIR_REJECTED' })
})

t.test('what differs is replaced only with overwrite, and modes stay', async t => {
  const { share, to, get } = await twoHosts(t)
  fill(share, 'd/a', 'd/b')
  chmodSync(join(share, 'd'), 0o555)
  t.teardown(() => chmodSync(join(share, 'd'), 0o755))
  await get(['d'])
  t.same(linesOf(to), linesOf(share))
  writeFileSync(join(to, 'd', 'b'), 'mine')
  await t.rejects(get(['d']), { code: 'WEIR_FILE_EXISTS' })
  t.match(await get(['d'], { overwrite: true }), { tree: { movedFiles: 1 } })
  t.same(linesOf(to), linesOf(share))
})

t.test('an empty folder, and a hundred paths', async t => {
  const { share, to, get } = await twoHosts(t)
  mkdirSync(join(share, 'empty'))
  t.match(await get(['empty']), { bytes: 0, tree: { files: 0, folders: 1 } })
  const names = Array.from({ length: 100 }, (_, i) => `${'n'.repeat(200)}${i}`)
  fill(share, ...names)
  t.match(await get(names), { path: to, tree: { files: 100 } })
  await t.rejects(get(Array.from({ length: 1001 }, () => 'x')), { code: 'WEIR_REJECTED' })
})

t.test('a lost connection: what is here does not move again', async t => {
  const { share, to, get, a, b } = await twoHosts(t)
  mkdirSync(join(share, 't'))
  for (let i = 0; i < 40; i++) writeFileSync(join(share, 't', `f${i}`), Buffer.alloc(100_000, `${i} `))
  for (const name of readdirSync(join(share, 't'))) utimesSync(join(share, 't', name), 1, 1_600_000_000)
  let cuts = 0
  const got = await a.transfers.getTree(
    { paths: ['t'], host: b.address, directory: to, retries: 5 },
    never,
    transfer => {
      const timer = setInterval(() => {
        if (cuts > 0 || transfer.deliveredBytes < 1_000_000) return
        cuts++
        for (const served of b.transfers.transfers) served.interrupt('the test cuts the connection')
      }, 5)
      t.teardown(() => clearInterval(timer))
    },
  )
  t.equal(cuts, 1)
  t.ok(got.attempts >= 2, `${got.attempts} attempts`)
  t.match(
    got,
    { resumedBytes: 0, tree: { files: 40, movedFiles: 40, movedBytes: 4_000_000 } },
    'of all attempts',
  )
  t.same(linesOf(to), linesOf(share))
  renameSync(join(share, 't'), join(share, 'u'))
  await t.rejects(get(['t']), { code: 'WEIR_NO_FILE' })
})

t.test('a refusal after a lost connection: the part of the file that was under way is removed', async t => {
  const { share, to, a, b } = await twoHosts(t)
  fill(share, 'tree/first', 'tree/z-last')
  writeFileSync(join(share, 'tree', 'long'), Buffer.alloc(8_000_000, 'long '))
  let transfer: Transfer | undefined
  const note = (begun: Transfer) => {
    transfer = begun
  }
  const options = { paths: ['tree'], host: b.address, directory: to, retries: 3 }
  const got = a.transfers.getTree(options, never, note)
  while ((transfer?.deliveredBytes ?? 0) < 1_000_000) await sleep(1)
  a.link.isDown = b.link.isDown = true
  while (transfer?.state !== 'waiting') await sleep(5)
  t.equal(readdirSync(join(to, 'tree')).length, 2, 'one file, and a part of another')
  fill(to, 'tree/z-last/in-the-way')
  a.link.isDown = b.link.isDown = false
  await t.rejects(got, { code: 'WEIR_FILE_EXISTS' })
  t.same(readdirSync(join(to, 'tree')).sort(), ['first', 'z-last'])
})

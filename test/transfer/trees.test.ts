/** Trees between real hosts: what arrives is equal, and what is there does not move. */
import {
  chmodSync,
  chownSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Folder } from '../../lib/transfer/file/folder.js'
import { LocalTree } from '../../lib/transfer/file/local-tree.js'
import { OpenFolders } from '../../lib/transfer/file/open-folders.js'
import { TreeSource } from '../../lib/transfer/file/tree-source.js'
import { isPartialName } from '../../lib/transfer/protocol/names.js'
import { TreeLayout, WantedFiles } from '../../lib/transfer/protocol/tree-layout.js'
import { scratch } from '../support/daemon-process.js'
import { linesOf, makeOddTree } from '../support/odd-tree.js'
import { realHost } from './real-host.js'

const CLEAN = { loss: 0, duplication: 0, reorder: 0 }
const never = new AbortController().signal

async function twoHosts(t: Test) {
  const folder = await scratch(t)
  const from = join(folder, 'from')
  mkdirSync(from)
  const port = 23_760
  const a = await realHost(t, join(folder, 'a'), port, 1, CLEAN)
  const b = await realHost(t, join(folder, 'b'), port, 2, CLEAN)
  const inbox = join(folder, 'b', 'in')
  const send = (more: object = {}, name = 'tree') =>
    a.transfers.sendTree({ roots: [{ path: from, name }], host: b.address, ...more }, never, () => {})
  return { from, inbox, send, a, b }
}

t.test('a tree arrives equal, and does not move again', async t => {
  const { from, inbox, send } = await twoHosts(t)
  const files = makeOddTree(from)
  const result = await send()
  t.match(result, { path: 'tree', tree: { files, movedFiles: files, links: 5, skipped: 0 } })
  t.same(linesOf(join(inbox, 'tree')), linesOf(from))
  const { blocks } = statSync(join(inbox, 'tree', 'holes'))
  t.ok(blocks <= statSync(join(from, 'holes')).blocks, 'holes stay holes')

  t.match(await send(), { tree: { files, movedFiles: 0 } })
  const contents = await send({ directory: 'other/place' }, '')
  t.match(contents, { path: 'other/place', tree: { movedFiles: files } })
  t.same(linesOf(join(inbox, 'other/place')), linesOf(from))
})

t.test('a dry run says what would move, and changes nothing', async t => {
  const { from, inbox, send } = await twoHosts(t)
  const files = makeOddTree(from)
  const would = await send({ dryRun: true })
  t.match(would, { bytes: 0, resumedBytes: 0, path: '', tree: { files, movedFiles: files, links: 5 } })
  t.equal(would.tree!.wouldMove.length, files)
  t.same(readdirSync(inbox), [], 'nothing is there')
  const { tree } = await send()
  t.equal(would.tree!.movedBytes, tree!.movedBytes)
  t.same(tree!.wouldMove, [])
  t.match(await send({ dryRun: true }), { tree: { files, movedFiles: 0, movedBytes: 0, wouldMove: [] } })

  mkdirSync(join(from, 'sub'), { recursive: true })
  writeFileSync(join(from, 'sub', 'new'), 'new')
  t.match(await send({ dryRun: true }), {
    tree: { movedFiles: 1, movedBytes: 3, wouldMove: ['tree/sub/new'] },
  })
  await send()
  writeFileSync(join(from, 'sub', 'new'), 'newer')
  await t.rejects(send({ dryRun: true }), { code: 'WEIR_FILE_EXISTS' })
  t.match(await send({ dryRun: true, overwrite: true }), { tree: { wouldMove: ['tree/sub/new'] } })
  t.equal(readFileSync(join(inbox, 'tree/sub/new'), 'utf8'), 'new')
})

t.test(
  'by digests: what has other times stays, and what has the same time and other contents moves',
  async t => {
    const { from, inbox, send } = await twoHosts(t)
    const [a, b] = ['a', 'b'].map(name => join(from, name)) as [string, string]
    writeFileSync(a, 'a'.repeat(400_000))
    writeFileSync(b, 'b'.repeat(400_000))
    await send()
    const time = statSync(b).mtime
    writeFileSync(b, 'B'.repeat(400_000))
    utimesSync(b, time, time)
    utimesSync(a, 1e9, 1e9)
    chmodSync(a, 0o600)
    t.match(await send({ overwrite: true, dryRun: true }), { tree: { wouldMove: ['tree/a'] } })
    for (const digest of ['xxh64', 'sha256']) {
      const by = { checksum: true, digest, dryRun: true }
      await t.rejects(send(by), { code: 'WEIR_FILE_EXISTS', message: /tree\/b/ })
      t.match(await send({ ...by, overwrite: true }), { tree: { wouldMove: ['tree/b'] } })
    }
    const there = join(inbox, 'tree', 'a')
    t.not(statSync(there).mtimeMs, 1e12, 'a dry run touches nothing')
    t.match(await send({ checksum: true, overwrite: true }), { tree: { movedFiles: 1 } })
    t.equal(readFileSync(join(inbox, 'tree', 'b'), 'utf8'), 'B'.repeat(400_000))
    t.match(statSync(there), { mtimeMs: 1e12, mode: 0o100600 }, 'mode and time alone')
    t.match(await send({ checksum: true }), { tree: { movedFiles: 0 } })
  },
)

t.test('long files between many short ones of the same chunks', async t => {
  const { from, inbox, send } = await twoHosts(t)
  for (let i = 0; i < 20; i++) {
    for (let k = 0; k < 30; k++) writeFileSync(join(from, `${i + 10}-${k}`), Buffer.alloc(700, `${i} ${k} `))
    writeFileSync(join(from, `${i + 10}-long`), Buffer.alloc(50_000 + 9000 * i, `${i} `))
  }
  t.match(await send(), { tree: { movedFiles: 620 } })
  t.same(linesOf(join(inbox, 'tree')), linesOf(from))
})

t.test('what differs is replaced only with overwrite', async t => {
  const { from, inbox, send } = await twoHosts(t)
  for (const name of ['a', 'b', 'c']) writeFileSync(join(from, name), name)
  await send()
  writeFileSync(join(from, 'b'), 'longer')
  writeFileSync(join(from, 'd'), 'new')
  await t.rejects(send(), { code: 'WEIR_FILE_EXISTS', message: /tree\/b would be replaced/ })
  t.same(readdirSync(join(inbox, 'tree')), ['a', 'b', 'c'], 'nothing has changed')
  t.match(await send({ overwrite: true }), { tree: { movedFiles: 2 } })
  t.same(linesOf(join(inbox, 'tree')), linesOf(from))
})

t.test('an empty folder, and a folder of empty files', async t => {
  const { from, inbox, send } = await twoHosts(t)
  t.match(await send(), { bytes: 0, tree: { files: 0, folders: 1 } })
  for (const name of ['a', 'b']) writeFileSync(join(from, name), '')
  t.match(await send(), { bytes: 0, tree: { files: 2, movedFiles: 2 } })
  t.same(linesOf(join(inbox, 'tree')), linesOf(from))
})

t.test('links that lead out are refused, or left out', async t => {
  const { from, inbox, send } = await twoHosts(t)
  mkdirSync(join(from, 'd'))
  symlinkSync('/etc/passwd', join(from, 'd', 'absolute'))
  symlinkSync('../../../up', join(from, 'd', 'up'))
  symlinkSync('../f', join(from, 'd', 'inside'))
  await t.rejects(send(), { code: 'WEIR_REJECTED', message: /leads out of the tree/ })
  t.match(await send({ skipLinks: true }), { tree: { links: 1, skipped: 2 } })
  t.same(readdirSync(join(inbox, 'tree', 'd')), ['inside'])
})

t.test('a link in the place of a folder is not followed', async t => {
  const { from, inbox, send } = await twoHosts(t)
  mkdirSync(join(from, 'd'))
  writeFileSync(join(from, 'd', 'f'), 'x')
  mkdirSync(join(inbox, 'tree'))
  mkdirSync(join(inbox, 'elsewhere'))
  symlinkSync('../elsewhere', join(inbox, 'tree', 'd'))
  await t.rejects(send({ overwrite: true }), { code: 'WEIR_FILE_EXISTS', message: /no folder/ })
  t.same(readdirSync(join(inbox, 'elsewhere')), [])
})

/** Inodes of the files that have their names. */
function inodesOf(folder: string): Record<string, number> {
  const names = readdirSync(folder).filter(name => !name.startsWith('.'))
  return Object.fromEntries(names.map(name => [name, statSync(join(folder, name)).ino]))
}

t.test('a lost connection: the files that are there do not move again', async t => {
  const { from, inbox, a, b } = await twoHosts(t)
  for (let i = 0; i < 40; i++) writeFileSync(join(from, `f${i}`), Buffer.alloc(100_000, `${i} `))
  for (const name of readdirSync(from)) utimesSync(join(from, name), 1, 1_600_000_000)
  let cuts = 0
  let there: Record<string, number> = {}
  const sent = a.transfers.sendTree(
    { roots: [{ path: from, name: 't' }], host: b.address, retries: 5 },
    never,
    transfer => {
      const timer = setInterval(() => {
        if (cuts > 0 || transfer.deliveredBytes < 1_000_000) return
        cuts++
        there = inodesOf(join(inbox, 't'))
        for (const other of b.transfers.transfers) other.interrupt('a test')
      }, 1)
      void transfer.ended.then(() => clearInterval(timer))
    },
  )
  const { attempts, tree, resumedBytes } = await sent
  t.comment(`${cuts} cuts, ${attempts} attempts`)
  t.equal(attempts, cuts + 1)
  const all = { files: 40, movedFiles: 40, movedBytes: 4_000_000 }
  t.match({ tree, resumedBytes }, { tree: all, resumedBytes: 0 }, 'of all attempts')
  t.match(inodesOf(join(inbox, 't')), there, 'files that were there are the same')
  t.same(linesOf(join(inbox, 't')), linesOf(from))
  t.same(readdirSync(join(inbox, 't')).filter(isPartialName), [])
})

t.test('times before 1970', async t => {
  const { from, inbox, send } = await twoHosts(t)
  const time = new Date(-5_000_123)
  mkdirSync(join(from, 'd'))
  writeFileSync(join(from, 'd', 'short'), 'x')
  writeFileSync(join(from, 'long'), Buffer.alloc(3_000_000, 'x'))
  symlinkSync('long', join(from, 'link'))
  for (const name of ['d/short', 'd', 'long']) utimesSync(join(from, name), time, time)
  lutimesSync(join(from, 'link'), time, time)
  await send()
  t.same(linesOf(join(inbox, 'tree')), linesOf(from))
  t.equal(Math.round(statSync(join(inbox, 'tree', 'd')).mtimeMs), -5_000_123)
  t.match(await send(), { tree: { movedFiles: 0 } })
})

t.test('a file that is gone, or that a link has replaced, is named', async t => {
  const folder = await scratch(t)
  mkdirSync(join(folder, 'd'))
  for (const name of ['gone', 'link', 'there']) writeFileSync(join(folder, 'd', name), name)
  const tree = await LocalTree.walk([{ path: folder, name: 'top' }])
  for (const name of ['gone', 'link']) rmSync(join(folder, 'd', name))
  symlinkSync('there', join(folder, 'd', 'link'))
  const read = async (name: string) => {
    const number = tree.list.entries.findIndex(entry => entry.name === name) + 1
    const wanted = new WantedFiles(tree.list.entries.length)
    wanted.add(number)
    const source = new TreeSource(new TreeLayout(tree.list, wanted), tree)
    await source.read(new Uint8Array(source.size), 0)
  }
  await read('there')
  await t.rejects(read('gone'), {
    code: 'WEIR_TRANSFER_FAILED',
    message: 'cannot read top/d/gone: there is no such file',
  })
  await t.rejects(read('link'), { code: 'WEIR_TRANSFER_FAILED', message: /^top\/d\/link was modified/ })
})

t.test('a listing is cancelled at once', async t => {
  const { from, send, a, b } = await twoHosts(t)
  for (let i = 0; i < 100; i++) writeFileSync(join(from, `f${i}`), '')
  const controller = new AbortController()
  let asked = 0
  const admits = () => {
    if (++asked === 3) controller.abort()
    return true
  }
  const { signal } = controller
  await t.rejects(LocalTree.walk([{ path: from, name: 'tree' }], { admits, signal }), {
    code: 'WEIR_CANCELLED',
  })
  t.equal(asked, 3)
  const what = { roots: [{ path: from, name: 'tree' }], host: b.address }
  await t.rejects(
    a.transfers.sendTree(what, signal, () => {}),
    { code: 'WEIR_CANCELLED', message: /listed/ },
  )
  t.match(await send(), { tree: { files: 100 } })
})

t.test('a folder that an earlier transfer made read-only takes files again', async t => {
  const { from, inbox, send } = await twoHosts(t)
  mkdirSync(join(from, 'd'))
  writeFileSync(join(from, 'd', 'a'), 'a')
  chmodSync(join(from, 'd'), 0o555)
  await send()
  chmodSync(join(from, 'd'), 0o755)
  writeFileSync(join(from, 'd', 'b'), 'b')
  chmodSync(join(from, 'd'), 0o555)
  await send()
  t.same(linesOf(join(inbox, 'tree')), linesOf(from))
  // Root may write there anyway, so the mode is looked at while the folder is open.
  const { list } = await LocalTree.walk([{ path: from, name: 'tree' }])
  const folders = new OpenFolders(await Folder.open(inbox), list, true)
  await folders.use(2, async () => {
    t.equal(statSync(join(inbox, 'tree', 'd')).mode & 0o777, 0o755)
  })
  await folders.close()
  chmodSync(join(from, 'd'), 0o755)
})

t.test("the inbox's own list, by a link that leads to the inbox", async t => {
  const { from, inbox, send } = await twoHosts(t)
  symlinkSync('.', join(from, 'self'))
  await send({}, '')
  rmSync(join(from, 'self'))
  writeFileSync(join(from, '.weir-delivered'), 'forged')
  for (const directory of ['', 'self', 'self/self']) {
    await t.rejects(send({ directory, overwrite: true }, ''), {
      code: 'WEIR_REJECTED',
      message: /own list/,
    })
  }
  t.match(await send({ directory: 'self/below' }, ''), { path: /weir-delivered/ }, 'elsewhere it is a file')
  t.same(readdirSync(inbox).sort(), ['below', 'self'])
})

t.test('a folder that its owner may not read', async t => {
  const folder = await scratch(t)
  const path = join(folder, 'shut')
  mkdirSync(path, 0o000)
  if (process.getuid?.() === 0) {
    for (const of of [folder, path]) chownSync(of, 65_534, 65_534)
    process.seteuid!(65_534)
    t.teardown(() => process.seteuid!(0))
  }
  const above = await Folder.open(folder)
  const shut = await above.enterOwn('shut')
  await shut.setModeAndTime(0o111, { mtimeMs: 1_000_000 })
  t.match(statSync(path), { mode: 0o40111, mtimeMs: 1_000_000 })
  await shut.makeWritable()
  t.equal(statSync(path).mode & 0o777, 0o311)
  for (const open of [shut, above]) await open.close()
})

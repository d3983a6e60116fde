/** `--delete`: what the folders of a tree have at the destination and not at the source goes, and nothing else. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { Random } from '../../lib/sim/random.js'
import { Deletions } from '../../lib/transfer/file/deletions.js'
import { Folder } from '../../lib/transfer/file/folder.js'
import { OpenFolders } from '../../lib/transfer/file/open-folders.js'
import { TreeList } from '../../lib/transfer/protocol/tree-list.js'
import { scratch } from '../support/daemon-process.js'
import { drawnSeed } from '../support/seeds.js'
import { realHost } from './real-host.js'

const CLEAN = { loss: 0, duplication: 0, reorder: 0 }
const never = new AbortController().signal
const ALL = { delete: true, deleteMost: 1000 }

async function twoHosts(t: Test, allowsDeletion = true) {
  const folder = await scratch(t)
  const from = join(folder, 'from')
  mkdirSync(from)
  const port = 23_790
  const a = await realHost(t, join(folder, 'a'), port, 1, CLEAN)
  const b = await realHost(t, join(folder, 'b'), port, 2, CLEAN, { allowsDeletion })
  const inbox = join(folder, 'b', 'in')
  const send = (more: object = {}, name = 'tree') =>
    a.transfers.sendTree({ roots: [{ path: from, name }], host: b.address, ...more }, never, () => {})
  const get = (paths: string[], directory: string, more: object = {}) =>
    a.transfers.getTree({ paths, host: b.address, directory, ...more }, never, () => {})
  return { folder, from, inbox, share: join(folder, 'b', 'share'), to: join(folder, 'a', 'to'), send, get }
}

/** Makes files by their paths, with folders; what ends with a slash is a folder. */
function make(folder: string, ...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(path.endsWith('/') ? join(folder, path) : dirname(join(folder, path)), { recursive: true })
    if (path.endsWith('/')) continue
    writeFileSync(join(folder, path), path)
    utimesSync(join(folder, path), 1e9, 1e9)
  }
}

/** All paths below a folder; no link is followed. */
function pathsIn(folder: string, below = ''): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== '.weir-delivered')
    .flatMap(entry =>
      entry.isDirectory()
        ? [`${below}${entry.name}/`, ...pathsIn(join(folder, entry.name), `${below}${entry.name}/`)]
        : [below + entry.name],
    )
    .sort()
}

t.test('a folder that is sent: what else is in it goes, and nothing beside it', async t => {
  const { folder, from, inbox, send } = await twoHosts(t)
  make(from, 'a', 'sub/b', 'empty/')
  await send()
  make(inbox, 'tree/old', 'tree/sub/older', 'tree/gone/deep/er', 'tree/gone/f', 'beside', 'other/x')
  make(folder, 'outside/precious')
  symlinkSync(join(folder, 'outside'), join(inbox, 'tree', 'way-out'))
  symlinkSync('../../../outside', join(inbox, 'tree', 'gone', 'way-out'))
  const before = pathsIn(inbox)

  const would = await send({ delete: true, dryRun: true })
  t.match(would.tree, { movedFiles: 0, deletedFiles: 6, deletedFolders: 2 })
  t.same(
    [...would.tree!.wouldDelete].sort(),
    ['old', 'sub/older', 'gone/deep/er', 'gone/f', 'way-out', 'gone/way-out', 'gone/', 'gone/deep/']
      .map(path => `tree/${path}`)
      .sort(),
  )
  t.same(pathsIn(inbox), before, 'a dry run deletes nothing')
  await t.rejects(send({ delete: true, deleteMost: 7 }), {
    code: 'WEIR_REJECTED',
    message: /8 files and folders would be deleted, at most 7 may be/,
  })
  t.same(pathsIn(inbox), before)

  t.match(await send({ delete: true, deleteMost: 8 }), {
    tree: { deletedFiles: 6, deletedFolders: 2, wouldDelete: [] },
  })
  t.same(pathsIn(join(inbox, 'tree')), pathsIn(from))
  t.same(
    pathsIn(inbox).filter(path => !path.startsWith('tree/')),
    ['beside', 'other/', 'other/x'],
  )
  t.same(pathsIn(join(folder, 'outside')), ['precious'], 'no link was followed')
})

t.test('the contents of a folder: also what lies beside them in their folder', async t => {
  const { from, inbox, send } = await twoHosts(t)
  make(from, 'a', 'sub/b')
  make(inbox, 'place/old', 'place/sub/older', 'beside')
  t.match(await send({ ...ALL, directory: 'place' }, ''), { tree: { deletedFiles: 2, deletedFolders: 0 } })
  t.same(pathsIn(inbox), ['beside', 'place/', 'place/a', 'place/sub/', 'place/sub/b'])
  await t.rejects(send(ALL, ''), { code: 'WEIR_REJECTED', message: /right in the inbox/ })
  t.ok(existsSync(join(inbox, 'beside')))
})

t.test('what globs leave out stays, with the folders that it is in', async t => {
  const { from, inbox, send } = await twoHosts(t)
  make(from, 'a', 'x.tmp')
  make(inbox, 'tree/old', 'tree/y.tmp', 'tree/gone/z.tmp', 'tree/gone/w', 'tree/cache/c', 'tree/cache/d')
  const globs = { exclude: ['*.tmp', 'cache/'] }
  t.match(await send({ ...ALL, ...globs }), { tree: { deletedFiles: 2, deletedFolders: 0 } })
  const kept = [
    'tree/',
    'tree/a',
    'tree/cache/',
    'tree/cache/c',
    'tree/cache/d',
    'tree/gone/',
    'tree/gone/z.tmp',
  ]
  t.same(pathsIn(inbox), [...kept, 'tree/y.tmp'])
  t.match(await send({ ...ALL, include: ['*.tmp'] }), { tree: { movedFiles: 1, deletedFiles: 2 } })
  t.ok(existsSync(join(inbox, 'tree', 'a')), 'with --include alone all else is left out')
  await t.rejects(send({ ...ALL, exclude: ['*.{a,b}'] }), { message: /no braces/ })
  await t.rejects(send({ ...ALL, exclude: Array.from({ length: 4 }, () => 'x'.repeat(900)) }), {
    code: 'WEIR_BAD_ARGUMENT',
  })
})

t.test('a receiver that does not allow it, and a transfer that fails before', async t => {
  const { from, inbox, send } = await twoHosts(t, false)
  make(from, 'a')
  make(inbox, 'tree/old')
  for (const dryRun of [false, true])
    await t.rejects(send({ ...ALL, dryRun }), { code: 'WEIR_REJECTED', message: /--allow-delete/ })
  t.same(pathsIn(inbox), ['tree/', 'tree/old'])
  const other = await twoHosts(t)
  make(other.from, 'a', 'b')
  make(other.inbox, 'tree/old', 'tree/b/')
  await t.rejects(other.send(ALL), { code: 'WEIR_FILE_EXISTS' })
  t.ok(existsSync(join(other.inbox, 'tree/old')), 'nothing goes before all else has succeeded')
})

t.test('get: in the folders that come, on this host', async t => {
  const { share, to, get } = await twoHosts(t, false)
  make(share, 'tree/a', 'tree/sub/b', 'c.csv')
  make(to, 'tree/old', 'tree/sub/older/oldest', 'beside', 'd.csv')
  t.match(await get(['tree', '*.csv'], to, { delete: true, dryRun: true }), {
    tree: { deletedFiles: 2, deletedFolders: 1 },
  })
  t.match(await get(['tree', '*.csv'], to, { ...ALL, exclude: ['old'] }), {
    tree: { deletedFiles: 1, deletedFolders: 1 },
  })
  const there = ['beside', 'c.csv', 'd.csv', 'tree/', 'tree/a', 'tree/old', 'tree/sub/', 'tree/sub/b']
  t.same(pathsIn(to), there)
  await t.rejects(get(['.'], to, { delete: true, deleteMost: 2 }), { code: 'WEIR_REJECTED' })
  t.same(pathsIn(to), there)
  await get(['.'], to, ALL)
  t.same(pathsIn(to), pathsIn(share))
})

t.test('links that were left out of the list: nothing is deleted in their place', async t => {
  const { from, inbox, send } = await twoHosts(t)
  make(from, 'a')
  symlinkSync('/etc', join(from, 'out'))
  make(inbox, 'tree/out', 'tree/old')
  await t.rejects(send({ ...ALL, skipLinks: true }), { code: 'WEIR_REJECTED', message: /left out/ })
  t.match(await send({ ...ALL, skipLinks: true, exclude: ['out'] }), { tree: { deletedFiles: 1 } })
  t.same(pathsIn(inbox), ['tree/', 'tree/a', 'tree/out'])
})

t.test('what somebody puts there meanwhile stays', async t => {
  const folder = await scratch(t)
  make(folder, 'top/replaced', 'top/gone/f', 'top/filled/f', 'top/swapped/f', 'away/precious')
  const list = new TreeList()
  const rules = { inRoot: true, hasNamed: false, most: 100, leftOut: 0, admits: () => true }
  const open = new OpenFolders(await Folder.open(join(folder, 'top')), list, true)
  const deletions = await Deletions.find(
    list,
    open,
    rules,
    () => true,
    () => {},
  )
  t.match(deletions, { files: 4, folders: 3 })
  make(folder, 'top/new', 'top/filled/new')
  writeFileSync(join(folder, 'top/replaced'), 'another one')
  renameSync(join(folder, 'top/swapped'), join(folder, 'saved'))
  symlinkSync('../away', join(folder, 'top/swapped'))
  await deletions.remove(open)
  await open.close()
  t.same(pathsIn(join(folder, 'top')), ['filled/', 'filled/new', 'new', 'replaced', 'swapped'])
  t.ok(lstatSync(join(folder, 'top/swapped')).isSymbolicLink())
  t.same(pathsIn(join(folder, 'away')), ['precious'])
  t.same(pathsIn(join(folder, 'saved')), ['f'])
})

t.test('random trees: afterwards the destination is the source, and what was excluded', async t => {
  const { from, inbox, send } = await twoHosts(t)
  const random = new Random(drawnSeed(t))
  const names = ['a', 'b', 'c', 'd', 'k.tmp']
  const one = () => names[Math.floor(random.next() * names.length)]!
  for (let round = 0; round < 12; round++) {
    const isFile = new Map<string, boolean>()
    const grow = (folder: string) => {
      for (let i = 0; i < 25; i++) {
        const parts = Array.from({ length: 1 + Math.floor(random.next() * 3) }, one)
        // A path is a file in both trees, or a folder in both.
        const ways = parts.map((_, k) => parts.slice(0, k + 1).join('/'))
        const fits = ways.every(
          (way, k) => (isFile.get(way) ?? k === parts.length - 1) === (k === parts.length - 1),
        )
        if (!fits) continue
        for (const [k, way] of ways.entries()) isFile.set(way, k === parts.length - 1)
        make(folder, parts.join('/'))
      }
    }
    for (const folder of [from, join(inbox, 'tree')]) rmSync(folder, { recursive: true, force: true })
    grow(from)
    grow(join(inbox, 'tree'))
    const isKept = (path: string) => path.split('/').includes('k.tmp')
    const wanted = new Set(pathsIn(from).filter(path => !isKept(path)))
    for (const path of pathsIn(join(inbox, 'tree')).filter(isKept)) {
      const parts = path.replace(/\/$/, '').split('/')
      for (let k = 1; k < parts.length; k++) wanted.add(`${parts.slice(0, k).join('/')}/`)
      wanted.add(path)
    }
    await send({ ...ALL, exclude: ['k.tmp'], overwrite: true })
    t.same(pathsIn(join(inbox, 'tree')), [...wanted].sort(), `round ${round}`)
  }
})

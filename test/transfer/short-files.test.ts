/** Short files of a tree get their names last, where the file system has files without a name; else temporary ones. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Folder } from '../../lib/transfer/file/folder.js'
import { type ShortFile, ShortFiles } from '../../lib/transfer/file/short-files.js'
import type { TreeEntry } from '../../lib/transfer/protocol/messages.js'
import { partialName } from '../../lib/transfer/protocol/names.js'
import { scratch } from '../support/daemon-process.js'

const MTIME_MS = 1_600_000_000_000

function file(i: number): ShortFile {
  const bytes = Buffer.from(`contents ${i}`)
  const entry: TreeEntry = {
    name: `f${i}`,
    parent: 0,
    kind: 'FILE',
    mode: 0o640,
    mtimeMs: MTIME_MS,
    size: bytes.length,
    allocatedBytes: 0,
    target: '',
    sameAs: 0,
  }
  return { entry, bytes }
}

const FILES = Array.from({ length: 100 }, (_, i) => file(i))

/** What is in the folder, by name. */
function contents(path: string): Record<string, string> {
  return Object.fromEntries(readdirSync(path).map(name => [name, readFileSync(join(path, name), 'utf8')]))
}

const WRITTEN = Object.fromEntries(FILES.map(({ entry, bytes }) => [entry.name, bytes.toString()]))

t.test('all are there, whole, with mode and time, and nothing else', async t => {
  const path = await scratch(t)
  const folder = await Folder.open(path)
  t.teardown(() => folder.close())
  await new ShortFiles(false).write(folder, FILES, ({ entry }) => entry.name)
  t.same(contents(path), WRITTEN)
  const { mode, mtimeMs, nlink } = statSync(join(path, 'f7'))
  t.same([mode & 0o777, mtimeMs, nlink], [0o640, MTIME_MS, 1])
})

t.test('what an earlier transfer has left goes', async t => {
  for (const overwrite of [false, true]) {
    const path = await scratch(t)
    const folder = await Folder.open(path)
    t.teardown(() => folder.close())
    writeFileSync(join(path, partialName(FILES[3]!.entry)), 'half')
    await new ShortFiles(overwrite).write(folder, FILES, ({ entry }) => entry.name)
    t.same(contents(path), WRITTEN, `overwrite ${overwrite}`)
  }
})

t.test('a name that is taken', async t => {
  const path = await scratch(t)
  const folder = await Folder.open(path)
  t.teardown(() => folder.close())
  writeFileSync(join(path, 'f40'), 'mine')
  const writing = new ShortFiles(false).write(folder, FILES, ({ entry }) => entry.name)
  await t.rejects(writing, { code: 'WEIR_FILE_EXISTS' })
  const there = contents(path)
  t.equal(there.f40, 'mine')
  for (const [name, text] of Object.entries(there)) if (name !== 'f40') t.equal(text, WRITTEN[name], name)
})

t.test('a file system that gives such files no names, or has none', async t => {
  for (const missing of ['openUnnamed', 'nameUnnamed'] as const) {
    const path = await scratch(t)
    const folder = await Folder.open(path)
    t.teardown(() => folder.close())
    if (folder.quick === null) return void t.comment('no quick folders here')
    Object.assign(folder.quick, { [missing]: () => (missing === 'openUnnamed' ? -1 : false) })
    await new ShortFiles(false).write(folder, FILES, ({ entry }) => entry.name)
    t.same(contents(path), WRITTEN, missing)
  }
})

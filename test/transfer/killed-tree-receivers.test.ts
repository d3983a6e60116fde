/** An end that is killed at any operation while a tree comes to it: the next one completes it, and nothing else is left. */
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { downloadPlace } from '../../lib/transfer/file/download-folder.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import { LocalTree } from '../../lib/transfer/file/local-tree.js'
import type { TreePlace } from '../../lib/transfer/file/tree-place.js'
import { TreeSource } from '../../lib/transfer/file/tree-source.js'
import { TreeStore } from '../../lib/transfer/file/tree-store.js'
import { wholeChunksOf } from '../../lib/transfer/protocol/chunk-plan.js'
import { TreeLayout } from '../../lib/transfer/protocol/tree-layout.js'
import { scratch } from '../support/daemon-process.js'
import { killedAfter } from '../support/killed-after.js'
import { linesOf } from '../support/odd-tree.js'

const CHUNK = 1 << 19
const offer = {
  version: 1,
  name: '',
  directory: '',
  mode: 0,
  mtimeMs: 0,
  digest: 'XXH64',
  ring: null,
} as const

/** Where a daemon puts what is sent to it, after a start, and where it puts what its user gets. */
const PLACES: [who: string, place: (folder: string) => Promise<TreePlace>][] = [
  ['a receiver', async folder => (await Inbox.at(folder, new Arrivals(CHUNK / 4))).treePlace('to')],
  ['a getter', folder => downloadPlace(join(folder, 'to'), new Arrivals(CHUNK / 4))],
]

/** What a daemon does with a list. Returns the bytes that it wrote. */
async function receive(place: TreePlace, tree: LocalTree): Promise<number> {
  const store = new TreeStore(place, tree.list, true)
  await store.choose()
  const layout = new TreeLayout(tree.list, store.wanted)
  const source = new TreeSource(layout, tree)
  const { size } = source
  const sink = await store.open({ ...offer, size, overwrite: true, transfer: new Uint8Array() })
  const begin = wholeChunksOf(sink.resumeBytes, size, CHUNK)
  let written = 0
  for (let at = 0; at < size; at += CHUNK) {
    const bytes = Buffer.alloc(Math.min(CHUNK, size - at))
    await source.read(bytes, at)
    if (at < begin) {
      const there = Buffer.alloc(bytes.length)
      await sink.readBack(there, at)
      if (there.equals(bytes)) continue
    }
    await sink.write(bytes, at)
    written += bytes.length
  }
  await sink.commit()
  await source.close()
  return written
}

for (const [who, placeIn] of PLACES) {
  t.test(`any kill of ${who} is survived`, async t => {
    const from = await scratch(t)
    mkdirSync(join(from, 'd'))
    writeFileSync(join(from, 'a'), 'short')
    writeFileSync(join(from, 'd', 'empty'), '')
    writeFileSync(join(from, 'd', 'long'), Buffer.alloc(3 * CHUNK + 5, 'long '))
    linkSync(join(from, 'a'), join(from, 'd', 'same'))
    symlinkSync('../a', join(from, 'd', 'link'))
    const tree = await LocalTree.walk([{ path: from, name: '' }])
    let steps = 0
    for (let last = -1; ; last++) {
      const folder = await scratch(t)
      const asked = await killedAfter(last, async () => receive(await placeIn(folder), tree))
      const where = `killed after operation ${last}`
      await receive(await placeIn(folder), tree).catch(error => t.fail(`${where}: ${error.message}`))
      t.same(linesOf(join(folder, 'to')), linesOf(from), where)
      t.equal(await receive(await placeIn(folder), tree), 0, `${where}: nothing moves again`)
      steps = last
      if (asked <= last + 1) break
    }
    t.comment(`${steps} operations`)
    t.ok(steps > 40, 'the operations are counted')
  })
}

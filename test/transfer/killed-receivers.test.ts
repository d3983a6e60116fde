/**
 * A receiver that is killed at any operation on the file system: the next one completes what it had begun.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import { sweepPartials } from '../../lib/transfer/file/sweep.js'
import { wholeChunksOf } from '../../lib/transfer/protocol/chunk-plan.js'
import type { Offer } from '../../lib/transfer/protocol/messages.js'
import { isPartialName } from '../../lib/transfer/protocol/names.js'
import { scratch } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'
import { killedAfter } from '../support/killed-after.js'
import { usual, variants } from '../support/long.js'

const CHUNK = 4096
const CONTENT = Buffer.alloc(5 * CHUNK, 'what was sent ')

function offerOf(more: Partial<Offer> = {}): Offer {
  const same = { version: 1, name: 'f', directory: '', mode: 0o640, mtimeMs: 5000, digest: 'XXH64' as const }
  const transfer = Uint8Array.of(1, 2, 3)
  return { ...same, size: CONTENT.length, overwrite: false, ring: null, transfer, ...more }
}

/**
 * What a daemon does with an offer after a start: it writes existing wrong chunks again. Returns the bytes
 * that it wrote.
 */
async function receive(folder: string, offer: Offer): Promise<number> {
  const inbox = await Inbox.at(folder, new Arrivals(CHUNK))
  const sink = await inbox.open(offer)
  const begin = wholeChunksOf(sink.resumeBytes, offer.size, CHUNK)
  const there = Buffer.alloc(CHUNK)
  let written = 0
  for (let at = 0; at < offer.size; at += CHUNK) {
    const bytes = CONTENT.subarray(at, at + CHUNK)
    if (at < begin) await sink.readBack(there, at)
    if (at < begin && there.equals(bytes)) continue
    await sink.write(bytes, at)
    written += CHUNK
  }
  await sink.commit()
  return written
}

/** The file is in its place, whole, under one name. */
async function checkDelivered(t: Test, folder: string, where: string): Promise<void> {
  t.same(filesIn(folder), ['f'], `${where}: no other name is left`)
  t.ok(CONTENT.equals(await fs.readFile(join(folder, 'f'))), `${where}: the file is whole`)
  const { nlink, mode, mtimeMs } = await fs.stat(join(folder, 'f'))
  t.same([nlink, mode & 0o777, mtimeMs], [1, 0o640, 5000], where)
}

interface Variant {
  name: string
  offer: Offer
  prepare?: (folder: string) => Promise<void>
}

async function leavePart(folder: string): Promise<void> {
  const sink = await (await Inbox.at(folder, new Arrivals(CHUNK))).open(offerOf())
  await sink.write(CONTENT.subarray(0, 3 * CHUNK), 0)
  await sink.keep()
}

/** Its second chunk is damaged. */
async function leaveBadPart(folder: string): Promise<void> {
  await leavePart(folder)
  const handle = await fs.open(join(folder, filesIn(folder).find(isPartialName)!), 'r+')
  await handle.write(Buffer.alloc(CHUNK, 'rot'), 0, CHUNK, CHUNK)
  await handle.close()
}

/** A file that is resumed takes the same operations as one with a chunk that is written again. */
const cases: Variant[] = [
  { name: 'a new file', offer: offerOf() },
  {
    name: 'a file that replaces another',
    offer: offerOf({ overwrite: true }),
    prepare: folder => fs.writeFile(join(folder, 'f'), 'what was there'),
  },
  {
    name: 'a file of which a chunk that was there is written again',
    offer: offerOf(),
    prepare: leaveBadPart,
  },
  { name: 'a file that is resumed', offer: offerOf(), prepare: leavePart },
]

for (const { name, offer, prepare } of variants(cases, 3)) {
  t.test(`${name}: any kill is survived`, async t => {
    let steps = 0
    for (let last = -1; ; last++) {
      const folder = await scratch(t)
      await prepare?.(folder)
      const asked = await killedAfter(last, () => receive(folder, offer))
      const where = `killed after operation ${last}`
      await receive(folder, offer).catch(error => t.fail(`${where}: ${error.message}`))
      await checkDelivered(t, folder, where)
      t.equal(await receive(folder, offer), 0, `${where}: the same attempt again moves nothing`)
      steps = last
      if (asked <= last + 1) break
    }
    t.comment(`${steps} operations`)
    t.ok(steps > 15, 'the operations are counted')
  })
}

usual('a start removes the second name, and the file can be replaced by another', async t => {
  const folder = await scratch(t)
  await receive(folder, offerOf())
  const sink = await (await Inbox.at(folder, new Arrivals(CHUNK))).open(offerOf({ name: 'g' }))
  await sink.keep()
  const partial = filesIn(folder).find(isPartialName)!
  await fs.unlink(join(folder, partial))
  await fs.link(join(folder, 'f'), join(folder, partial))
  t.equal(await sweepPartials(folder, 0), 1)
  t.same(filesIn(folder), ['f'])
  t.equal(await receive(folder, offerOf({ overwrite: true, transfer: Uint8Array.of(9) })), CONTENT.length)
  await checkDelivered(t, folder, 'replaced')
})

usual('a real SIGKILL between the two names', async t => {
  const folder = await scratch(t)
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  const program = `
    import fs from 'node:fs/promises'
    import { syncBuiltinESMExports } from 'node:module'
    import { Inbox } from ${module('../../lib/transfer/file/inbox.js')}
    const { unlink } = fs
    fs.unlink = async path => {
      if (!path.includes('.weir-partial-')) return await unlink(path)
      process.kill(process.pid, 'SIGKILL')
      await new Promise(() => {})
    }
    syncBuiltinESMExports()
    const offer = ${JSON.stringify({ ...offerOf(), transfer: [1, 2, 3] })}
    const sink = await (await Inbox.at(${JSON.stringify(folder)})).open({ ...offer, transfer: Uint8Array.from(offer.transfer) })
    await sink.write(Buffer.from(${JSON.stringify(CONTENT.toString('base64'))}, 'base64'), 0)
    await sink.commit()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  t.equal(signal, 'SIGKILL')
  t.equal(filesIn(folder).length, 2, 'it has both names')
  t.equal(await receive(folder, offerOf()), 0, 'nothing moves again')
  await checkDelivered(t, folder, 'after the kill')
})

/**
 * A user of the same machine who may write into the inbox or the share replaces folders by links to other
 * places, again and again, while files come and go.
 */
import fs from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { Folder } from '../../lib/transfer/file/folder.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import { Share } from '../../lib/transfer/file/share.js'
import { sweepPartials } from '../../lib/transfer/file/sweep.js'
import type { Offer } from '../../lib/transfer/protocol/messages.js'
import { scratch } from '../support/daemon-process.js'

const FILES = 200
/** Reads that get through, at least. */
const READ_MIN = 20
const CONTENT = Buffer.from('what was sent')

/** Swaps folder/d with a link to `outside`, and back, until the test ends. */
async function swapping(t: Test, folder: string, outside: string): Promise<() => Promise<void>> {
  const stop = new Int32Array(new SharedArrayBuffer(8))
  const code = `
    const fs = require('node:fs')
    const { workerData: { folder, outside, stop } } = require('node:worker_threads')
    const way = folder + '/d'
    const tried = (what) => { try { what() } catch {} }
    for (let n = 0; Atomics.load(stop, 0) === 0; n++) {
      const kept = folder + '/kept' + n
      tried(() => fs.renameSync(way, kept))
      tried(() => fs.symlinkSync(outside, way))
      tried(() => fs.unlinkSync(way))
      tried(() => fs.renameSync(kept, way))
      Atomics.add(stop, 1, 1)
    }`
  const worker = new Worker(code, { eval: true, workerData: { folder, outside, stop } })
  const ended = new Promise(resolve => worker.once('exit', resolve))
  const end = async () => {
    Atomics.store(stop, 0, 1)
    await ended
  }
  t.teardown(end)
  while (Atomics.load(stop, 1) === 0) await new Promise(resolve => setTimeout(resolve, 1))
  return end
}

function offerOf(name: string): Offer {
  const same = { version: 1, directory: 'd', mode: 0o644, mtimeMs: 1000, digest: 'XXH64' as const }
  const transfer = Buffer.from(name)
  return { ...same, name, size: CONTENT.length, overwrite: false, ring: null, transfer }
}

async function receive(inbox: Inbox, name: string): Promise<void> {
  const sink = await inbox.open(offerOf(name))
  try {
    await sink.write(CONTENT, 0)
    await sink.commit()
  } catch (error) {
    await sink.discard()
    throw error
  }
}

/** Two folders: the attacked one, which contains d, and one outside. */
async function places(t: Test): Promise<{ inside: string; outside: string }> {
  const folder = await fs.realpath(await scratch(t))
  const [inside, outside] = [join(folder, 'inside'), join(folder, 'outside')]
  await fs.mkdir(join(inside, 'd'), { recursive: true })
  await fs.mkdir(outside)
  return { inside, outside }
}

t.test('nothing is written outside the inbox', async t => {
  const { inside, outside } = await places(t)
  const inbox = await Inbox.at(inside, new Arrivals())
  const end = await swapping(t, inside, outside)
  let received = 0
  for (let n = 0; n < FILES; n++) {
    await receive(inbox, `f${n}`).then(
      () => received++,
      error => t.match(error, { reason: /BAD_NAME|IO_ERROR|EXISTS|NOT_FOUND/ }),
    )
    const escaped = await fs.readdir(outside)
    if (escaped.length > 0) {
      t.fail(`file ${n}: outside there is ${escaped[0]}`)
      break
    }
  }
  await end()
  t.comment(`${received} of ${FILES} files received`)
  t.ok(received > 0, 'files come in all the same')
})

t.test('nothing is read outside the share', async t => {
  const { inside, outside } = await places(t)
  await fs.writeFile(join(inside, 'd', 'f'), 'shared')
  await fs.writeFile(join(outside, 'f'), 'secret')
  const share = await Share.at(inside)
  const end = await swapping(t, inside, outside)
  let read = 0
  for (let n = 0; n < FILES || read < READ_MIN; n++) {
    const source = await share.open('d/f').catch(() => null)
    if (!source) continue
    const bytes = Buffer.alloc(6)
    await source.read(bytes, 0)
    await source.close()
    read++
    if (bytes.toString() !== 'shared') t.fail(`read ${n}: ${bytes}`)
  }
  await end()
  t.comment(`${read} read`)
})

t.test('nothing is removed outside the inbox', async t => {
  const { inside, outside } = await places(t)
  const partial = '.f.weir-partial-0123456789abcdef'
  await fs.writeFile(join(outside, partial), '')
  const end = await swapping(t, inside, outside)
  for (let n = 0; n < 100; n++) {
    await fs.writeFile(join(inside, 'd', partial), '').catch(() => {})
    await sweepPartials(inside, Number.MAX_SAFE_INTEGER)
  }
  await end()
  t.same(await fs.readdir(outside), [partial])
})

t.test('without /proc, a folder that was replaced is noticed', async t => {
  const { inside, outside } = await places(t)
  const folder = await Folder.open(join(inside, 'd'), false)
  await folder.makeFolder('a')
  await fs.rename(join(inside, 'd'), join(inside, 'kept'))
  await fs.symlink(outside, join(inside, 'd'))
  await t.rejects(folder.makeFolder('b'), { code: 'WEIR_TRANSFER_FAILED' })
  await folder.close()
  t.same(await fs.readdir(outside), [])
})

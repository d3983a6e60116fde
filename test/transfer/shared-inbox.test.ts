/** An inbox that other programs use as well, and its list of deliveries over many starts. */
import { existsSync, readdirSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { DownloadFolder } from '../../lib/transfer/file/download-folder.js'
import type { FileStore } from '../../lib/transfer/file/file.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import type { Offer } from '../../lib/transfer/protocol/messages.js'
import { DELIVERED_NAME } from '../../lib/transfer/protocol/names.js'
import { scratch } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'

const CONTENT = Buffer.from('what was sent')
const NOBODY = 65534

function offerOf(more: Partial<Offer> = {}): Offer {
  const same = { version: 1, name: 'f', directory: '', mode: 0o640, mtimeMs: 5000, digest: 'XXH64' as const }
  const transfer = Uint8Array.of(1, 2, 3)
  return { ...same, size: CONTENT.length, overwrite: false, ring: null, transfer, ...more }
}

/** Returns the bytes that were written. */
async function receive(store: FileStore, offer: Offer): Promise<number> {
  const sink = await store.open(offer)
  const bytes = CONTENT.subarray(sink.resumeBytes)
  if (bytes.length > 0) await sink.write(bytes, sink.resumeBytes)
  await sink.commit()
  return bytes.length
}

/** Runs the functions of the file system as a user who is not root. */
async function asUser(t: Test, folder: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  await fs.chown(folder, NOBODY, NOBODY)
  await fs.chmod(dirname(folder), 0o755)
  process.seteuid!(NOBODY)
  t.teardown(() => process.seteuid!(0))
}

for (const overwrite of [false, true]) {
  t.test(`a program takes a file away as soon as it has its name, overwrite ${overwrite}`, async t => {
    const folder = await scratch(t)
    const taken = join(await scratch(t), 'taken')
    const inbox = await Inbox.at(folder)
    const last = overwrite ? 'rename' : 'unlink'
    const original = fs[last] as (...args: unknown[]) => Promise<void>
    t.teardown(() => {
      Object.assign(fs, { [last]: original })
      syncBuiltinESMExports()
    })
    const sink = await inbox.open(offerOf({ overwrite }))
    await sink.write(CONTENT, 0)
    const { rename } = fs
    let takes = 0
    const taking = async (...args: unknown[]) => {
      await original(...args)
      const isThere = await fs.access(join(folder, 'f')).then(
        () => true,
        () => false,
      )
      if (isThere && takes++ === 0) await rename(join(folder, 'f'), taken)
    }
    Object.assign(fs, { [last]: taking })
    syncBuiltinESMExports()
    t.equal(await sink.commit(), 'f', 'it has been delivered')
    t.same(await fs.readFile(taken), CONTENT)
    t.same(filesIn(folder), [])
  })
}

t.test('folders that may be entered and written to, but not listed', async t => {
  const top = await scratch(t)
  const folder = join(top, 'in')
  await fs.mkdir(folder)
  await asUser(t, folder)
  const inbox = await Inbox.at(folder)
  await fs.mkdir(join(folder, 'drop', 'mine'), { recursive: true })
  await fs.chmod(join(folder, 'drop'), 0o300)
  await t.rejects(fs.readdir(join(folder, 'drop')), { code: 'EACCES' })
  for (const directory of ['drop', 'drop/mine', 'drop/new']) {
    await receive(inbox, offerOf({ directory }))
    t.same(await fs.readFile(join(folder, directory, 'f')), CONTENT, directory)
  }
  const downloads = await DownloadFolder.at(join(folder, 'drop'), new Arrivals())
  await receive(downloads, offerOf({ name: 'g' }))
  t.same(await fs.readFile(join(folder, 'drop', 'g')), CONTENT)
  await fs.chmod(join(folder, 'drop'), 0o700)
})

t.test('a delivered file that its mode forbids to read: a retry hears that it is there', async t => {
  const folder = join(await scratch(t), 'in')
  await fs.mkdir(folder)
  await asUser(t, folder)
  const inbox = await Inbox.at(folder)
  const offer = offerOf({ mode: 0o200 })
  await receive(inbox, offer)
  const message = /^f is there: an earlier attempt has delivered it whole. Its mode, 0200, forbids/
  await t.rejects(inbox.open(offer), { code: 'WEIR_FILE_EXISTS', message })
  const stranger = offerOf({ mode: 0o200, transfer: Uint8Array.of(7) })
  await t.rejects(inbox.open(stranger), { code: 'WEIR_FILE_EXISTS', message: /--overwrite replaces it/ })
  t.equal(await receive(inbox, { ...offer, overwrite: true }), CONTENT.length, 'which moves it again')
  await fs.chmod(join(folder, 'f'), 0o600)
  t.same(await fs.readFile(join(folder, 'f')), CONTENT)
})

t.test('the list of deliveries stays short over any number of starts', async t => {
  const folder = await scratch(t)
  const list = join(folder, DELIVERED_NAME)
  const old = (n: number) => `\n${JSON.stringify([`old ${n}`, { dev: 1, ino: n, size: 1, mtimeMs: 1 }])}\n`
  await fs.writeFile(list, Array.from({ length: 1020 }, (_, n) => old(n)).join(''), { mode: 0o600 })
  const lines = async () => (await fs.readFile(list, 'utf8')).split('\n').filter(Boolean).length
  for (let start = 0; start < 3; start++) {
    const inbox = await Inbox.at(folder)
    for (let n = 0; n < 4; n++)
      await receive(inbox, offerOf({ overwrite: true, transfer: Uint8Array.of(start, n) }))
    if (start === 0) t.equal(await lines(), 1024)
  }
  // At the first delivery too many: the last 64. Seven more follow.
  t.equal(await lines(), 64 + 7)
  const last = offerOf({ transfer: Uint8Array.of(2, 3) })
  t.equal(await receive(await Inbox.at(folder), last), 0, 'the last one is remembered')
})

t.test('a list that has grown too long is written anew', async t => {
  const folder = await scratch(t)
  await fs.writeFile(join(folder, DELIVERED_NAME), Buffer.alloc(9 << 20, ' '))
  await receive(await Inbox.at(folder), offerOf())
  t.equal(await receive(await Inbox.at(folder), offerOf()), 0, 'the delivery is remembered')
})

const noProc = !existsSync('/proc/self/fd') && 'there is no /proc to count descriptors'

t.test("an offer by a name that is the list's leaves nothing open", { skip: noProc }, async t => {
  const inbox = await Inbox.at(await scratch(t))
  const count = () => readdirSync('/proc/self/fd').length
  const offers = [
    { name: '.weir-delivered', directory: '' },
    { name: 'f', directory: '.weir-delivered/x' },
  ]
  await t.rejects(inbox.open(offerOf(offers[0]!)), { message: /own list/ })
  const before = count()
  for (let i = 0; i < 20; i++)
    for (const offer of offers) await t.rejects(inbox.open(offerOf(offer)), { message: /own list/ })
  t.equal(count(), before)
})

/**
 * A file system where a file's inode depends on its name, as in some of FUSE and CIFS: link(2) and rename(2)
 * change it.
 */
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import type { Offer } from '../../lib/transfer/protocol/messages.js'
import { scratch } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'

const CONTENT = Buffer.alloc(10_000, 'what was sent ')
const OTHER_INODES = 1_000_000

const offer: Offer = {
  version: 1,
  name: 'f',
  directory: '',
  size: CONTENT.length,
  mode: 0o640,
  mtimeMs: 5000,
  digest: 'XXH64',
  overwrite: false,
  ring: null,
  transfer: Uint8Array.of(1, 2, 3),
}

type Operation = (...args: unknown[]) => Promise<unknown>

/** Until the test ends, every name but temporary ones has another inode. */
async function changingInodes(t: Test): Promise<void> {
  const probe = await fs.open('/dev/null')
  const handles = Object.getPrototypeOf(probe) as Record<string, Operation>
  await probe.close()
  const named = new WeakSet<FileHandle>()
  const isFinal = (path: unknown) => String(path).endsWith('/f')
  const elsewhere = (stat: unknown) => {
    const { ino } = stat as { ino: number | bigint }
    return Object.assign(stat as object, {
      ino: typeof ino === 'bigint' ? ino + BigInt(OTHER_INODES) : ino + OTHER_INODES,
    })
  }
  const files = fs as unknown as Record<string, Operation>
  const { lstat, open } = files as { lstat: Operation; open: Operation }
  const stat = handles.stat!
  files.lstat = async (...args) => {
    const found = await lstat(...args)
    return isFinal(args[0]) ? elsewhere(found) : found
  }
  files.open = async (...args) => {
    const handle = (await open(...args)) as FileHandle
    if (isFinal(args[0])) named.add(handle)
    return handle
  }
  handles.stat = async function (this: unknown, ...args: unknown[]) {
    const found = await stat.apply(this, args)
    return named.has(this as FileHandle) ? elsewhere(found) : found
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(files, { lstat, open })
    handles.stat = stat
    syncBuiltinESMExports()
  })
}

for (const overwrite of [false, true]) {
  t.test(
    `a file gets its name${overwrite ? ' in the place of another' : ''}, and is found again`,
    async t => {
      const folder = await scratch(t)
      if (overwrite) await fs.writeFile(join(folder, 'f'), 'what was there')
      await changingInodes(t)
      const inbox = await Inbox.at(folder, new Arrivals(4096))
      const sink = await inbox.open({ ...offer, overwrite })
      await sink.write(CONTENT, 0)
      await sink.commit()
      t.same(filesIn(folder), ['f'])
      t.ok(CONTENT.equals(await fs.readFile(join(folder, 'f'))))
      const again = await inbox.open({ ...offer, overwrite })
      t.equal(again.resumeBytes, CONTENT.length, 'for the sender that did not hear of it')
      await again.commit()
    },
  )
}

t.test('something else in its place is still refused', async t => {
  const folder = await scratch(t)
  const inbox = await Inbox.at(folder, new Arrivals(4096))
  const sink = await inbox.open(offer)
  await sink.write(CONTENT, 0)
  const { link } = fs
  fs.link = async (from, to) => {
    await link(from, to)
    await fs.unlink(to)
    await fs.writeFile(to, Buffer.alloc(CONTENT.length, 'other'))
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    fs.link = link
    syncBuiltinESMExports()
  })
  await t.rejects(sink.commit(), { code: 'WEIR_TRANSFER_FAILED', message: /replaced by somebody/ })
})

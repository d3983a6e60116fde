/**
 * Rules that are particular to getting: what is shared and what is not, READs in pieces. Over fake Verbs,
 * real files.
 */
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, open, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { DownloadFolder } from '../../lib/transfer/file/download-folder.js'
import { Share } from '../../lib/transfer/file/share.js'
import { decodeMessage } from '../../lib/transfer/protocol/messages.js'
import { without } from '../support/tools.js'
import { CHUNK, TransferBench } from '../support/transfer-bench.js'

t.test('nothing is shared unless it was said', async t => {
  const bench = await new TransferBench(t, { shares: false }).start()
  await bench.file('a', 10)
  await t.rejects(bench.run('get', 'a'), {
    code: 'WEIR_REJECTED',
    message: /h1: no files are shared .*--share/,
  })
  t.same(await readdir(bench.inboxPath), [])
  await bench.checkReleased(t)
})

t.test('files below the share, links inside it too', async t => {
  const bench = await new TransferBench(t).start()
  await mkdir(join(bench.outbox, 'x/y'), { recursive: true })
  const content = await bench.file('x/y/a', 100)
  await symlink('x/y', join(bench.outbox, 'short'))
  await symlink('x/y/a', join(bench.outbox, 'link'))
  for (const path of ['x/y/a', './x//y/a', 'short/a', 'link']) {
    const outcome = await bench.run('get', path, { overwrite: true })
    t.equal(outcome.path, join(bench.inboxPath, path.split('/').at(-1)!))
    t.same(await bench.delivered(path.split('/').at(-1)!), content, path)
  }
})

t.test('what may not be fetched, and why', async t => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', 10)
  await mkdir(join(bench.outbox, 'folder'))
  await writeFile(join(bench.inboxPath, 'secret'), 'x')
  await symlink(bench.inboxPath, join(bench.outbox, 'way-out'))
  await symlink('../in/secret', join(bench.outbox, 'stolen'))
  await symlink('loop', join(bench.outbox, 'loop'))
  await bench.file('.a.weir-partial-0123456789abcdef', 10)
  const cases: [string, string, RegExp][] = [
    ['missing', 'WEIR_NO_FILE', /h1: there is no "missing" in the share/],
    ['a/b', 'WEIR_NO_FILE', /there is no "a\/b"/],
    ['x'.repeat(255), 'WEIR_NO_FILE', /there is no/],
    ['folder', 'WEIR_NO_FILE', /folder is a directory/],
    ['', 'WEIR_NO_FILE', /name a file in it/],
    ['.', 'WEIR_NO_FILE', /name a file in it/],
    ['..', 'WEIR_REJECTED', /cannot be a path in the share/],
    ['../in/secret', 'WEIR_REJECTED', /cannot be a path in the share/],
    ['/etc/passwd', 'WEIR_REJECTED', /absolute/],
    ['a\0', 'WEIR_REJECTED', /NUL/],
    ['a\\b', 'WEIR_REJECTED', /separator/],
    [new Array(40).fill('x').join('/'), 'WEIR_REJECTED', /at most 32/],
    ['.a.weir-partial-0123456789abcdef', 'WEIR_REJECTED', /unfinished/],
    ['way-out/secret', 'WEIR_REJECTED', /leads out of the share/],
    ['stolen', 'WEIR_REJECTED', /leads out of the share/],
    ['loop', 'WEIR_REJECTED', /may not read/],
  ]
  for (const [path, code, message] of cases) {
    const session = await bench.get(path, { as: 'b' })
    await t.rejects(session.outcome, { code, message }, JSON.stringify(path))
    t.equal((await bench.passiveOutcome()).failure?.code, code)
  }
  t.same(await readdir(bench.inboxPath), ['secret'])
  await bench.checkReleased(t)
})

t.test(
  'a named pipe is refused, and nobody waits for who writes to it',
  { skip: without('mkfifo') },
  async t => {
    const bench = await new TransferBench(t).start()
    execFileSync('mkfifo', [join(bench.outbox, 'pipe')])
    await t.rejects(bench.run('get', 'pipe'), { code: 'WEIR_NO_FILE', message: /not a regular file/ })
    t.same(await readdir(bench.inboxPath), [])
    await bench.checkReleased(t)
  },
)

t.test(
  'a file that the daemon may not read',
  { skip: process.getuid?.() === 0 && 'root reads all' },
  async t => {
    const bench = await new TransferBench(t).start()
    await bench.file('a', 10)
    await chmod(join(bench.outbox, 'a'), 0)
    await t.rejects(bench.run('get', 'a'), { code: 'WEIR_REJECTED', message: /may not read "a"/ })
  },
)

t.test('a folder that becomes a link between the look and the opening gives nothing away', async t => {
  const folder = t.testdir({ share: { sub: { a: 'mine' } }, elsewhere: { a: 'secret' } })
  const share = await Share.at(join(folder, 'share'))
  const sub = join(folder, 'share/sub')
  let leaks = 0
  // Folders are swapped all the time, so that some openings meet a swap half way.
  let over = false
  const swapping = (async () => {
    while (!over) {
      await rename(sub, `${sub}2`)
      await symlink('../elsewhere', sub)
      await turn()
      await rename(sub, `${sub}3`)
      await rename(`${sub}2`, sub)
    }
  })()
  for (let i = 0; i < 100; i++) {
    const source = await share.open('sub/a').catch(() => null)
    if (!source) continue
    const bytes = Buffer.alloc(4)
    await source.read(bytes, 0)
    if (String(bytes) !== 'mine') leaks++
    await source.close()
  }
  over = true
  await swapping
  t.equal(leaks, 0)
})

t.test('folders that cannot be shared or written to', async t => {
  const folder = t.testdir({ file: 'x' })
  await t.rejects(Share.at(join(folder, 'missing')), {
    code: 'WEIR_NO_FILE',
    message: /cannot share .*missing/,
  })
  await t.rejects(Share.at(join(folder, 'file')), { code: 'WEIR_NO_FILE', message: /no folder/ })
  const arrivals = new Arrivals()
  await t.rejects(DownloadFolder.at(join(folder, 'missing'), arrivals), {
    code: 'WEIR_NO_FILE',
    message: /there is no such folder/,
  })
  await t.rejects(DownloadFolder.at(join(folder, 'file'), arrivals), {
    code: 'WEIR_NO_FILE',
    message: /no folder/,
  })
})

const notRoot = process.getuid?.() !== 0 && 'only root can give files away'
t.test('a temporary file of somebody else is not written to', { skip: notRoot }, async t => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', CHUNK * 3)
  bench.sink.hook = (_from, work) => (work.opcode === WorkOpcode.RDMA_READ ? 'break' : undefined)
  await t.rejects(bench.run('get', 'a'), { code: 'WEIR_CONNECTION_LOST' })
  await bench.passiveOutcome()
  const partial = join(bench.inboxPath, (await readdir(bench.inboxPath))[0]!)
  const others = await open(partial, 'r+')
  await others.write('theirs')
  await others.chown(65534, 65534)
  bench.sink.hook = () => undefined
  t.equal((await bench.run('get', 'a')).resumedBytes, 0)
  t.same(await bench.delivered('a'), content)
  t.equal((await others.stat()).size, 6, 'nothing came to the other file')
  await others.close()
})

t.test('chunks are READ in pieces, and never more bytes at a time than the server lets', async t => {
  const bench = await new TransferBench(t, { chunkBytes: 2 * CHUNK }).start()
  const content = await bench.file('a', CHUNK * 31 + 5)
  const session = await bench.get('a')
  const lengths: number[] = []
  // The server's stack reports the state of its path.
  bench.source.hook = () => {
    Object.assign(bench.passive[0]!.connection!.stats, { windowBytes: 5000, pathQueueBytes: 77 })
    return undefined
  }
  bench.sink.hook = (_from, work) => {
    if (work.opcode === WorkOpcode.RDMA_READ) lengths.push(work.length)
    return undefined
  }
  const outcome = await session.outcome
  t.same(await bench.delivered('a'), content)
  // The digest goes with the last piece of its chunk.
  t.same(new Set(lengths), new Set([CHUNK, CHUNK + 8, 13]), 'a quarter of the window is less than a packet')
  t.equal(lengths.length, 32)
  t.equal(outcome.maxPathQueueBytes, 77, 'the path is shown as the server sees it')
})

t.test('the name that a server gives goes nowhere', async t => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', 10)
  bench.source.hook = (_from, work, bytes) => {
    const at = Buffer.from(bytes).indexOf('\x01a')
    if (work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'offer')
      bytes[at + 1] = '/'.charCodeAt(0)
    return undefined
  }
  t.equal((await bench.run('get', 'a')).path, join(bench.inboxPath, 'a'))
})

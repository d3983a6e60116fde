/** `weir get` as a user runs it: processes, real sockets on loopback. get.long.test.ts interrupts it. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, get, scratch } from '../support/daemon-process.js'
import { reportOf } from '../support/transfer-report.js'

// They wait far more than they compute.
t.jobs = 4

const lines = new CommandLines(t)

/** `weir get` that ends by itself. */
const got = (by: DaemonProcess, args: readonly string[], folder: string) =>
  lines.run(['get', '--socket', by.socket, ...args], folder)

t.test('files arrive, and the report says so', { buffered: true }, async t => {
  const [server, here] = await Promise.all([DaemonProcess.startSharing(t), DaemonProcess.start(t)])
  const folder = await scratch(t)
  const contents = {
    'sub/a.bin': randomBytes(3_000_001),
    empty: Buffer.alloc(0),
    'ä b.txt': Buffer.from('hello'),
  }
  mkdirSync(join(server.share, 'sub'))
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(server.share, name), content)
  const sources = Object.keys(contents).map(name => `${server.address}:${name}`)
  mkdirSync(join(folder, 'to'))
  const { code, stdout, stderr } = await get(
    t,
    here,
    [...sources, 'to', '--json', '--digest', 'sha256'],
    folder,
  ).ended
  t.equal(code, 0, stderr)
  t.equal(stderr, '', 'nothing but the report is said')
  const report = reportOf(stdout)
  t.equal(report.bytes, 3_000_006)
  const to = join(folder, 'to')
  for (const [name, content] of Object.entries(contents)) {
    t.same(readFileSync(join(to, name.split('/').at(-1)!)), content)
  }
  const hex = createHash('sha256')
    .update(Buffer.concat(Object.values(contents)))
    .digest('hex')
  const tree = { files: 3, movedFiles: 3, folders: 0, links: 0, skipped: 0 }
  t.match(report.files, [{ host: server.address, path: to, bytes: 3_000_006, digest: { hex }, tree }])
  t.ok(report.files[0]!.baseRttNs > 0 && report.files[0]!.goodputBps >= 0)

  const one = await got(here, [`${server.address}:sub/a.bin`, 'b.bin'], folder)
  t.equal(one.code, 0, one.stderr)
  t.same(readFileSync(join(folder, 'b.bin')), contents['sub/a.bin'], 'one file gets its new name')
  for (const source of ['sub', 'su*', 'sub/']) {
    const { code, stderr } = await got(here, [`${server.address}:${source}`, `as-${source.length}`], folder)
    t.equal(code, 0, stderr)
  }
  const quiet = await got(here, ['-q', `${server.address}:4791:empty`, 'quiet'], folder)
  t.match(quiet, { code: 0, stdout: '', stderr: '' })
  t.equal(readFileSync(join(folder, 'quiet')).length, 0)
  for (const path of ['as-3/sub', 'as-4']) t.same(readdirSync(join(folder, path)), ['a.bin'])

  const missing = await got(here, [`${server.address}:nothing`, '--json'], folder)
  t.equal(missing.code, 1)
  t.match(reportOf(missing.stdout), { files: [], error: { code: 'WEIR_NO_FILE', file: 'nothing' } })
  const client = await connectDaemon(server.socket)
  t.match(await client.status(), {
    share: server.share,
    sentBytes: 15_000_010,
    receivedBytes: 0,
    transfers: 0,
  })
  client.close()
})

t.test('the help says what exit codes mean', { buffered: true }, async t => {
  const { code, stdout } = await lines.run(['--help'])
  t.equal(code, 0)
  t.match(stdout, /get .*HOST:PATH|get \[options\]/)
  t.match(stdout, /Exit codes:[\s\S]*0 +done[\s\S]*1 +failed[\s\S]*130 +cancelled by Ctrl-C/)
})

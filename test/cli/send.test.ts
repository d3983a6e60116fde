/** `weir daemon` and `weir send` as a user runs them: processes, real sockets on loopback. */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, type Run, scratch, send, untilIdle, untilMoved } from '../support/daemon-process.js'
import { undocumented } from '../support/documented.js'
import { filesIn } from '../support/files-in.js'
import { long, usual } from '../support/long.js'
import { reportOf } from '../support/transfer-report.js'

/** 5 MB take 2 s, long enough that even a slow test sees the transfer under way. */
const SLOW = ['--line-rate', '20Mbps', '--chunk', '64KiB', '--mtu', '4096']

// They wait far more than they compute.
t.jobs = 4

const lines = new CommandLines(t)

/** `weir send` that ends by itself. */
const sent = (from: DaemonProcess, args: readonly string[], folder: string) =>
  lines.run(['send', '--socket', from.socket, ...args], folder)

usual('files arrive, and the report says so', { buffered: true }, async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t), DaemonProcess.start(t)])
  const folder = await scratch(t)
  const contents = {
    'a.bin': randomBytes(3_000_001),
    empty: Buffer.alloc(0),
    'ä b.txt': Buffer.from('hello'),
  }
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content)
  const args = [...Object.keys(contents), `${to.address}:some/where`, '--json', '--digest', 'sha256']
  const { code, stdout, stderr } = await send(t, from, args, folder).ended
  t.equal(code, 0, stderr)
  t.equal(stderr, '', 'nothing but the report is said')
  const report = reportOf(stdout)
  t.equal(report.bytes, 3_000_006)
  for (const fields of [report, report.files[0]!]) t.same(undocumented('transfers.md', fields), [])
  for (const [name, content] of Object.entries(contents)) {
    t.same(readFileSync(join(to.inbox, 'some/where', name)), content)
  }
  t.match(report.files, [
    { file: '3 files and folders', path: 'some/where', bytes: 3_000_006, tree: { files: 3 } },
  ])

  const single = await sent(from, ['a.bin', `${to.address}:single/`, '--json', '--digest', 'sha256'], folder)
  const hex = createHash('sha256').update(contents['a.bin']).digest('hex')
  t.match(reportOf(single.stdout), {
    files: [{ file: 'a.bin', path: 'single/a.bin', bytes: 3_000_001, digest: { hex } }],
  })

  const again = await sent(from, ['a.bin', `${to.address}:some/where`], folder)
  t.equal(again.code, 1)
  t.match(again.stderr, /: some\/where\/a\.bin is there already: .*--overwrite.*WEIR_FILE_EXISTS/)
  const replaced = await sent(from, ['a.bin', `${to.address}:some/where`, '--overwrite'], folder)
  t.match(replaced, { code: 0, stderr: '' }, 'in a pipe: one line that says what was delivered')
  t.match(
    replaced.stdout,
    /^a\.bin → \S+:some\/where\/a\.bin {2}3MB in \S+, \S+bps, retransmitted \S+, xxh64 [0-9a-f]{16} at both ends, in the clear, cubic \(no switch on the path has written telemetry\)\n$/,
  )

  const outside = await sent(from, ['a.bin', `${to.address}:../..`, '--json'], folder)
  t.equal(outside.code, 1)
  t.match(reportOf(outside.stdout), { files: [], error: { code: 'WEIR_REJECTED', file: 'a.bin' } })

  const client = await connectDaemon(to.socket)
  t.match(await client.status(), {
    address: to.address,
    inbox: to.inbox,
    receivedBytes: 9_000_008,
    transfers: 0,
  })
  await client.stop()
  t.equal((await to.ended).code, 0)
  t.notOk(to.served, 'the socket is gone')
  client.close()
})

usual('a failure is one line on standard error', { buffered: true }, async t => {
  const folder = await scratch(t)
  writeFileSync(join(folder, 'a'), 'x')
  const ended = await lines.run(['send', '--socket', join(folder, 'none'), 'a', '127.0.0.1'], folder)
  t.match(ended, { code: 1, stdout: '' })
  t.match(ended.stderr, /^weir: no daemon answers on .*none: .*weir daemon.*\(WEIR_DAEMON_UNREACHABLE\)\n$/)
})

long('Ctrl-C, a stopped daemon and a killed one', { buffered: true }, async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t, SLOW), DaemonProcess.start(t, SLOW)])
  const folder = await scratch(t)
  const content = randomBytes(5_000_000)
  writeFileSync(join(folder, 'big'), content)
  const partials = () => filesIn(to.inbox).filter(name => name.includes('.weir-partial-'))
  const begin = async (run: Run) => {
    await untilMoved(run, from, 'send', 800_000)
    t.equal(partials().length, 1, 'a temporary file grows in the inbox')
  }

  const interrupted = send(t, from, ['big', to.address], folder)
  await begin(interrupted)
  interrupted.child.kill('SIGINT')
  const ended = await interrupted.ended
  t.equal(ended.code, 130)
  t.match(ended.stderr, /cancelled.*WEIR_CANCELLED/)
  await untilIdle(to)
  t.same(filesIn(to.inbox), [], 'nothing is left of it')

  const killed = send(t, from, ['big', to.address, '--retries', '0'], folder)
  await begin(killed)
  to.child.kill('SIGKILL')
  const lost = await killed.ended
  t.equal(lost.code, 1)
  t.match(lost.stderr, /WEIR_CONNECTION_LOST/)
  t.equal(partials().length, 1, 'what had arrived is kept')
  t.ok(to.served, 'and so is the socket of the daemon that was killed')

  const reborn = await DaemonProcess.start(t, SLOW, to)
  const resumed = await sent(from, ['big', to.address, '--json'], folder)
  t.equal(resumed.code, 0, resumed.stderr)
  t.ok(reportOf(resumed.stdout).files[0]!.resumedBytes > 0, 'the rest alone is sent')
  t.same(readFileSync(join(to.inbox, 'big')), content)

  const stopped = send(t, from, ['big', `${to.address}:again/`, '--retries', '0'], folder)
  await untilMoved(stopped, from, 'send', 300_000)
  reborn.child.kill('SIGTERM')
  t.equal((await reborn.ended).code, 0)
  t.notOk(reborn.served, 'the socket is gone')
  t.match(filesIn(join(to.inbox, 'again')), [/^\.big\.weir-partial-/], 'what had arrived is kept')
  const told = await stopped.ended
  t.equal(told.code, 1)
  t.match(told.stderr, /shutting down.*WEIR_CONNECTION_LOST/)

  const again = await DaemonProcess.start(t, SLOW, to)
  const left = send(t, from, ['big', `${to.address}:third/`], folder)
  await untilMoved(left, from, 'send', 300_000)
  from.child.kill('SIGTERM')
  t.equal((await left.ended).code, 1)
  await untilIdle(again)
  t.match(
    filesIn(join(to.inbox, 'third')),
    [/^\.big\.weir-partial-/],
    'also when it is the sender that stops',
  )
})

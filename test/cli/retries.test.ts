/** Daemons that die while files are on their way, and are started again: commands go on. Processes, real sockets on loopback. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, type Run, scratch, send, untilMoved } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'
import { reportOf, SIZE, SLOW } from './retries.js'

// They wait far more than they compute.
t.jobs = 4

/** Waits until the transfer at `daemon` is between two attempts. */
async function untilWaiting(run: Run, daemon: DaemonProcess): Promise<void> {
  const client = await connectDaemon(daemon.socket)
  for (let state: string | undefined; state !== 'waiting'; ) {
    run.mustRun('it waited')
    state = (await client.transfers())[0]?.progress?.state
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  client.close()
}

t.test('send: the receiver is killed and started again', { buffered: true }, async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t, SLOW), DaemonProcess.start(t, SLOW)])
  const folder = await scratch(t)
  const content = randomBytes(SIZE)
  writeFileSync(join(folder, 'big'), content)
  const run = send(t, from, ['big', to.address, '--json'], folder)
  await untilMoved(run, from, 'send', 800_000)
  to.child.kill('SIGKILL')
  await to.ended
  await DaemonProcess.start(t, SLOW, to)
  const report = await reportOf(run)
  const [file] = report.files
  t.ok(file!.attempts >= 2, `${file!.attempts} attempts`)
  t.match(file, { bytes: SIZE, resumedBytes: 0, restarts: 0 })
  t.ok(file!.retransmittedBytes > 0, 'what was said to nobody counts')
  t.equal(report.seconds, file!.seconds)
  t.same(readFileSync(join(to.inbox, 'big')), content)
  t.same(filesIn(to.inbox), ['big'])
  t.match(from.stderr, /"attempt":[23].*goes on/, 'the log says it')
})

t.test('Ctrl-C while it waits, and a daemon that is stopped then', { buffered: true }, async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t, SLOW), DaemonProcess.start(t, SLOW)])
  const folder = await scratch(t)
  writeFileSync(join(folder, 'big'), randomBytes(SIZE))
  // To two folders, so that both are lost together.
  const runs = ['one', 'two'].map(name => send(t, from, ['big', `${to.address}:${name}/`], folder))
  await untilMoved(runs[0]!, from, 'send', 300_000)
  while (filesIn(to.inbox).length < 2) await new Promise(resolve => setTimeout(resolve, 10))
  to.child.kill('SIGTERM')
  await untilWaiting(runs[0]!, from)
  runs[0]!.child.kill('SIGINT')
  const cancelled = await runs[0]!.ended
  t.equal(cancelled.code, 130)
  t.match(cancelled.stderr, /cancelled.*WEIR_CANCELLED/)
  from.child.kill('SIGTERM')
  t.equal((await from.ended).code, 0)
  const stopped = await runs[1]!.ended
  t.equal(stopped.code, 1)
  t.match(stopped.stderr, /^weir: .*\(WEIR_[A-Z_]+\)\n$/)
})

t.test('how often is a number', { buffered: true }, async t => {
  const { code, stderr } = await new CommandLines(t).run(['send', 'a', '127.0.0.1', '--retries', '1001'])
  t.equal(code, 1)
  t.match(stderr, /--retries.*0 to 1000.*WEIR_BAD_ARGUMENT/)
})

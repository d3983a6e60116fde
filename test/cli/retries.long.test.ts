/** `weir get` whose server is stopped and started again, and what ends a transfer that waits for its next attempt. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { DaemonProcess, get, type Run, scratch, send, untilMoved } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'
import { reportOfRun, SIZE, SLOW } from './retries.js'

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

t.test('get: the server is stopped in order and started again', async t => {
  const [server, here] = await Promise.all([
    DaemonProcess.startSharing(t, SLOW),
    DaemonProcess.start(t, SLOW),
  ])
  const folder = await scratch(t)
  const content = randomBytes(SIZE)
  writeFileSync(join(server.share, 'big'), content)
  const run = get(t, here, [`${server.address}:big`, '--json'], folder)
  await untilMoved(run, here, 'get', 300_000)
  server.child.kill('SIGTERM')
  t.equal((await server.ended).code, 0)
  await DaemonProcess.start(t, ['--share', server.share, ...SLOW], server)
  const { files } = await reportOfRun(run)
  t.match(files, [{ bytes: SIZE, restarts: 0 }])
  t.ok(files[0]!.attempts >= 2, `${files[0]!.attempts} attempts`)
  t.same(readFileSync(join(folder, 'big')), content)
  t.same(readdirSync(folder), ['big'])
})

t.test('Ctrl-C while it waits, and a daemon that is stopped then', async t => {
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

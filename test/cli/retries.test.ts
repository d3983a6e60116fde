/**
 * Daemons that are killed while files are on their way, and are started again: commands continue. Processes,
 * real sockets on loopback.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, scratch, send, untilMoved } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'
import { reportOfRun, SIZE, SLOW } from './retries.js'

t.test('send: the receiver is killed and started again', async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t, SLOW), DaemonProcess.start(t, SLOW)])
  const folder = await scratch(t)
  const content = randomBytes(SIZE)
  writeFileSync(join(folder, 'big'), content)
  const run = send(t, from, ['big', to.address, '--json'], folder)
  await untilMoved(run, from, 'send', 800_000)
  to.child.kill('SIGKILL')
  await to.ended
  await DaemonProcess.start(t, SLOW, to)
  const report = await reportOfRun(run)
  const [file] = report.files
  t.ok(file!.attempts >= 2, `${file!.attempts} attempts`)
  t.match(file, { bytes: SIZE, resumedBytes: 0, restarts: 0 })
  t.ok(file!.retransmittedBytes > 0, 'what was said to nobody counts')
  t.equal(report.seconds, file!.seconds)
  t.same(readFileSync(join(to.inbox, 'big')), content)
  t.same(filesIn(to.inbox), ['big'])
  t.match(from.stderr, /"attempt":[23].*goes on/, 'the log says it')
})

t.test('how often is a number', async t => {
  const { code, stderr } = await new CommandLines(t).run(['send', 'a', '127.0.0.1', '--retries', '1001'])
  t.equal(code, 1)
  t.match(stderr, /--retries.*0 to 1000.*WEIR_BAD_ARGUMENT/)
})

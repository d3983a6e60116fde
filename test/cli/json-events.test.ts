/** `weir send --json` and `weir get --json`: a line an event. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, Run, scratch } from '../support/daemon-process.js'
import { undocumented } from '../support/documented.js'
import { eventsOf } from '../support/transfer-report.js'

t.jobs = 3
const lines = new CommandLines(t)

t.test('each line is an event with documented fields', { buffered: true }, async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t), DaemonProcess.startSharing(t)])
  const folder = await scratch(t)
  mkdirSync(join(folder, 'tree'))
  for (const name of ['a', 'tree/b', 'tree/c']) writeFileSync(join(folder, name), 'contents')
  const send = ['send', '--socket', from.socket, '--json']
  for (const [words, file, bytes] of [
    [[...send, 'a', to.address], 'a', 8],
    [[...send, 'tree', to.address], 'tree', 16],
  ] as const) {
    const { code, stdout, stderr } = await lines.run(words, folder)
    t.match({ code, stderr }, { code: 0, stderr: '' })
    const events = eventsOf(stdout)
    t.same([...new Set(events.map(({ event }) => event))], ['start', 'progress', 'file', 'done'])
    for (const event of events) {
      t.same(undocumented('transfers.md', event), [], event.event)
      t.ok(Math.abs(event.timeMs - Date.now()) < 600_000)
    }
    t.match(events[0], { schema: 1, items: [{ file, host: to.address }] })
    t.match(events.at(-2), { event: 'file', file, host: to.address, bytes })
    t.match(events.at(-1), { event: 'done', files: 1, bytes, seconds: Number })
  }
  const again = await lines.run([...send, 'a', to.address], folder)
  t.match(again, { code: 1, stderr: /WEIR_FILE_EXISTS/ })
  const failed = eventsOf(again.stdout).at(-1)!
  t.match(failed, { event: 'failed', code: 'WEIR_FILE_EXISTS', file: 'a', files: 0, bytes: 0, seconds: 0 })
  t.same(undocumented('transfers.md', failed), [])
  const sources = ['n1', 'n2', 'n3'].map(name => `${to.address}:${name}`)
  for (const name of ['n1', 'n2', 'n3']) writeFileSync(join(to.share, name), name)
  const got = await lines.run(['get', '--socket', from.socket, '--json', ...sources], folder)
  t.match(eventsOf(got.stdout).at(-1), { event: 'done', files: 1, bytes: 6 })
})

t.test('a lost connection, and a command that ends by a signal', { buffered: true }, async t => {
  const from = await DaemonProcess.start(t, ['--line-rate', '20Mbps', '--chunk', '64KiB'])
  const to = await DaemonProcess.start(t)
  const folder = await scratch(t)
  writeFileSync(join(folder, 'long'), Buffer.alloc(20_000_000, 'x'))
  const args = ['send', '--socket', from.socket, '--json', 'long', to.address]
  const run = new Run(t, args, folder)
  const events = () => eventsOf(run.stdout.slice(0, run.stdout.lastIndexOf('\n') + 1))
  await run.until(() => events().some(({ bytes }) => Number(bytes) > 100_000), 'it moved')
  to.child.kill('SIGKILL')
  await run.until(() => events().some(({ event }) => event === 'retry'), 'it lost the connection')
  const retry = events().find(({ event }) => event === 'retry')!
  t.match(retry, { file: 'long', host: to.address, retry: 1, retries: 3, inMs: Number })
  t.same(undocumented('transfers.md', retry), [])
  run.child.kill('SIGINT')
  const { code, stdout } = await run.ended
  t.equal(code, 130)
  t.match(eventsOf(stdout).at(-1), { event: 'failed', code: 'WEIR_CANCELLED', file: 'long' })
  const client = await connectDaemon(from.socket)
  t.same(await client.transfers(), [], 'nothing is left')
  client.close()
})

/** A daemon whose data path has a defect ends, says why, and leaves no socket behind. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { DaemonProcess, scratch } from '../support/daemon-process.js'

const INJECTOR = fileURLToPath(new URL('./host-defect.js', import.meta.url))
const noThread = process.env.WEIR_IO === 'raw' && 'raw sockets are never on a thread of their own'

/** Lines of the log, as objects. */
function linesOf(text: string): { level: number; name: string; pid: number; msg: string }[] {
  const lines = text.split('\n').filter(line => line.startsWith('{'))
  return lines.map(line => JSON.parse(line))
}

const DEFECTS: [string, RegExp][] = [
  ['round', /an injected defect/],
  ['uncaught', /the thread of the data path has ended: an injected defect/],
  ['exit', /the thread of the data path has ended: exit code 3/],
  ['memory', /the thread of the data path has ended: .*memory/],
]

for (const [defect, words] of DEFECTS) {
  t.test(`defect: ${defect}`, { skip: noThread }, async t => {
    const trigger = join(await scratch(t), 'now')
    const small = defect === 'memory' ? ['--max-old-space-size=64'] : []
    const daemon = await DaemonProcess.startWith(t, {
      NODE_OPTIONS: [`--import=${INJECTOR}`, ...small].join(' '),
      WEIR_TEST_DEFECT: defect,
      WEIR_TEST_TRIGGER: trigger,
    })
    const client = await connectDaemon(daemon.socket)
    t.match(await client.status(), { pid: daemon.child.pid })
    // Something that it is busy with, and that nobody at the other end answers.
    const file = join(daemon.inbox, 'f')
    writeFileSync(file, 'x')
    const sent = client.send(file, '127.0.0.99').then(
      () => null,
      error => error,
    )
    writeFileSync(trigger, '')
    const { code, stderr } = await daemon.ended
    t.equal(code, 1)
    t.match(await sent, { name: 'WeirError' })
    client.close()
    const fatal = linesOf(stderr).find(({ level }) => level === 60)
    t.match(fatal, { name: 'weir', pid: daemon.child.pid, msg: 'the NIC has stopped by a defect' })
    t.match(stderr, words)
    t.notOk(existsSync(daemon.socket), 'the control socket is gone')
  })
}

t.test('a thread that hears nothing any more is ended as it is', { skip: noThread }, async t => {
  const trigger = join(await scratch(t), 'now')
  const daemon = await DaemonProcess.startWith(t, {
    NODE_OPTIONS: `--import=${INJECTOR}`,
    WEIR_TEST_DEFECT: 'hang',
    WEIR_TEST_TRIGGER: trigger,
  })
  writeFileSync(trigger, '')
  await daemon.until(() => existsSync(`${trigger}.hangs`), 'its thread hung')
  daemon.child.kill('SIGTERM')
  const { code, stderr } = await daemon.ended
  t.equal(code, 0)
  t.match(stderr, /the data path did not end/)
  t.notOk(existsSync(daemon.socket))
})

t.test('both threads write one log', { skip: noThread }, async t => {
  const daemon = await DaemonProcess.start(t, ['--log-level', 'debug'])
  const client = await connectDaemon(daemon.socket)
  const file = join(daemon.inbox, 'f')
  writeFileSync(file, 'x')
  await client.send(file, daemon.address, { name: 'g' })
  await client.stop()
  client.close()
  const { code, stderr } = await daemon.ended
  t.equal(code, 0)
  const lines = linesOf(stderr)
  for (const line of lines) t.match(line, { name: 'weir', pid: daemon.child.pid }, line.msg)
  const words = lines.map(({ msg }) => msg)
  t.equal(words[0], 'ready')
  t.equal(words.at(-1), 'stopped')
  for (const word of ['connection accepted', 'received', 'sent']) t.ok(words.includes(word), word)
})

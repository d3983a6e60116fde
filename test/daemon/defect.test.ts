/** A daemon whose data path has a defect ends, says why, and leaves no socket behind. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { DaemonProcess, scratch } from '../support/daemon-process.js'
import { INJECTOR, linesOf, noThread, testDefect } from './defects.js'

testDefect('round', /an injected defect/)
testDefect('uncaught', /the thread of the data path has ended: an injected defect/)

t.test('a thread that hears nothing any more is ended as it is', { skip: noThread }, async t => {
  const trigger = join(await scratch(t), 'now')
  const daemon = await DaemonProcess.startWith(t, {
    NODE_OPTIONS: `--import=${INJECTOR}`,
    WEIR_TEST_DEFECT: 'hang',
    WEIR_TEST_TRIGGER: trigger,
  })
  writeFileSync(trigger, '')
  await daemon.until(() => existsSync(`${trigger}.hangs`), 'its thread hung')
  const client = await connectDaemon(daemon.socket)
  await t.rejects(client.send(trigger, '10.0.0.9'), {
    code: 'WEIR_DAEMON_UNREACHABLE',
    message: /has not answered for 15 s, as the thread of the daemon that handles packets hangs/,
  })
  client.close()
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

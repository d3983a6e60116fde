/** A daemon process whose data path has a defect. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { DaemonProcess, scratch } from '../support/daemon-process.js'

export const INJECTOR = fileURLToPath(new URL('./host-defect.js', import.meta.url))
/** The same program as unbundled modules, so that the injector can change one of them. */
const UNBUNDLED = fileURLToPath(new URL('../../bin/weir.js', import.meta.url))
export const noThread = process.env.WEIR_IO === 'raw' && 'raw sockets are never on a thread of their own'

/** Lines of the log, as objects. */
export function linesOf(text: string): { level: number; name: string; pid: number; msg: string }[] {
  const lines = text.split('\n').filter(line => line.startsWith('{'))
  return lines.map(line => JSON.parse(line))
}

/** Tests that such a defect of the data path ends the daemon, which reports it in these words. */
export function testDefect(defect: string, words: RegExp): void {
  t.test(`defect: ${defect}`, { skip: noThread }, async t => {
    const trigger = join(await scratch(t), 'now')
    const small = defect === 'memory' ? ['--max-old-space-size=64'] : []
    const env = {
      NODE_OPTIONS: [`--import=${INJECTOR}`, ...small].join(' '),
      WEIR_TEST_DEFECT: defect,
      WEIR_TEST_TRIGGER: trigger,
    }
    const daemon = await DaemonProcess.startWith(t, env, UNBUNDLED)
    const client = await connectDaemon(daemon.socket)
    t.match(await client.status(), { pid: daemon.child.pid })
    // Work of the daemon that nobody at the other end answers.
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

/** Several files towards a host whose version knows one file a connection. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sendCommand } from '../../bin/commands/send.js'
import { Daemon } from '../../lib/daemon/daemon.js'
import { WeirError } from '../../lib/errors.js'
import { createLog } from '../../lib/log.js'
import { scratch } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'
import { loopbackAddress } from '../support/loopback.js'

t.test('files go one by one, and a folder is refused', async t => {
  const folder = await scratch(t)
  const start = async (name: string) => {
    const [address, inbox, socketPath] = [loopbackAddress(), join(folder, `in-${name}`), join(folder, name)]
    const daemon = await Daemon.start({ address, inbox, socketPath, log: createLog('silent', 'test') })
    t.teardown(() => daemon.close())
    return { daemon, address, inbox, socketPath }
  }
  const [from, to] = [await start('a'), await start('b')]
  const { transfers } = to.daemon.parts
  const accept = transfers.accept.bind(transfers)
  let refused = 0
  transfers.accept = (now, request) => {
    if (request.privateData.length === 0) return accept(now, request)
    refused++
    throw new WeirError('WEIR_REJECTED', 'this daemon does not know such transfers')
  }
  const send = (...args: string[]) =>
    sendCommand().parseAsync([...args, to.address, '--socket', from.socketPath], { from: 'user' })
  const [x, y] = [join(folder, 'x'), join(folder, 'y')]
  for (const path of [x, y]) writeFileSync(path, path)
  await send(x, y)
  t.equal(refused, 1)
  t.same(filesIn(to.inbox).sort(), ['x', 'y'])
  t.equal(readFileSync(join(to.inbox, 'y'), 'utf8'), y)

  mkdirSync(join(folder, 'd'))
  const message = /does not know such transfers/
  await t.rejects(send(join(folder, 'd')), { code: 'WEIR_REJECTED', message })
})

/** `weir get` whose server is stopped and started again. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DaemonProcess, get, scratch, untilMoved } from '../support/daemon-process.js'
import { reportOf, SIZE, SLOW } from './retries.js'

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
  const { files } = await reportOf(run)
  t.match(files, [{ bytes: SIZE, restarts: 0 }])
  t.ok(files[0]!.attempts >= 2, `${files[0]!.attempts} attempts`)
  t.same(readFileSync(join(folder, 'big')), content)
  t.same(readdirSync(folder), ['big'])
})

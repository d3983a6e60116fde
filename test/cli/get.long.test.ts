/** `weir get` that is interrupted, at either end. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DaemonProcess, get, type Run, scratch, untilIdle, untilMoved } from '../support/daemon-process.js'
import { reportOf } from '../support/transfer-report.js'

/** 5 MB take 2 s, long enough that even a slow test sees the transfer under way. */
const SLOW = ['--line-rate', '20Mbps', '--chunk', '64KiB', '--mtu', '4096']

t.test('Ctrl-C, a stopped server and a killed one', async t => {
  const [server, here] = await Promise.all([
    DaemonProcess.startSharing(t, SLOW),
    DaemonProcess.start(t, SLOW),
  ])
  const folder = await scratch(t)
  const content = randomBytes(5_000_000)
  writeFileSync(join(server.share, 'big'), content)
  const source = `${server.address}:big`
  const begin = async (run: Run) => {
    await untilMoved(run, here, 'get', 300_000)
    t.match(readdirSync(folder), [/^\.big\.weir-partial-/], 'a temporary file grows there')
  }

  const interrupted = get(t, here, [source], folder)
  await begin(interrupted)
  interrupted.child.kill('SIGINT')
  const ended = await interrupted.ended
  t.equal(ended.code, 130)
  t.match(ended.stderr, /cancelled.*WEIR_CANCELLED/)
  await untilIdle(server)
  t.same(readdirSync(folder), [], 'nothing is left of it')

  const killed = get(t, here, [source, '--retries', '0'], folder)
  await begin(killed)
  server.child.kill('SIGKILL')
  const lost = await killed.ended
  t.equal(lost.code, 1)
  t.match(lost.stderr, /WEIR_CONNECTION_LOST/)
  t.equal(readdirSync(folder).length, 1, 'what had arrived is kept')

  const reborn = await DaemonProcess.start(t, ['--share', server.share, ...SLOW], server)
  const resumed = await get(t, here, [source, '--json'], folder).ended
  t.equal(resumed.code, 0, resumed.stderr)
  t.ok(reportOf(resumed.stdout).files[0]!.resumedBytes > 0, 'the rest alone is read')
  t.same(readFileSync(join(folder, 'big')), content)
  t.same(readdirSync(folder), ['big'])

  const stopped = get(t, here, [source, '--overwrite', '--retries', '0'], folder)
  await untilMoved(stopped, here, 'get', 300_000)
  reborn.child.kill('SIGTERM')
  t.equal((await reborn.ended).code, 0)
  const told = await stopped.ended
  t.equal(told.code, 1, 'the user did not cancel it')
  t.match(told.stderr, /shutting down.*WEIR_CONNECTION_LOST/)
  t.match(readdirSync(folder).sort(), [/^\.big\.weir-partial-/, 'big'], 'what had arrived is kept')
})

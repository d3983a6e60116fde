/**
 * A file there and back over IPv6. Two daemons need two addresses, and loopback has only ::1. So the test
 * uses a network namespace of its own, which needs no privileges where user namespaces are allowed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DaemonProcess, get, scratch, send } from '../support/daemon-process.js'
import { without } from '../support/tools.js'

const ADDRESSES = ['fd00:5745:4952::1', 'fd00:5745:4952::2']
const SETUP = [
  'ip link set lo up',
  ...ADDRESSES.map(address => `ip -6 addr add ${address}/128 dev lo nodad`),
  'echo up',
  'exec cat',
].join(' && ')

/** Keeps a namespace with both addresses until its standard input ends. Null where that is not possible. */
async function namespace(): Promise<{ child: ChildProcess; within: string[] } | null> {
  const child = spawn('unshare', ['--user', '--map-root-user', '--net', 'sh', '-c', SETUP], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const [said] = await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])
  if (String(said) !== 'up\n') return null
  const enter = ['nsenter', '--preserve-credentials', '--user', '--net', `--target=${child.pid}`]
  return { child, within: enter }
}

const skip =
  without('unshare', 'nsenter', 'ip') ||
  (process.env.WEIR_IO === 'raw' && 'raw sockets show no header of IPv6')

t.test('a file is sent and fetched over IPv6', { skip }, async t => {
  const place = await namespace()
  if (!place) {
    t.plan(0, 'this machine gives the test no network namespace with IPv6')
    return
  }
  t.teardown(() => place.child.kill())
  const { within } = place
  const [one, two] = await Promise.all(
    ADDRESSES.map(address => DaemonProcess.startSharing(t, [], { address, within })),
  )
  const folder = await scratch(t)
  const content = randomBytes(2_000_003)
  writeFileSync(join(folder, 'a'), content)
  // The commands speak to their daemons by Unix sockets, which no network namespace hides.
  const sent = await send(t, one!, ['a', `[${two!.address}]:x/`], folder).ended
  t.match(sent, { code: 0, stderr: '' })
  t.same(readFileSync(join(two!.inbox, 'x/a')), content)

  writeFileSync(join(two!.share, 'b'), content)
  const fetched = await get(t, one!, [`[${two!.address}]:b`], folder).ended
  t.match(fetched, { code: 0, stderr: '' })
  t.same(readFileSync(join(folder, 'b')), content)
})

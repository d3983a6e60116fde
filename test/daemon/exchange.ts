/** Daemons on different ports that exchange files. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { rawFault } from '../../lib/io/ports/raw-port.js'
import { DaemonProcess, type Place, scratch } from '../support/daemon-process.js'
import { Namespaces, noNamespaces } from '../support/netns.js'

const BYTES = 300_000
/** Why there are no raw sockets here, or false. */
export const noRaw = rawFault() ?? false

/** A daemon with a file to get. */
interface Host {
  /** Its flags. */
  name: string
  daemon: DaemonProcess
  shared: Buffer
}

/** A daemon by these flags behind `--io`. */
export async function start(t: Test, place: Place, name: string): Promise<Host> {
  const daemon = await DaemonProcess.startSharing(t, ['--io', ...name.split(' ')], place)
  const shared = randomBytes(BYTES)
  await writeFile(join(daemon.share, 'shared'), shared)
  return { name, daemon, shared }
}

/** Host `a` sends `b` a file, and gets one of it. */
export async function exchange(t: Test, a: Host, b: Host): Promise<void> {
  const folder = await scratch(t)
  const bytes = randomBytes(BYTES)
  const sent = `from-${a.daemon.address}`
  await writeFile(join(folder, sent), bytes)
  const client = await connectDaemon(a.daemon.socket)
  await client.send(join(folder, sent), b.daemon.address)
  await client.get(b.daemon.address, 'shared', { directory: folder })
  client.close()
  t.ok(readFileSync(join(b.daemon.inbox, sent)).equals(bytes), `sent from ${a.name} to ${b.name}`)
  t.ok(readFileSync(join(folder, 'shared')).equals(b.shared), `got by ${a.name} of ${b.name}`)
}

/** Tests that daemons on one end of a veth pair exchange files with those on the other, several at once: flags behind `--io`. */
export function testVeth(near: string[], far: string[]): void {
  t.test(`veth: ${near.join(', ')} with ${far.join(', ')}`, { skip: noNamespaces() }, async t => {
    const ns = new Namespaces(t)
    const [left, right] = [ns.add('left'), ns.add('right')]
    ns.veth({ ns: left, name: 'eth0' }, { ns: right, name: 'eth0' }, 9000, true)
    const inside = (name: string, net: string, flags: string[]) =>
      Promise.all(
        flags.map((flags, i) => {
          const address = `${net}.${i + 1}`
          ns.exec(name, 'ip', 'addr', 'add', `${address}/8`, 'dev', 'eth0')
          return start(t, { address, within: ['ip', 'netns', 'exec', name] }, flags)
        }),
      )
    const [nearHosts, farHosts] = await Promise.all([
      inside(left, '10.1.0', near),
      inside(right, '10.2.0', far),
    ])
    // With `packet` no host sends ARP requests: it uses the kernel's table.
    for (const { daemon } of nearHosts) t.equal((await ns.echo(right, daemon.address)).replies.length, 1)
    for (const a of nearHosts) await Promise.all(farHosts.map(b => exchange(t, a, b)))
    for (const a of farHosts) await Promise.all(nearHosts.map(b => exchange(t, a, b)))
  })
}

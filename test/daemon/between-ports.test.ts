/**
 * Daemons on different ports understand each other, whichever begins: what one port cannot set, another one does not insist on, and who
 * takes no runs of packets gets none. On loopback, and on veth as the kernel makes it: with nothing between them that cuts
 * runs (UDP_SEGMENT) into packets.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { rawFault } from '../../lib/io/raw-port.js'
import { DaemonProcess, loopbackAddress, type Place, scratch } from '../support/daemon-process.js'
import { Namespaces, noNamespaces } from '../support/netns.js'

const BYTES = 300_000
const noRaw = rawFault() ?? false
const notAlone = process.env.WEIR_IO !== 'raw' && 'raw sockets are tested alone, with WEIR_IO=raw'

/** A daemon with a file to get. */
interface Host {
  /** Its flags. */
  name: string
  daemon: DaemonProcess
  shared: Buffer
}

/** A daemon by these flags behind `--io`. */
async function start(t: Test, place: Place, name: string): Promise<Host> {
  const daemon = await DaemonProcess.startSharing(t, ['--io', ...name.split(' ')], place)
  const shared = randomBytes(BYTES)
  await writeFile(join(daemon.share, 'shared'), shared)
  return { name, daemon, shared }
}

/** Host `a` sends `b` a file, and gets one of it. */
async function exchange(t: Test, a: Host, b: Host): Promise<void> {
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

const skipped: Record<string, string | false> = {
  batch: libcFault() ?? false,
  dgram: false,
  raw: noRaw || notAlone,
}
const names = Object.keys(skipped)
const here = await Promise.all(
  names.filter(name => !skipped[name]).map(name => start(t, { address: loopbackAddress() }, name)),
)

for (const a of names) {
  for (const b of names.filter(name => name !== a)) {
    t.test(`loopback: ${a} with ${b}`, { skip: skipped[a] || skipped[b]! }, async t => {
      const [from, to] = [a, b].map(name => here.find(host => host.name === name)!)
      await exchange(t, from!, to!)
    })
  }
}

t.test(
  'veth: every port with those that take no runs, several at once',
  { skip: noNamespaces() },
  async t => {
    const ns = new Namespaces(t)
    const [left, right] = [ns.add('left'), ns.add('right')]
    ns.veth({ ns: left, name: 'eth0' }, { ns: right, name: 'eth0' }, 9000, true)
    const raw = noRaw ? [] : ['raw']
    if (noRaw) t.comment(`without raw sockets: ${noRaw}`)
    const inside = (name: string, net: string, flags: string[]) =>
      Promise.all(
        flags.map((flags, i) => {
          const address = `${net}.${i + 1}`
          ns.exec(name, 'ip', 'addr', 'add', `${address}/8`, 'dev', 'eth0')
          return start(t, { address, within: ['ip', 'netns', 'exec', name] }, flags)
        }),
      )
    const [near, far] = await Promise.all([
      inside(left, '10.1.0', ['batch', 'batch --no-worker', 'dgram', ...raw]),
      inside(right, '10.2.0', ['packet', ...raw]),
    ])
    // By `packet` nobody asks for MAC addresses: it goes by what the kernel knows.
    for (const { daemon } of near) t.equal((await ns.echo(right, daemon.address)).replies.length, 1)
    for (const a of near) await Promise.all(far.map(b => exchange(t, a, b)))
    for (const a of far) await Promise.all(near.map(b => exchange(t, a, b)))
  },
)

/**
 * What the system reports about the interface of an address, also one without carrier, which Node does not
 * list.
 */
import { execFileSync } from 'node:child_process'
import { endianness, networkInterfaces } from 'node:os'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { interfaceMtu } from '../../lib/io/interfaces/interface.js'
import { interfaceByAddresses, interfaceByRoutes, interfaceOf } from '../../lib/io/interfaces/interface-of.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { DaemonProcess } from '../support/daemon-process.js'
import { Namespaces, noNamespaces } from '../support/netns.js'

const noNet = noNamespaces()
const MODULE = fileURLToPath(new URL('../../lib/io/interfaces/interface.js', import.meta.url))

t.test('every address that Node lists is on its interface', async t => {
  const lists = Object.entries(networkInterfaces()) as [string, { address: string; family: string }[]][]
  for (const [name, addresses] of lists) {
    for (const { address, family } of addresses) {
      // One without a zone may be on several interfaces.
      if (family === 'IPv6' && address.startsWith('fe80')) continue
      t.equal(interfaceOf(address), name, address)
    }
  }
  t.throws(() => interfaceMtu('localhost'), { code: 'WEIR_BAD_ARGUMENT' })
})

// In the form of little-endian machines: 10.0.0.0/8 on eth0, 10.5.0.0/16 on eth1, the default by a gateway on
// eth2, 10.5.6.0/24 by one on eth3.
const ROUTES = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth2	00000000	0100A8C0	0003	0	0	0	00000000	0	0	0
eth0	0000000A	00000000	0001	0	0	0	000000FF	0	0	0
eth1	0000050A	00000000	0001	0	0	0	0000FFFF	0	0	0
eth3	0006050A	0100050A	0003	0	0	0	00FFFFFF	0	0	0
`

t.test('the narrowest network without a gateway', { skip: endianness() !== 'LE' }, async t => {
  const of = (address: string, table = ROUTES) => interfaceByRoutes(table, HostAddress.parse(address))
  t.equal(of('10.1.2.3'), 'eth0')
  t.equal(of('10.5.2.3'), 'eth1')
  t.equal(of('10.5.6.7'), 'eth1')
  t.equal(of('192.0.2.1'), null)
  const reversed = ROUTES.trim().split('\n').reverse()
  t.equal(of('10.5.2.3', [reversed.pop(), ...reversed].join('\n')), 'eth1', 'in whatever order')
  t.equal(of('192.0.2.1', `${ROUTES}eth4	00000000	00000000	0001	0	0	0	00000000	0	0	0\n`), 'eth4')
  for (const nonsense of ['', 'Iface', 'Iface\neth0', 'Iface\neth0 zz 00'])
    t.equal(of('10.1.2.3', nonsense), null)
})

t.test('the table of IPv6 addresses', async t => {
  const table = `00000000000000000000000000000001 01 80 10 80       lo
fd000005000000000000000000000001 03 40 00 c0     eth7
`
  const of = (address: string) => interfaceByAddresses(table, HostAddress.parse(address))
  t.equal(of('fd00:5::1'), 'eth7')
  t.equal(of('::1'), 'lo')
  t.equal(of('fd00:5::2'), null)
})

t.test('an interface without carrier: its MTU is its own, not 1500', { skip: noNet }, async t => {
  const ns = new Namespaces(t)
  const name = ns.add('lonely')
  ns.exec(name, 'ip', 'link', 'add', 'name', 'v0', 'type', 'veth', 'peer', 'name', 'v1')
  ns.exec(name, 'sh', '-c', 'echo 0 > /proc/sys/net/ipv6/conf/v0/disable_ipv6')
  // The other end stays down.
  ns.exec(name, 'ip', 'link', 'set', 'v0', 'mtu', '9000', 'up')
  const addresses = ['10.55.0.1/24', '10.56.0.1/32', 'fd00:5::1/64']
  for (const address of addresses) ns.exec(name, 'ip', 'addr', 'add', address, 'dev', 'v0')
  ns.exec(name, 'ip', 'route', 'add', '10.56.0.0/16', 'dev', 'v0', 'scope', 'link')
  const script = `
    const { interfaceMtu } = await import(${JSON.stringify(MODULE)})
    const os = await import('node:os')
    const addresses = ${JSON.stringify([...addresses, '127.0.0.9/8'])}
    console.log(JSON.stringify({ listed: Object.keys(os.networkInterfaces()), mtus: addresses.map(a => interfaceMtu(a.split('/')[0])) }))`
  const node = [process.execPath, '--input-type=module', '-e', script]
  const said = execFileSync('ip', ['netns', 'exec', name, ...node], { encoding: 'utf8', timeout: 30_000 })
  t.same(JSON.parse(said), { listed: ['lo'], mtus: [9000, 9000, 9000, 65_535] })
  const place = { address: '10.55.0.1', within: ['ip', 'netns', 'exec', name] }
  const daemon = await DaemonProcess.startSharing(t, ['--io', 'dgram'], place)
  const client = await connectDaemon(daemon.socket)
  t.match(await client.status(), { pathMtu: 4096 }, 'a daemon there sends packets of full size')
  client.close()
})

import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import {
  hostCommands,
  hostsFile,
  moveCommands,
  pairCommands,
  planHosts,
} from '../../switch-emu/lab/network-plan.js'

function plan(yaml: string) {
  return planHosts(parseScenario(yaml, 'lab.yaml'))
}

const THREE = plan(`
hosts: [h1, { name: h2, address: 10.255.255.254 }, h3]
switches: [s1, s2]
links: [h1..h2--s1, s1--s2, h3--s2]
`)

t.test(
  'each host: its address, a MAC address that follows from it, the switch, a name for its port',
  async t => {
    t.same(THREE, [
      {
        name: 'h1',
        address: '10.0.0.1',
        mac: '02:57:0a:00:00:01',
        mtu: 4500,
        switch: 's1',
        interface: 's1-h1',
      },
      {
        name: 'h2',
        address: '10.255.255.254',
        mac: '02:57:0a:ff:ff:fe',
        mtu: 4500,
        switch: 's1',
        interface: 's1-h2',
      },
      {
        name: 'h3',
        address: '10.0.0.2',
        mac: '02:57:0a:00:00:02',
        mtu: 4500,
        switch: 's2',
        interface: 's2-h3',
      },
    ])
  },
)

t.test('interface names are unique and no longer than Linux takes, 15 characters', async t => {
  const hosts = plan(`
hosts: [a-very-long-name-of-a-host-1, a-very-long-name-of-a-host-2, h3]
switches: [a-long-switch, s1]
links: [a-very-long-name-of-a-host-1--s1, a-very-long-name-of-a-host-2--s1, h3--a-long-switch, s1--a-long-switch]
`)
  const names = hosts.map(host => host.interface)
  t.equal(new Set(names).size, 3)
  for (const name of names) t.match(name, /^[a-z0-9-]{1,15}$/)
})

t.test(
  'an address is no broadcast address: it has no network of its own, and a route to all of them',
  async t => {
    const lines = hostCommands(THREE[0]!, THREE, false)
    t.ok(lines.includes('address add 10.0.0.1/32 dev eth0'))
    t.match(
      lines.find(line => line.startsWith('route')),
      /^route add 10\.0\.0\.0\/8 dev eth0 scope link src 10\.0\.0\.1/,
    )
    t.same(
      lines.filter(line => line.startsWith('neighbour')),
      [
        'neighbour add 10.255.255.254 lladdr 02:57:0a:ff:ff:fe dev eth0 nud permanent',
        'neighbour add 10.0.0.2 lladdr 02:57:0a:00:00:02 dev eth0 nud permanent',
      ],
    )
  },
)

t.test('interfaces ask for no IPv6 routers where the kernel knows IPv6', async t => {
  t.ok(pairCommands(THREE, true).includes('link set s1-h1 addrgenmode none'))
  t.ok(hostCommands(THREE[0]!, THREE, true).includes('link set eth0 addrgenmode none'))
  for (const line of pairCommands(THREE, false)) t.notMatch(line, /addrgenmode/)
})

t.test('pairs have room for a path MTU of 4096 with every header, and are moved to the hosts', async t => {
  const [, first] = pairCommands(THREE, false)
  const [, mtu, peerMtu] = /mtu (\d+) .*mtu (\d+)/.exec(first!)!
  t.equal(mtu, peerMtu)
  // IPv6, UDP, an INT shim of 5 wide slots, BTH, RETH, ImmDt, payload, ICRC.
  t.ok(Number(mtu) >= 40 + 8 + 8 + 5 * 24 + 12 + 16 + 4 + 4096 + 4)
  t.same(
    moveCommands(THREE.slice(0, 1), host => `/run/${host}`),
    ['link set peer.0 netns /run/h1 name eth0'],
  )
})

t.test("the lab's names come first in its /etc/hosts", async t => {
  const text = hostsFile(THREE, '10.9.9.9\th1\n')
  t.ok(text.indexOf('10.0.0.1\th1\n') < text.indexOf('10.9.9.9\th1\n'))
  t.match(text, /^127\.0\.0\.1\tlocalhost\n/)
})

t.test('what cannot be a lab is refused', async t => {
  const many = `
hosts: [h1..h129]
switches: [s1]
links: [h1..h129--s1]
`
  t.throws(() => plan(many), { code: 'WEIR_BAD_SCENARIO', message: /129 hosts.*128/ })
  const direct = `
hosts: [h1, h2]
links: [h1--h2]
`
  t.throws(() => plan(direct), {
    code: 'WEIR_BAD_SCENARIO',
    message: /h1 needs exactly one link, to a switch/,
  })
})

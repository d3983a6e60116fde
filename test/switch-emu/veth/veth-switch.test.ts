import t from 'tap'
import { FramePool } from '../../../lib/frame/frame-pool.js'
import { PacketPort } from '../../../lib/io/ports/packet-port.js'
import { TYPE_TIME_EXCEEDED } from '../../../lib/wire/net/icmp.js'
import { noNamespaces } from '../../support/netns.js'
import { VethLab } from '../../support/veth-lab.js'

const skip = noNamespaces()
const YAML = `
name: veth
link: {rate: 1Gbps, delay: 500us}
hosts: [h1, h2, h3]
switches: {s1: {}, s2: {buffer: 8KB}}
links: [h1--s1, h2--s1, s1--s2, {ends: s2--h3, rate: 20Mbps}]
traffic: [{name: flow0, from: h1, to: h3, size: 1MB}]
watch: {queues: [s2:h3], every: 1ms}
`

async function reportOf(lab: VethLab) {
  return (await lab.ask({ type: 'report' }, 'report')).report
}

t.test('echoes cross two switches: ARP finds hosts, and the delays of links add up', { skip }, async t => {
  const lab = await VethLab.up(t, YAML)
  const { sent, replies } = await lab.echo('h1', 'h3', { count: 5 })
  t.equal(replies.length, 5)
  // Six links of 500 us, never less.
  for (const { ms } of replies) t.ok(ms >= 3, `${ms} ms`)
  for (const reply of replies) t.match(reply, { from: lab.address('h3'), ttl: 62 }, 'two hops were counted')
  const mac = lab.exec('h3', 'cat', '/sys/class/net/eth0/address').trim()
  t.match(lab.exec('h1', 'ip', 'neigh', 'show', lab.address('h3')), mac)
  const report = await reportOf(lab)
  t.equal(report.lostFrames, 0)
  // What s2 sends towards h3: requests of 98 bytes, and the answer to h3's own request for h1, 42 bytes. A
  // slow h3 asks again.
  const port = report.ports.find(({ name }) => name === 's2:h3')!
  const answers = (port.txBytes - sent * 98) / 42
  t.ok(Number.isInteger(answers) && answers >= 1, `${port.txBytes} bytes for ${sent} requests`)
  t.ok(report.series['queue/s2:h3']!.values.length > 0)
  await lab.down()
})

t.test('expired packets are reported by the switch at which they expired', { skip }, async t => {
  const lab = await VethLab.up(t, YAML)
  const drops = { 's1:h1': 0, 's2:s1': 0 }
  for (const [ttl, from, port] of [
    [1, '10.255.0.1', 's1:h1'],
    [2, '10.255.0.2', 's2:s1'],
  ] as const) {
    const { sent, errors } = await lab.echo('h1', 'h3', { ttl })
    t.same(errors, [{ from, type: TYPE_TIME_EXCEEDED, code: 0 }])
    drops[port] = sent
  }
  const { ports } = await lab.ask({ type: 'ports' }, 'ports')
  for (const [name, count] of Object.entries(drops))
    t.equal(ports.find(port => port.name === name)!.drops, count, name)
  await lab.down()
})

t.test('frames that nobody can forward are counted, and the switch goes on', { skip }, async t => {
  const lab = await VethLab.up(t, YAML)
  const pool = new FramePool(64, 2048)
  const port = lab.namespaces.inside(lab.hosts.get('h1')!, () => new PacketPort({ pool, interface: 'eth0' }))
  t.teardown(() => port.close())
  const ipv4 = '4500001c00000000401100000a0000010a000003'
  const frames = [
    // One of no protocol; IPv4 that ends in its header, has a bad checksum, has no route; ARP that is cut off; a bare header.
    `020000000099020000000001${'88b5'}${'00'.repeat(46)}`,
    `020000000099020000000001${'0800'}450000`,
    `020000000099020000000001${'0800'}${ipv4}${'00'.repeat(8)}`,
    `020000000099020000000001${'0800'}4500001c000000004011661b0a000001c0a80101${'00'.repeat(8)}`,
    `ffffffffffff020000000001${'0806'}00010800060400`,
    `020000000099020000000001${'86dd'}`,
  ]
  for (const hex of frames) {
    const frame = pool.take()!
    frame.length = frame.bytes.write(hex, 'hex')
    frame.wireLength = frame.length
    port.transmit(frame)
  }
  port.flush()
  t.equal((await lab.echo('h1', 'h2')).replies.length, 1)
  const { ports } = await lab.ask({ type: 'ports' }, 'ports')
  t.equal(ports.find(({ name }) => name === 's1:h1')!.drops, frames.length)
  await lab.down()
})

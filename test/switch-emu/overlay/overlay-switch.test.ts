import t, { type Test } from 'tap'
import type { Frame } from '../../../lib/frame/frame.js'
import { FramePool } from '../../../lib/frame/frame-pool.js'
import { VxlanPort } from '../../../lib/io/ports/vxlan-port.js'
import { parseScenario } from '../../../lib/scenario/read/load-scenario.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import { OverlaySwitch } from '../../../switch-emu/overlay/overlay-switch.js'
import { freePort, nextFrame, udpFrame4, until } from '../../io/helpers.js'

const YAML = `
name: overlay
link: {rate: 100Mbps, delay: 500us}
hosts: [h1, h2, h3]
switches: {s1: {}, s2: {buffer: 40KB}}
links: [h1--s1, h2--s1, s1--s2, {ends: s2--h3, rate: 1Mbps}]
traffic: [{name: flow0, from: h1, to: h3, size: 1MB}]
watch: {queues: [s2:h3], every: 1ms}
`

async function lab(test: Test) {
  const scenario = parseScenario(YAML, 'overlay.yaml')
  const errors: unknown[] = []
  const pool = new FramePool(512)
  const hub = { address: '127.0.0.1', port: freePort() }
  const hosts = await Promise.all(
    scenario.hosts.map((_, i) =>
      VxlanPort.open({ pool, vni: 100 + i, local: { address: '127.0.0.1', port: 0 }, peer: hub }),
    ),
  )
  const sw = await OverlaySwitch.open({
    scenario,
    local: hub,
    links: scenario.hosts.map(({ name }, i) => ({
      host: name,
      vni: 100 + i,
      peer: { address: '127.0.0.1', port: hosts[i]!.localPort },
    })),
    onError: error => errors.push(error),
  })
  const addresses = scenario.hosts.map(host => host.address)
  const frame = (from: number, to: number, id: number, bytes: number): Frame => {
    const made = udpFrame4(pool, {
      source: addresses[from]!,
      destination: addresses[to]!,
      sourcePort: 0xc001,
      destinationPort: 4000,
      payload: new Uint8Array(bytes - 42),
    })
    ipv4.updateChecksum(made.view, 14)
    made.view.setUint32(42, id)
    return made
  }
  const close = async () => {
    await Promise.all([...hosts.map(host => host.close()), sw.close()])
    test.same(errors, [])
    test.equal(pool.inUse, 0)
  }
  return { scenario, sw, hosts, pool, frame, close }
}

t.test('frames cross two switches both ways, whole, in order, with a hop fewer to live', async t => {
  const { sw, hosts, pool, frame, close } = await lab(t)
  sw.begin()
  for (let i = 0; i < 5; i++) hosts[0]!.transmit(frame(0, 2, i, 600))
  hosts[2]!.transmit(frame(2, 1, 77, 300))
  for (let i = 0; i < 5; i++) {
    const got = await nextFrame(hosts[2]!)
    t.equal(got.view.getUint32(42), i)
    t.equal(got.length, 600)
    t.equal(ipv4.ttl(got.view, 14), 62, 'two routers')
    t.ok(ipv4.verifyChecksum(got.view, 14))
    pool.give(got)
  }
  const back = await nextFrame(hosts[1]!)
  t.equal(back.view.getUint32(42), 77)
  pool.give(back)
  const report = sw.report()
  const last = report.ports.find(port => port.switch === 's2' && port.peer === 'h3')!
  t.equal(last.txBytes, 5 * 600)
  t.equal(report.lostFrames, 0)
  t.ok(report.events > 0)
  await close()
})

t.test('a burst above the buffer is cut by the emulated queue, and all of it is accounted for', async t => {
  const { sw, hosts, pool, frame, close } = await lab(t)
  sw.begin()
  const count = 200
  // 200 frames of 1250 bytes at 100 Mbit/s into 1 Mbit/s behind 40 kB: 0.1 ms each in, 10 ms each out, so that a machine may be 1.6 s late.
  for (let i = 0; i < count; i++) hosts[0]!.transmit(frame(0, 2, i, 1250))
  const port = () => sw.ports().ports.find(p => p.switch === 's2' && p.peer === 'h3')!
  await until(() => port().drops + port().txBytes / 1250 === count)
  const received: number[] = []
  await until(() => {
    for (let f = hosts[2]!.receive(); f !== null; f = hosts[2]!.receive()) {
      received.push(f.view.getUint32(42))
      pool.give(f)
    }
    return received.length === port().txBytes / 1250
  })
  const { drops, maxQueueBytes } = port()
  t.ok(drops > 0, `${drops} dropped`)
  t.equal(received.length + drops, count)
  t.same(
    received,
    [...received].sort((a, b) => a - b),
    'in order',
  )
  t.ok(maxQueueBytes <= 40_000)
  t.ok(maxQueueBytes > 40_000 - 1250, 'the buffer was full')
  const { series } = sw.report()
  const queue = series['queue/s2:h3']!
  t.ok(queue.values.some(bytes => bytes > 0))
  t.ok(queue.values.every(bytes => bytes <= 40_000))
  t.ok(queue.timesNs.every((at, i) => at === i * 1_000_000))
  await close()
})

t.test('every host needs a link', async t => {
  const scenario = parseScenario(YAML, 'overlay.yaml')
  await t.rejects(
    OverlaySwitch.open({
      scenario,
      local: { address: '127.0.0.1', port: 0 },
      links: [{ host: 'h1', vni: 1, peer: { address: '127.0.0.1', port: 9 } }],
      onError: () => {},
    }),
    { code: 'WEIR_BAD_ARGUMENT', message: /h2/ },
  )
})

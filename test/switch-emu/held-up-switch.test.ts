/** A switch that did not run for a while does not count that time as the silence of its hosts. */
import t, { type Test } from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { writePresenceFrame } from '../../lib/inof/frames.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { HostState } from '../../lib/wire/weir/inof-tlv.js'
import { RealTimeFabric } from '../../switch-emu/real-time/real-time-fabric.js'

const YAML = `
name: held-up
link: { rate: 1Gbps, delay: 20us }
hosts: [h0, h1]
switches: { s1: {} }
links: [h0..h1--s1]
inof: {}
`

function star(test: Test) {
  const pool = new FramePool(64, 1600)
  const scenario = parseScenario(YAML, 'held-up.yaml')
  const fabric = new RealTimeFabric({
    scenario,
    pool,
    hosts: ['h0', 'h1'],
    startNs: 0,
    deliver: (_, frame) => pool.give(frame),
  })
  fabric.begin(0)
  const sender = { mac: 0x0200_0000_0001, name: 'h', port: '0' }
  return {
    /** Both hosts, or one, have announced themselves at `ms`, for a second. */
    say(ms: number, hosts = [0, 1]): void {
      for (const host of hosts) {
        const frame = pool.take()!
        const address = HostAddress.parse(scenario.hosts[host]!.address).ipv4
        const presence = { kind: 0, state: HostState.PRESENT, epoch: 7, switchEpoch: 0, heard: 0, address }
        writePresenceFrame(frame, sender, presence, 1)
        frame.l3 = -1
        fabric.inject(ms * MILLISECOND, host, frame)
      }
    },
    run: (ms: number) => fabric.runUntil(ms * MILLISECOND),
    /** Names of the hosts that the switch knows, and the changes so far. */
    known: (ms: number) => {
      const { hosts, changes } = fabric.report(ms * MILLISECOND, 0).inof!
      return [
        hosts.map(({ name }) => name).join(),
        changes.map(({ host, event }) => `${host} ${event}`).join(),
      ]
    },
    end: () => {
      fabric.close()
      test.equal(pool.inUse, 0)
    },
  }
}

const ARRIVED = 'h0 arrived,h1 arrived'

t.test('hosts that speak stay while the switch is held up for longer than their silence', async t => {
  const { say, run, known, end } = star(t)
  say(0)
  for (let ms = 0; ms <= 100; ms++) run(ms)
  // Nothing runs until 1,500 ms. The announcements of that time are read in a second round.
  run(1500)
  say(1501)
  for (let ms = 1501; ms <= 1600; ms++) run(ms)
  t.same(known(1600), ['h0,h1', ARRIVED])
  end()
})

t.test('a host that is silent departs all the same, one interval later', async t => {
  const { say, run, known, end } = star(t)
  say(0)
  for (let ms = 0; ms <= 100; ms++) run(ms)
  run(1500)
  say(1501, [0])
  for (let ms = 1501; ms < 1800; ms++) run(ms)
  t.same(known(1799), ['h0,h1', ARRIVED])
  for (let ms = 1800; ms <= 1805; ms++) run(ms)
  t.same(known(1805), ['h0', `${ARRIVED},h1 departed`])
  end()
})

t.test('a switch that is always late forgets a silent host after three more intervals', async t => {
  const { say, run, known, end } = star(t)
  say(0)
  for (let ms = 0; ms <= 100; ms++) run(ms)
  let last = 0
  for (let ms = 140; ms <= 3000 && known(ms)[0] !== ''; ms += 40) {
    run(ms)
    last = ms
  }
  t.ok(last > 1000 && last <= 2160, `after ${last} ms`)
  end()
})

t.test('without a hold-up a host is forgotten after its silence', async t => {
  const { say, run, known, end } = star(t)
  say(0)
  for (let ms = 0; ms <= 1005; ms++) run(ms)
  t.same(known(1005)[0], '')
  end()
})

/**
 * An operator turns PFC on again that the limit of a watchdog has turned off: by hand, or as an event of the
 * scenario.
 */
import t, { type Test } from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { RealTimeFabric } from '../../switch-emu/real-time/real-time-fabric.js'
import { buildFrame } from './build-frame.js'

/** The first deadlock turns PFC off. A pause lasts 839 ms at this rate. */
const YAML = (events: string) => `
name: operator
link: { rate: 40Mbps, delay: 20us }
hosts: [h0..h2]
switches:
  s1:
    buffer: 1MB
    pfc:
      xoff: 100KB
      priorities: [3, 4]
      watchdog: { detectionTime: 10ms, restorationTime: 1ms, limit: { deadlocks: 1, window: 1s } }
links: [h0..h2--s1]
events: ${events}
`

/** h2 pauses its switch port, priority 3, at 1 ms. h0 sends to it at intervals. */
function paused(test: Test, events: string) {
  const pool = new FramePool(256, 512)
  const scenario = parseScenario(YAML(events), 'operator.yaml')
  const arrived: number[] = []
  const fabric = new RealTimeFabric({
    scenario,
    pool,
    hosts: ['h0', 'h1', 'h2'],
    startNs: 0,
    deliver: (_link, frame) => {
      if (frame.l3 >= 0 || frame.wireLength === 1000) arrived.push(Math.floor(frame.departNs / MILLISECOND))
      pool.give(frame)
    },
  })
  fabric.begin(0)
  const [h0, , h2] = scenario.hosts.map(({ address }) => HostAddress.parse(address).ipv4)
  const until = (ms: number) => fabric.runUntil(ms * MILLISECOND)
  until(1)
  const pause = pool.take()!
  pfc.write(pause.view, 0, 1, 1 << 3, 0xffff)
  pause.length = pfc.BYTES
  pause.wireLength = pfc.BYTES
  pause.l3 = -1
  fabric.inject(1 * MILLISECOND, 2, pause)
  return {
    arrived,
    until,
    turnOn: (ms: number, port: number, priority?: number) =>
      fabric.turnPfcOn(ms * MILLISECOND, 's1', [port], priority),
    send(ms: number) {
      until(ms)
      const frame = buildFrame(pool, { from: h0!, to: h2!, wireBytes: 1000, tos: 24 << 2 })
      frame.l3 = -1
      fabric.inject(ms * MILLISECOND, 0, frame)
    },
    /** What the watchdog of the port to h2 did, and when. */
    end(ms: number) {
      const { ports } = fabric.report(ms * MILLISECOND, 0)
      until(2000)
      fabric.close()
      test.equal(pool.inUse, 0)
      return ports[2]!.watchdog!.events.map(({ atNs, event }) => `${Math.floor(atNs / MILLISECOND)} ${event}`)
    },
  }
}

t.test('without an operator PFC stays off', async t => {
  const { send, arrived, end } = paused(t, '[]')
  send(20)
  send(200)
  t.same(end(300), ['11 detected', '11 turnedOff'])
  t.same(arrived, [20, 200], 'the pause is not obeyed')
})

t.test('an event restores it: the pause is obeyed again, and detection begins anew', async t => {
  const { send, arrived, end } = paused(t, '[{at: 100ms, pfcOn: s1:h2}, {at: 50ms, pfcOn: s1:h1}]')
  send(20)
  send(102)
  t.same(end(300), ['11 detected', '11 turnedOff', '100 turnedOn', '110 detected', '110 turnedOff'])
  t.same(arrived, [20, 110], 'what came while PFC was on waited')
})

t.test('by hand: of one priority or all, and it says where PFC was off', async t => {
  const { send, arrived, turnOn, end } = paused(t, '[{at: 5ms, pfcOn: s1:h2}]')
  t.same(turnOn(9, 2), [[]], 'nothing is off yet')
  t.same(turnOn(50, 2, 4), [[]], 'another priority is on')
  t.same(turnOn(50, 1), [[]], 'another port is on')
  send(60)
  t.same(turnOn(100, 2), [[3]])
  t.same(turnOn(101, 2), [[]])
  send(102)
  t.same(end(105), ['11 detected', '11 turnedOff', '100 turnedOn'])
  t.same(arrived.slice(0, 1), [60])
})

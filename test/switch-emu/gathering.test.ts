/** The switches' process wakes the less often the longer frames are under way, and no later than a hundredth of that. */
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { MICROSECOND, MILLISECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { RealTimeFabric } from '../../switch-emu/real-time/real-time-fabric.js'
import { buildFrame } from './build-frame.js'

/** h0 is 20 ms away, h3 100 ms. */
const YAML = `
name: near and far
link: { rate: 1Gbps, delay: 20us }
hosts: [h0..h3]
switches: { s1: {} }
links: [h1--s1, h2--s1, { ends: h0--s1, delay: 20ms }, { ends: h3--s1, delay: 100ms }]
traffic: [{ from: h0, to: h2, size: 1MB }]
`
const BYTES = 1000
const LEAST_NS = 30 * MICROSECOND
const MOST_NS = 500 * MICROSECOND

function network() {
  const pool = new FramePool(2048, 512)
  const scenario = parseScenario(YAML, 'far.yaml')
  const hosts = scenario.hosts.map(({ name }) => name)
  let now = 0
  const fabric = new RealTimeFabric({
    scenario,
    pool,
    hosts,
    startNs: 0,
    deliver: (_link, frame) => pool.give(frame),
  })
  const address = (name: string) =>
    HostAddress.parse(scenario.hosts.find(host => host.name === name)!.address).ipv4
  const send = (frames: number, from: string, to: string): void => {
    for (let n = 0; n < frames; n++) {
      fabric.inject(
        now,
        hosts.indexOf(from),
        buildFrame(pool, { from: address(from), to: address(to), wireBytes: BYTES }),
      )
      now += 100 * MICROSECOND
      fabric.runUntil(now)
    }
    now += 300 * MILLISECOND
    fabric.runUntil(now)
  }
  return { fabric, send }
}

t.test('frames gather for a hundredth of the time that the fastest of them are under way', async t => {
  const { fabric, send } = network()
  t.equal(fabric.gatherNs, LEAST_NS, 'nothing is known yet')
  send(500, 'h0', 'h2')
  const wholeNs = (20 * MILLISECOND + 20 * MICROSECOND) / 100
  t.ok(fabric.gatherNs > 0.98 * wholeNs && fabric.gatherNs < 1.01 * wholeNs, `${fabric.gatherNs}`)
  send(1, 'h1', 'h2')
  t.equal(fabric.gatherNs, LEAST_NS, 'a single frame that is fast counts at once')
  for (let n = 0; n < 100; n++) {
    send(1, 'h0', 'h2')
    send(1, 'h1', 'h2')
  }
  t.equal(fabric.gatherNs, LEAST_NS, 'as long as fast ones come')
  send(1000, 'h3', 'h2')
  t.equal(fabric.gatherNs, MOST_NS)
  fabric.close()
})

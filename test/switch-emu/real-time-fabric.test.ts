/**
 * Frames that hosts send late, or in bursts, take their places on the emulated links as if they were on time.
 */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { MICROSECOND, MILLISECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { RealTimeFabric } from '../../switch-emu/real-time/real-time-fabric.js'
import { buildFrame } from './build-frame.js'

const YAML = (pfc: string) => `
name: late
link: { rate: 40Mbps, delay: 20us }
hosts: [h0..h2]
switches:
  s1: { buffer: 1MB, pfc: ${pfc} }
links: [h0..h2--s1]
traffic: [{ name: f, from: h0, to: h2, size: 1MB }]
watch: { queues: [s1:h2], every: 5ms }
`
const BYTES = 1000
/** Time of one frame at 40 Mbit/s. */
const FRAME_NS = 200 * MICROSECOND

/** A star of three hosts. Arrivals are recorded as `${host} ${time of delivery}`. */
function star(test: Test, pfc: string) {
  const pool = new FramePool(2048, 512)
  const scenario = parseScenario(YAML(pfc), 'late.yaml')
  const arrived: string[] = []
  let now = 0
  const fabric = new RealTimeFabric({
    scenario,
    pool,
    hosts: ['h0', 'h1', 'h2'],
    startNs: 0,
    deliver: (link, frame) => {
      if (frame.wireLength === BYTES) arrived.push(`h${link} ${frame.departNs}`)
      pool.give(frame)
    },
  })
  const address = (n: number) => HostAddress.parse(scenario.hosts[n]!.address).ipv4
  const send = (atNs: number, from: number, to: number): void => {
    const frame: Frame = buildFrame(pool, {
      from: address(from),
      to: address(to),
      wireBytes: BYTES,
      tos: 24 << 2, // priority 3
    })
    frame.l3 = -1
    fabric.inject(atNs, from, frame)
  }
  const runUntil = (untilNs: number): void => {
    now = untilNs
    fabric.runUntil(untilNs)
  }
  const end = () => {
    const report = fabric.report(now, 0)
    fabric.close()
    test.equal(pool.inUse, 0)
    return report
  }
  return { fabric, arrived, send, runUntil, end }
}

t.test('a burst that the machine hands over late overruns no lossless switch', async t => {
  const { arrived, send, runUntil, end } = star(t, '{ xoff: 10KB }')
  runUntil(50 * MILLISECOND)
  // Both senders' frames arrived long ago, but the kernel could not pass them on.
  for (let n = 0; n < 64; n++) for (const from of [0, 1]) send(10 * MILLISECOND + n, from, 2)
  runUntil(500 * MILLISECOND)
  t.equal(arrived.length, 128)
  const { ports, lostFrames } = end()
  t.equal(lostFrames, 0)
  t.same(
    ports.map(({ drops }) => drops),
    [0, 0, 0],
  )
  t.ok(ports[0]!.pausesSent > 0 && ports[1]!.pausesSent > 0)
})

for (const pfc of ['off', '{ xoff: 100KB }']) {
  t.test(`frames that came while the process slept each arrive at their time, with PFC ${pfc}`, async t => {
    const { arrived, send, runUntil, end } = star(t, pfc)
    const sent = [1, 2, 3].map(n => n * MILLISECOND)
    for (const at of sent) send(at, 0, 2)
    runUntil(10 * MILLISECOND)
    t.same(
      arrived,
      // Two links of 20 us. The switch sends a frame on when it has all of it.
      sent.map(at => `h2 ${at + 2 * FRAME_NS + 40 * MICROSECOND}`),
    )
    const { frames, lateFrames, limitNs, maxNs } = end().lateness
    t.same([frames, lateFrames], [3, 3], 'all are handed over late, and that is counted')
    t.equal(maxNs, 9 * MILLISECOND - 2 * FRAME_NS - 40 * MICROSECOND)
    t.ok(limitNs > 0 && limitNs < MILLISECOND)
  })
}

t.test('a window begins at its time, however late the process looks up', async t => {
  const { fabric, send, runUntil, end } = star(t, 'off')
  fabric.begin(0, 5 * MILLISECOND)
  send(1 * MILLISECOND, 0, 2)
  send(5 * MILLISECOND, 0, 2)
  runUntil(20 * MILLISECOND)
  const { ports, series } = end()
  t.equal(ports[2]!.txBytes, BYTES, 'only what left after the beginning')
  t.equal(ports[2]!.utilization, (BYTES * 8e9) / (40e6 * 15 * MILLISECOND))
  t.same(series['queue/s1:h2']!.timesNs, [0, 5 * MILLISECOND, 10 * MILLISECOND, 15 * MILLISECOND])
})

t.test('a window that should have begun begins now', async t => {
  const { fabric, send, runUntil, end } = star(t, 'off')
  send(1 * MILLISECOND, 0, 2)
  runUntil(5 * MILLISECOND)
  fabric.begin(6 * MILLISECOND, 1 * MILLISECOND)
  send(7 * MILLISECOND, 0, 2)
  runUntil(20 * MILLISECOND)
  t.equal(end().ports[2]!.txBytes, BYTES)
})

/**
 * A switch whose peers pause it for ever: what its watchdog does with its queues, and deadlock prevention
 * with its packets.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { NEVER } from '../../lib/time/nanos.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import type { FeatureOptions } from '../../switch-emu/core/catalogue.js'
import { dscp } from '../../switch-emu/core/forwarding/ip-header.js'
import { Pfc } from '../../switch-emu/core/pfc/pfc.js'
import { PfcWatchdog, type WatchdogAction } from '../../switch-emu/core/pfc/pfc-watchdog.js'
import type { PortOptions } from '../../switch-emu/core/queueing/egress-port.js'
import type { Switch } from '../../switch-emu/core/switch.js'
import { buildFrame } from './build-frame.js'
import { HOST, starSwitch } from './helpers.js'

/** 512 Mbit/s: a quantum is 1 us; 1000 bytes take 15.625 us. */
const PORT = { rateBps: 512e6 }
const US = 1_000
const CLASS_SELECTORS = Object.fromEntries(Array.from({ length: 64 }, (_, d) => [d, d >> 3]))

function build(features: FeatureOptions = {}, port: PortOptions = PORT) {
  const { node, pool } = starSwitch({
    ports: [port, port, port, port],
    classifier: { dscp: CLASS_SELECTORS },
    features: {
      pfc: { priorities: [3, 4], xoffBytes: 10_000, headroomBytes: [10_000, 10_000, 10_000, 10_000] },
      ...features,
    },
  })
  const sent: { us: number; port: number; pfc: boolean; dscp: number; frame: string }[] = []
  const until = (us: number) => {
    for (let now = node.nextTimeout(); now <= us * US; now = node.nextTimeout()) {
      node.onTimeout(now)
      for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) {
        note(now, frame)
        pool.give(frame)
      }
    }
  }
  const note = (now: number, frame: Frame) => {
    const isPfc = pfc.isPfc(frame.view, 0, frame.length)
    sent.push({
      us: now / US,
      port: frame.port,
      pfc: isPfc,
      dscp: isPfc ? -1 : dscp(frame),
      frame: isPfc ? pfc.print(frame.view, 0) : '',
    })
  }
  return {
    node,
    pool,
    sent,
    until,
    /** Frames, not PFC, that left by a port: their times in us. */
    times: (port: number) => sent.filter(s => s.port === port && !s.pfc).map(s => s.us),
    frame(us: number, from: number, to: number, priority = 3) {
      until(us)
      const frame = buildFrame(pool, { from: HOST(from), to: HOST(to), tos: priority << 5, wireBytes: 1000 })
      node.onFrame(us * US, from, frame)
    },
    pause(us: number, port: number, quanta: number, priority = 3) {
      until(us)
      const frame = pool.take()!
      pfc.write(frame.view, 0, 1, 1 << priority, quanta)
      frame.length = pfc.BYTES
      frame.wireLength = pfc.BYTES
      node.onFrame(us * US, port, frame)
    },
  }
}

function watchdog(action: WatchdogAction, limit?: { deadlocks: number; windowNs: number }) {
  const times = { detectionTimeNs: 100 * US, restorationTimeNs: 50 * US }
  return { watchdog: { ...times, action, priorities: [3, 4], ...(limit && { limit }) } }
}

function counts(node: Switch, port: number, now = 0) {
  const { watchdog, drops, dropsByReason } = node.report(now, port)
  const { detected, restored, turnedOff, forwardedFrames } = watchdog!
  return { detected, restored, turnedOff, forwardedFrames, drops, dropped: dropsByReason.pfcWatchdog }
}

t.test(
  'forward: at the detection time the queue moves, at the restoration time it is held again',
  async t => {
    const s = build(watchdog('forward'))
    s.pause(0, 1, 65_535)
    for (let i = 0; i < 4; i++) s.frame(10 + i, 0, 1)
    s.until(99)
    t.same(s.times(1), [], 'held')
    s.until(149)
    t.same(s.times(1), [100, 115.625, 131.25, 146.875])
    s.frame(149, 0, 1)
    s.frame(160, 0, 1)
    s.until(249)
    t.same(s.times(1).slice(4), [], 'the fifth would begin at 162.5, past the restoration at 150')
    s.until(250)
    t.same(s.times(1).slice(4), [250], 'the pause still holds: another deadlock')
    t.same(counts(s.node, 1), {
      detected: 2,
      restored: 1,
      turnedOff: 0,
      forwardedFrames: 5,
      drops: 0,
      dropped: 0,
    })
    s.pause(251, 1, 0)
    s.until(1_000)
    t.equal(s.times(1).length, 6)
    t.equal(counts(s.node, 1).forwardedFrames, 5, 'what is not paused is not forwarded against a pause')
    t.equal(s.pool.inUse, 0)
  },
)

t.test('drop: what waits and what arrives is thrown away, other queues are not', async t => {
  const s = build(watchdog('drop'))
  s.pause(0, 1, 65_535)
  for (let i = 0; i < 4; i++) s.frame(10 + i, 0, 1)
  s.until(100)
  t.equal(s.node.queuedFrames, 0)
  t.equal(s.node.buffer.usedBytes, 0)
  t.equal(s.node.find(Pfc)!.accounting.bytesOf(0, 3), 0)
  s.frame(120, 0, 1)
  s.frame(121, 0, 1, 2)
  s.frame(122, 0, 2)
  s.pause(130, 1, 0)
  s.until(149)
  t.same(s.times(1), [121], 'priority 2')
  t.same(s.times(2), [122])
  s.frame(151, 0, 1)
  s.until(1_000)
  t.same(s.times(1), [121, 151], 'restored')
  t.same(counts(s.node, 1), {
    detected: 1,
    restored: 1,
    turnedOff: 0,
    forwardedFrames: 0,
    drops: 5,
    dropped: 5,
  })
  t.equal(s.pool.inUse, 0)
})

t.test('drop lets those go on that the queue had paused', async t => {
  const s = build(watchdog('drop'))
  s.pause(0, 1, 65_535)
  // 10,000 bytes fit below the threshold; the eleventh frame pauses the peer of port 0.
  for (let i = 0; i < 11; i++) s.frame(i, 0, 1)
  s.until(1_000)
  t.same(
    s.sent.filter(({ port }) => port === 0).map(({ us, frame }) => `${us} ${frame}`),
    ['10 PFC p3 65535', '100 PFC p3 0'],
  )
})

t.test('alert: nothing moves', async t => {
  const s = build(watchdog('alert'))
  s.pause(0, 1, 500)
  s.frame(10, 0, 1)
  s.until(2_000)
  t.same(s.times(1), [500])
  t.same(counts(s.node, 1), {
    detected: 1,
    restored: 1,
    turnedOff: 0,
    forwardedFrames: 0,
    drops: 0,
    dropped: 0,
  })
})

t.test('the limit turns PFC off both ways: pauses are not obeyed, and not sent', async t => {
  const s = build(watchdog('forward', { deadlocks: 2, windowNs: 1_000_000 * US }))
  s.pause(0, 1, 65_535)
  s.until(250)
  t.ok(s.node.find(PfcWatchdog)!.turnedOff(1, 3))
  s.frame(300, 0, 1)
  s.until(400)
  t.same(s.times(1), [300])
  // Frames that come in by port 1 for a port that holds them: no pause for priority 3, one for priority 4.
  s.pause(400, 2, 65_535, 3)
  s.pause(400, 2, 65_535, 4)
  for (let i = 0; i < 11; i++) s.frame(401 + i, 1, 2, 3)
  for (let i = 0; i < 11; i++) s.frame(421 + i, 1, 2, 4)
  s.until(440)
  const told = () =>
    s.sent.filter(({ port, pfc }) => port === 1 && pfc).map(({ us, frame }) => `${us} ${frame}`)
  t.same(told(), ['431 PFC p4 65535'])
  t.equal(counts(s.node, 1).turnedOff, 1)
  // By hand it is turned on again, and sends the peer the pauses that it has missed.
  s.node.find(PfcWatchdog)!.turnOn(440 * US, 1, 3)
  s.until(441)
  t.same(told().slice(1), ['440 PFC p3 65535 p4 65535'])
  t.notOk(s.node.find(PfcWatchdog)!.turnedOff(1, 3))
})

t.test('a switch without a watchdog holds for as long as its peer pauses it', async t => {
  const s = build()
  s.pause(0, 1, 65_535)
  s.frame(10, 0, 1)
  s.until(60_000)
  t.same(s.times(1), [])
  t.equal(s.node.report(60_000 * US, 1).watchdog, undefined)
  t.equal(s.node.nextTimeout(), 65_535 * US)
})

t.test('prevention towards a lossless priority: another queue, but the link can still be paused', async t => {
  const prevention = { groups: [[0, 1]], from: 3, to: 4, dscp: 32 }
  const s = build({ deadlockPrevention: prevention })
  s.pause(0, 1, 65_535, 3)
  s.frame(10, 0, 1)
  s.frame(20, 2, 1)
  s.until(30)
  t.same(
    s.sent.map(({ us, dscp }) => [us, dscp]),
    [[10, 32]],
    'the high-risk one passes the pause of priority 3, with its new DSCP',
  )
  // While a pause of priority 4 holds it, its memory counts for the priority that the link's sender knows: 3.
  s.pause(40, 1, 65_535, 4)
  for (let i = 0; i < 11; i++) s.frame(41 + i, 0, 1)
  s.until(60)
  t.equal(s.node.ports[1]!.queues[4]!.count, 11)
  t.equal(s.node.find(Pfc)!.accounting.bytesOf(0, 3), 11_000)
  t.equal(s.node.find(Pfc)!.accounting.bytesOf(0, 4), 0)
  t.same(
    s.sent.slice(1).map(({ port, frame }) => `${port} ${frame}`),
    ['0 PFC p3 65535'],
  )
  t.equal(s.node.report(0, 1).movedFrames, 12)
  s.pause(61, 1, 0, 4)
  s.pause(61, 1, 0, 3)
  s.until(1_000)
  t.equal(s.node.find(Pfc)!.accounting.bytesOf(0, 3), 0)
  t.equal(s.pool.inUse, 0)
})

t.test('prevention towards a lossy priority: it pauses nobody, and may be lost', async t => {
  const prevention = { groups: [[0, 1]], from: 3, to: 1, dscp: 8 }
  const s = build({ deadlockPrevention: prevention }, { ...PORT, queueBytesMax: 5_000 })
  for (let i = 0; i < 30; i++) s.frame(i, 0, 1)
  t.equal(s.node.find(Pfc)!.accounting.bytesOf(0, 3), 0)
  s.until(1_000)
  t.equal(s.sent.filter(({ pfc }) => pfc).length, 0)
  const { drops, dropsByReason } = s.node.report(1_000 * US, 1)
  // At 15.625 us one has left and one is on the line; 5 wait: of 30 frames in 29 us, 7 leave.
  t.equal(s.times(1).length, 7)
  t.equal(drops, 23)
  t.equal(dropsByReason.queueFull, 23)
  t.equal(s.pool.inUse, 0)
  t.equal(s.node.nextTimeout(), NEVER)
})

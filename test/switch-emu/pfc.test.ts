/**
 * Priority flow control of one switch compared with times that were computed by hand (IEEE 802.1Q, clause
 * 36).
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { NEVER } from '../../lib/time/nanos.js'
import { WireError } from '../../lib/wire/bytes/wire-error.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { Pfc } from '../../switch-emu/core/pfc/pfc.js'
import { PauseAction } from '../../switch-emu/core/queueing/pause-state.js'
import type { Switch } from '../../switch-emu/core/switch.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, seeded, starSwitch } from './helpers.js'

const ALL = Number.MAX_SAFE_INTEGER
const GIGABIT = { rateBps: 1e9 } // 8 ns a byte; a quantum of 512 bits is 512 ns
const BY_CLASS_SELECTOR = { dscp: Object.fromEntries(Array.from({ length: 8 }, (_, p) => [8 * p, p])) }
const QUANTUM_NS = 512

function lossless(xoffBytes = 5000, xonBytes = 2000, ports = 2) {
  const headroom = 10_000
  return {
    classifier: BY_CLASS_SELECTOR,
    features: {
      pfc: { priorities: [3], xoffBytes, xonBytes, headroomBytes: new Array<number>(ports).fill(headroom) },
    },
  }
}

function data(pool: FramePool, from: number, to: number, wireBytes: number, priority = 3): Frame {
  return buildFrame(pool, { from: HOST(from), to: HOST(to), wireBytes, tos: (priority << 5) | 2 })
}

/** A PFC frame from the wire. */
function pauseFrame(pool: FramePool, vector: number, quanta: number): Frame {
  const frame = pool.take()!
  pfc.write(frame.view, 0, 0x02_00_00_00_00_99, vector, quanta)
  frame.length = pfc.BYTES
  frame.wireLength = pfc.BYTES
  return frame
}

/** What the switch starts up to `until`: "start: port what". */
function log(node: Switch, pool: FramePool, until: number): string[] {
  const lines: string[] = []
  drain(node, until, frame => {
    const what = frame.l3 < 0 ? pfc.print(frame.view, 0) : `${frame.wireLength} B`
    lines.push(`${frame.departNs - frame.wireLength * 8}: ${frame.port} ${what}`)
    pool.give(frame)
  })
  return lines
}

t.test('a pause holds one priority for quanta x 512 bit times from its arrival', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], ...lossless() })
  node.onFrame(0, 0, data(pool, 0, 1, 1000)) // on the line until 8000
  t.same(log(node, pool, 0), ['0: 1 1000 B'])
  node.onFrame(1000, 0, data(pool, 0, 1, 500))
  node.onFrame(1000, 0, data(pool, 0, 1, 200, 0))
  node.onFrame(3000, 1, pauseFrame(pool, 1 << 3, 100)) // until 3000 + 51,200
  t.equal(node.nextTimeout(), 8000, 'the frame on the line is finished; priority 0 goes on after it')
  t.same(log(node, pool, 54_199), ['8000: 1 200 B'])
  t.equal(node.nextTimeout(), 3000 + 100 * QUANTUM_NS, 'the end of the pause is a deadline')
  t.same(log(node, pool, ALL), ['54200: 1 500 B'])
  t.equal(pool.inUse, 0)
  const { pausedNs, pausesReceived, pausedNsByPriority } = node.report(100_000, 1)
  t.equal(pausedNs, 51_200)
  t.equal(pausesReceived, 1)
  t.same(pausedNsByPriority, [0, 0, 0, 51_200, 0, 0, 0, 0])
})

t.test('a time of 0 resumes at once, a new time replaces the old', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], ...lossless() })
  node.onFrame(0, 1, pauseFrame(pool, 1 << 3, 65_535))
  node.onFrame(10, 0, data(pool, 0, 1, 1000))
  t.equal(node.nextTimeout(), 65_535 * QUANTUM_NS)
  node.onFrame(20, 1, pauseFrame(pool, 1 << 3, 2))
  t.equal(node.nextTimeout(), 20 + 2 * QUANTUM_NS)
  node.onFrame(30, 1, pauseFrame(pool, 0xff & ~(1 << 3), 1000))
  t.equal(node.nextTimeout(), 20 + 2 * QUANTUM_NS, 'other priorities have nothing to do with it')
  node.onFrame(40, 1, pauseFrame(pool, 1 << 3, 0))
  t.equal(node.nextTimeout(), 40)
  t.same(log(node, pool, ALL), ['40: 1 1000 B'])
})

t.test('what is rounded: 1 quantum at 7 Gbit/s is 73.14 ns, and holds for 74', async t => {
  const { node, pool } = starSwitch({ ports: [{ rateBps: 7e9 }, { rateBps: 7e9 }], ...lossless() })
  node.onFrame(0, 1, pauseFrame(pool, 1 << 3, 1))
  node.onFrame(0, 0, data(pool, 0, 1, 1000))
  t.equal(node.nextTimeout(), 74)
  drain(node, ALL, frame => pool.give(frame))
})

t.test('a priority that is not lossless here is not held, nor anything without PFC', async t => {
  for (const settings of [lossless(), { classifier: BY_CLASS_SELECTOR }]) {
    const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], ...settings })
    node.onFrame(0, 1, pauseFrame(pool, 0xff, 65_535))
    node.onFrame(1, 0, data(pool, 0, 1, 1000, 5))
    t.same(log(node, pool, 1), ['1: 1 1000 B'])
    t.equal(node.report(10, 1).pausesReceived, 8, 'counted all the same')
    t.equal(pool.inUse, 0)
  }
})

t.test(
  'xoff goes out before everything else once the line is free, is repeated, and xon follows',
  async t => {
    const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT, GIGABIT], ...lossless(5000, 2000, 3) })
    // Port 1 is held by its own peer, so that frames from host 0 accumulate. Port 0 is busy with frames for
    // host 0.
    node.onFrame(0, 1, pauseFrame(pool, 1 << 3, 65_535))
    for (const at of [0, 1]) node.onFrame(at, 2, data(pool, 2, 0, 1000, 0))
    t.same(log(node, pool, 1), ['0: 0 1000 B'], 'until 8000; another waits')
    for (let n = 0; n < 5; n++) node.onFrame(100 + n, 0, data(pool, 0, 1, 1000))
    t.same(log(node, pool, 1000), [], '5000 bytes are not above xoff')
    node.onFrame(2000, 0, data(pool, 0, 1, 1000))
    t.equal(node.report(3000, 0).pfc!.maxHeadroomBytes, 1000)
    t.same(log(node, pool, 20_000), ['8000: 0 PFC p3 65535', '8480: 0 1000 B'], '60 bytes, 480 ns')
    // Half of 65,535 x 512 ns after the last one.
    const half = Math.floor((65_535 * QUANTUM_NS) / 2)
    t.equal(node.nextTimeout(), 8000 + half)
    t.same(log(node, pool, 8000 + half), [`${8000 + half}: 0 PFC p3 65535`])
    // The peer of port 1 resumes: 8 µs a frame; xon is reached when 4 of 6 have begun to leave.
    const at = 9000 + half
    node.onFrame(at, 1, pauseFrame(pool, 1 << 3, 0))
    t.same(log(node, pool, ALL), [
      `${at}: 1 1000 B`,
      `${at + 8000}: 1 1000 B`,
      `${at + 16_000}: 1 1000 B`,
      `${at + 24_000}: 1 1000 B`,
      `${at + 24_000}: 0 PFC p3 0`,
      `${at + 32_000}: 1 1000 B`,
      `${at + 40_000}: 1 1000 B`,
    ])
    t.equal(node.nextTimeout(), NEVER, 'nothing is repeated any more')
    t.equal(node.report(ALL, 0).pausesSent, 2)
    t.equal(node.find(Pfc)!.accounting.sharedUsedBytes, 0)
    t.equal(pool.inUse, 0)
  },
)

t.test('the frame is one of 802.1Qbb: address, type, opcode, vector, times', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], id: 0x0102, ...lossless(1000, 0) })
  node.onFrame(0, 1, pauseFrame(pool, 1 << 3, 65_535))
  for (let n = 0; n < 2; n++) node.onFrame(0, 0, data(pool, 0, 1, 1000))
  const frame = node.pollTransmit(0)!
  t.equal(frame.port, 0)
  t.equal(
    frame.bytes.subarray(0, 34).toString('hex'),
    `0180c2000001${'025753010200'}88080101${'0008'}${'0000'.repeat(3)}ffff${'0000'.repeat(4)}`,
  )
  t.equal(frame.wireLength, 60, "Ethernet's minimum, without FCS")
  t.equal(pfc.check(frame.view, 0, frame.length), WireError.OK)
})

t.test('a pause that is over before the line is free is never sent', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT, GIGABIT], ...lossless(1500, 1000, 3) })
  node.onFrame(0, 2, data(pool, 2, 0, 1000, 0)) // port 0 is busy until 8000
  t.same(log(node, pool, 0), ['0: 0 1000 B'])
  node.onFrame(0, 1, pauseFrame(pool, 1 << 3, 10)) // port 1 is held until 5120
  for (let n = 0; n < 2; n++) node.onFrame(0, 0, data(pool, 0, 1, 1000))
  t.same(log(node, pool, ALL), ['5120: 1 1000 B', '13120: 1 1000 B'])
  t.equal(node.report(ALL, 0).pausesSent, 0)
})

t.test('what only looks like PFC is counted, and never forwarded', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], ...lossless() })
  const arrive = (change: (frame: Frame) => void) => {
    const frame = pauseFrame(pool, 0xff, 65_535)
    change(frame)
    node.onFrame(0, 1, frame)
  }
  for (let length = 0; length < 34; length++) {
    arrive(frame => {
      frame.length = length
      frame.wireLength = length
    })
  }
  arrive(frame => ethernet.setDestination(frame.view, 0, 0x0180c2000002))
  arrive(frame => frame.view.setUint16(14, 0x0001)) // PAUSE of 802.3x
  arrive(frame => frame.view.setUint16(14, 0x0202))
  t.equal(pool.inUse, 0)
  const { dropsByReason, globalPauses, pausesReceived } = node.report(0, 1)
  t.equal(pausesReceived, 0)
  t.equal(globalPauses, 1)
  t.equal(dropsByReason.badPfc, 34 - 16 + 1, 'from where the opcode is there, and the wrong address')
  t.equal(dropsByReason.notIp! + dropsByReason.malformed!, 16 + 1)
  node.onFrame(0, 0, data(pool, 0, 1, 1000))
  t.same(log(node, pool, 0), ['0: 1 1000 B'], 'nothing was paused')
})

t.test('an empty pool: the pause is sent as soon as there is a frame', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], ...lossless(1000, 0) }, 3)
  node.onFrame(0, 1, pauseFrame(pool, 1 << 3, 65_535))
  for (let n = 0; n < 2; n++) node.onFrame(0, 0, data(pool, 0, 1, 1000))
  const last = pool.take()!
  t.equal(node.pollTransmit(0), null)
  t.equal(node.nextTimeout(), 1000, 'tried again, and not at once')
  pool.give(last)
  t.same(log(node, pool, 5000), ['1000: 0 PFC p3 65535'])
})

t.test('DWRR: a paused priority leaves its share to the others, by their weights', async t => {
  const weights = [10, 20, 0, 30, 0, 0, 0, 0]
  const run = (pausedFrom: number) => {
    const { node, pool } = starSwitch(
      { ports: [{ rateBps: 100e9 }, { rateBps: 1e9, weights }], ...lossless(4e6, 0), bufferBytes: 1 << 24 },
      4096,
    )
    for (let n = 0; n < 1000; n++) for (const p of [0, 1, 3]) node.onFrame(0, 0, data(pool, 0, 1, 1000, p))
    if (pausedFrom >= 0) node.onFrame(0, 1, pauseFrame(pool, 1 << 3, 65_535))
    const bytes = [0, 0, 0, 0]
    drain(node, 8_000_000, frame => {
      if (frame.l3 >= 0) bytes[(frame.view.getUint8(frame.l3 + 1) >>> 5) as 0]! += frame.wireLength
      pool.give(frame)
    })
    const sum = bytes.reduce((a, b) => a + b)
    return bytes.map(b => b / sum)
  }
  const all = run(-1)
  for (const [p, share] of [10 / 60, 20 / 60, 0, 30 / 60].entries()) {
    t.ok(Math.abs(all[p]! - share) < 0.1, `priority ${p}: ${all[p]}`)
  }
  const paused = run(0)
  t.equal(paused[3], 0)
  t.ok(Math.abs(paused[0]! - 1 / 3) < 0.1, `${paused[0]}`)
  t.ok(Math.abs(paused[1]! - 2 / 3) < 0.1, `${paused[1]}`)
})

t.test('a watchdog may have pauses ignored, and a queue emptied', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], ...lossless(5000, 0) })
  const { pause } = node.ports[1]!
  node.onFrame(1000, 1, pauseFrame(pool, 1 << 3, 65_535))
  for (let n = 0; n < 6; n++) node.onFrame(2000 + n, 0, data(pool, 0, 1, 1000))
  t.same(log(node, pool, 3000), ['2005: 0 PFC p3 65535'])
  t.equal(pause.sinceNs(3000, 3), 1000)
  t.equal(node.ports[1]!.queues[3]!.bytes, 6000)
  node.setPauseAction(10_000, 1, 3, PauseAction.FORWARD)
  t.same(log(node, pool, 18_000), ['10000: 1 1000 B', '18000: 1 1000 B'], 'it goes on, though it is paused')
  t.equal(pause.sinceNs(18_000, 3), 1000, 'what the peer says is still known')
  node.setPauseAction(20_000, 1, 3, PauseAction.DROP)
  t.equal(node.ports[1]!.queues[3]!.count, 0)
  node.onFrame(20_001, 0, data(pool, 0, 1, 1000))
  t.equal(node.report(20_001, 1).dropsByReason.pfcWatchdog, 5)
  t.same(log(node, pool, 30_000), ['20000: 0 PFC p3 0'], 'the memory is free, so host 0 may go on')
  node.setPauseAction(40_000, 1, 3, PauseAction.OBEY)
  node.onFrame(40_001, 0, data(pool, 0, 1, 1000))
  t.equal(node.nextTimeout(), 1000 + 65_535 * QUANTUM_NS)
  drain(node, ALL, frame => pool.give(frame))
  t.equal(node.find(Pfc)!.accounting.sharedUsedBytes, 0)
  t.equal(pool.inUse, 0)
})

t.test('random traffic and pauses: bytes are conserved, and the memory is empty at the end', async t => {
  const random = seeded(t, 4711)
  for (let round = 0; round < 25; round++) {
    const ports = 4
    const headroom = random.below(2) === 0 ? 20_000 : 1000
    const { node, pool } = starSwitch({
      ports: Array.from({ length: ports }, (_, p) => ({
        rateBps: p % 2 === 0 ? 1e9 : 10e9,
        queueBytesMax: 20_000,
        weights: [1, 0, 0, 2, 3, 0, 0, 0],
      })),
      classifier: BY_CLASS_SELECTOR,
      bufferBytes: 300_000,
      random: () => random.next(),
      features: {
        ecn: {
          kminBytes: 3000,
          kmaxBytes: 15_000,
          pmax: 0.3,
          at: random.below(2) ? 'enqueue' : 'dequeue',
        },
        pfc: {
          priorities: [3, 4],
          ...(random.below(2)
            ? { xoffBytes: 10_000, xonBytes: 6000 }
            : { alpha: 0.25, xonOffsetBytes: 2000 }),
          headroomBytes: new Array<number>(ports).fill(headroom),
        },
      },
    })
    const told = new Array<number>(ports).fill(0)
    let rxBytes = 0
    let txBytes = 0
    let now = 0
    const sent = (frame: Frame) => {
      if (frame.l3 >= 0) txBytes += frame.wireLength
      else for (const p of [3, 4]) if (pfc.isEnabled(frame.view, 0, p)) note(frame, p)
      pool.give(frame)
    }
    const note = (frame: Frame, p: number) => {
      if (pfc.quanta(frame.view, 0, p) > 0) told[frame.port]! |= 1 << p
      else told[frame.port]! &= ~(1 << p)
    }
    for (let step = 0; step < 2000; step++) {
      now += random.below(1500)
      drain(node, now, sent)
      const port = random.below(ports)
      if (random.below(20) === 0) {
        node.onFrame(now, port, pauseFrame(pool, random.below(256), random.below(3) * random.below(200)))
      } else {
        const priority = [0, 3, 4, 6][random.below(4)]!
        const wireBytes = 64 + random.below(1450)
        rxBytes += wireBytes
        const frame = data(pool, port, random.below(ports), wireBytes, priority)
        if (random.below(4) === 0) frame.view.setUint8(frame.l3 + 1, priority << 5) // not ECN-capable
        node.onFrame(now, port, frame)
      }
      drain(node, now, sent)
    }
    drain(node, ALL, sent)
    const reports = node.ports.map((_, p) => node.report(now, p))
    const dropped = reports.reduce((sum, { droppedBytes }) => sum + droppedBytes, 0)
    if (rxBytes !== txBytes + dropped) t.fail(`${rxBytes} in, ${txBytes} out, ${dropped} dropped`)
    t.ok(reports.some(({ pausesSent }) => pausesSent! > 0))
    t.equal(node.queuedFrames, 0)
    t.equal(node.buffer.usedBytes, 0)
    t.equal(node.find(Pfc)!.accounting.sharedUsedBytes, 0)
    t.same(told, [0, 0, 0, 0], 'every peer was told to go on in the end')
    t.equal(node.nextTimeout(), NEVER)
    t.equal(pool.inUse, 0)
  }
})

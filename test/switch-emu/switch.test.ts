import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { NEVER } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import type { Switch } from '../../switch-emu/core/switch.js'
import { fixedSeed } from '../support/seeds.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { drain, HOST, seeded, starSwitch } from './helpers.js'

const GIGABIT = { rateBps: 1e9 } // 8 ns a byte
const ALL = Number.MAX_SAFE_INTEGER
const V6 = (n: number) => HostAddress.parse(`fd00::${n}`)

t.test('the timeline by hand: two inputs, one output', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT, GIGABIT] })
  const log: string[] = []
  const poll = (now: number) => {
    for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) {
      log.push(`${now}: ${frame.wireLength} B by ${frame.port} until ${frame.departNs}`)
      pool.give(frame)
    }
    log.push(`next ${node.nextTimeout()}`)
  }
  const arrive = (now: number, port: number, wireBytes: number) => {
    node.onFrame(now, port, buildFrame(pool, { from: HOST(port), to: HOST(2), wireBytes }))
    poll(now)
  }
  arrive(1000, 0, 1000)
  arrive(1500, 1, 500)
  arrive(2000, 0, 250)
  poll(8999)
  poll(9000)
  poll(13_000)
  arrive(15_000, 0, 100)
  poll(15_800)
  t.same(log, [
    '1000: 1000 B by 2 until 9000',
    'next Infinity',
    'next 9000',
    'next 9000',
    'next 9000',
    '9000: 500 B by 2 until 13000',
    'next 13000',
    '13000: 250 B by 2 until 15000',
    'next Infinity',
    '15000: 100 B by 2 until 15800',
    'next Infinity',
    'next Infinity',
  ])
  t.equal(pool.inUse, 0)
  t.equal(node.nextTimeout(), NEVER)
})

t.test('the queue is bounded by bytes that wait; what does not fit is dropped and given back', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, { ...GIGABIT, queueBytesMax: 3000 }] })
  const send = (wireBytes: number) => {
    node.onFrame(0, 0, buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes }))
    drain(node, 0, frame => pool.give(frame))
  }
  send(3000) // starts at once: does not wait
  send(2000)
  send(1000)
  t.equal(node.ports[1]!.queueBytes, 3000)
  send(60)
  t.equal(pool.inUse, 2, 'the frame that did not fit was given back')
  drain(node, ALL, frame => pool.give(frame))
  const report = node.report(48_000, 1)
  t.equal(report.drops, 1)
  t.equal(report.dropsByReason.queueFull, 1)
  t.equal(report.droppedBytes, 60)
  t.equal(report.txBytes, 6000)
  t.equal(report.maxQueueBytes, 3000)
  t.equal(pool.inUse, 0)
})

t.test('mean and peak queue, utilization and windows by hand', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT] })
  const give = (frame: Frame) => pool.give(frame)
  const send = (now: number, wireBytes: number) => {
    drain(node, now, give)
    node.onFrame(now, 0, buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes }))
    drain(node, now, give)
  }
  send(0, 1000) // on the line until 8000
  send(2000, 500) // waits 6000 ns, on the line until 12000
  send(4000, 250) // waits 8000 ns, on the line until 14000
  drain(node, ALL, give)
  const first = node.report(20_000, 1)
  t.equal(first.meanQueueBytes, (500 * 6000 + 250 * 8000) / 20_000)
  t.equal(first.maxQueueBytes, 750)
  t.equal(first.busyNs, 14_000)
  t.equal(first.utilization, 0.7)
  send(20_000, 1000) // until 28000
  send(21_000, 100) // waits 7000 ns, until 28800
  node.resetWindow(24_000)
  drain(node, ALL, give)
  const second = node.report(34_000, 1)
  t.equal(second.windowNs, 10_000)
  t.equal(second.meanQueueBytes, (100 * 4000) / 10_000)
  t.equal(second.maxQueueBytes, 100)
  t.equal(second.busyNs, 4800)
  t.equal(second.utilization, 0.48)
  t.equal(second.txFrames, 1, 'the other one began before the window')
  t.equal(second.txBytes, 100)
})

t.test('TTL counts down, CE is marked, and the IPv4 checksum stays right', async t => {
  const ecn = { kminBytes: 1000, kmaxBytes: 1000, pmax: 1 }
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], features: { ecn } })
  for (let i = 0; i < 4; i++) {
    node.onFrame(
      0,
      0,
      buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes: 900, tos: 0x6a, ttl: 64 - i }),
    )
  }
  const seen: unknown[] = []
  drain(node, ALL, ({ view, l3, ...frame }) => {
    seen.push([ipv4.ttl(view, l3), ipv4.tos(view, l3), ipv4.verifyChecksum(view, l3), frame.wireLength])
  })
  t.same(seen, [
    [63, 0x6a, true, 900],
    [62, 0x6a, true, 900],
    [61, 0x6b, true, 900],
    [60, 0x6b, true, 900],
  ])
  t.equal(node.report(1, 1).ecnMarks, 2)
})

t.test('IPv6 is forwarded by the same rules', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT] })
  node.routes.set(V6(2), [1])
  const spec: FrameSpec = { from: V6(1).gid, to: V6(2).gid, wireBytes: 500 }
  node.onFrame(0, 0, buildFrame(pool, { ...spec, ttl: 2 }))
  node.onFrame(0, 0, buildFrame(pool, { ...spec, ttl: 1 }))
  node.onFrame(0, 0, buildFrame(pool, { ...spec, to: V6(3).gid }))
  const out: number[] = []
  drain(node, ALL, frame => {
    out.push(frame.port, frame.view.getUint8(frame.l3 + 7))
    pool.give(frame)
  })
  t.same(out, [1, 1])
  t.match(node.report(1, 0).dropsByReason, { ttlExpired: 1, noRoute: 1 })
  t.equal(pool.inUse, 0)
})

t.test('what cannot be forwarded is counted at the port it came by, and dropped', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT] })
  const arrive = (change: (frame: Frame) => void, spec: Partial<FrameSpec> = {}) => {
    const frame = buildFrame(pool, { from: HOST(0), to: HOST(1), ...spec })
    change(frame)
    node.onFrame(0, 0, frame)
  }
  const unparsed = (frame: Frame) => {
    frame.l3 = -1
    frame.l4 = -1
    frame.bth = -1
  }
  arrive(unparsed) // sound: forwarded
  arrive(frame => {
    unparsed(frame)
    frame.length = 20
    frame.wireLength = 20
  })
  arrive(frame => {
    unparsed(frame)
    frame.length = 0
  })
  arrive(frame => {
    unparsed(frame)
    frame.view.setUint8(frame.bytes.indexOf(0x45) + 12, 99) // source changed: the checksum is wrong
  })
  arrive(frame => {
    unparsed(frame)
    frame.view.setUint16(12, ethernet.TYPE_ARP)
  })
  arrive(() => {}, { to: HOST(99) })
  arrive(() => {}, { ttl: 1 })
  arrive(() => {}, { ttl: 0 })
  t.same(node.report(1, 0).dropsByReason, {
    malformed: 3,
    notIp: 1,
    noRoute: 1,
    ttlExpired: 2,
    queueFull: 0,
    bufferFull: 0,
    wred: 0,
    headroomFull: 0,
    pfcWatchdog: 0,
    badPfc: 0,
    linkDown: 0,
    restarted: 0,
  })
  t.equal(node.report(1, 0).rxFrames, 8)
  t.equal(pool.inUse, 1)
  drain(node, ALL, frame => pool.give(frame))
  t.equal(node.report(1, 1).txFrames, 1)
  t.equal(pool.inUse, 0)
})

t.test('the shared buffer bounds all ports together', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT, GIGABIT], bufferBytes: 2500 })
  for (const to of [1, 2, 1, 2, 1]) {
    node.onFrame(0, 0, buildFrame(pool, { from: HOST(0), to: HOST(to), wireBytes: 1000 }))
    drain(node, 0, frame => pool.give(frame))
  }
  // Two are on their lines, two wait, the fifth finds 500 bytes.
  t.equal(node.buffer.usedBytes, 2000)
  t.equal(node.ports[1]!.queueBytes, 1000)
  t.equal(node.report(1, 1).dropsByReason.bufferFull, 1)
  drain(node, ALL, frame => pool.give(frame))
  t.equal(node.buffer.usedBytes, 0)
  t.equal(node.ports[1]!.queueBytes, 0)
  t.equal(pool.inUse, 0)
})

t.test('priorities by DSCP overtake in the queue, not on the line', async t => {
  const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT], classifier: { dscp: { 48: 6, 26: 3 } } })
  const order: number[] = []
  const note = (frame: Frame) => {
    order.push(frame.wireLength)
    pool.give(frame)
  }
  for (const [wireBytes, dscp] of [
    [1000, 0],
    [1001, 0],
    [1002, 26],
    [1003, 48],
    [1004, 26],
  ] as const) {
    node.onFrame(0, 0, buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes, tos: dscp << 2 }))
    drain(node, 0, note)
  }
  t.equal(node.ports[1]!.queues[3]!.bytes, 2006)
  drain(node, ALL, note)
  t.same(order, [1000, 1003, 1002, 1004, 1001])
  t.equal(node.ports[1]!.queues[3]!.bytes, 0)
})

interface Load {
  node: Switch
  arrivals: { atNs: number; port: number; spec: FrameSpec }[]
}

/** Bursts from three ports to two slow ones, with every kind of frame that a switch may drop. */
function randomLoad(random: ReturnType<typeof seeded>): Load & ReturnType<typeof starSwitch> {
  const slow = {
    rateBps: 1e9,
    queueBytesMax: 30_000,
  }
  const weights = [1, 2, 0, 0, 0, 0, 0, 0]
  const star = starSwitch({
    ports: [{ rateBps: 10e9 }, { rateBps: 10e9 }, { rateBps: 10e9 }, slow, { ...slow, weights }],
    bufferBytes: 100_000,
    random: () => random.next(),
    classifier: { dscp: { 10: 1, 20: 2 } },
    features: { ecn: { kminBytes: 5_000, kmaxBytes: 25_000, pmax: 0.5 } },
  })
  const arrivals: Load['arrivals'] = []
  let atNs = 0
  for (let i = 0; i < 6_000; i++) {
    if (random.below(300) === 0) atNs += random.below(600_000)
    atNs += random.below(800)
    const spec: FrameSpec = {
      from: HOST(0),
      to: HOST(random.below(40) === 0 ? 77 : random.below(5)),
      wireBytes: 60 + random.below(1_500),
      tos: (random.below(3) * 10 * 4) | random.below(3),
      ttl: random.below(60) === 0 ? 1 : 64,
      psn: i,
    }
    arrivals.push({ atNs, port: random.below(3), spec })
  }
  return { ...star, arrivals }
}

t.test('bytes in = bytes out + dropped + queued, at every moment of a random load', async t => {
  const random = seeded(t, 71)
  const { node, pool, arrivals } = randomLoad(random)
  const all = (now: number) => node.ports.map(port => node.report(now, port.index))
  const sum = (now: number, of: (report: ReturnType<Switch['report']>) => number) =>
    all(now).reduce((total, report) => total + of(report), 0)
  let inBytes = 0
  let outBytes = 0
  const out = (frame: Frame) => {
    outBytes += frame.wireLength
    if (!ipv4.verifyChecksum(frame.view, frame.l3)) t.fail('checksum')
    pool.give(frame)
  }
  for (const [i, { atNs, port, spec }] of arrivals.entries()) {
    drain(node, atNs, out)
    const frame = buildFrame(pool, spec)
    inBytes += frame.wireLength
    node.onFrame(atNs, port, frame)
    drain(node, atNs, out)
    if (i % 100 !== 0) continue
    const queued = node.ports.reduce((total, p) => total + p.queueBytes, 0)
    t.equal(
      sum(atNs, r => r.rxBytes),
      inBytes,
    )
    t.equal(
      sum(atNs, r => r.txBytes),
      outBytes,
    )
    t.equal(inBytes, outBytes + sum(atNs, r => r.droppedBytes) + queued)
    t.equal(node.buffer.usedBytes, queued)
    t.equal(pool.inUse, node.queuedFrames)
  }
  drain(node, ALL, out)
  const end = arrivals.at(-1)!.atNs + 1e6
  t.equal(inBytes, outBytes + sum(end, r => r.droppedBytes))
  t.equal(
    sum(end, r => r.rxFrames),
    sum(end, r => r.txFrames) + sum(end, r => r.drops),
  )
  t.equal(pool.inUse, 0)
  for (const reason of ['noRoute', 'ttlExpired', 'queueFull', 'wred']) {
    t.ok(sum(end, r => r.dropsByReason[reason]!) > 0, `the load has drops by ${reason}`)
  }
  t.ok(sum(end, r => r.ecnMarks) > 0)
  t.ok(all(end).every(r => r.maxQueueBytes <= 90_000 && r.utilization <= 1))
})

t.test('a driver that wakes late sees the same departures: the timeline is that of the link', async t => {
  const seed = fixedSeed(t, 72)
  const run = (lateNs: number) => {
    // FIFO without drops: neither order nor loss depends on when the driver runs.
    const random = seeded(t, seed)
    const { node, pool } = starSwitch({ ports: [GIGABIT, GIGABIT, { rateBps: 3e9 }] })
    const departures: string[] = []
    const out = (frame: Frame) => {
      departures.push(`${frame.wireLength} ${frame.port} ${frame.departNs}`)
      pool.give(frame)
    }
    let atNs = 0
    let polledNs = 0
    for (let i = 0; i < 1500; i++) {
      atNs += random.below(8_000)
      if (atNs - polledNs >= lateNs) {
        drain(node, atNs, out)
        polledNs = atNs
      }
      const to = 1 + random.below(2)
      node.onFrame(
        atNs,
        0,
        buildFrame(pool, { from: HOST(0), to: HOST(to), wireBytes: 60 + random.below(1000) }),
      )
    }
    node.onTimeout(atNs)
    while (node.queuedFrames > 0) out(node.pollTransmit(ALL)!)
    const mean = [1, 2].map(port => node.report(atNs + 1e7, port).meanQueueBytes)
    return { departures: departures.sort(), mean }
  }
  const exact = run(0)
  const late = run(100_000)
  t.equal(exact.departures.length, 1500)
  t.same(late, exact)
})

t.test('garbage from outside is dropped or forwarded, never fatal, never lost', async t => {
  const random = seeded(t, 73)
  const slow = { rateBps: 100e6, queueBytesMax: 5_000 }
  const { node, pool } = starSwitch({
    ports: [slow, slow, slow],
    random: () => random.next(),
    classifier: { dscp: { 10: 1, 46: 7 }, pcp: { 3: 3 } },
    features: { ecn: { kminBytes: 500, kmaxBytes: 4_000, pmax: 0.5 } },
  })
  node.routes.set(V6(2), [0, 1, 2])
  node.routes.set(HostAddress.fromIpv4(HOST(2)), [0, 1, 2])
  let forwarded = 0
  const out = (frame: Frame) => {
    forwarded++
    if (frame.departNs <= 0 || frame.port > 2) t.fail('an impossible departure')
    pool.give(frame)
  }
  for (let i = 0; i < 20_000; i++) {
    const addresses =
      random.below(2) === 0 ? { from: HOST(1), to: HOST(2) } : { from: V6(1).gid, to: V6(2).gid }
    const int = { format: random.below(2), slots: random.below(5) }
    const tagged = random.below(3) === 0 ? { vlanPriority: random.below(8) } : {}
    const frame = buildFrame(pool, { ...addresses, int, ...tagged, wireBytes: 100 + random.below(400) })
    for (let n = random.below(4); n > 0; n--)
      frame.view.setUint8(random.below(frame.length), random.below(256))
    // Sometimes the frame's last byte is the slot's last byte, so that reading beyond would throw.
    if (random.below(3) === 0) frame.length = frame.wireLength = random.below(frame.length)
    else if (random.below(50) === 0) frame.length = frame.wireLength = frame.bytes.length
    frame.l3 = frame.l4 = frame.shim = frame.bth = -1
    drain(node, i * 5_000, out)
    node.onFrame(i * 5_000, random.below(3), frame)
    drain(node, i * 5_000, out)
  }
  drain(node, ALL, out)
  t.equal(pool.inUse, 0)
  const dropped = node.ports.reduce((sum, port) => sum + node.report(1, port.index).drops, 0)
  t.equal(forwarded + dropped, 20_000)
  t.ok(forwarded > 2_000, `${forwarded} forwarded`)
})

t.test('options are checked', async t => {
  const build = (options: object) => () => starSwitch({ ports: [GIGABIT], ...options })
  for (const wrong of [
    { id: -1 },
    { id: 65_536 },
    { ports: [] },
    { bufferBytes: 0 },
    { ports: [{ rateBps: 0 }] },
  ]) {
    t.throws(build(wrong), { code: 'WEIR_BAD_ARGUMENT' }, JSON.stringify(wrong))
  }
})

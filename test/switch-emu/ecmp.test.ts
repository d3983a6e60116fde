import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { BUCKETS, bucketOf, flowHash, spreadBuckets } from '../../switch-emu/core/forwarding/ecmp.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { HOST, seeded } from './helpers.js'

const pool = new FramePool(1, HEADER_SLOT_BYTES)
const INT = { format: 1, slots: 5 }

function hashOf(spec: FrameSpec, change: (frame: Frame) => void = () => {}): number {
  const frame = buildFrame(pool, spec)
  change(frame)
  const hash = flowHash(frame.view, frame.length, frame.l3, frame.l4)
  pool.give(frame)
  return hash
}

function address6(n: number): Uint8Array {
  const address = new Uint8Array(16)
  address[0] = 0xfd
  new DataView(address.buffer).setUint32(12, n)
  return address
}

t.test('RoCEv2: there and back, with and without telemetry, are one flow', async t => {
  const random = seeded(t, 4)
  for (let i = 0; i < 200; i++) {
    const a = random.u32()
    const b = random.u32()
    const sourcePort = 0xc000 + random.below(0x4000)
    for (const [from, to] of [
      [a, b],
      [address6(a), address6(b)],
    ] as const) {
      const hash = hashOf({ from, to, sourcePort })
      const others = [
        hashOf({ from: to, to: from, sourcePort }),
        hashOf({ from, to, sourcePort, int: INT }),
        hashOf({ from: to, to: from, sourcePort, int: INT, tos: 0xff, ttl: 3, wireBytes: 900 }),
      ]
      if (others.some(other => other !== hash)) return t.fail(`flow ${i}: ${hash}, ${others.join(', ')}`)
    }
  }
})

t.test('other UDP: addresses and ports change places in the answer', async t => {
  const there = hashOf({ from: HOST(1), to: HOST(2), sourcePort: 5201, destinationPort: 40_000 })
  t.equal(hashOf({ from: HOST(2), to: HOST(1), sourcePort: 40_000, destinationPort: 5201 }), there)
  t.not(hashOf({ from: HOST(1), to: HOST(2), sourcePort: 5202, destinationPort: 40_000 }), there)
  t.not(hashOf({ from: HOST(1), to: HOST(3), sourcePort: 5201, destinationPort: 40_000 }), there)
})

t.test('TCP goes by its ports, fragments by addresses alone, short packets read nothing', async t => {
  const tcp = (from: number, to: number, source: number, destination: number, more = (_: Frame) => {}) =>
    hashOf({ from, to, sourcePort: source, destinationPort: destination }, frame => {
      ipv4.setProtocol(frame.view, frame.l3, ipv4.PROTOCOL_TCP)
      frame.l4 = -1
      more(frame)
    })
  const there = tcp(HOST(1), HOST(2), 5201, 40_000)
  t.equal(tcp(HOST(2), HOST(1), 40_000, 5201), there)
  t.not(tcp(HOST(1), HOST(2), 5201, 40_001), there)
  const fragment = (frame: Frame) => frame.view.setUint16(frame.l3 + 6, 0x2000)
  t.equal(tcp(HOST(1), HOST(2), 1, 2, fragment), tcp(HOST(1), HOST(2), 3, 4, fragment))
  const short = (frame: Frame) => {
    frame.length = frame.l3 + ipv4.BYTES + 3
  }
  t.equal(tcp(HOST(1), HOST(2), 1, 2, short), tcp(HOST(1), HOST(2), 3, 4, short))
  const tcp6 = (from: number, to: number, source: number, destination: number) =>
    hashOf(
      { from: address6(from), to: address6(to), sourcePort: source, destinationPort: destination },
      frame => {
        frame.view.setUint8(frame.l3 + 6, ipv4.PROTOCOL_TCP)
        frame.l4 = -1
      },
    )
  t.equal(tcp6(1, 2, 5201, 40_000), tcp6(2, 1, 40_000, 5201))
  t.not(tcp6(1, 2, 5201, 40_000), tcp6(1, 2, 5202, 40_000))
})

t.test('neighbouring flows spread evenly: chi-square over 64 groups of buckets', async t => {
  // Consecutive hosts and ports, as in actual scenarios.
  const counts = new Array<number>(64).fill(0)
  const total = 64 * 250
  for (let i = 0; i < total; i++) {
    const spec = {
      from: HOST(i % 16),
      to: HOST(16 + ((i >> 4) % 10)),
      sourcePort: 0xc000 + Math.floor(i / 160),
    }
    counts[bucketOf(hashOf(spec)) >> 4]!++
  }
  const chiSquare = counts.reduce((sum, n) => sum + (n - 250) ** 2 / 250, 0)
  // 63 degrees of freedom: 103.4 is passed once in a thousand.
  t.ok(chiSquare < 103.4, `chi-square ${chiSquare.toFixed(1)}`)
})

t.test('ports get equal shares of the buckets', async t => {
  for (const ports of [[3], [1, 2], [0, 4, 9], [1, 2, 3, 4, 5, 6, 7]]) {
    const counts = new Map<number, number>()
    for (const port of spreadBuckets(ports, 99)) counts.set(port, (counts.get(port) ?? 0) + 1)
    t.same([...counts.keys()].sort(), [...ports].sort())
    const shares = [...counts.values()]
    t.ok(Math.max(...shares) - Math.min(...shares) <= 1, shares.join(' '))
  }
})

t.test('switches in a row do not polarise: what the first one chose does not bind the second', async t => {
  const ports = [0, 1, 2, 3]
  const first = spreadBuckets(ports, 1)
  const second = spreadBuckets(ports, 2)
  // Independent choices: each pair has BUCKETS / 16 = 64 buckets, 9 degrees of freedom (both margins are fixed).
  const pairs = new Array<number>(16).fill(0)
  for (let b = 0; b < BUCKETS; b++) pairs[first[b]! * 4 + second[b]!]!++
  const chiSquare = pairs.reduce((sum, n) => sum + (n - 64) ** 2 / 64, 0)
  t.ok(chiSquare < 27.9, `chi-square ${chiSquare.toFixed(1)}`)
  t.same(spreadBuckets(ports, 1), first, 'the same seed, the same choice')
})

/**
 * Payloads that fill an IP packet: two Weir hosts agree on them at connect, and on no others. Sizes are computed here from the headers'
 * lengths in RFC 791, 8200 and 768, IBA chapter 9, and the tables of docs/telemetry.md.
 */
import t from 'tap'
import type { NicConfig } from '../../lib/nic/config.js'
import type { ConnectOptions } from '../../lib/nic/types.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import { say } from '../attack/third-party.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { drawnSeed } from '../support/seeds.js'
import { App, frameName, makePair, memoryOf, type PairOptions, PORT, pattern } from './pair.js'

/** BTH, RETH, immediate, ICRC. */
const TRANSPORT = 12 + 16 + 4 + 4
const IPV4 = 20 + 8
const IPV6 = 40 + 8

const cc = (name: string): Partial<NicConfig> => ({ cc: { name, options: {} }, baseRttNs: 20_000 })
const hpcc = (format: NonNullable<NicConfig['int']>['format'], hops: number) => ({
  ...cc('hpcc'),
  int: { format, hops },
})

interface Exchange extends PairOptions {
  connect?: ConnectOptions
  bytes?: number
  /** Sees every frame, and may change it. */
  change?: (frame: Parameters<typeof frameName>[0], name: string) => void
}

/** A WRITE with immediate, a SEND and a READ of so many bytes. Returns the path MTU at both ends, and the longest IP packet with payload. */
function exchange({ connect = {}, bytes = 20_001, change = () => {}, ...options }: Exchange) {
  const pair = makePair(options)
  let longest = 0
  pair.tap.watch = frame => {
    const name = frameName(frame)
    if (name.startsWith('RC_')) longest = Math.max(longest, frame.wireLength - frame.l3)
    change(frame, name)
    return true
  }
  const left = new App(pair.a)
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  const data = pattern(7, bytes)
  const region = memoryOf(pair.a, data)
  const written = memoryOf(pair.b, Buffer.alloc(bytes))
  const readable = memoryOf(pair.b, pattern(8, bytes))
  const readInto = memoryOf(pair.a, Buffer.alloc(bytes))
  const message = pattern(9, Math.min(bytes, 8192))
  const sent = memoryOf(pair.a, message)
  left.onReady = (now, connection) => {
    const [at, from] = [written, readable].map(({ address, key }) => ({ remoteAddress: address, rkey: key }))
    connection.postSend(now, {
      id: 1,
      opcode: WorkOpcode.RDMA_WRITE_WITH_IMM,
      region,
      offset: 0,
      length: bytes,
      immediate: 5,
      ...at,
    })
    connection.postSend(now, {
      id: 2,
      opcode: WorkOpcode.SEND,
      region: sent,
      offset: 0,
      length: message.length,
    })
    connection.postSend(now, {
      id: 3,
      opcode: WorkOpcode.RDMA_READ,
      region: readInto,
      offset: 0,
      length: bytes,
      ...from,
    })
  }
  pair.a.connect(pair.network.now, pair.b.address, PORT, left, connect)
  pair.until(() => left.log.some(line => line.startsWith('completion 3')) || left.closed > 0)
  const done = [1, 2, 3].every(id => left.log.includes(`completion ${id} SUCCESS`))
  const whole =
    written.buffer!.equals(data) &&
    readInto.buffer!.equals(readable.buffer!) &&
    right.log.includes(`received ${message.toString('latin1')}`)
  pair.settle()
  return {
    ok: done && whole && pair.pool.inUse === 0,
    mtus: [left.connection!.pathMtu, right.connection!.pathMtu],
    longest,
    log: left.log,
  }
}

const FILLS = { packetBytesMax: 1500 }

t.test('the longest packet has exactly the bytes that the interface takes', async t => {
  const cases: [what: string, own: Partial<NicConfig>, v6: boolean, telemetryBytes: number][] = [
    ['no telemetry', cc('fixed-window'), false, 0],
    ['no telemetry, IPv6', cc('fixed-window'), true, 0],
    ['wide', hpcc('wide', 5), false, 8 + 5 * 24],
    ['wide, IPv6', hpcc('wide', 5), true, 8 + 5 * 24],
    ['wide, one hop', hpcc('wide', 1), false, 8 + 24],
    ['compact', hpcc('compact', 5), false, 8 + 5 * 8],
  ]
  for (const [what, own, v6, telemetryBytes] of cases) {
    const room = 1500 - (v6 ? IPV6 : IPV4) - telemetryBytes - TRANSPORT
    t.equal(room % 4, 0, 'so it leaves nothing over')
    const host = { ...own, ...FILLS }
    const { ok, mtus } = exchange({ v6, a: host, b: host })
    t.ok(ok, what)
    t.same(mtus, [room, room], what)
    t.equal(exchange({ v6, a: host, b: host, bytes: room }).longest, 1500, what)
  }
})

t.test('telemetry that switches insert has room in a filled packet', async t => {
  const cases: [NonNullable<NicConfig['int']>['format'], boolean, number][] = [
    ['p4-int-md', false, 16 + 5 * 32],
    ['ifa', false, 8 + 5 * 36],
    ['ioam', false, 16 + 5 * 32], // What it takes over IPv6.
    ['ioam', true, 16 + 5 * 32],
  ]
  for (const [format, v6, telemetryBytes] of cases) {
    const host = { ...hpcc(format, 5), ...FILLS }
    const { ok, mtus } = exchange({ v6, a: host, b: host })
    const room = 1500 - (v6 ? IPV6 : IPV4) - telemetryBytes - TRANSPORT
    t.ok(ok && room - mtus[0]! < 4 && mtus[0]! <= room, `${format}: ${mtus[0]} of ${room}`)
    t.equal(mtus[0]! % 4, 0)
  }
})

t.test('the smaller of both payloads counts', async t => {
  const longer = { ...cc('fixed-window'), packetBytesMax: 9000, pathMtu: 2048 }
  const shorter = { ...cc('fixed-window'), packetBytesMax: 1400 }
  for (const [a, b] of [
    [longer, shorter],
    [shorter, longer],
  ]) {
    const { ok, mtus } = exchange({ a, b })
    t.ok(ok)
    t.same(mtus, [1336, 1336], '1400 - 20 - 8 - 36')
  }
  const both = exchange({ a: longer, b: longer })
  t.ok(both.ok)
  t.same(both.mtus, [4096, 4096], 'what a slot of the pool has room for')
})

t.test('powers of two, where one end does not fill its packets', async t => {
  const fills = { ...cc('hpcc'), ...FILLS }
  const not = cc('hpcc')
  for (const [a, b] of [
    [fills, not],
    [not, fills],
  ]) {
    const { ok, mtus } = exchange({ a, b })
    t.ok(ok)
    t.same(mtus, [1024, 1024])
  }
  const asked = exchange({ a: fills, b: fills, connect: { pathMtu: 512 } })
  t.ok(asked.ok)
  t.same(asked.mtus, [512, 512], 'a connection with a path MTU of its own')
  const narrow = { ...cc('hpcc'), pathMtu: 1024, packetBytesMax: 1200 }
  t.same(exchange({ a: narrow, b: narrow }).mtus, [1024, 1024], 'it would be less than the path MTU')
})

t.test('an older Weir host, and a plain RoCEv2 peer, get powers of two', async t => {
  const fills = { ...cc('fixed-window'), ...FILLS, recovery: 'goBackN' } as const
  for (const message of ['REQ', 'REP']) {
    const older: Exchange['change'] = (frame, name) => {
      if (name === message) say(frame, words => ({ ...words, filledPayload: 0 }))
    }
    const { mtus } = exchange({ a: fills, b: fills, change: older })
    t.equal(mtus[message === 'REQ' ? 1 : 0], 1024, message)
  }
  const plain = exchange({ a: fills, b: fills, change: takeWordsOut })
  t.ok(plain.ok)
  t.same(plain.mtus, [1024, 1024])
})

t.test('a REQ without room for it makes a connection of powers of two', async t => {
  const keyed = { ...cc('rx-hpcc'), ...FILLS, secret: Buffer.alloc(32, 7), receiveBudgetBytes: 2 ** 28 - 1 }
  const full = exchange({ a: keyed, b: keyed, connect: { privateData: new Uint8Array(16) } })
  t.ok(full.ok)
  t.same(full.mtus, [1024, 1024])
  const other = exchange({ a: keyed, b: keyed, connect: { privateData: new Uint8Array(8) } })
  t.ok(other.ok)
  t.same(other.mtus, [1308, 1308], '1500 - 28 - 128 - 36')
})

t.test('with losses, reordering and both kinds of recovery all bytes arrive', async t => {
  const random = new Random(drawnSeed(t))
  for (const recovery of ['selective', 'goBackN'] as const) {
    const rates = { loss: 0.03, reorder: 0.05, duplication: 0.05 }
    const [ab, ba] = [0, 1].map(() => new LinkFaults(rates, () => random.next()))
    const host = { ...cc('cubic'), ...FILLS, recovery, packetBytesMax: 1200 + (random.u32() % 2000) }
    const seed = random.u32()
    const { ok, mtus, log } = exchange({
      a: host,
      b: host,
      seed,
      bytes: 200_003,
      faults: { ab, ba },
    })
    t.ok(ok, `${recovery}, packets of ${host.packetBytesMax}, payload ${mtus}: ${log}`)
  }
})

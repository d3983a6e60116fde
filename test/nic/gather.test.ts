/**
 * NICs whose port gathers: payloads stay in the application's memory until the port sends them. The tap in
 * the middle is the port here, and passes complete frames on.
 */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { GATHER_FROM_BYTES } from '../../lib/qp/memory/payload.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'
import { connected, makePair, memoryOf, type Pair, pattern, transfer } from './pair.js'

const SEED = fixedSeed(t, 3)

const GATHERS: Partial<NicConfig> = { gathers: true, baseRttNs: 10_000, pathMtu: 4096 }

/**
 * Counts payloads outside and inside slots, and copies them in, as a port's sendmsg does. `lose` says what is
 * lost.
 */
function gathering(pair: Pair, lose: (frame: Frame) => boolean = () => false) {
  const seen = { outside: 0, inside: 0, shortestOutside: Number.POSITIVE_INFINITY, longestInside: 0 }
  const before = pair.tap.watch
  pair.tap.watch = (frame, now, fromA) => {
    const bytes = frame.payloadLength
    if (frame.outside !== null) {
      seen.outside++
      seen.shortestOutside = Math.min(seen.shortestOutside, bytes)
      // The slot has a gap there. Its former contents must not matter.
      frame.bytes.fill(0xdd, frame.payload, frame.payload + bytes)
      if (!icrc.verify(frame)) throw new Error('the ICRC is not that of the payload outside')
      frame.bringIn()
    } else if (bytes > 0) {
      seen.inside++
      seen.longestInside = Math.max(seen.longestInside, bytes)
    }
    before(frame, now, fromA)
    return !lose(frame)
  }
  return seen
}

/** Exchanges messages by a seed, and checks every byte. Returns how many payloads lay outside of slots. */
function exchange(t: Test, shared: boolean, seed: number): number {
  const random = new Random(seed)
  const pair = makePair({ a: GATHERS, b: GATHERS, seed })
  const seen = gathering(pair, () => random.next() < 0.02)
  const { left, right } = connected(pair)
  const bytes = pattern(seed, 65_536)
  const memory = shared ? new SharedArrayBuffer(65_536) : new ArrayBuffer(65_536)
  const here = memoryOf(pair.a, Buffer.from(memory))
  here.buffer!.set(bytes)
  const there = memoryOf(pair.b, Buffer.alloc(65_536))
  const back = memoryOf(pair.a, Buffer.alloc(65_536))
  for (let id = 0; id < 60; id++) {
    const opcode = [WorkOpcode.RDMA_WRITE, WorkOpcode.SEND, WorkOpcode.RDMA_READ][id % 3]!
    const length = Math.floor(random.next() * (opcode === WorkOpcode.SEND ? 8192 : 30_000))
    const offset = Math.floor(random.next() * (65_536 - length))
    const remote = Math.floor(random.next() * (65_536 - length))
    const reads = opcode === WorkOpcode.RDMA_READ
    const before = Buffer.from(there.buffer!)
    left.connection!.postSend(pair.network.now, {
      id,
      opcode,
      region: reads ? back : here,
      offset,
      length,
      remoteAddress: there.address + remote,
      rkey: there.key,
    })
    t.ok(pair.until(() => left.log.includes(`completion ${id} SUCCESS`)))
    const sent = bytes.subarray(offset, offset + length)
    if (reads) {
      const read = back.buffer!.subarray(offset, offset + length)
      t.ok(read.equals(before.subarray(remote, remote + length)), `READ ${id} of ${length} bytes`)
    } else if (opcode === WorkOpcode.RDMA_WRITE) {
      sent.copy(before, remote)
      t.ok(there.buffer!.equals(before), `WRITE ${id} of ${length} bytes`)
    } else {
      t.ok(right.log.includes(`received ${sent.toString('latin1')}`), `SEND ${id} of ${length} bytes`)
    }
  }
  pair.settle()
  t.equal(pair.pool.inUse, 0)
  t.ok(seen.shortestOutside >= GATHER_FROM_BYTES, 'short ones are copied')
  t.ok(seen.longestInside < GATHER_FROM_BYTES)
  t.equal(pair.a.counters.rx.badIcrc + pair.b.counters.rx.badIcrc, 0)
  return seen.outside
}

for (const shared of [false, true]) {
  const kind = shared ? 'a SharedArrayBuffer' : 'an ArrayBuffer'
  t.test(`WRITEs, SENDs and READs of any length from ${kind}, 2 % of the packets lost`, async t => {
    const gathered = exchange(t, shared, SEED)
    if (!isReplay) t.ok(gathered > 50, `${gathered} payloads were gathered`)
    exchange(t, shared, drawnSeed(t))
  })
}

t.test('without a port that gathers, all payloads are in their slots', async t => {
  const pair = makePair({ a: { baseRttNs: 10_000 } })
  const seen = gathering(pair)
  const { left } = connected(pair)
  const here = memoryOf(pair.a, pattern(SEED, 20_000))
  const there = memoryOf(pair.b, Buffer.alloc(20_000))
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: 20_000 }
  left.connection!.postSend(pair.network.now, { ...work, remoteAddress: there.address, rkey: there.key })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.equal(seen.outside, 0)
  t.ok(there.buffer!.equals(here.buffer!))
})

t.test(
  'memory that changes while it is sent: the receiver drops the packet, and its repetition arrives',
  async t => {
    const pair = makePair({ a: GATHERS, b: { pathMtu: 4096 } })
    const { left } = connected(pair)
    const here = memoryOf(pair.a, pattern(SEED, 8192))
    const there = memoryOf(pair.b, Buffer.alloc(8192))
    let changed = 0
    const before = pair.tap.watch
    pair.tap.watch = (frame, now, fromA) => {
      if (frame.outside !== null && changed < 3) {
        here.buffer![frame.outsideBase + frame.payload + 7]! ^= 1
        changed++
      }
      frame.bringIn()
      return before(frame, now, fromA)
    }
    const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: 8192 }
    left.connection!.postSend(pair.network.now, { ...work, remoteAddress: there.address, rkey: there.key })
    t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
    t.equal(changed, 3)
    t.equal(pair.b.counters.rx.badIcrc, 3)
    t.ok(there.buffer!.equals(here.buffer!), 'as it is in the end')
  },
)

t.test('a region that ends, a connection that ends: no frame goes on holding memory', async t => {
  for (const how of ['deregister', 'disconnect'] as const) {
    const pair = makePair({ a: GATHERS, b: { pathMtu: 4096 } })
    gathering(pair)
    const { left, right } = connected(pair)
    const here = memoryOf(pair.a, pattern(SEED, 1_000_000))
    const there = memoryOf(pair.b, Buffer.alloc(1_000_000))
    const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: 1_000_000 }
    left.connection!.postSend(pair.network.now, { ...work, remoteAddress: there.address, rkey: there.key })
    pair.until(() => there.buffer!.subarray(30_000, 30_008).equals(here.buffer!.subarray(30_000, 30_008)))
    if (how === 'deregister') pair.a.memory.deregister(here)
    else left.connection!.disconnect(pair.network.now)
    t.ok(pair.until(() => left.closed + right.closed === 2))
    const status = how === 'deregister' ? 'LOC_PROT_ERR' : 'WR_FLUSH_ERR'
    t.ok(left.log.includes(`completion 1 ${status}`), left.log.join())
    pair.settle()
    t.equal(pair.pool.inUse, 0)
    for (let i = 0; i < pair.pool.capacity; i++) {
      const frame = pair.pool.take()!
      if (frame.outside !== null) return t.fail('a frame that is given back refers to memory')
    }
  }
})

t.test(
  'memory that an application transfers ends the connection that uses it as if it was deregistered',
  async t => {
    for (const opcode of [WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ, WorkOpcode.SEND]) {
      for (const gone of ['here', 'there'] as const) {
        const outcomes = (['deregister', 'transfer'] as const).map(how => {
          const pair = makePair({ a: GATHERS, b: GATHERS })
          gathering(pair)
          const { left, right } = connected(pair)
          const regions = {
            here: memoryOf(pair.a, pattern(SEED, 8192)),
            there: memoryOf(pair.b, Buffer.alloc(8192)),
          }
          const { here: region, there } = regions
          if (how === 'transfer') transfer(regions[gone].buffer!)
          else (gone === 'here' ? pair.a : pair.b).memory.deregister(regions[gone])
          const where = { region, offset: 0, length: 8192, remoteAddress: there.address, rkey: there.key }
          left.connection!.postSend(pair.network.now, { id: 1, opcode, ...where })
          pair.settle()
          t.equal(pair.pool.inUse, 0)
          return [left.log, right.log, left.error?.code]
        })
        t.same(outcomes[1], outcomes[0], `${opcode}, ${gone}`)
      }
    }
  },
)

t.test('what comes out of order is kept with its payload', async t => {
  const pair = makePair({ a: GATHERS, b: { pathMtu: 4096 } })
  const { left } = connected(pair)
  const bytes = pattern(SEED, 50_000)
  const here = memoryOf(pair.a, Buffer.from(bytes))
  const there = pair.b.memory.register(Buffer.alloc(50_000), 50_000, Access.REMOTE_WRITE)
  // The receiver gets payloads outside slots. The second packet is lost. When it arrives again, the memory of
  // the third one, which waits for it, has been reused.
  let seconds = 0
  pair.tap.watch = frame => {
    if (frame.outside === null || frame.outsideBase + frame.payload !== 4096) return true
    if (++seconds === 2) here.buffer!.fill(0xee, 8192, 12_288)
    return seconds === 2
  }
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: 50_000 }
  left.connection!.postSend(pair.network.now, { ...work, remoteAddress: there.address, rkey: there.key })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.equal(seconds, 2)
  t.ok(there.buffer!.equals(bytes))
})

/**
 * Two NICs with real payloads and ICRCs, telemetry in each encapsulation, and hops in between that write or
 * insert records.
 */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { HopSnapshot } from '../../lib/wire/telemetry/hop-snapshot.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { growthBytes, stamp } from '../../lib/wire/telemetry/telemetry-hop.js'
import { connected, makePair, memoryOf, pattern, RATE_BPS } from './pair.js'

const BYTES = 30 * 1024 + 5

for (const v6 of [false, true]) {
  for (const format of telemetry.FORMAT_NAMES) {
    t.test(
      `IPv${v6 ? 6 : 4}, ${format}: WRITE and READ arrive, and the sender hears of both hops`,
      async t => {
        const int = { format, hops: 3 }
        const pair = makePair({ v6, a: { int }, b: { int } })
        const { left } = connected(pair)
        const hop = Object.assign(new HopSnapshot(), { rateBps: RATE_BPS, priority: 3, ttl: 60 })
        let collecting = 0
        let echoes = 0
        pair.tap.watch = (frame, now) => {
          if (frame.shim < 0) return true
          if (telemetry.isEcho(frame)) {
            echoes++
            return true
          }
          // Only packets with payload collect: requests, and answers to READs.
          t.ok(bth.opcode(frame.view, frame.bth) < Opcode.CNP)
          t.equal(frame.intFormat, format === 'compact' ? telemetry.NATIVE : telemetry.formatOf(format))
          collecting++
          for (const switchId of [0x11, 0x22]) {
            hop.switchId = switchId
            hop.arrivalNs = now - 1000
            hop.startNs = now
            hop.txBytes += frame.wireLength
            hop.qlenBytes = switchId * 160
            stamp(frame, hop, growthBytes(frame, 9000))
            if (!v6) t.ok(ipv4.verifyChecksum(frame.view, frame.l3))
            parseFrame(frame)
          }
          return true
        }
        const bytes = pattern(3, BYTES)
        const here = memoryOf(pair.a, bytes)
        const there = memoryOf(pair.b, Buffer.alloc(BYTES))
        const back = memoryOf(pair.a, Buffer.alloc(BYTES))
        const remote = { remoteAddress: there.address, rkey: there.key, offset: 0, length: BYTES }
        const post = (id: number, opcode: WorkOpcode, region: typeof here) =>
          left.connection!.postSend(pair.network.now, { id, opcode, region, ...remote })
        t.ok(post(1, WorkOpcode.RDMA_WRITE, here))
        t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
        t.ok(there.buffer!.equals(bytes))
        t.ok(post(2, WorkOpcode.RDMA_READ, back))
        t.ok(pair.until(() => left.log.includes('completion 2 SUCCESS')))
        t.ok(back.buffer!.equals(bytes))
        pair.settle()

        // All of the WRITE, and the part of the READ that left after its sender knew T.
        t.ok(collecting > 31, `${collecting} packets collected`)
        t.ok(echoes >= 31, `${echoes} echoes`)
        const { pathHops, pathQueueBytes } = left.connection!.stats
        t.same([pathHops, pathQueueBytes], [2, 0x22 * 160])
        for (const { rx } of [pair.a.counters, pair.b.counters]) {
          t.same([rx.badIcrc, rx.malformed, rx.notRoce], [0, 0, 0])
        }
        t.equal(pair.pool.inUse, 0)
      },
    )
  }
}

t.test('malformed telemetry is counted and dropped; the transport retransmits', async t => {
  for (const format of ['p4-int-md', 'ifa', 'ioam'] as const) {
    const pair = makePair({ a: { int: { format, hops: 2 } } })
    const { left } = connected(pair)
    let broken = 0
    pair.tap.watch = frame => {
      if (frame.shim < 0 || telemetry.isEcho(frame) || broken === 5) return true
      broken++
      // INT-MD: the version; IFA: the length of its stack; IOAM: the length of a node.
      const at = frame.shim + (format === 'p4-int-md' ? 4 : format === 'ifa' ? 3 : 2)
      frame.view.setUint8(at, frame.view.getUint8(at) ^ 0xff)
      return true
    }
    const bytes = pattern(4, 20_000)
    const here = memoryOf(pair.a, bytes)
    const there = memoryOf(pair.b, Buffer.alloc(bytes.length))
    const remote = { remoteAddress: there.address, rkey: there.key, offset: 0, length: bytes.length }
    left.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.RDMA_WRITE,
      region: here,
      ...remote,
    })
    t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
    t.ok(there.buffer!.equals(bytes))
    t.equal(pair.b.counters.rx.malformed, 5)
  }
})

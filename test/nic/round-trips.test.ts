import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { connected, makePair, memoryOf, pattern, RATE_BPS } from './pair.js'

const LENGTH = 1 << 20
const READS = 20

t.test(
  'a message that every later packet of the peer acknowledges again is no measure of a round trip',
  async t => {
    const settings = {
      pathMtu: 1024,
      cc: { name: 'cubic', options: {} },
      start: 'careful' as const,
      lineRateBps: RATE_BPS / 100,
    }
    const pair = makePair({ a: settings, b: settings })
    const { left, right } = connected(pair)
    const hello = memoryOf(pair.b, pattern(1, 100))
    right.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.SEND,
      region: hello,
      offset: 0,
      length: 100,
    })
    t.ok(pair.until(() => right.log.includes('completion 1 SUCCESS')))
    const source = memoryOf(pair.b, pattern(2, LENGTH))
    const sink = memoryOf(pair.a, Buffer.alloc(LENGTH))
    const read = (now: number, id: number) =>
      left.connection!.postSend(now, {
        id,
        opcode: WorkOpcode.RDMA_READ,
        region: sink,
        offset: 0,
        length: LENGTH,
        remoteAddress: source.address,
        rkey: source.key,
      })
    left.onDone = (now, _connection, { id, isReceive }) => {
      if (!isReceive && id < 100 + READS) read(now, id + 1)
    }
    const beganNs = pair.network.now
    read(beganNs, 100)
    t.ok(pair.until(() => left.log.includes(`completion ${100 + READS} SUCCESS`)))
    const seconds = (pair.network.now - beganNs) / 1e9
    const atLineRate = ((READS + 1) * LENGTH * 8) / (RATE_BPS / 100)
    t.ok(seconds < 1.5 * atLineRate, `${seconds} s, the link alone takes ${atLineRate} s`)
    t.ok(sink.buffer!.equals(source.buffer!))
  },
)

for (const opcode of [WorkOpcode.RDMA_READ, WorkOpcode.RDMA_WRITE]) {
  for (const recovery of ['selective', 'goBackN'] as const) {
    t.test(
      `a ${recovery} ${opcode} over 200 ms waits for its answers, not for a timeout of 67 ms`,
      async t => {
        const settings = { start: 'careful' as const, recovery, cc: { name: 'cubic', options: {} } }
        const pair = makePair({ a: settings, b: settings, delayNs: 50e6 })
        const { left } = connected(pair)
        const work = (id: number) => {
          const [here, there] = [
            memoryOf(pair.a, pattern(id, 100_000)),
            memoryOf(pair.b, pattern(9, 100_000)),
          ]
          left.connection!.postSend(pair.network.now, {
            id,
            opcode,
            region: here,
            offset: 0,
            length: 100_000,
            remoteAddress: there.address,
            rkey: there.key,
          })
          pair.until(() => left.closed > 0 || left.log.some(line => line.startsWith(`completion ${id} `)))
          return here.buffer!.equals(there.buffer!)
        }
        t.ok(work(1))
        const { timeouts, spuriousBytes, retransmittedBytes } = left.connection!.stats
        t.same([timeouts, spuriousBytes, retransmittedBytes], [0, 0, 0])
        pair.tap.watch = () => false
        work(2)
        t.equal(left.error?.code, 'WEIR_CONNECTION_LOST', 'a silent peer ends it all the same')
      },
    )
  }
}

t.test(
  'an outage is no round trip: an acknowledgement after a timeout answers what was retransmitted',
  async t => {
    const OUTAGE_NS = 150e6
    const settings = { start: 'careful' as const, cc: { name: 'dcqcn', options: {} } }
    const pair = makePair({ a: settings, b: settings, delayNs: 500_000 })
    const { left } = connected(pair)
    const [here, there] = [memoryOf(pair.a, pattern(1, LENGTH)), memoryOf(pair.b, Buffer.alloc(LENGTH))]
    left.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.RDMA_WRITE,
      region: here,
      offset: 0,
      length: LENGTH,
      remoteAddress: there.address,
      rkey: there.key,
    })
    const { stats } = left.connection!
    t.ok(pair.until(() => stats.ackedBytes > LENGTH / 8))
    // What leaves first still arrives, and nobody hears of it.
    const [startNs, endNs] = [pair.network.now, pair.network.now + OUTAGE_NS]
    pair.tap.watch = (_frame, now, fromA) => now >= endNs || (fromA && now < startNs + 300_000)
    let longestNs = 0
    const done = pair.until(() => {
      longestNs = Math.max(longestNs, stats.rttNs)
      return left.log.includes('completion 1 SUCCESS')
    })
    t.ok(done)
    t.ok(stats.timeouts > 0, `${stats.timeouts} timeouts`)
    t.ok(longestNs < OUTAGE_NS / 2, `round trips of ${longestNs / 1e6} ms at most`)
    t.ok(there.buffer!.equals(here.buffer!))
  },
)

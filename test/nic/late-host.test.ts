/** A host that takes its packets late: what its ports know of their arrival keeps its own delay out of round trips. */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { connected, makePair, memoryOf, pattern } from './pair.js'

const LENGTH = 64
const DELAY_NS = 100_000
const LATE_NS = 50_000

for (const stamped of [true, false]) {
  t.test(
    `a round trip ${stamped ? 'ends when the kernel has the answer' : 'without stamps ends when the host takes it'}`,
    async t => {
      // A packet takes DELAY_NS to the tap, and as long behind it.
      const pair = makePair({ delayNs: DELAY_NS })
      const { left } = connected(pair)
      const source = memoryOf(pair.a, pattern(1, LENGTH))
      const sink = memoryOf(pair.b, Buffer.alloc(LENGTH))
      const write = (id: number) => {
        left.connection!.postSend(pair.network.now, {
          id,
          opcode: WorkOpcode.RDMA_WRITE,
          region: source,
          offset: 0,
          length: LENGTH,
          remoteAddress: sink.address,
          rkey: sink.key,
        })
        t.ok(pair.until(() => left.log.includes(`completion ${id} SUCCESS`)))
        return left.connection!.stats.rttNs
      }
      const before = write(1)
      // Whatever comes back waits in the host before it is taken in.
      pair.tap.watch = (frame, now, fromA) => {
        if (!fromA && stamped) frame.arrivedNs = now + DELAY_NS - LATE_NS
        return true
      }
      const after = write(2)
      t.equal(after, stamped ? before - LATE_NS : before)
    },
  )
}

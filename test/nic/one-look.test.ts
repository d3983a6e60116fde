/** How often the NIC asks a queue pair what it would send next: once for each event, beside the two looks of the packet that leaves. */
import t from 'tap'
import { Joined } from '../../bench/micro/joined-nics.js'
import { QueuePair } from '../../lib/qp/queue-pair.js'

const PACKETS = 4000
/** The scheduler's when the flow has its turn, the queue pair's own, and that of the flow's reconsideration; one at the peer. */
const LOOKS = 4
/** One acknowledgement stands for 16 packets; it takes as many looks as a packet, and messages are posted and completed. */
const MORE = 1

t.test('a data packet leads to one reconsideration of its flow at either end', async t => {
  const { peekTransmit } = QueuePair.prototype
  let looks = 0
  QueuePair.prototype.peekTransmit = function (requestsAllowed) {
    looks++
    return peekTransmit.call(this, requestsAllowed)
  }
  t.teardown(() => {
    QueuePair.prototype.peekTransmit = peekTransmit
  })
  for (const op of ['WRITE', 'READ'] as const) {
    const joined = new Joined({ op, size: 1 << 20 })
    joined.packets(PACKETS)
    looks = 0
    joined.packets(PACKETS)
    t.ok(looks <= (LOOKS + MORE) * PACKETS, `${op}: ${looks} looks for ${PACKETS} packets`)
  }
})

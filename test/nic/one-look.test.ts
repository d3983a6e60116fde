/**
 * How often the NIC asks a queue pair what it would send next: once for each event, in addition to the two
 * times for a leaving packet.
 */
import t from 'tap'
import { Joined } from '../../bench/micro/joined-nics.js'
import { QueuePair } from '../../lib/qp/queue-pair.js'

const PACKETS = 4000
/**
 * One by the scheduler at the flow's turn, the queue pair's own, one in the flow's reconsideration, and one
 * at the peer.
 */
const LOOKS = 4
/**
 * One acknowledgement stands for 16 packets and needs as many looks as a packet. Messages are posted and
 * completed, too.
 */
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

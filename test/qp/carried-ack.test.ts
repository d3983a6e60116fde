/** When a packet with payload may carry the acknowledgement that is owed. */
import t from 'tap'
import { TxKind } from '../../lib/qp/queue-pair.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { buildRoce, PLAIN } from '../wire/helpers.js'
import { Host } from './pipe.js'

const QPN = 17

/** A WRITE of no bytes, which asks for an acknowledgement. */
function question(psn: number) {
  const frame = buildRoce({ ...PLAIN, opcode: Opcode.RC_RDMA_WRITE_ONLY })
  t.equal(parseFrame(frame), WireError.OK)
  const { view, bth: at } = frame
  bth.write(view, at, new bth.Bth({ opcode: Opcode.RC_RDMA_WRITE_ONLY, destQpn: QPN, ackRequest: true, psn }))
  reth.write(view, at + bth.BYTES, 0, 0, 0)
  return frame
}

t.test('not before the first request has come, whose PSN is 0', async t => {
  const host = new Host(QPN)
  host.connect(18, 100, 0)
  const region = host.memory.register(Buffer.alloc(64), 64, 15)
  host.qp.postSend(0, { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 64 })
  // The peer asks whether this end lives (`TxPipeline.challenge`): the PSN before the first.
  host.qp.onPacket(0, question(0xffffff))
  t.equal(host.qp.peekTransmit(false), TxKind.ACK)
  t.notOk(host.qp.mayCarryAck)
  host.qp.onPacket(0, question(0))
  t.ok(host.qp.mayCarryAck)
})

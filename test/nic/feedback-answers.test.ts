/** Which packet a notification names if several wait for one. */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import type { Flow } from '../../lib/nic/flow/flow.js'
import { Receiver } from '../../lib/nic/flow/receiver.js'
import { Feedback } from '../../lib/nic/rx/feedback.js'
import { TelemetryEcho } from '../../lib/nic/telemetry/telemetry-echo.js'
import type { ControlPackets } from '../../lib/nic/tx/control-packets.js'
import { SourcePorts } from '../../lib/nic/tx/source-ports.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as delayedAck from '../../lib/wire/weir/delayed-ack.js'

function packet(opcode: number, psn: number, asks: boolean): Frame {
  const frame = new Frame(0, Buffer.alloc(64))
  frame.bth = 0
  bth.write(frame.view, 0, new bth.Bth({ opcode, migrated: false, destQpn: 0x12, ackRequest: asks, psn }))
  return frame
}

t.test(
  'an answer that the sender of a READ response waits for is not replaced by that of a request',
  async t => {
    let pushed = 0
    const control = { push: () => void pushed++ } as unknown as ControlPackets
    const events = { onBaseRttAnswer() {}, onPathAnswer() {}, onRaceAnswer() {}, flowChanged() {} }
    const feedback = new Feedback(control, new SourcePorts(null), () => 1, events)
    const receiver = new Receiver(new TelemetryEcho(false), false, 16)
    receiver.onResponses(1)
    const flow = { receiver } as Flow
    const take = (opcode: number, psn: number, asks = false) =>
      feedback.onCollected(0, flow, packet(opcode, psn, asks))
    const names = () => [receiver.notifyKind, receiver.notifyPsn]

    take(Opcode.RC_RDMA_WRITE_ONLY, 5)
    t.same(names(), [delayedAck.KIND_REQUEST, 5])
    take(Opcode.RC_RDMA_READ_RESPONSE_MIDDLE, 100, true)
    t.same(names(), [delayedAck.KIND_RESPONSE, 100], 'a response that asks goes before')
    take(Opcode.RC_RDMA_WRITE_ONLY, 6)
    t.same(names(), [delayedAck.KIND_RESPONSE, 100], 'and stays')
    take(Opcode.RC_RDMA_READ_RESPONSE_MIDDLE, 116, true)
    t.same(names(), [delayedAck.KIND_RESPONSE, 116], 'a later response stands for those before it')
    // The notification has been sent.
    receiver.notified()
    take(Opcode.RC_RDMA_WRITE_ONLY, 7)
    t.same(names(), [delayedAck.KIND_REQUEST, 7])
    t.equal(pushed, 4)
  },
)

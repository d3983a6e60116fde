/** A flow that a shared host holds back collects telemetry once in several windows, where its controller takes none. */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { App, makePair, memoryOf, PORT } from './pair.js'

const BUDGET_BYTES = 24_000
const MESSAGE_BYTES = 2_000_000
const PATH_MTU = 1024

/** Flows of `a` write a message each to `b`, whose receive buffer is small. Returns how many packets there were for each that collects, and the share of a flow. */
function collecting(flows: number) {
  const host = { cc: { name: 'auto', options: {} }, baseRttNs: 20_000, pathMtu: PATH_MTU }
  const pair = makePair({ a: host, b: { ...host, receiveBudgetBytes: BUDGET_BYTES } })
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  let collected = 0
  let packets = 0
  pair.tap.watch = (frame, _now, fromA) => {
    if (!fromA || frame.payloadLength < PATH_MTU) return true
    packets++
    if (frame.shim >= 0 && !telemetry.isEcho(frame)) collected++
    return true
  }
  const from = memoryOf(pair.a, Buffer.alloc(MESSAGE_BYTES))
  const into = memoryOf(pair.b, Buffer.alloc(MESSAGE_BYTES))
  const { address: remoteAddress, key: rkey } = into
  const work = {
    opcode: WorkOpcode.RDMA_WRITE,
    region: from,
    offset: 0,
    length: MESSAGE_BYTES,
    remoteAddress,
    rkey,
  }
  const ends = Array.from({ length: flows }, () => {
    const end = new App(pair.a)
    end.onReady = (now, connection) => connection.postSend(now, { id: 1, ...work })
    pair.a.connect(pair.network.now, pair.b.address, PORT, end)
    return end
  })
  t.ok(pair.until(() => ends.every(({ log }) => log.includes('completion 1 SUCCESS'))))
  return { every: packets / collected, windowPackets: BUDGET_BYTES / flows / PATH_MTU }
}

t.test('one flow: a packet in each window; four: a packet in four windows of each', async t => {
  const alone = collecting(1)
  const shared = collecting(4)
  t.comment(`${JSON.stringify(alone)} ${JSON.stringify(shared)}`)
  t.ok(alone.every < 1.5 * alone.windowPackets)
  t.ok(shared.every > 2 * shared.windowPackets)
})

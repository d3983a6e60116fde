/** What postSend, postReceive and the constructor refuse: the message names the field. */
import t from 'tap'
import type { QpConfig } from '../../lib/qp/queue-pair.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Host } from './pipe.js'

const host = new Host(5)
host.connect(6, 0, 0)
const region = host.memory.register(null, 4096, 15)
const huge = host.memory.register(null, 2 ** 32, 15)

t.test('work that makes no sense', async t => {
  const send: SendWork = { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 1 }
  const write: SendWork = { ...send, opcode: WorkOpcode.RDMA_WRITE, remoteAddress: 0, rkey: 1 }
  const atomic: SendWork = { ...write, opcode: WorkOpcode.FETCH_AND_ADD, length: 8, compareOrAdd: 1n }
  const wrong: [RegExp, SendWork][] = [
    [/opcode/, { ...send, opcode: 8 as WorkOpcode }],
    [/opcode/, { ...send, opcode: -1 as WorkOpcode }],
    [/length/, { ...send, length: -1 }],
    [/length/, { ...send, length: 1.5 }],
    [/length/, { ...send, length: Number.NaN }],
    [/length/, { ...send, region: huge, length: 2 ** 31 + 1 }],
    [/outside its region/, { ...send, offset: 4096 }],
    [/outside its region/, { ...send, offset: -1 }],
    [/outside its region/, { ...send, offset: 1, length: 4096 }],
    [/remoteAddress/, { ...write, remoteAddress: undefined }],
    [/remoteAddress/, { ...write, remoteAddress: 2 ** 53 }],
    [/remoteAddress/, { ...write, remoteAddress: -1 }],
    [/rkey/, { ...write, rkey: undefined }],
    [/rkey/, { ...write, rkey: 2 ** 32 }],
    [/immediate/, { ...send, opcode: WorkOpcode.SEND_WITH_IMM }],
    [/immediate/, { ...write, opcode: WorkOpcode.RDMA_WRITE_WITH_IMM, immediate: -1 }],
    [/invalidateKey/, { ...send, opcode: WorkOpcode.SEND_WITH_INV }],
    [/8 bytes/, { ...atomic, length: 4 }],
    [/compareOrAdd/, { ...atomic, compareOrAdd: undefined }],
    [/swap/, { ...atomic, opcode: WorkOpcode.COMPARE_AND_SWAP }],
    [/goes to its peer/, { ...write, to: { address: 1, qpn: 2, qkey: 3 } }],
  ]
  for (const [message, work] of wrong) {
    t.throws(() => host.qp.postSend(0, work), { code: 'WEIR_BAD_ARGUMENT', message })
  }
  t.equal(host.qp.sendPending, 0)
  t.throws(() => host.qp.postReceive({ id: 1, region, offset: 1, length: 4096 }), {
    code: 'WEIR_BAD_ARGUMENT',
  })
  t.ok(host.qp.postSend(0, { ...send, region: huge, length: 2 ** 31 }))
  t.ok(host.qp.postSend(0, { ...send, offset: 4096, length: 0 }))
})

t.test('a queue pair that may have no READs outstanding', async t => {
  const poor = new Host(7, { initiatorDepth: 0 })
  poor.connect(8, 0, 0)
  const read = {
    id: 1,
    opcode: WorkOpcode.RDMA_READ,
    region,
    offset: 0,
    length: 1,
    remoteAddress: 0,
    rkey: 1,
  }
  t.throws(() => poor.qp.postSend(0, read), { code: 'WEIR_BAD_STATE', message: /initiatorDepth/ })
})

t.test('settings out of range', async t => {
  const wrong: Partial<QpConfig>[] = [
    { pathMtu: 1402 },
    { pathMtu: 252 },
    { sendQueueDepth: 0 },
    { receiveQueueDepth: 65_537 },
    { retryCount: 8 },
    { rnrRetry: -1 },
    { ackTimeoutExponent: 32 },
    { minRnrTimer: 32 },
    { maxPacketsInFlight: 2 ** 23 + 1 },
    { responderResources: 256 },
    { initiatorDepth: 1.5 },
    { access: 16 },
    { ackRequestEveryPackets: 0 },
  ]
  for (const config of wrong) {
    const name = new RegExp(Object.keys(config)[0]!)
    t.throws(() => new Host(5, config), { code: 'WEIR_BAD_ARGUMENT', message: name })
  }
  t.throws(() => new Host(1), { code: 'WEIR_BAD_ARGUMENT', message: /qpn/ })
  t.doesNotThrow(() => new Host(5, { pathMtu: undefined }))
})

/** MigReq says that a queue pair is in the state Migrated, in which it is after connect (IBA 17.2.8). */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as cnp from '../../lib/wire/ib/cnp.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { connected, frameName, makePair, memoryOf, pattern } from './pair.js'

const BYTES = 20_000

/** WRITE and READ of BYTES with telemetry; `change` sees each frame. Returns the completions and the packets' names. */
function exchange(change: (frame: Frame) => void) {
  const cc = { name: 'hpcc', options: {} }
  const pair = makePair({ a: { cc }, b: { cc } })
  const seen = new Map<string, Set<boolean>>()
  pair.tap.watch = frame => {
    change(frame)
    const name = frameName(frame)
    const states = seen.get(name) ?? new Set()
    seen.set(name, states.add(bth.migrationRequest(frame.view, frame.bth)))
    return true
  }
  const { left, right } = connected(pair)
  const source = memoryOf(pair.a, pattern(1, BYTES))
  const target = memoryOf(pair.b, Buffer.alloc(BYTES))
  for (const [id, opcode] of [WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ].entries()) {
    left.connection!.postSend(pair.network.now, {
      id,
      opcode,
      region: source,
      offset: 0,
      length: BYTES,
      remoteAddress: target.address,
      rkey: target.key,
    })
  }
  pair.settle()
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  return { seen, log: left.log, closed: right.closed, bytes: target.buffer! }
}

t.test('every packet of both hosts says Migrated, the connection manager’s too', async t => {
  const { seen } = exchange(() => {})
  for (const name of [
    'REQ',
    'REP',
    'RTU',
    'DREQ',
    'DREP',
    'PROBE',
    'RC_ACKNOWLEDGE',
    'RC_RDMA_READ_REQUEST',
  ]) {
    t.ok(seen.has(name), `there is a ${name}: ${[...seen.keys()]}`)
  }
  for (const [name, states] of seen) t.same([...states], [true], name)
})

t.test('a peer that says the contrary, as Linux’s rxe does, is served as well', async t => {
  const { log, closed, bytes } = exchange(frame => {
    bth.setMigrationRequest(frame.view, frame.bth, false)
    icrc.write(frame)
  })
  t.same(log, ['created', 'established', 'completion 0 SUCCESS', 'completion 1 SUCCESS', 'closed'])
  t.equal(closed, 1)
  t.ok(bytes.equals(pattern(1, BYTES)))
})

t.test('a CNP has no queue pair’s state: its MigReq is 0 (IBA A17.9.3)', async t => {
  const view = new DataView(new ArrayBuffer(bth.BYTES + cnp.BYTES))
  cnp.write(view, 0, 0xffff, 210)
  t.notOk(bth.migrationRequest(view, 0))
})

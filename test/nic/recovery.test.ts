/**
 * How two NICs recover from losses: by selective repeat when both support it, otherwise by go-back-N as in
 * RoCEv2. The value of each is computed from virtual time.
 */
import t from 'tap'
import type { NicConfig } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as sack from '../../lib/wire/weir/sack.js'
import { testGoodput } from './goodput.js'
import { connected, makePair, memoryOf, type Pair, pattern } from './pair.js'

const SACK_AT = bth.BYTES + 4

function isData(opcode: number): boolean {
  return opcode <= Opcode.RC_RDMA_WRITE_ONLY_WITH_IMM
}

/** Writes `bytes` from one to the other; the tap's third data packet is lost. Returns what passed from then on. */
function lossyWrite(
  pair: Pair,
  bytes: Buffer,
): { passed: string[]; there: Buffer; left: ReturnType<typeof connected>['left'] } {
  const { left } = connected(pair)
  const source = memoryOf(pair.a, bytes)
  const target = memoryOf(pair.b, Buffer.alloc(bytes.length))
  const before = pair.tap.watch
  let packets = 0
  pair.tap.watch = (frame, now, fromA) => {
    before(frame, now, fromA)
    return !(fromA && isData(bth.opcode(frame.view, frame.bth)) && ++packets === 3)
  }
  pair.passed.length = 0
  left.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region: source,
    offset: 0,
    length: bytes.length,
    remoteAddress: target.address,
    rkey: target.key,
  })
  pair.until(() => left.log.includes('completion 1 SUCCESS'))
  return { passed: pair.passed, there: target.buffer!, left }
}

const OLD: Partial<NicConfig> = { recovery: 'goBackN' }
const MTU = 1024

t.test('both ends support it: only the lost packet is retransmitted', async t => {
  const pair = makePair({ a: { baseRttNs: 10_000 } })
  const bytes = pattern(1, 20 * MTU)
  const { passed, there, left } = lossyWrite(pair, bytes)
  t.ok(there.equals(bytes), 'exact')
  t.ok(passed.filter(name => name === '<SACK').length > 0, 'SACKs')
  t.equal(passed.filter(name => name.startsWith('>RC_RDMA_WRITE')).length, 21)
  const { stats } = left.connection!
  t.equal(stats.retransmittedBytes, MTU)
  t.equal(stats.sentBytes, 21 * MTU)
  t.equal(stats.ackedBytes, 20 * MTU, 'each byte is acknowledged once')
  t.equal(stats.timeouts, 0)
  t.equal(pair.pool.inUse, 0)
})

for (const [name, a, b] of [
  ['the passive one', {}, OLD],
  ['the active one', OLD, {}],
] as const) {
  t.test(`${name} does not: go-back-N, and no SACK`, async t => {
    const pair = makePair({ a: { baseRttNs: 10_000, ...a }, b })
    const bytes = pattern(1, 20 * MTU)
    const { passed, there, left } = lossyWrite(pair, bytes)
    t.ok(there.equals(bytes), 'exact')
    t.notOk(passed.some(packet => packet.includes('SACK')))
    t.ok(left.connection!.stats.retransmittedBytes > MTU, 'what came behind is sent again too')
  })
}

t.test('the echoed telemetry rides on SACKs as on ACKs, and their ICRC is right', async t => {
  const pair = makePair({ a: { baseRttNs: 10_000 } })
  let echoes = 0
  let wrong = 0
  const before = pair.tap.watch
  pair.tap.watch = (frame, now, fromA) => {
    if (bth.opcode(frame.view, frame.bth) === Opcode.SACK) {
      if (frame.shim >= 0) echoes++
      if (!icrc.verify(frame)) wrong++
      if (frame.payloadLength !== 0 || frame.payload !== frame.bth + SACK_AT + sack.BYTES) wrong++
    }
    return before(frame, now, fromA)
  }
  lossyWrite(pair, pattern(1, 20 * MTU))
  t.ok(echoes > 0)
  t.equal(wrong, 0)
})

testGoodput('WRITE')

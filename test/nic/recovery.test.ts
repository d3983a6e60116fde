/**
 * How two NICs recover from losses: selective repeat when both want it, go-back-N as in RoCEv2 otherwise. What each
 * is worth is computed from virtual time.
 */
import t from 'tap'
import type { NicConfig, Recovery } from '../../lib/nic/config.js'
import { Access } from '../../lib/qp/memory.js'
import { WorkOpcode } from '../../lib/qp/work.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/bth.js'
import * as icrc from '../../lib/wire/icrc.js'
import { Opcode } from '../../lib/wire/opcode.js'
import * as sack from '../../lib/wire/sack.js'
import { connected, makePair, memoryOf, type Pair, pattern, RATE_BPS } from './pair.js'

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

t.test('both ends want it: a lost packet is sent again, alone', async t => {
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

/** Goodput of WRITEs or READs of 1 MiB over 10 Gbit/s and a round trip of a millisecond, with that chance of loss each way. */
function goodputBps(opcode: WorkOpcode, recovery: Recovery, loss: number, seed: number): number {
  const rttNs = MILLISECOND
  const config: Partial<NicConfig> = {
    recovery,
    pathMtu: 4096,
    ackTimeoutNs: 10 * MILLISECOND,
    cc: { name: 'fixed-window', options: { window: (1.5 * RATE_BPS * rttNs) / 8e9 } },
    baseRttNs: rttNs,
    icrc: 'off',
  }
  const pair = makePair({ a: config, b: config, seed, delayNs: rttNs / 4, poolSize: 20_000, slotBytes: 512 })
  const { left } = connected(pair)
  const random = new Random(seed).fork('loss')
  pair.tap.watch = () => random.next() >= loss
  const bytes = 1 << 20
  const source = pair.a.memory.register(null, bytes, Access.LOCAL_WRITE)
  const target = pair.b.memory.register(null, bytes, Access.REMOTE_WRITE | Access.REMOTE_READ)
  let posted = 0
  let done = 0
  const post = (now: number) => {
    const work = { opcode, region: source, offset: 0, length: bytes }
    const remote = { remoteAddress: target.address, rkey: target.key }
    while (posted - done < 16 && left.connection!.postSend(now, { id: posted, ...work, ...remote })) posted++
  }
  left.onDone = now => {
    done++
    post(now)
  }
  const startNs = pair.network.now
  post(startNs)
  pair.kick()
  pair.network.runUntil(startNs + SECOND / 8)
  if (left.error !== null) throw left.error
  return (done * bytes * 8e9) / (pair.network.now - startNs)
}

for (const [name, opcode] of [
  ['WRITE', WorkOpcode.RDMA_WRITE],
  ['READ', WorkOpcode.RDMA_READ],
] as const) {
  t.test(`${name}, 1 % loss, 10 Gbit/s, 1 ms: selective repeat keeps 0.6 of the goodput`, async t => {
    const clean = goodputBps(opcode, 'selective', 0, 1)
    const selective = goodputBps(opcode, 'selective', 0.01, 1)
    const goBackN = goodputBps(opcode, 'goBackN', 0.01, 1)
    const share = (bps: number) => (bps / clean).toFixed(3)
    t.comment(
      `of ${(clean / 1e9).toFixed(2)} Gbit/s: selective ${share(selective)}, go-back-N ${share(goBackN)}`,
    )
    t.ok(clean > 0.9 * RATE_BPS, 'without loss the link is full')
    t.ok(selective >= 0.6 * clean, `selective repeat: ${share(selective)}`)
    t.ok(goBackN < selective, `go-back-N: ${share(goBackN)}`)
  })
}

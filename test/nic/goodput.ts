/** The value of selective repeat and go-back-N on a lossy link, in virtual time. */
import t from 'tap'
import type { NicConfig, Recovery } from '../../lib/nic/config.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { connected, makePair, RATE_BPS } from './pair.js'

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
  pair.network.runUntil(startNs + SECOND / 16)
  if (left.error !== null) throw left.error
  return (done * bytes * 8e9) / (pair.network.now - startNs)
}

/** Tests the goodput of WRITEs or READs with loss. */
export function testGoodput(name: 'WRITE' | 'READ'): void {
  const opcode = name === 'WRITE' ? WorkOpcode.RDMA_WRITE : WorkOpcode.RDMA_READ
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

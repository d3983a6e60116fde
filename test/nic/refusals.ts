/**
 * Connections with one refused request, over networks that lose, reorder and damage. SEED=n replays one seed.
 */
import t, { type Test } from 'tap'
import type { NicConfig, Recovery } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { type FaultRates, LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { fixedSeeds, isReplay } from '../support/seeds.js'
import { App, makePair, memoryOf, type Pair, PORT } from './pair.js'

export function post(
  pair: Pair,
  app: App,
  id: number,
  opcode: WorkOpcode,
  length = 100,
  rkey = 0xdead,
): void {
  const region = memoryOf(pair.a, Buffer.alloc(length))
  app.connection!.postSend(pair.network.now, {
    id,
    opcode,
    region,
    offset: 0,
    length,
    remoteAddress: 0x1000,
    rkey,
  })
}

export function clean(t: Test, pair: Pair): void {
  pair.settle()
  t.equal(pair.pool.inUse, 0, 'every frame was given back')
  t.equal(pair.a.table.count + pair.b.table.count, 0, 'no flow is left')
}

/** Results of completions, in order. */
export function completions(app: App): string[] {
  return app.log.filter(line => line.startsWith('completion'))
}

/**
 * Some good messages, one that is refused, and some after it, on several connections, one after the other.
 */
function refusals(t: Test, seed: number, rates: FaultRates, b: Partial<NicConfig>): LinkFaults[] {
  const random = new Random(seed)
  const faults = [0, 1].map(() => new LinkFaults(rates, () => random.next()))
  const pair = makePair({ seed, faults: { ab: faults[0]!, ba: faults[1]! }, a: { retryCount: 7 }, b })
  for (let round = 0; round < 10; round++) {
    const left = new App(pair.a)
    const right = new App(pair.b)
    const port = PORT + round
    pair.b.listen(port, { accept: () => right })
    pair.a.connect(pair.network.now, pair.b.address, port, left)
    t.ok(pair.until(() => left.log.includes('established')))
    const leavesAtOnce = random.next() < 0.5
    const before = random.below(8)
    const behind = random.below(8)
    right.onDone = (now, connection, { status }) => {
      if (leavesAtOnce && status !== 0) connection.disconnect(now)
    }
    for (let id = 0; id < before; id++) post(pair, left, id, WorkOpcode.SEND, 1 + random.below(5000))
    post(pair, left, before, WorkOpcode.RDMA_WRITE, 1 + random.below(5000))
    for (let id = 0; id < behind; id++) post(pair, left, before + 1 + id, WorkOpcode.SEND)
    t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
    const expected = Array.from({ length: before + 1 + behind }, (_, id) => {
      return `completion ${id} ${id < before ? 'SUCCESS' : id === before ? 'REM_ACCESS_ERR' : 'WR_FLUSH_ERR'}`
    })
    t.same(completions(left), expected, `connection ${round}`)
    t.match(left.error?.message, /REM_ACCESS_ERR/)
    t.equal(right.log.filter(line => line.startsWith('received')).length, before)
  }
  clean(t, pair)
  return faults
}

const WEATHERS: Record<string, FaultRates> = {
  fair: {},
  'loss 10 %': { loss: 0.1 },
  reordering: { reorder: 0.3, reorderNs: MILLISECOND },
  storm: { loss: 0.05, reorder: 0.2, reorderNs: 300_000, duplication: 0.1, corruption: 0.02 },
}

/** Tests what both ends learn of refusals over each bad network, by each of these seeds. */
export function testRefusals(seeds: readonly number[]): void {
  for (const recovery of ['selective', 'goBackN'] as Recovery[]) {
    for (const [weather, rates] of Object.entries(WEATHERS)) {
      for (const seed of fixedSeeds(seeds)) {
        t.test(`refused, ${recovery}, ${weather}, seed ${seed}`, async t => {
          const faults = refusals(t, seed, rates, { recovery })
          if (isReplay) return
          if (rates.loss) t.ok(faults[0]!.lost + faults[1]!.lost > 0, 'frames were lost')
          if (rates.reorder) t.ok(faults[0]!.reordered + faults[1]!.reordered > 0, 'frames were overtaken')
        })
      }
    }
  }
}

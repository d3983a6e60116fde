/**
 * CUBIC beside the kernel's TCP on one full queue, by a model of that TCP: the share of each, and the losses
 * of each.
 */
import t from 'tap'
import { jainIndex } from '../../lib/scenario/result/fairness.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { long, usual, variants } from '../support/long.js'
import { fixedSeeds } from '../support/seeds.js'
import { beside, type FlowOutcome, goodputBps, WEIR_PACKET_BYTES } from './beside.js'
import type { PathOptions } from './bottleneck.js'
import { cubicGoodputBps } from './cubic-model.js'
import { SEGMENT_BYTES } from './linux-tcp.js'

const SEEDS = fixedSeeds([1, 2, 3])
/** 100 Mbit/s and a queue of one bandwidth-delay product. */
const TEN_MS: PathOptions = {
  rateBps: 100e6,
  rttNs: 10 * MILLISECOND,
  bufferBytes: 125_000,
  jitterNs: 0.2 * MILLISECOND,
}
/** A modem: the queue holds 50 ms. */
const NARROW: PathOptions = {
  rateBps: 5e6,
  rttNs: 0.1 * MILLISECOND,
  bufferBytes: 32 * 1024,
  jitterNs: 0.2 * MILLISECOND,
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length

usual('the model of TCP fills a path', async t => {
  const [alone] = beside(TEN_MS, [{ kind: 'tcp', startNs: 0 }], 6, 1)
  t.ok(goodputBps(alone!) > 0.93 * TEN_MS.rateBps, `${goodputBps(alone!)} bit/s alone`)
})

long('two of the model share a path', async t => {
  const both = [0, 300].map(ms => ({ kind: 'tcp' as const, startNs: ms * MILLISECOND }))
  const shares = SEEDS.map(seed => {
    const [first, second] = beside(TEN_MS, both, 20, seed)
    return goodputBps(first!) / goodputBps(second!)
  })
  t.ok(mean(shares) > 0.5 && mean(shares) < 2, `${shares}`)
})

usual('the model of TCP has the response function of CUBIC where packets are lost at random', async t => {
  const loss = 0.002
  const path = { ...TEN_MS, rttNs: 20 * MILLISECOND, bufferBytes: 250_000, loss }
  const got = mean(
    SEEDS.map(seed => goodputBps(beside(path, [{ kind: 'tcp', startNs: 0 }], 40, seed)[0]!, 4)),
  )
  const random = new Random(1)
  const options = { loss, rttSeconds: 0.02, segmentBytes: SEGMENT_BYTES, linux: true }
  const wanted = cubicGoodputBps(options, 500, () => random.next())
  t.ok(Math.abs(got / wanted - 1) < 0.15, `${got} is about ${wanted} bit/s`)
})

t.test('100 Mbit/s, 10 ms: half to twice what TCP gets, whoever begins', async t => {
  const starts = [
    [0, 300],
    [300, 0],
  ] as const
  for (const [weirMs, tcpMs] of variants(starts, 1)) {
    const plans = [
      { kind: 'weir' as const, startNs: weirMs * MILLISECOND },
      { kind: 'tcp' as const, startNs: tcpMs * MILLISECOND },
    ]
    const shares = SEEDS.map(seed => {
      const [weir, tcp] = beside(TEN_MS, plans, 15, seed)
      return goodputBps(weir!, 1) / goodputBps(tcp!, 1)
    })
    t.comment(`${shares.map(share => share.toFixed(2))}`)
    t.ok(mean(shares) < 2 && mean(shares) > 0.5, `${shares} of TCP's`)
  }
})

usual('100 Mbit/s, 10 ms: two Weir hosts share it, however far apart they begin', async t => {
  for (const laterMs of [50, 300]) {
    const plans = [0, laterMs].map(ms => ({ kind: 'weir' as const, startNs: ms * MILLISECOND }))
    const fairness = SEEDS.map(seed => {
      const flows = beside(TEN_MS, plans, 15, seed)
      return jainIndex(flows.map(flow => goodputBps(flow, 1)))
    })
    t.comment(`${laterMs} ms: ${fairness.map(jain => jain.toFixed(3))}`)
    t.ok(mean(fairness) >= 0.95, `${fairness}, ${laterMs} ms apart`)
  }
})

usual('5 Mbit/s, 32 KiB: it fills the path, and loses no greater share of its packets than TCP', async t => {
  const alone = (kind: 'weir' | 'tcp') => beside(NARROW, [{ kind, startNs: 0 }], 15, 1)[0]!
  const [weir, tcp] = [alone('weir'), alone('tcp')]
  const dropShare = ({ bytes, droppedPackets }: FlowOutcome, packetBytes: number) =>
    droppedPackets / (bytes.at(-1)! / packetBytes + droppedPackets)
  t.ok(goodputBps(weir) > 0.92 * NARROW.rateBps, `${goodputBps(weir)} bit/s`)
  const shares = [dropShare(weir, WEIR_PACKET_BYTES), dropShare(tcp, SEGMENT_BYTES)] as const
  t.ok(shares[0] <= shares[1], `${shares}`)
  t.equal(weir.timeouts, 0)
})

/** A queue of 21 ms, behind which one of 50 of Weir's packets is late by up to 10 ms. */
const OVERTAKEN: PathOptions = {
  rateBps: 100e6,
  rttNs: 0.1 * MILLISECOND,
  bufferBytes: 256 * 1024,
  reorder: 0.02,
  reorderNs: 10 * MILLISECOND,
  reorderPorts: [0],
  jitterNs: 0.2 * MILLISECOND,
}

t.test('packets that are only overtaken do not cost Weir its share', async t => {
  const paths: PathOptions[] = [
    OVERTAKEN,
    { ...OVERTAKEN, rateBps: 500e6, bufferBytes: 1024 * 1024, reorder: 0.01 },
  ]
  for (const path of variants(paths, 1)) {
    const plans = (['weir', 'tcp'] as const).map(kind => ({ kind, startNs: 0 }))
    const shares = SEEDS.map(seed => {
      const [weir, tcp] = beside(path, plans, 10, seed)
      return goodputBps(weir!, 5) / goodputBps(tcp!, 5)
    })
    t.comment(`${path.rateBps / 1e6} Mbit/s: ${shares.map(share => share.toFixed(2))}`)
    t.ok(mean(shares) > 0.6 && mean(shares) < 2, `${shares} of TCP's`)
  }
})

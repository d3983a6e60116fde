/**
 * One operation model for every controller: whatever happens to a flow, in whatever order and with whatever
 * telemetry, its window and rate stay positive, finite and bounded, and the same events give the same results.
 *
 * SEED=n replays one seed.
 */
import t from 'tap'
import {
  ccIsReceiverBased,
  ccNames,
  ccOptions,
  createCongestionControl,
  createReceiverControl,
} from '../../lib/cc/catalogue.js'
import {
  type CongestionContext,
  type CongestionControl,
  type FairRate,
  FeedbackSource,
  type LossSample,
  UNKNOWN_NS,
} from '../../lib/cc/congestion-control.js'
import type { OptionSpec, OptionValues } from '../../lib/cc/options.js'
import { parseCcOptions } from '../../lib/cc/parse-options.js'
import { neededBeside } from '../../lib/options/idle.js'
import { textOf } from '../../lib/options/value.js'
import { Random } from '../../lib/sim/random.js'
import { fixedSeeds } from '../support/seeds.js'
import { boundsBeside } from './bounds-beside.js'
import { type Hop, lossOf, sampleOf } from './samples.js'

const STEPS = 1500
/** bit/s to 400 Gbit/s, 1 us to 200 ms. */
const CONTEXTS = [
  { lineRateBps: 100e9, baseRttNs: 8320, mtuBytes: 1000 },
  { lineRateBps: 400e9, baseRttNs: 1000, mtuBytes: 4096 },
  { lineRateBps: 10e6, baseRttNs: 200_000_000, mtuBytes: 256 },
  { lineRateBps: 1e9, baseRttNs: 1, mtuBytes: 1024 },
]

/** Mostly valid telemetry, sometimes nonsense, because no checksum covers shims. */
function hopOf(random: Random, now: number): Hop {
  const compact = random.below(2) === 1
  const tsModulusNs = compact ? 2 ** 24 : 2 ** 48
  const txModulusBytes = compact ? 2 ** 29 : 2 ** 48
  const wild = random.below(20) === 0
  return {
    rateBps: wild ? [0, 1000, 4.29e15][random.below(3)]! : 100e9,
    tsNs: (wild ? random.below(2 ** 32) * 2 ** 16 : now) % tsModulusNs,
    txBytes: (wild ? random.below(2 ** 32) * 2 ** 16 : now * random.below(13)) % txModulusBytes,
    qlenBytes: random.below(3) === 0 ? random.below(2 ** 32) : 0,
    tsModulusNs,
    txModulusBytes,
  }
}

function randomLoss(random: Random, sndNxt: number): LossSample {
  return lossOf({
    lostBytes: random.below(1e6),
    newestSeq: Math.max(0, sndNxt - 1 - random.below(10)),
    sndNxt,
    inFlightBytes: random.below(3) === 0 ? 0 : random.below(1e9),
    ackedBytes: random.below(1e6),
    byTimeout: random.below(2) === 0,
  })
}

function cnp(sndNxt: number) {
  const sample = sampleOf([], { seq: -1, sndNxt })
  sample.source = FeedbackSource.CNP
  return sample
}

/** A fair rate of one of several congestion points, sometimes nonsense: anybody may send one where there is no key. */
function fairRateOf(random: Random): FairRate {
  return {
    switchId: random.below(3),
    port: random.below(2),
    rateBps: [0, 1000, random.below(1e9) * 1000, 4.29e12][random.below(4)]!,
    intervalNs: [0, 1, 40_000, 4.2e9][random.below(4)]!,
  }
}

/** Plays a seed's events; returns every window and rate seen. */
function play(cc: CongestionControl, seed: number, check: (step: number, what: string) => void): number[] {
  const random = new Random(seed)
  const seen: number[] = []
  let now = random.below(1e9)
  let next = 0
  let una = 0
  for (let step = 0; step < STEPS; step++) {
    now += random.below(20) === 0 ? random.below(1e9) : random.below(20_000)
    const what = [
      'sent',
      'sent',
      'ack',
      'ack',
      'ack',
      'telemetry',
      'cnp',
      'loss',
      'timeout',
      'direct',
      'window',
      'fair rate',
    ][random.below(12)]!
    if (what === 'sent') cc.onSent?.(now, next++, 1 + random.below(4096))
    else if (what === 'cnp') cc.onCnp?.(now, cnp(next))
    else if (what === 'loss') cc.onLoss(now, randomLoss(random, next))
    else if (what === 'timeout') cc.onTimeout?.(now)
    else if (what === 'fair rate') cc.onFairRate?.(now, fairRateOf(random))
    else if (what === 'window')
      cc.onReceiverWindow?.(now, [0, random.below(1e6), 2 ** 48 - 1][random.below(3)]!)
    else {
      una = Math.min(next, una + random.below(4))
      const hops = Array.from({ length: random.below(4) === 0 ? random.below(17) : 2 }, () =>
        hopOf(random, Math.max(0, now - random.below(10_000))),
      )
      const sample = sampleOf(hops, {
        seq: Math.max(0, una - 1 - random.below(3)),
        sndNxt: next,
        rttNs: random.below(3) === 0 ? 0 : random.below(1e9),
        ackedBytes: random.below(1e6),
        advanced: random.below(2) === 0,
        inFlightBytes: random.below(1e9),
        ecnEcho: random.below(2) === 0,
        markedBytes: random.below(2) * random.below(2e6),
        probed: false,
        pathId: random.below(50) === 0 ? 2 : 1,
      })
      sample.hops.accumulated = random.below(4) === 0
      sample.hops.busiestOnly = random.below(20) === 0
      sample.turnaroundNs = random.below(3) === 0 ? UNKNOWN_NS : random.below(sample.rttNs + 1)
      if (sample.rttNs === 0) sample.sinceRepeatNs = random.below(2) * random.below(1e9)
      sample.hopCount = random.below(5)
      if (what === 'telemetry' && random.below(2) === 0) {
        sample.source = FeedbackSource.PROBE
        sample.sentNs = random.below(5) === 0 ? UNKNOWN_NS : Math.max(0, now - random.below(1e9))
      }
      if (what === 'ack') cc.onAck(now, sample)
      else if (what === 'direct') cc.onDirectResponse?.(now, sample)
      else cc.onTelemetry?.(now, sample)
    }
    check(step, what)
    seen.push(cc.windowBytes(), cc.rateBps())
  }
  return seen
}

const seeds = fixedSeeds([11, 12, 13])

/** Plays a seed's telemetry to the receiving part of a controller; returns every window seen. */
function playReceiver(receiver: ReturnType<typeof createReceiverControl>, seed: number): number[] {
  const random = new Random(seed)
  let now = 0
  return Array.from({ length: STEPS }, () => {
    now += random.below(20_000)
    const { hops } = sampleOf(Array.from({ length: random.below(5) }, () => hopOf(random, now)))
    if (random.below(5) === 0) receiver.onDirectResponse(now, hops)
    else receiver.onTelemetry(now, hops, random.below(100), random.below(2) === 0, random.below(3))
    return receiver.windowBytes()
  })
}

t.test('rx-hpcc at the receiver: its window stays bounded, whatever arrives', async t => {
  for (const [at, context] of CONTEXTS.entries()) {
    for (const seed of seeds) {
      const bdp = (context.lineRateBps * context.baseRttNs) / 8e9
      const windows = playReceiver(createReceiverControl('rx-hpcc', context), seed)
      const wrong = windows.findIndex(w => !(w > 0 && w <= bdp * (1 + 1e-9)))
      t.equal(wrong, -1, `SEED=${seed}, context ${at}: ${windows[wrong]}`)
    }
  }
})

for (const name of ccNames()) {
  for (const [at, context] of CONTEXTS.entries()) {
    t.test(`${name} in context ${at}`, async t => {
      const bdp = (context.lineRateBps * context.baseRttNs) / 8e9
      const windowMax = Number(ccOptions(name).find(({ name }) => name === 'maxWindow')?.default ?? bdp)
      for (const seed of seeds) {
        const cc = createCongestionControl(name, context)
        // One that begins at line rate with more, or without a window, has no more later.
        const most = Math.max(cc.windowBytes(), windowMax * (1 + 1e-9))
        let wrong = ''
        const seen = play(cc, seed, (step, what) => {
          const window = cc.windowBytes()
          const rate = cc.rateBps()
          const holds =
            window > 0 &&
            window <= most &&
            rate > 0 &&
            rate <= context.lineRateBps * (1 + 1e-9) &&
            !Number.isNaN(cc.nextTimeout?.())
          if (!holds) wrong ||= `step ${step}, ${what}: window ${window}, rate ${rate}`
        })
        t.equal(wrong, '', `SEED=${seed}`)
        t.same(
          play(createCongestionControl(name, context), seed, () => {}),
          seen,
          'the same again',
        )
      }
    })
  }
}

/** What is wrong after the events of a seed, in a few words. */
function faultOf(cc: CongestionControl, { lineRateBps }: CongestionContext, seed: number): string {
  let wrong = ''
  play(cc, seed, (step, what) => {
    const [window, rate] = [cc.windowBytes(), cc.rateBps()]
    const holds = window > 0 && rate > 0 && rate <= lineRateBps * (1 + 1e-9)
    if (!holds || Number.isNaN(cc.nextTimeout?.()))
      wrong ||= `step ${step}, ${what}: window ${window}, rate ${rate}`
  })
  return wrong
}

for (const name of ccNames()) {
  t.test(`${name} with each option at either end of its range`, async t => {
    const specs = ccOptions(name)
    for (const spec of specs)
      for (const value of spec.kind === 'flag' ? [0, 1] : [spec.min, spec.max])
        for (const careful of [false, true]) {
          const options = {
            ...neededBeside(specs, spec),
            ...boundsBeside(name, spec.name, value),
            [spec.name]: value,
          }
          const context = { ...CONTEXTS[0]!, careful }
          const cc = createCongestionControl(name, context, options)
          t.equal(faultOf(cc, context, seeds[0]!), '', `${JSON.stringify(options)}, careful ${careful}`)
        }
  })
}

/** Options of a controller as command lines have them: what the option needs beside it, without and with its default as it is shown. */
function aroundDefault(name: string, spec: OptionSpec): { usual: OptionValues; given: OptionValues } {
  const beside = Object.entries(neededBeside(ccOptions(name), spec)).map(
    ([other, value]) => `${other}=${value}`,
  )
  const shown = `${spec.name}=${textOf(spec, spec.default)}`
  return { usual: parseCcOptions(name, beside), given: parseCcOptions(name, [...beside, shown]) }
}

for (const name of ccNames()) {
  t.test(`${name}: each default that is shown is the value in force`, async t => {
    for (const spec of ccOptions(name).filter(one => (one.default ?? null) !== null)) {
      const { usual, given } = aroundDefault(name, spec)
      for (const careful of [false, true]) {
        const context = { ...CONTEXTS[0]!, careful }
        const windows = (options: OptionValues) =>
          play(createCongestionControl(name, context, options), seeds[0]!, () => {})
        t.same(windows(given), windows(usual), `${spec.name}, careful ${careful}`)
        if (!ccIsReceiverBased(name)) continue
        const received = (options: OptionValues) =>
          playReceiver(createReceiverControl(name, context, options), seeds[0]!)
        t.same(received(given), received(usual), `${spec.name} at the receiver`)
      }
    }
  })
}

/**
 * The reaction of HPCC++ and of a fixed window to losses that no telemetry explains: none in the drafts, a
 * bound by an option.
 */
import t from 'tap'
import { createCongestionControl } from '../../lib/cc/catalogue.js'
import type { CongestionControl } from '../../lib/cc/congestion-control.js'
import { lossOf, sampleOf } from './samples.js'

const MTU = 1000
const T = 1e6
/** 1 Gbit/s and 1 ms: W_init = 125,000 bytes. */
const CONTEXT = { lineRateBps: 1e9, baseRttNs: T, mtuBytes: MTU }
const W = 125_000

class Flow {
  readonly cc: CongestionControl
  #now = T
  #seq = 0
  #txBytes = 0

  constructor(
    name: string,
    options: Record<string, number | boolean> = { lossReaction: true },
    careful = false,
  ) {
    this.cc = createCongestionControl(name, { ...CONTEXT, careful }, options)
  }

  get windowBytes(): number {
    return this.cc.windowBytes()
  }

  /** A round trip on a link of that load, all in flight acknowledged. */
  round(load = 0.5, queueBytes = 0): void {
    this.#now += T
    this.#seq += Math.ceil(this.windowBytes / MTU)
    this.#txBytes += load * W
    const hop = { rateBps: 1e9, tsNs: this.#now, txBytes: this.#txBytes, qlenBytes: queueBytes }
    const numbers = { seq: this.#seq - 1, sndNxt: this.#seq, ackedBytes: this.windowBytes }
    this.cc.onAck(this.#now, sampleOf([hop], numbers))
  }

  lose(byTimeout = false): void {
    const numbers = { newestSeq: this.#seq - 1, sndNxt: this.#seq, inFlightBytes: this.windowBytes - MTU }
    this.cc.onLoss(this.#now, lossOf({ ...numbers, lostBytes: MTU, byTimeout }))
    this.#seq++
  }
}

const NAMES = ['hpcc', 'rx-hpcc', 'fixed-window']

t.test(
  'flows that begin at line rate do nothing about losses, as in the drafts; careful HPCC++ flows do',
  async t => {
    for (const name of NAMES) {
      for (const [careful, reacts] of [
        [false, false],
        [true, name !== 'fixed-window'],
      ] as const) {
        const flow = new Flow(name, {}, careful)
        flow.round()
        flow.round()
        const before = flow.windowBytes
        flow.lose(true)
        t.equal(flow.windowBytes < before, reacts, `${name}, ${careful ? 'careful' : 'line-rate'}`)
      }
      const told = new Flow(name, { lossReaction: false }, true)
      told.round()
      const before = told.windowBytes
      told.lose(true)
      t.equal(told.windowBytes, before, `${name}: as told`)
    }
  },
)

t.test('a loss leaves 0.7 of the window, once a round trip', async t => {
  for (const name of NAMES) {
    const flow = new Flow(name)
    flow.round()
    flow.round()
    const before = flow.windowBytes
    flow.lose()
    t.ok(Math.abs(flow.windowBytes - 0.7 * before) < 1, `${name}: ${before} to ${flow.windowBytes}`)
    const { cc } = flow
    const once = flow.windowBytes
    cc.onLoss(2 * T, lossOf({ newestSeq: 0, sndNxt: 1e6, inFlightBytes: once }))
    t.equal(flow.windowBytes, once, `${name}: of what was sent before`)
  }
})

t.test('no more is left than came through, however many reports it takes to say so', async t => {
  for (const name of NAMES) {
    const begin = () => {
      const flow = new Flow(name)
      flow.round()
      flow.round()
      return { cc: flow.cc, before: flow.windowBytes }
    }
    /** The newest of the lost packets is of the flight that the first report reduced. */
    const lose = (cc: CongestionControl, lostBytes: number, inFlightBytes: number, newestSeq = 1000) =>
      cc.onLoss(2 * T, lossOf({ newestSeq, sndNxt: 1100, lostBytes, inFlightBytes }))
    const { cc, before } = begin()
    lose(cc, 0.2 * before, 0.8 * before)
    t.ok(Math.abs(cc.windowBytes() - 0.7 * before) < 1, `${name}: 0.8 came through`)
    lose(cc, 0.3 * before, 0.5 * before, 1099)
    t.ok(Math.abs(cc.windowBytes() - 0.5 * before) < 1, `${name}: 0.5 came through`)
    lose(cc, 0.1 * before, 0.3 * before, 1099)
    t.ok(Math.abs(cc.windowBytes() - 0.4 * before) < 1, `${name}: 0.4 came through`)
    lose(cc, 0.4 * before, 0.1 * before, 1099)
    t.equal(cc.windowBytes(), 2 * MTU, `${name}: two packets at least`)
    const other = begin()
    lose(other.cc, other.before, 0)
    const left = other.cc.windowBytes()
    t.ok(Math.abs(left - 0.7 * other.before) < 1, `${name}: who goes back N does not know`)
  }
})

t.test('a loss on a link that the telemetry says is full is HPCC++’s own affair', async t => {
  const flow = new Flow('hpcc')
  for (let i = 0; i < 5; i++) flow.round(1, 50_000)
  const before = flow.windowBytes
  flow.lose()
  t.equal(flow.windowBytes, before)
  flow.lose(true)
  t.equal(flow.windowBytes, MTU, 'a timeout is not')
})

t.test(
  'a timeout leaves a packet; then the bound doubles to the threshold, and grows by a packet a round trip',
  async t => {
    for (const name of NAMES) {
      const flow = new Flow(name)
      flow.round()
      flow.round()
      const threshold = 0.7 * flow.windowBytes
      flow.lose(true)
      t.equal(flow.windowBytes, MTU, name)
      for (let window = 2 * MTU; window < threshold; window *= 2) {
        flow.round()
        t.equal(flow.windowBytes, window)
      }
      flow.round()
      const from = flow.windowBytes
      t.ok(from >= threshold)
      flow.round()
      t.ok(Math.abs(flow.windowBytes - from - MTU) < 1, `${name}: ${from} to ${flow.windowBytes}`)
      for (let i = 0; i < 200; i++) flow.round()
      t.ok(flow.windowBytes > 0.99 * W, `${name}: in the end nothing is left of it`)
    }
  },
)

t.test('its rate is bounded, too', async t => {
  for (const name of ['hpcc', 'rx-hpcc']) {
    const flow = new Flow(name)
    flow.round()
    flow.lose(true)
    t.equal(Math.round(flow.cc.rateBps()), (MTU * 8e9) / T, name)
  }
})

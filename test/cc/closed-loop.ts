/**
 * One controller in a closed loop: two senders, one switch with a queue, one receiver, as whole hosts in virtual time. For a while a
 * flood shares the queue, and feedback is lost, late, reordered, repeated and forged. Then all that ends, and the two have the link.
 *
 * The feedback is whatever the controller has agreed on with its peer: nothing here is of one controller.
 */
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { valueAt } from '../../lib/scenario/result/series.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import type { Pipe } from '../../lib/sim/pipe.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as cnp from '../../lib/wire/ib/cnp.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as rate from '../../lib/wire/weir/rate.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

export const RATE_BPS = 1e9
/** When the flood and the faults begin and end. */
export const FLOOD_NS: readonly [Nanos, Nanos] = [20 * MILLISECOND, 60 * MILLISECOND]
const EVERY_NS: Nanos = MILLISECOND

/** The network of a run. */
export interface LoopPlan {
  controller: string
  seed: number
  start: 'careful' | 'line-rate'
  /** Shares of the frames on the way back. */
  loss: number
  late: number
  lateNs: Nanos
  repeated: number
  forged: number
  /** Bytes that may wait at the bottleneck. */
  bufferBytes: number
  /** When the run ends. */
  endNs: Nanos
}

/** Draws the rest of a plan. */
export function loopPlan(controller: string, seed: number, endNs: Nanos): LoopPlan {
  const random = new Random(seed).fork('plan')
  return {
    controller,
    seed,
    start: random.below(2) === 0 ? 'careful' : 'line-rate',
    loss: 0.3 * random.next(),
    late: 0.5 * random.next(),
    lateNs: [10_000, 200_000, 2 * MILLISECOND][random.below(3)]!,
    repeated: 0.2 * random.next(),
    forged: 0.2 * random.next(),
    bufferBytes: [50_000, 200_000, 1_000_000][random.below(3)]!,
    endNs,
  }
}

/** What came of a run: payload bits per second of the link, and of each flow. */
export interface LoopOutcome {
  result: RunResult
  /** Faults that feedback has met. */
  faults: number
  /** Payload that each flow moved between two times, bytes. */
  moved(fromNs: Nanos, toNs: Nanos): number[]
}

export function runLoop(plan: LoopPlan): LoopOutcome {
  const faults = new FeedbackFaults(plan)
  const run = new VirtualRun(parseScenario(scenarioOf(plan), 'closed-loop.yaml'), {
    seed: plan.seed,
    faults: (from, to) => (from === 'sink' && to === 's1' ? faults : null),
  })
  const result = run.run()
  const moved = (fromNs: Nanos, toNs: Nanos) =>
    ['f0', 'f1'].map(name => {
      const acked = result.series[`acked/${name}`]!
      return valueAt(acked, toNs) - valueAt(acked, fromNs)
    })
  return { result, faults: faults.total, moved }
}

function scenarioOf({ controller, start, bufferBytes, endNs }: LoopPlan): string {
  const [from, to] = FLOOD_NS
  const floodBytes = (RATE_BPS * (to - from)) / 8e9
  return `
link: { rate: 1Gbps, delay: 10us }
hosts: [h0, h1, flood, sink]
switches: { s1: { queueBytesMax: ${bufferBytes}B, ecn: { kmin: 10KB, kmax: 40KB, pmax: 0.2 } } }
links: [h0--s1, h1--s1, { ends: flood--s1, rate: 10Gbps }, s1--sink]
cc: ${controller}
transport: { pathMtu: 1024, ackEvery: 4, start: ${start} }
traffic:
  - { name: f0, from: h0, to: sink, size: 1GB }
  - { name: f1, from: h1, to: sink, size: 1GB, start: 1ms }
  - { name: flood, from: flood, to: sink, size: ${floodBytes}B, start: ${from}ns, cc: { name: fixed-window, window: 100KB } }
watch: { queues: [s1:sink], every: ${EVERY_NS}ns }
duration: ${endNs}ns
`
}

/** What feedback meets while the flood lasts. Times count from the first frame. */
class FeedbackFaults extends LinkFaults {
  #forged = 0
  #beganNs = -1
  readonly #plan: LoopPlan
  readonly #random: Random

  constructor(plan: LoopPlan) {
    const random = new Random(plan.seed).fork('faults')
    const { loss, repeated: duplication, late: reorder, lateNs: reorderNs } = plan
    super({ loss, duplication, reorder, reorderNs }, () => random.next())
    this.#plan = plan
    this.#random = new Random(plan.seed).fork('forged')
  }

  get total(): number {
    return this.lost + this.duplicated + this.reordered + this.#forged
  }

  override apply(frame: Frame, arrivalNs: Nanos, pipe: Pipe, pool: FramePool): void {
    if (this.#beganNs < 0) this.#beganNs = arrivalNs
    const [from, to] = FLOOD_NS
    const atNs = arrivalNs - this.#beganNs
    if (atNs < from || atNs >= to) {
      pipe.push(frame, arrivalNs)
      return
    }
    if (this.#random.next() < this.#plan.forged) this.#forge(frame, arrivalNs, pipe, pool)
    super.apply(frame, arrivalNs, pipe, pool)
  }

  /** Feedback that nobody has sent: a CNP, or what has just passed with other telemetry or another window. */
  #forge(frame: Frame, arrivalNs: Nanos, pipe: Pipe, pool: FramePool): void {
    if (frame.bth < 0) return
    const copy = pool.take()
    if (copy === null) return
    copy.copyFrom(frame)
    const { view, bth: at } = copy
    if (copy.shim >= 0 && this.#random.below(2) === 0) this.#scribble(copy, copy.shim + 8, at)
    else if (bth.opcode(view, at) === Opcode.RATE)
      this.#scribble(copy, copy.payload - rate.BYTES, copy.payload)
    else {
      cnp.write(view, at, bth.partitionKey(view, at), bth.destQpn(view, at))
      copy.payloadLength = 0
    }
    this.#forged++
    pipe.push(copy, arrivalNs)
  }

  #scribble({ view }: Frame, from: number, to: number): void {
    if (to <= from) return
    for (let i = 0; i < 3; i++) view.setUint8(from + this.#random.below(to - from), this.#random.below(256))
  }
}

/** HPCC++, sender-based (draft-miao-rtgwg-hpccplus, section 4, lines 21-27 of the listing). */
import type { Nanos } from '../../time/nanos.js'
import type { AckSample, CongestionContext, CongestionControl, LossSample } from '../congestion-control.js'
import { LossCap, lossOptions } from '../loss-cap.js'
import type { OptionSpec, OptionValues } from '../options.js'
import { DirectCap } from './direct-cap.js'
import { HpccCore } from './hpcc-core.js'
import { HPCC_CONSTANTS, hpccOptions } from './hpcc-options.js'
import { LAST_HOPS, type LastHop, lastHopOptions } from './last-hop.js'

export const HPCC_OPTIONS: readonly OptionSpec[] = [
  ...hpccOptions(false),
  ...lastHopOptions(false),
  ...lossOptions(null),
]

/** A controller that is HPCC++ with other options, or other defaults. */
interface HpccVariant {
  name: string
  /** Those of HPCC++ among them. */
  options: readonly OptionSpec[]
}

const HPCC: HpccVariant = { name: 'hpcc', options: HPCC_OPTIONS }

/** Round trips from one update by probes to the next, and the W_ai of so many are added: every second probe measures the new window. */
const PROBE_ROUNDS = 2

/** The controller of one flow. */
export class Hpcc implements CongestionControl {
  readonly name: string
  readonly observed = ['windowBytes', 'referenceWindowBytes', 'utilization', 'rateBps', 'incStage'] as const
  readonly #core: HpccCore
  readonly #cap: LossCap
  readonly #direct = new DirectCap()
  readonly #lastHop: LastHop
  #lastUpdateSeq = -1
  /** The packet whose telemetry came last. */
  #lastSeq = -1

  constructor(context: CongestionContext, options: OptionValues = {}, variant: HpccVariant = HPCC) {
    const { name, options: specs } = variant
    const constants = HPCC_CONSTANTS.of(name, specs, options)
    this.name = name
    this.#core = new HpccCore(context, constants)
    this.#lastHop = LAST_HOPS.of(name, specs, options)
    this.#cap = new LossCap(name, specs, context, options)
  }

  /** Lines 21-27. */
  onAck(now: Nanos, sample: AckSample): void {
    this.#cap.onAck(sample, this.#core.windowBytes, this.#core.wInit)
    if (sample.rttNs > 0) this.#core.onRoundTrip(now, sample.rttNs)
    this.#onPackets(now, sample, sample.hops.accumulated)
  }

  /** @param several the telemetry is of all packets since the last echo, not of that packet alone */
  #onPackets(now: Nanos, sample: AckSample, several: boolean): void {
    if (sample.hops.count === 0) return
    if (this.#core.measureInflight(now, sample.hops)) {
      this.#core.onFlows(sample.hops.flows)
      this.#lastHop.updateReference(this.#core, sample.hops)
      this.#newAck(several ? this.#firstMeasured(sample) : sample.seq, sample.sndNxt)
    } else if (this.#lastUpdateSeq < 0) {
      this.#lastUpdateSeq = sample.sndNxt
    }
    this.#lastSeq = Math.max(this.#lastSeq, sample.seq)
  }

  /**
   * Lines 22-26. In the listing ack.seq is the next byte expected: it exceeds lastUpdateSeq when that packet has arrived.
   *
   * Where an answer stands for several packets, `measuredSeq` is the first of them. W_c is updated when all of them were sent with the
   * new W_c: otherwise a window would be multiplied by eta / U of the one before it.
   */
  #newAck(measuredSeq: number, sndNxt: number): void {
    const sentWith = this.#direct.onMeasured(measuredSeq)
    if (sentWith < this.#core.referenceWindowBytes) this.#core.setReferenceWindow(sentWith)
    const updateWc = measuredSeq >= this.#lastUpdateSeq
    this.#core.computeWindow(updateWc)
    if (updateWc) this.#lastUpdateSeq = sndNxt
  }

  /**
   * Telemetry of a probe: it measures all packets since the one before it. W follows where all of these were sent with W_c. Others
   * would show a congestion that the flow has reacted to already, or, while a queue drains, a link less full than it was
   * with the old W_c: windows would rise, those most that were reduced first.
   */
  #onProbe(now: Nanos, sample: AckSample): void {
    if (sample.hops.count === 0) return
    if (this.#core.measureInflight(now, sample.hops, true)) {
      this.#core.onFlows(sample.hops.flows)
      const measuredSeq = this.#firstMeasured(sample)
      this.#direct.onProbed(measuredSeq)
      if (measuredSeq >= this.#lastUpdateSeq) {
        this.#lastHop.updateReference(this.#core, sample.hops)
        this.#core.computeWindow(true, PROBE_ROUNDS)
        this.#lastUpdateSeq = sample.sndNxt
      }
    }
    this.#lastSeq = Math.max(this.#lastSeq, sample.seq)
  }

  #firstMeasured(sample: AckSample): number {
    return Math.min(sample.seq, this.#lastSeq + 1)
  }

  /** Goes on from where another controller was; the first packet sent from now on shows what its window does. */
  takeOver(_now: Nanos, windowBytes: number, sndNxt: number): void {
    this.#core.takeOver(windowBytes)
    this.#direct.forget()
    this.#lastUpdateSeq = sndNxt
  }

  onTelemetry(now: Nanos, sample: AckSample): void {
    this.#cap.onAck(sample, this.#core.windowBytes, this.#core.wInit)
    if (sample.rttNs > 0) this.#core.onRoundTrip(now, sample.rttNs)
    if (sample.probed) this.#onProbe(now, sample)
    // Without a round trip it is the answer to a probe of a flow that had stalled.
    else this.#onPackets(now, sample, sample.hops.accumulated || sample.rttNs === 0)
  }

  /** The packet's number shows whether its own telemetry has come already (draft-01, section 6.3). Then the response says nothing new. */
  onDirectResponse(_now: Nanos, sample: AckSample): void {
    if (sample.seq <= this.#lastSeq) return
    const sentWith = this.#direct.windowOf(sample.seq, this.#core.referenceWindowBytes)
    this.#direct.onResponse(sample.seq, sample.sndNxt, this.#core.congestedWindow(sample.hops, sentWith))
  }

  onPathChange(): void {
    this.#core.restart()
    this.#cap.forget()
    this.#direct.forget()
    this.#lastUpdateSeq = -1
    this.#lastSeq = -1
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#direct.onBaseRtt(this.#core.t, baseRttNs)
    this.#core.onBaseRtt(baseRttNs)
  }

  windowBytes(): number {
    return Math.min(this.#core.windowBytes, this.#direct.bytes, this.#cap.bytes)
  }

  rateBps(): number {
    const capBytes = Math.min(this.#direct.bytes, this.#cap.bytes)
    return Math.min(this.#core.rateBps, (capBytes * 8e9) / this.#core.t)
  }

  /** The drafts have no rule for losses: the telemetry of packets that got through shows how long the queue is. */
  onLoss(_now: Nanos, loss: LossSample): void {
    this.#cap.onLoss(loss, this.#core.windowBytes, this.#core.isFull)
  }

  observe(into: Float64Array): void {
    const core = this.#core
    into[0] = Math.min(core.windowBytes, this.#direct.bytes)
    into[1] = core.referenceWindowBytes
    into[2] = core.utilization
    into[3] = Math.min(core.rateBps, (this.#direct.bytes * 8e9) / core.t)
    into[4] = core.incStage
  }
}

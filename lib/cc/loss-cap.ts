/**
 * A bound on a window that telemetry alone decides, for paths that lose packets nevertheless: because a bottleneck behind
 * switches with telemetry writes none, or because other traffic fills buffers. It moves as Reno's window does (RFC 5681,
 * section 3.1): reduced at most once a round trip by losses that telemetry does not explain, to a packet by a timeout;
 * from there it doubles up to the threshold in each round trip, and then grows by a packet in each. A reduction leaves `lossBeta` of what
 * was in flight, and no more than came through: at the end of a start, half of it may have been lost, and 0.7 of it is still too much.
 */
import type { AckSample, CongestionContext, LossSample } from './congestion-control.js'
import { ByOptions, type OptionSpec, type OptionValues, optionFlag, optionNumber } from './options.js'

/** @param standard the default; null: as the flow begins, of controllers by telemetry */
export function lossOptions(standard: boolean | null): readonly OptionSpec[] {
  const doc =
    standard === null
      ? 'losses that telemetry does not explain, and timeouts, bound the window; by default in flows that begin carefully; not in the drafts'
      : 'losses and timeouts bound the window'
  return [
    {
      name: 'lossReaction',
      kind: 'flag',
      default: standard,
      doc,
    },
    {
      name: 'lossBeta',
      kind: 'number',
      min: 0.1,
      max: 0.95,
      default: 0.7,
      doc: 'share of the window that is left after a loss, if as much came through (as CUBIC: RFC 9438, section 4.6)',
      idle: [{ while: { lossReaction: false } }],
    },
  ]
}

/** The least bound after a loss, and that after a timeout, in packets. */
const LEAST_PACKETS = 2
const LOSS_WINDOW_PACKETS = 1

interface LossConstants {
  /** Null: as the flow begins. */
  isOn: boolean | null
  beta: number
}

const CONSTANTS = new ByOptions<LossConstants>((controller, specs, options) => {
  const isTold = options.lossReaction !== undefined
  const standard = specs.find(({ name }) => name === 'lossReaction')!.default
  const flag = optionFlag(controller, specs, options, 'lossReaction')
  return {
    isOn: isTold || standard !== null ? flag : null,
    beta: optionNumber(controller, specs, options, 'lossBeta'),
  }
})

export class LossCap {
  readonly #on: boolean
  readonly #beta: number
  readonly #mtu: number
  #cap = Number.POSITIVE_INFINITY
  /** What was in flight, or allowed, at the last loss. */
  #lostAtBytes = 0
  /** What of it has not been lost, as far as is known. */
  #cameThroughBytes = 0
  /** Up to here the bound doubles in a round trip. */
  #threshold = 0
  /** The first transmission after the last reduction. */
  #reducedSeq = 0

  /** @param controller its name, for messages; @param specs its options, with `lossOptions` */
  constructor(
    controller: string,
    specs: readonly OptionSpec[],
    context: CongestionContext,
    options: OptionValues,
  ) {
    const { isOn, beta } = CONSTANTS.of(controller, specs, options)
    this.#on = isOn ?? context.careful === true
    this.#beta = beta
    this.#mtu = context.mtuBytes
  }

  /** Infinite: no bound. */
  get bytes(): number {
    return this.#cap
  }

  /** A flow of whose path nothing is known begins with so many bytes, which double in each round trip until something is lost. */
  begin(bytes: number): void {
    this.#cap = bytes
    this.#threshold = Number.POSITIVE_INFINITY
  }

  /** The bound doubles in each round trip. */
  get doubles(): boolean {
    return this.#cap < this.#threshold
  }

  /** Something else than a loss has shown congestion: from now on the bound grows by a packet in each round trip. */
  endDoubling(): void {
    this.#threshold = Math.min(this.#threshold, this.#cap)
  }

  /**
   * @param windowBytes that the controller allows by itself
   * @param explained the telemetry shows a link that is full: the controller has reacted to that
   */
  onLoss(loss: LossSample, windowBytes: number, explained: boolean): void {
    if (!this.#on || (explained && !loss.byTimeout)) return
    if (loss.newestSeq >= this.#reducedSeq) this.#reduce(loss, windowBytes)
    // Who goes back N takes everything in flight for lost, and does not know what came through.
    if (loss.inFlightBytes > 0 && !loss.byTimeout) this.#leaveOut(loss.lostBytes)
  }

  #reduce(loss: LossSample, windowBytes: number): void {
    const before = loss.inFlightBytes + loss.lostBytes + loss.ackedBytes
    const used = Math.min(this.#cap, windowBytes, Math.max(before, this.#mtu))
    this.#lostAtBytes = used
    this.#cameThroughBytes = Math.max(before, used)
    this.#threshold = Math.max(LEAST_PACKETS * this.#mtu, this.#beta * used)
    this.#cap = loss.byTimeout ? LOSS_WINDOW_PACKETS * this.#mtu : this.#threshold
    this.#reducedSeq = loss.sndNxt
  }

  /** These bytes of the flight that led to the last reduction were lost. */
  #leaveOut(lostBytes: number): void {
    this.#cameThroughBytes -= lostBytes
    const most = Math.max(LEAST_PACKETS * this.#mtu, this.#cameThroughBytes)
    this.#threshold = Math.min(this.#threshold, most)
    this.#cap = Math.min(this.#cap, most)
  }

  /**
   * @param windowBytes that the controller allows by itself
   * @param mostBytes that it ever needs: a bound of as much, and of as much as was in flight at the last loss, goes away
   */
  onAck({ ackedBytes, inFlightBytes }: AckSample, windowBytes: number, mostBytes: number): void {
    // A bound that does not bind must not grow: nothing has shown that the path carries more. A flow uses it that has half of it in flight.
    if (this.#cap === Number.POSITIVE_INFINITY || windowBytes < this.#cap) return
    if (2 * (inFlightBytes + ackedBytes) < this.#cap) return
    if (this.#cap < this.#threshold) this.#cap = Math.min(this.#threshold, this.#cap + ackedBytes)
    else this.#cap += (this.#mtu * Math.min(ackedBytes, this.#cap)) / this.#cap
    if (this.#cap >= Math.max(mostBytes, this.#lostAtBytes)) this.#cap = Number.POSITIVE_INFINITY
  }

  /** Nothing is known of the flow's new path. */
  forget(): void {
    this.#cap = Number.POSITIVE_INFINITY
  }
}

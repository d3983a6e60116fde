import { PathLoad } from '../../cc/hpcc/path-load.js'
import { PATHS_MAX } from '../../cc/path-settings.js'
import type { PreparedHeaders } from '../../frame/prepared-headers.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import type { ConnectionStats } from '../types.js'
import { FlowPlausibility, type ImplausibleCounter } from './flow-plausibility.js'

/** A round is over when its answers take so many times the last round trip, or T if that is longer. */
const TIMEOUT_ROUND_TRIPS = 4
/** Rounds by number: the high 20 bits of a probe's sequence number. */
const ROUNDS = 1 << 20
/** A path that has left so many probes in a row unanswered carries nothing. */
const DEAD_AFTER = 3

/** One entropy of a connection, and what is known of the path that networks give it. */
export class ProbedPath {
  readonly sourcePort: number
  /** Ethernet, IP and UDP headers of its probes. */
  readonly headers: PreparedHeaders
  readonly load = new PathLoad()
  readonly plausibility: FlowPlausibility
  /** It answered the last probe that was sent. */
  answered = false
  /** Its last answer had no telemetry: no switch on it writes any. */
  tellsNothing = false
  /** Probes in a row that it has not answered. */
  missed = 0

  constructor(sourcePort: number, headers: PreparedHeaders, stats: ConnectionStats, loadMax: number) {
    this.sourcePort = sourcePort
    this.headers = headers
    this.plausibility = new FlowPlausibility(stats, loadMax)
  }

  /** True if U is known, and as of the last round. */
  get isMeasured(): boolean {
    return this.answered && this.load.known
  }

  get isDead(): boolean {
    return this.missed >= DEAD_AFTER
  }
}

/**
 * The probes of a connection's paths, in rounds of one probe a path, one round at a time. It says when a round is
 * over; when the next one begins is up to PathSelector.
 */
export class PathProbes {
  readonly paths: ProbedPath[]
  /** When the last round began, and how many have. */
  startedNs: Nanos = Number.NEGATIVE_INFINITY
  rounds = 0
  /** Rate at which the flow itself sent between the beginnings of the last two rounds, bit/s on the wire. */
  ownBps = 0
  readonly #stats: ConnectionStats
  #ownBytes = 0
  /** Bit p: path p's probe has still to be sent; bit p of `#awaited`: it has been sent, and its answer is awaited. */
  #toSend = 0
  #awaited = 0
  #roundTripNs: Nanos = 0
  #sentNs: Nanos = 0

  /** @param paths 1 to PATHS_MAX */
  constructor(paths: ProbedPath[], stats: ConnectionStats) {
    this.paths = paths
    this.#stats = stats
  }

  /** A round is under way. */
  get active(): boolean {
    return (this.#toSend | this.#awaited) !== 0
  }

  get wantsToSend(): boolean {
    return this.#toSend !== 0
  }

  /** @param sentBytes bytes on the wire that the flow has sent so far */
  begin(now: Nanos, sentBytes: number): void {
    this.ownBps = ((sentBytes - this.#ownBytes) * 8e9) / (now - this.startedNs)
    this.#ownBytes = sentBytes
    this.startedNs = now
    this.rounds++
    this.#toSend = 2 ** this.paths.length - 1
    this.#awaited = 0
    for (const path of this.paths) path.answered = false
  }

  /** The path whose probe is next to be sent; there is one if `wantsToSend`. */
  get nextPath(): number {
    return 31 - Math.clz32(this.#toSend & -this.#toSend)
  }

  /** Sequence number of a path's probe in this round, 24 bits. */
  sequenceOf(path: number): number {
    return (this.rounds % ROUNDS) * PATHS_MAX + path
  }

  onSent(now: Nanos, path: number, wireBytes: number): void {
    this.#toSend &= ~(1 << path)
    this.#awaited |= 1 << path
    this.#sentNs = now
    this.#stats.pathProbes++
    this.#stats.pathProbeBytes += wireBytes
  }

  /** An answer has come. @param tNs T; @param totals of the host, of what is not believed. */
  onAnswer(now: Nanos, sequence: number, hops: HopRecords, tNs: Nanos, totals: ImplausibleCounter): void {
    const index = sequence % PATHS_MAX
    const path = this.paths[index]
    if (path === undefined || (this.#awaited & (1 << index)) === 0 || sequence !== this.sequenceOf(index))
      return
    this.#awaited &= ~(1 << index)
    this.#roundTripNs = Math.max(tNs, now - this.startedNs)
    path.missed = 0
    path.tellsNothing = hops.count === 0
    if (hops.count === 0 || !path.plausibility.believes(now, hops, false, totals)) return
    path.answered = true
    path.load.measure(now, hops, tNs)
  }

  /** When the round is over, whatever has come by then. @param tNs T */
  deadlineNs(tNs: Nanos): Nanos {
    if (this.#toSend !== 0 || this.#awaited === 0) return NEVER
    return this.#sentNs + TIMEOUT_ROUND_TRIPS * Math.max(tNs, this.#roundTripNs)
  }

  /** Gives up what has not been answered. */
  end(): void {
    for (let i = 0; i < this.paths.length; i++) if (this.#awaited & (1 << i)) this.paths[i]!.missed++
    this.#toSend = 0
    this.#awaited = 0
  }
}

/**
 * Decides, before any controller sees it, whether a switch can have written telemetry. Who forges feedback, the
 * receiver included, can say no more than a switch could have said (draft-miao-rtgwg-hpccplus, security
 * considerations, on misleading feedback). Compared with what was last believed of the same path,
 * - hops, links and their rates do not change, except the rate in the receiving host's own record, which that host
 *   measures;
 * - stamps go forwards, by no more than this host's clock has, plus a second that packets may have been in flight;
 * - a link sends no more than its rate allows between two stamps.
 * And the ids of all hops, where telemetry has them, make up the path id.
 *
 * Another path is believed when a second telemetry in a row confirms it. Telemetry that contradicts what is known for
 * longer than T, without any in between that fits, is believed too: then what was known is wrong (a damaged stamp, a
 * switch that was restarted).
 */
import type { Nanos } from '../time/nanos.js'
import {
  AT_PORT,
  AT_RATE,
  AT_SWITCH,
  AT_TS,
  AT_TS_MODULUS,
  AT_TX_BYTES,
  AT_TX_MODULUS,
  HOST_ID,
  type HopRecords,
} from '../wire/telemetry/hop-records.js'
import { rateBoundBps } from '../wire/telemetry/int-units.js'
import {
  KEPT_LINK,
  KEPT_NS,
  KEPT_RATE,
  KEPT_TS,
  KEPT_TS_MODULUS,
  KEPT_TX_BYTES,
  KeptHops,
  linkOf,
  ROW,
} from '../wire/telemetry/kept-hops.js'

/** Why telemetry is not believed; places in `counts`. */
const Doubt = {
  NONE: 0,
  /** A stamp before one that is known. */
  BACKWARDS: 1,
  /** A stamp further ahead than the time since the last one allows. */
  AHEAD: 2,
  /** More bytes sent than the link's rate allows. */
  TX_BYTES: 3,
  /** A link with another rate, or another link, on the same path. */
  LINK: 4,
  /** More or fewer hops on the same path. */
  HOPS: 5,
  /** The hops do not make up the path id, or no second telemetry confirmed another path. */
  PATH: 6,
} as const
type Doubt = (typeof Doubt)[keyof typeof Doubt]

export const DOUBT_NAMES = ['none', 'backwards', 'ahead', 'txBytes', 'link', 'hops', 'path'] as const

/** Longest time that a packet may take from a stamp to this host. */
const UNDER_WAY_MAX_NS = 1e9
/** Clocks of switches and hosts may differ by a thousandth, and so may a link's rate. */
const TOLERANCE = 1.001
/**
 * Bytes that the rounding of compact records may add between two of them: one unit of sent bytes (4,096), and what a
 * link of 800 Gbit/s sends in one unit of the stamp.
 */
const ROUNDING_BYTES = 4200
/** Bytes that a host's loop may take in at once, before it measures its rate again. */
const HOST_BURST_BYTES = 1e6
/** Stamps of wide records wrap here; those of compact ones sooner. */
const TWO_48 = 0x1_0000_0000_0000

/** The check of one path's telemetry. */
export class PlausibilityCheck {
  /** Telemetry that was not believed, by `Doubt`. */
  readonly counts = new Float64Array(DOUBT_NAMES.length)
  #implausible = 0
  /** What was believed last: one row a hop or, if telemetry names only busiest hops, a table of links. */
  readonly #last = new KeptHops()
  /**
   * What was last not believed, since when nothing has been believed, and how many telemetries of another path
   * wait for confirmation.
   */
  #doubted: KeptHops | null = null
  #doubtedSinceNs: Nanos = Number.POSITIVE_INFINITY
  #unconfirmed = 0
  /** The flow has just taken another path. */
  #pathChanged = false
  readonly #loadMax: number

  /**
   * @param loadMax greatest load that a link may report, as a multiple of its rate: 1, or more where switches report
   * guaranteed shares
   */
  constructor(loadMax = 1) {
    this.#loadMax = loadMax * TOLERANCE
  }

  /**
   * The flow takes another path: as with a path change that the flow did not make, the first telemetry waits for a
   * second one.
   */
  onPathChange(): void {
    this.#pathChanged = this.#last.count > 0
    this.#doubtedSinceNs = Number.POSITIVE_INFINITY
  }

  /** How much telemetry was not believed, whatever the doubt. */
  get implausible(): number {
    return this.#implausible
  }

  #count(doubt: Doubt, times: number): void {
    this.counts[doubt]! += times
    this.#implausible += times
  }

  /** False if the telemetry is to be ignored. @param tNs T of the flow */
  check(now: Nanos, hops: HopRecords, tNs: Nanos): boolean {
    if (hops.count === 0) return true
    if (!isPathOfHops(hops)) {
      this.#count(Doubt.PATH, 1)
      return false
    }
    const last = this.#last
    if (last.count === 0 || last.busiestOnly !== hops.busiestOnly) return this.#believe(now, hops, true)
    if (this.#pathChanged || last.pathId !== hops.pathId) return this.#onOtherPath(now, hops)
    const doubt = this.#compare(now, hops, last)
    if (doubt === Doubt.NONE) return this.#believe(now, hops, false)
    return this.#doubt(now, hops, tNs, doubt)
  }

  /** A switch's direct response, whose hops end at that switch: compared with what is known, and not remembered. */
  checkDirect(hops: HopRecords): boolean {
    let doubt: Doubt = isPathOfHops(hops) ? Doubt.NONE : Doubt.PATH
    for (let i = 0; i < hops.count; i++) {
      const id = hops.ids[AT_SWITCH + i]!
      const row = id === 0 ? -1 : this.#last.rowOf(linkOf(id, hops.ids[AT_PORT + i]!))
      if (row >= 0 && this.#last.rows[ROW * row + KEPT_RATE] !== hops.columns[AT_RATE + i]) doubt = Doubt.LINK
    }
    if (doubt !== Doubt.NONE) this.#count(doubt, 1)
    return doubt === Doubt.NONE
  }

  /** Two telemetries in a row of the same other path are believed; a single one may be forged. */
  #onOtherPath(now: Nanos, hops: HopRecords): boolean {
    const doubted = this.#doubted
    const again = this.#unconfirmed > 0 && doubted !== null && doubted.pathId === hops.pathId
    if (again && this.#compare(now, hops, doubted) === Doubt.NONE) {
      this.#unconfirmed--
      return this.#believe(now, hops, true)
    }
    this.#keepDoubted(now, hops)
    this.#unconfirmed++
    return false
  }

  #doubt(now: Nanos, hops: HopRecords, tNs: Nanos, doubt: Doubt): boolean {
    const again = this.#unconfirmed === 0 && this.#doubtedSinceNs !== Number.POSITIVE_INFINITY
    const doubted = this.#doubted
    const lasts = again && doubted !== null && now - this.#doubtedSinceNs > tNs
    if (lasts && this.#compare(now, hops, doubted) === Doubt.NONE) {
      return this.#believe(now, hops, true)
    }
    this.#count(doubt, 1)
    if (!again) this.#doubtedSinceNs = now
    this.#countUnconfirmed()
    this.#keepDoubted(now, hops)
    return false
  }

  #countUnconfirmed(): void {
    if (this.#unconfirmed === 0) return
    this.#count(Doubt.PATH, this.#unconfirmed)
    this.#unconfirmed = 0
  }

  #keepDoubted(now: Nanos, hops: HopRecords): void {
    this.#doubted ??= new KeptHops()
    this.#doubted.keep(now, hops)
  }

  #believe(now: Nanos, hops: HopRecords, anew: boolean): boolean {
    this.#countUnconfirmed()
    this.#pathChanged = false
    this.#doubtedSinceNs = Number.POSITIVE_INFINITY
    if (hops.busiestOnly && !anew) this.#remember(now, hops)
    else this.#last.keep(now, hops)
    return true
  }

  /** Telemetry of the busiest hop alone goes into the table of links. */
  #remember(now: Nanos, hops: HopRecords): void {
    const last = this.#last
    last.keepLink(last.rowOf(linkOf(hops.ids[AT_SWITCH]!, hops.ids[AT_PORT]!)), now, hops)
  }

  /** Compares telemetry with what was known of the same path. */
  #compare(now: Nanos, hops: HopRecords, known: KeptHops): Doubt {
    const { rows } = known
    if (hops.busiestOnly) {
      const row = known.rowOf(linkOf(hops.ids[AT_SWITCH]!, hops.ids[AT_PORT]!))
      return row < 0 ? Doubt.NONE : this.#compareRow(hops, 0, known, row, now - rows[ROW * row + KEPT_NS]!)
    }
    if (known.count !== hops.count || known.overflow !== hops.overflow) return Doubt.HOPS
    for (let i = 0; i < hops.count; i++) {
      const doubt = this.#compareRow(hops, i, known, i, now - rows[ROW * i + KEPT_NS]!)
      if (doubt !== Doubt.NONE) return doubt
    }
    return Doubt.NONE
  }

  #compareRow(hops: HopRecords, i: number, known: KeptHops, row: number, elapsedNs: Nanos): Doubt {
    const { columns, ids } = hops
    const { rows } = known
    const at = ROW * row
    const rate = columns[AT_RATE + i]!
    const isHost = ids[AT_SWITCH + i] === HOST_ID
    const modulus = columns[AT_TS_MODULUS + i]!
    const same =
      (rows[at + KEPT_RATE] === rate || isHost) &&
      rows[at + KEPT_LINK] === linkOf(ids[AT_SWITCH + i]!, ids[AT_PORT + i]!) &&
      rows[at + KEPT_TS_MODULUS] === modulus
    if (!same) return Doubt.LINK
    // Stamps wrap: one quarter of a wrap for the time that passed, another for the delay of packets, else they are
    // ambiguous.
    if (elapsedNs > modulus / 4) return Doubt.NONE
    let dt = columns[AT_TS + i]! - rows[at + KEPT_TS]!
    if (dt < 0) dt += modulus
    if (dt > modulus / 2) return Doubt.BACKWARDS
    if (dt > elapsedNs * TOLERANCE + UNDER_WAY_MAX_NS) return Doubt.AHEAD
    let sent = columns[AT_TX_BYTES + i]! - rows[at + KEPT_TX_BYTES]!
    if (sent < 0) sent += columns[AT_TX_MODULUS + i]!
    // Most links have sent no more than the rate that the record names, and no bound is below that.
    if (sent <= (dt * rate * this.#loadMax) / 8e9 + ROUNDING_BYTES) return Doubt.NONE
    // A compact record rounds the rate down.
    const bound = modulus < TWO_48 ? rateBoundBps(rate) : rate
    const fastest = isHost ? Math.max(rate, rows[at + KEPT_RATE]!) : bound
    const burst = isHost ? HOST_BURST_BYTES : ROUNDING_BYTES
    const possible = (dt * fastest * this.#loadMax) / 8e9 + burst
    return rate > 0 && sent > possible ? Doubt.TX_BYTES : Doubt.NONE
  }
}

/** The path id is the XOR of the ids of all switches; compact records have none. */
function isPathOfHops(hops: HopRecords): boolean {
  if (hops.overflow || hops.busiestOnly || hops.ratioOnly) return true
  let ids = 0
  let told = 0
  // Only the last record can be the host's own.
  const last = hops.count - 1
  for (let i = 0; i <= last; i++) {
    const id = hops.ids[AT_SWITCH + i]!
    if (id === HOST_ID && i < last) return false
    ids ^= id
    told |= id
  }
  return told === 0 || ids === hops.pathId
}

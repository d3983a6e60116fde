/**
 * Decoded telemetry of one path: a column per field, a row per hop, reused for every packet. Times are in ns,
 * rates in bit/s, sizes in bytes, whatever the units of the encapsulation.
 *
 * Counters wrap at `tsModulusNs` and `txModulusBytes`, so a difference is `(new - old + modulus) % modulus`.
 */
export const MAX_HOPS = 16

const COLUMNS_OF_8 = 7
const COLUMNS_OF_2 = 2

/** First reserved switch id. No switch has this id or a higher one. */
export const RESERVED_ID_FIRST = 0xfff0
/** Id in the record of the receiving host itself, which is the last hop of a path. Its port is 0. */
export const HOST_ID = 0xffff

export class HopRecords {
  /** Rows in use. */
  count = 0
  /** Hops passed, including those without a row, as far as the telemetry says. At least `count`. */
  passed = 0
  /** XOR of the ids of the switches passed. It changes when the path changes. */
  pathId = 0
  /** Concurrent flows that the receiver reports (FNCC). 0 = unknown. */
  flows = 0
  /**
   * True if the packet passed more hops than there are rows, because of too few slots or of unreadable
   * records.
   */
  overflow = false
  /** True if only ratios are meaningful (anonymised telemetry). */
  ratioOnly = false
  /**
   * True if the receiver has accumulated the queues over several packets. Each is a mean over minima of two
   * consecutive packets, so the controller need not take the minimum of two again.
   */
  accumulated = false
  /** True if the receiver has returned only the hop with the most inflight bytes. */
  busiestOnly = false
  /** True if the last row is the receiving host's own. */
  endsAtHost = false
  /**
   * All columns lie in one piece of memory: a piece for each costs more to make and to free than its bytes. No list has them: V8 makes
   * lists that it takes for lasting ones where only a collection of the whole heap frees them, and with them what they name.
   */
  readonly #memory = new ArrayBuffer(COLUMNS_OF_8 * 8 * MAX_HOPS + COLUMNS_OF_2 * 2 * MAX_HOPS)
  readonly rateBps = this.#column(0)
  readonly tsNs = this.#column(1)
  readonly txBytes = this.#column(2)
  readonly qlenBytes = this.#column(3)
  readonly tsModulusNs = this.#column(4)
  readonly txModulusBytes = this.#column(5)
  /** When the row was stored, by this host's clock: for whoever keeps records. Rows are copied without it. */
  readonly keptNs = this.#column(6)
  readonly switchId = this.#shortColumn(0)
  readonly port = this.#shortColumn(1)

  #column(n: number): Float64Array {
    return new Float64Array(this.#memory, n * 8 * MAX_HOPS, MAX_HOPS)
  }

  #shortColumn(n: number): Uint16Array {
    return new Uint16Array(this.#memory, (COLUMNS_OF_8 * 8 + n * 2) * MAX_HOPS, MAX_HOPS)
  }

  copyFrom(other: HopRecords): void {
    this.count = other.count
    this.passed = other.passed
    this.pathId = other.pathId
    this.flows = other.flows
    this.overflow = other.overflow
    this.ratioOnly = other.ratioOnly
    this.accumulated = other.accumulated
    this.busiestOnly = other.busiestOnly
    this.endsAtHost = other.endsAtHost
    for (let i = 0; i < other.count; i++) this.copyRow(i, other, i)
  }

  /** All rows were stored at `now`. */
  keep(now: number): void {
    const { keptNs } = this
    for (let i = 0; i < this.count; i++) keptNs[i] = now
  }

  /** Makes a row a copy of one of `other`. */
  copyRow(row: number, other: HopRecords, otherRow: number): void {
    this.switchId[row] = other.switchId[otherRow]!
    this.port[row] = other.port[otherRow]!
    this.rateBps[row] = other.rateBps[otherRow]!
    this.tsNs[row] = other.tsNs[otherRow]!
    this.txBytes[row] = other.txBytes[otherRow]!
    this.qlenBytes[row] = other.qlenBytes[otherRow]!
    this.tsModulusNs[row] = other.tsModulusNs[otherRow]!
    this.txModulusBytes[row] = other.txModulusBytes[otherRow]!
  }

  /** Reverses the order of the rows. */
  reverse(): void {
    const { count } = this
    turn(this.switchId, count)
    turn(this.port, count)
    turn(this.rateBps, count)
    turn(this.tsNs, count)
    turn(this.txBytes, count)
    turn(this.qlenBytes, count)
    turn(this.tsModulusNs, count)
    turn(this.txModulusBytes, count)
  }

  /** Returns the row of a link, or -1 if there is none. Compact records do not identify links. */
  rowOf(switchId: number, port: number): number {
    for (let i = 0; i < this.count; i++) if (this.switchId[i] === switchId && this.port[i] === port) return i
    return -1
  }
}

/** Reverses the order of the first `count` values. */
function turn(column: Float64Array | Uint16Array, count: number): void {
  for (let low = 0, high = count - 1; low < high; low++, high--) {
    const value = column[low]!
    column[low] = column[high]!
    column[high] = value
  }
}

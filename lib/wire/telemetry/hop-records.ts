/**
 * Decoded telemetry of one path: a column per field, a row per hop, reused for every packet. Times are in ns,
 * rates in bit/s, sizes in bytes, whatever the units of the encapsulation.
 *
 * The columns lie one behind the other, in `columns` and `ids`. What runs for each packet reads those two: an array of its own for each
 * column would be one more object to fetch. Others read the columns by their names.
 *
 * Counters wrap at `tsModulusNs` and `txModulusBytes`, so a difference is `(new - old + modulus) % modulus`.
 */
export const MAX_HOPS = 16

/** Where each column begins in `HopRecords.columns`. */
export const AT_RATE = 0
export const AT_TS = 1 * MAX_HOPS
export const AT_TX_BYTES = 2 * MAX_HOPS
export const AT_QLEN = 3 * MAX_HOPS
export const AT_TS_MODULUS = 4 * MAX_HOPS
export const AT_TX_MODULUS = 5 * MAX_HOPS
const COLUMNS_END = 6 * MAX_HOPS
/** The same in `HopRecords.ids`. */
export const AT_SWITCH = 0
export const AT_PORT = 1 * MAX_HOPS
const IDS_END = 2 * MAX_HOPS

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
  readonly #memory = new ArrayBuffer(8 * COLUMNS_END + 2 * IDS_END)
  readonly columns = new Float64Array(this.#memory, 0, COLUMNS_END)
  readonly ids = new Uint16Array(this.#memory, 8 * COLUMNS_END, IDS_END)
  readonly rateBps = this.#column(AT_RATE)
  readonly tsNs = this.#column(AT_TS)
  readonly txBytes = this.#column(AT_TX_BYTES)
  readonly qlenBytes = this.#column(AT_QLEN)
  readonly tsModulusNs = this.#column(AT_TS_MODULUS)
  readonly txModulusBytes = this.#column(AT_TX_MODULUS)
  readonly switchId = this.#idColumn(AT_SWITCH)
  readonly port = this.#idColumn(AT_PORT)

  #column(at: number): Float64Array {
    return new Float64Array(this.#memory, 8 * at, MAX_HOPS)
  }

  #idColumn(at: number): Uint16Array {
    return new Uint16Array(this.#memory, 8 * COLUMNS_END + 2 * at, MAX_HOPS)
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
}

/** Reverses the order of the first `count` values. */
function turn(column: Float64Array | Uint16Array, count: number): void {
  for (let low = 0, high = count - 1; low < high; low++, high--) {
    const value = column[low]!
    column[low] = column[high]!
    column[high] = value
  }
}

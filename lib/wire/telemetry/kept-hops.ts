/**
 * Telemetry of one path as it is kept to be compared with the next: a row per hop, and of each what a comparison needs. Units as in
 * HopRecords.
 */
import type { Nanos } from '../../time/nanos.js'
import {
  AT_PORT,
  AT_QLEN,
  AT_RATE,
  AT_SWITCH,
  AT_TS,
  AT_TS_MODULUS,
  AT_TX_BYTES,
  type HopRecords,
  MAX_HOPS,
} from './hop-records.js'

/** Numbers of a row. With so few a single hop, the way through one switch, has its row in V8's own heap: 64 bytes. */
export const ROW = 8
/** Where a row has each. */
export const KEPT_RATE = 0
export const KEPT_TS = 1
export const KEPT_TX_BYTES = 2
export const KEPT_QLEN = 3
export const KEPT_TS_MODULUS = 4
/** Switch and port: see linkOf. */
export const KEPT_LINK = 5
/** When it was kept, by this host's clock. */
export const KEPT_NS = 6

/** The rows before there are any. Nobody writes there. */
const NO_ROWS = new Float64Array(0)

export class KeptHops {
  /** Rows in use. The rest is as in HopRecords. */
  count = 0
  pathId = 0
  overflow = false
  ratioOnly = false
  busiestOnly = false
  endsAtHost = false
  /** Made, and made longer, as hops come. */
  rows = NO_ROWS

  /** Telemetry takes the place of what was kept. */
  keep(now: Nanos, hops: HopRecords): void {
    this.count = hops.count
    this.pathId = hops.pathId
    this.overflow = hops.overflow
    this.ratioOnly = hops.ratioOnly
    this.busiestOnly = hops.busiestOnly
    this.endsAtHost = hops.endsAtHost
    for (let i = 0; i < hops.count; i++) this.#keepRow(i, now, hops, i)
  }

  /** The first hop of the telemetry takes the place of a row. @param row -1: a new one, or the first if there are as many as may be */
  keepLink(row: number, now: Nanos, hops: HopRecords): void {
    const into = row >= 0 ? row : this.count < MAX_HOPS ? this.count++ : 0
    this.#keepRow(into, now, hops, 0)
  }

  #keepRow(row: number, now: Nanos, { columns, ids }: HopRecords, i: number): void {
    const at = row * ROW
    if (at >= this.rows.length) this.#makeRoom(row + 1)
    const { rows } = this
    rows[at + KEPT_RATE] = columns[AT_RATE + i]!
    rows[at + KEPT_TS] = columns[AT_TS + i]!
    rows[at + KEPT_TX_BYTES] = columns[AT_TX_BYTES + i]!
    rows[at + KEPT_QLEN] = columns[AT_QLEN + i]!
    rows[at + KEPT_TS_MODULUS] = columns[AT_TS_MODULUS + i]!
    rows[at + KEPT_LINK] = linkOf(ids[AT_SWITCH + i]!, ids[AT_PORT + i]!)
    rows[at + KEPT_NS] = now
  }

  #makeRoom(rows: number): void {
    const before = this.rows
    this.rows = new Float64Array(ROW * Math.max(rows, this.count))
    if (before !== NO_ROWS) this.rows.set(before)
  }

  /** The row of a link, or -1 if there is none. Compact records do not identify links. */
  rowOf(link: number): number {
    const { rows } = this
    for (let i = 0; i < this.count; i++) if (rows[i * ROW + KEPT_LINK] === link) return i
    return -1
  }
}

/** Switch id and port, 16 bits each, in one number. */
export function linkOf(switchId: number, port: number): number {
  return switchId * 0x1_0000 + port
}

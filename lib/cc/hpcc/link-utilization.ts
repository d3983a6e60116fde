/**
 * The normalised inflight bytes of one link, from two telemetries of it (draft-miao-rtgwg-hpccplus, lines 4 and 5 of the
 * listing). Links are rows of HopRecords, and of KeptHops.
 */
import type { Nanos } from '../../time/nanos.js'
import {
  AT_QLEN,
  AT_RATE,
  AT_TS,
  AT_TS_MODULUS,
  AT_TX_BYTES,
  AT_TX_MODULUS,
  type HopRecords,
} from '../../wire/telemetry/hop-records.js'
import { KEPT_QLEN, KEPT_TS, KEPT_TX_BYTES, type KeptHops, ROW } from '../../wire/telemetry/kept-hops.js'

/** tau: ns between two stamps of a link. NaN if the telemetry is not newer than what is known, or states no rate. */
export function elapsedNs(hops: HopRecords, row: number, last: KeptHops, lastRow: number): Nanos {
  const { columns } = hops
  const modulus = columns[AT_TS_MODULUS + row]!
  let dt = columns[AT_TS + row]! - last.rows[ROW * lastRow + KEPT_TS]!
  if (dt < 0) dt += modulus
  return dt > 0 && dt <= modulus / 2 && columns[AT_RATE + row]! > 0 ? dt : Number.NaN
}

/** What the link has sent between two stamps, as a share of what its rate allows: txRate / B. @param dt as of elapsedNs */
export function rateShare(hops: HopRecords, row: number, last: KeptHops, lastRow: number, dt: Nanos): number {
  const { columns } = hops
  let sent = columns[AT_TX_BYTES + row]! - last.rows[ROW * lastRow + KEPT_TX_BYTES]!
  if (sent < 0) sent += columns[AT_TX_MODULUS + row]!
  return sent / dt / (columns[AT_RATE + row]! / 8e9)
}

/** min(qlen) / (B T), of two telemetries. @param tNs T */
export function queueShare(
  hops: HopRecords,
  row: number,
  last: KeptHops,
  lastRow: number,
  tNs: Nanos,
): number {
  // An accumulated queue is a mean of minima already: a further minimum would throw that mean away.
  const { columns } = hops
  const now = columns[AT_QLEN + row]!
  const qlen = hops.accumulated ? now : Math.min(now, last.rows[ROW * lastRow + KEPT_QLEN]!)
  return qlen / ((columns[AT_RATE + row]! / 8e9) * tNs)
}

/**
 * qlen / (B T) of two probes, which are a round trip apart. Line 5 takes the minimum of two packets in a row, because what waits
 * only for a moment is no congestion. With two probes that minimum misses the queue that has formed since the first, by an amount
 * that depends on the phase of their flow. So this is the mean of the two less what may be momentary, and at least the minimum.
 *
 * @param momentary share of B T: the headroom that eta leaves for packets which collide (section on parameters)
 */
export function probedQueueShare(
  hops: HopRecords,
  row: number,
  last: KeptHops,
  lastRow: number,
  tNs: Nanos,
  momentary: number,
): number {
  const { columns } = hops
  const bdp = (columns[AT_RATE + row]! / 8e9) * tNs
  const mean = (columns[AT_QLEN + row]! + last.rows[ROW * lastRow + KEPT_QLEN]!) / 2
  return Math.max(queueShare(hops, row, last, lastRow, tNs), mean / bdp - momentary)
}

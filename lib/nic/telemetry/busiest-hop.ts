import { HopRecords } from '../../wire/telemetry/hop-records.js'
import * as intShim from '../../wire/telemetry/int-shim.js'

/**
 * Another hop than the one named last is the busiest if it is by this share. Links in a row that the same flows fill are equally busy but for
 * chance, and the sender learns most from two telemetries of one link in a row.
 */
const MORE = 0.02

/**
 * Reduces an echo to the hop with the highest inflight bytes relative to what its link holds: qlen / (B T) + txRate /
 * B (draft-miao-rtgwg-hpccplus, reference implementation for RoCEv2; lines 4 to 7 of the listing). Where T is not
 * known, the time since the last answer stands for it: about T, with a probe in each round trip. Wide records only,
 * as others name no link.
 */
export class BusiestHop {
  /** The hop that was named last, by its place on the path. */
  #told = -1
  #now = new HopRecords()
  #last = new HopRecords()

  /** Reduces the echo at the beginning of `view`; returns its new length, bytes. @param tNs T, 0 = not known */
  leave(view: DataView, bytes: number, tNs: number): number {
    const hops = this.#now
    intShim.read(view, 0, bytes, hops)
    if (hops.count === 0 || intShim.format(view, 0) !== intShim.FORMAT_WIDE) return bytes
    const busiest = this.#find(tNs)
    this.#told = busiest
    const isHost = hops.endsAtHost && busiest === hops.count - 1
    this.#now = this.#last
    this.#last = hops
    const from = intShim.BYTES + busiest * intShim.WIDE_SLOT_BYTES
    for (let i = 0; i < intShim.WIDE_SLOT_BYTES; i += 4) {
      view.setUint32(intShim.BYTES + i, view.getUint32(from + i))
    }
    // The echo names the busiest of the hops it knows, and must still say that there were others.
    intShim.setHops(view, 0, hops.overflow ? 2 : 1, 1)
    const kept = intShim.flags(view, 0) & ~(isHost ? 0 : intShim.FLAG_HOST)
    intShim.setFlags(view, 0, kept | intShim.FLAG_BUSIEST_ONLY)
    return intShim.BYTES + intShim.WIDE_SLOT_BYTES
  }

  #find(tNs: number): number {
    const hops = this.#now
    const last = this.#last
    const comparable = last.count === hops.count && last.pathId === hops.pathId
    let busiest = 0
    let most = -1
    for (let i = 0; i < hops.count; i++) {
      const bytesPerNs = hops.rateBps[i]! / 8e9
      const dt = comparable ? hops.tsNs[i]! - last.tsNs[i]! : 0
      const txRate = dt > 0 ? (hops.txBytes[i]! - last.txBytes[i]!) / dt : 0
      const inflight = hops.qlenBytes[i]! / (tNs > 0 ? tNs : dt > 0 ? dt : 1) + txRate
      const u = bytesPerNs > 0 ? inflight / bytesPerNs : 0
      const weight = comparable && i === this.#told ? u * (1 + MORE) : u
      if (weight <= most) continue
      most = weight
      busiest = i
    }
    return busiest
  }
}

import type { Nanos } from '../../time/nanos.js'
import { HOST_ID, type HopRecords, MAX_HOPS } from '../../wire/telemetry/hop-records.js'
import * as intShim from '../../wire/telemetry/int-shim.js'
import { RATE_BPS, rateCode } from '../../wire/telemetry/int-units.js'

/** What the driver of a NIC knows of the packets that come in, as of one moment. */
export interface HostIntake {
  /** When, by the NIC's clock. */
  readonly stampNs: Nanos
  /** Taken in by then, bytes. */
  readonly takenBytes: number
  /** Integral over time of the bytes that wait unread, bytes x ns. */
  readonly queueByteNs: number
  /** What this host can take in, bit/s, at most its line rate. */
  readonly rateBps: number
}

/** The host's queue as one flow reports it: the mean over the time since it last did. */
export class HostQueueMean {
  #byteNs = 0
  #ns: Nanos = 0
  #bytes = 0

  /** Mean queue in bytes since the last call; asked again at the same moment, the same. */
  since({ queueByteNs, stampNs }: HostIntake): number {
    const elapsedNs = stampNs - this.#ns
    if (elapsedNs > 0) {
      this.#bytes = Math.round((queueByteNs - this.#byteNs) / elapsedNs)
      this.#byteNs = queueByteNs
      this.#ns = stampNs
    }
    return this.#bytes
  }
}

const TWO_48 = 0x1_0000_0000_0000

/**
 * The receiving host as the last hop of a path: HPCC++ then holds senders to what the host can take in, as it holds
 * them to what a link can carry. Where no switch writes telemetry it is the only hop.
 *
 * A wide record says exactly that. A compact one can name only a few rates, and a host's rate varies: it describes a
 * host that takes in at the line's rate with all bytes scaled in proportion, which gives the sender the same U.
 */
export class HostHop {
  readonly #intake: HostIntake
  readonly #compactRateBps: number
  /** Bytes taken in, as compact records count them (scaled), and how many real ones that count includes. */
  #compactBytes = 0
  #countedBytes = 0

  /** @param lineRateBps of the host's link */
  constructor(intake: HostIntake, lineRateBps: number) {
    this.#intake = intake
    this.#compactRateBps = RATE_BPS[rateCode(lineRateBps)]!
  }

  /** Appends this host's record to a flow's echo at the beginning of `view`; returns its bytes. */
  append(view: DataView, queue: HostQueueMean): number {
    if (intShim.slots(view, 0) >= MAX_HOPS) return intShim.totalBytes(view, 0)
    const { rateBps, stampNs, takenBytes } = this.#intake
    const queueBytes = queue.since(this.#intake)
    if (intShim.format(view, 0) === intShim.FORMAT_WIDE) {
      return intShim.appendHost(view, 0, rateBps, stampNs, takenBytes, queueBytes)
    }
    const rate = this.#compactRateBps
    this.#compactBytes += ((takenBytes - this.#countedBytes) * rate) / rateBps
    this.#countedBytes = takenBytes
    return intShim.appendHost(view, 0, rate, stampNs, this.#compactBytes, (queueBytes * rate) / rateBps)
  }

  /** Appends it to decoded records, as a wide one would be. */
  appendTo(hops: HopRecords, queue: HostQueueMean): void {
    const row = hops.count
    if (row >= MAX_HOPS) return
    const { rateBps, stampNs, takenBytes } = this.#intake
    hops.switchId[row] = HOST_ID
    hops.port[row] = 0
    hops.rateBps[row] = rateBps
    hops.tsNs[row] = stampNs % TWO_48
    hops.txBytes[row] = takenBytes % TWO_48
    hops.qlenBytes[row] = queue.since(this.#intake)
    hops.tsModulusNs[row] = TWO_48
    hops.txModulusBytes[row] = TWO_48
    hops.pathId ^= HOST_ID
    hops.endsAtHost = true
    hops.count++
  }
}

import type { Nanos } from '../../../lib/time/nanos.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'

/** The load of one egress port at one moment: a row of FNCC's All_INT_Table (section 4.1). */
export class PortLoad {
  /** The moment. */
  atNs: Nanos = Number.NEGATIVE_INFINITY
  /** Bytes sent up to then, also of the frame that was on the line. */
  txBytes = 0
  /** Bytes that waited in all queues. */
  queueBytes = 0
  /** The same by priority. */
  readonly sentBytes = new Float64Array(PRIORITIES)
  readonly queuedBytes = new Float64Array(PRIORITIES)

  take(port: EgressPort, atNs: Nanos): void {
    const unsent = port.unsentBytes(atNs)
    this.atNs = atNs
    this.txBytes = port.counters.txBytes - unsent
    this.queueBytes = port.queueBytes
    for (let p = 0; p < PRIORITIES; p++) {
      this.sentBytes[p] = port.sentBytes(p)
      this.queuedBytes[p] = port.queues[p]!.bytes
    }
    this.sentBytes[port.sentPriority]! -= unsent
  }
}

import type { Frame } from '../frame/frame.js'
import { MAX_HOPS } from '../wire/hop-records.js'
import * as intShim from '../wire/int-shim.js'
import * as telemetry from '../wire/telemetry.js'
import { BusiestHop } from './busiest-hop.js'

/** Where a record holds its queue length. */
const WIDE_QUEUE = 20
const COMPACT_QUEUE = 6

/**
 * The telemetry that waits to be sent back to a flow's sender. Of several packets on one path it keeps what tells of all of
 * them, so that one answer for many loses nothing that was seen:
 *
 * - stamps and sent bytes of the last one: they are running counts, and the difference to the last answer's holds
 *   all that was sent between;
 * - of each queue the greatest that two packets in a row have met, min of both: the noise filter of line 5 of the listing,
 *   here where every packet is seen. A flag says so, and the sender does not take the minimum once more. So the
 *   sender's U has the highest u' of each hop since the last answer.
 *
 * With an answer for each packet it is the packet's own telemetry.
 */
export class TelemetryEcho {
  /** Bytes that wait; 0: none. */
  bytes = 0
  readonly #buffer = Buffer.alloc(telemetry.ECHO_BYTES_MAX)
  readonly #view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, this.#buffer.length)
  /** Queue of the packet before, and the greatest minimum of two so far; in the record's own units. */
  readonly #previous = new Float64Array(MAX_HOPS)
  readonly #greatest = new Float64Array(MAX_HOPS)
  #format = -1
  #hops = 0
  #pathId = 0
  /** Null: all hops are sent back. */
  readonly #busiest: BusiestHop | null

  /** @param busiestOnly only the hop with the highest inflight bytes is sent back */
  constructor(busiestOnly: boolean) {
    this.#busiest = busiestOnly ? new BusiestHop() : null
  }

  /** A packet with telemetry to be sent back has arrived. */
  keep(frame: Frame): void {
    const view = this.#view
    const again = this.bytes > 0
    this.bytes = telemetry.writeEcho(view, 0, frame)
    const format = intShim.format(view, 0)
    const hops = intShim.slots(view, 0)
    const pathId = intShim.pathId(view, 0)
    const samePath = format === this.#format && hops === this.#hops && pathId === this.#pathId
    this.#format = format
    this.#hops = hops
    this.#pathId = pathId
    const wide = format === intShim.FORMAT_WIDE
    const step = wide ? intShim.WIDE_SLOT_BYTES : intShim.COMPACT_SLOT_BYTES
    let at = intShim.BYTES + (wide ? WIDE_QUEUE : COMPACT_QUEUE)
    for (let i = 0; i < hops; i++, at += step) {
      const queue = wide ? view.getUint32(at) : view.getUint16(at)
      const least = samePath ? Math.min(queue, this.#previous[i]!) : queue
      this.#previous[i] = queue
      const greatest = again && samePath ? Math.max(least, this.#greatest[i]!) : least
      this.#greatest[i] = greatest
      if (!again || !samePath) continue
      if (wide) view.setUint32(at, greatest)
      else view.setUint16(at, greatest)
    }
    if (again && samePath) intShim.setFlags(view, 0, intShim.flags(view, 0) | intShim.FLAG_ACCUMULATED)
  }

  /**
   * Writes what waits into an answer from `at` on; returns its bytes. @param tNs T of the flow, 0 = not known
   */
  write(into: Frame, at: number, tNs: number): number {
    if (this.#busiest !== null) this.bytes = this.#busiest.leave(this.#view, this.bytes, tNs)
    this.#buffer.copy(into.bytes, at, 0, this.bytes)
    return this.bytes
  }

  /** What waited has been sent. */
  clear(): void {
    this.bytes = 0
  }
}

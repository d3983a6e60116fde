import type { Frame } from '../../frame/frame.js'
import { type HopRecords, MAX_HOPS } from '../../wire/telemetry/hop-records.js'
import * as intShim from '../../wire/telemetry/int-shim.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'
import { BusiestHop } from './busiest-hop.js'
import { type HostHop, HostQueueMean } from './host-hop.js'

/** Where a record holds its queue length, and the low bits of its stamp. */
const WIDE_QUEUE = 20
const WIDE_STAMP = 10
const COMPACT_QUEUE = 6
const COMPACT_STAMP = 0

/** What is kept of each hop: its queue length and stamp in the packet before, in the record's own units… */
const QUEUE = 0
const STAMP = MAX_HOPS
/** …time since the last answer, and the sum of queue x time. */
const TIME = 2 * MAX_HOPS
const SUM = 3 * MAX_HOPS
const HOPS_END = 4 * MAX_HOPS

/** Rooms that wait for another connection, at most: more are left to the garbage collector. */
const ROOMS_MAX = 64

/** Where an echo keeps what it has. */
interface EchoRoom {
  /** The telemetry. */
  view: DataView
  columns: Float64Array
}

/** What an echo without telemetry has. Nobody writes to it. */
const NO_ROOM: EchoRoom = { view: new DataView(new ArrayBuffer(0)), columns: new Float64Array(0) }

/** A host's room for echoes. Connections that end leave theirs to those that come: its memory lies outside of V8's heap. */
export class EchoRooms {
  readonly #free: EchoRoom[] = []

  take(): EchoRoom {
    return this.#free.pop() ?? newRoom()
  }

  give(room: EchoRoom): void {
    if (this.#free.length < ROOMS_MAX) this.#free.push(room)
  }
}

function newRoom(): EchoRoom {
  const memory = new ArrayBuffer(8 * HOPS_END + telemetry.ECHO_BYTES_MAX)
  return {
    columns: new Float64Array(memory, 0, HOPS_END),
    view: new DataView(memory, 8 * HOPS_END, telemetry.ECHO_BYTES_MAX),
  }
}

/**
 * The telemetry that waits to be sent back to a flow's sender. For several packets on one path it keeps a summary, so
 * that one answer for many loses nothing:
 * - stamps and sent bytes are those of the last packet: they are running counts, so their difference to the last
 *   answer covers all packets in between;
 * - each queue is the mean, over the time since the last answer, of the minimum of each two packets in a row: line 5
 *   of the listing, applied here where every packet is seen. A flag says so, and the sender does not take a minimum
 *   once more.
 *
 * The sender's U is then what it would be with an answer for each packet, but for terms of (tau / T)^2: line 9
 * weights each u' by the time that it stands for, and so does the mean. (With the greatest queue instead of the mean,
 * senders answer peaks that their own bursts have made: less utilization and longer queues.)
 *
 * With an answer for each packet the echo is simply that packet's telemetry.
 */
export class TelemetryEcho {
  /** Bytes that wait; 0: none. */
  bytes = 0
  readonly #rooms: EchoRooms
  /** Taken when the first telemetry arrives. */
  #room = NO_ROOM
  #format = -1
  #hops = 0
  #pathId = 0
  /** Reduces the echo to the busiest hop; null: all hops are sent back. */
  readonly #busiest: BusiestHop | null
  /** The host's own record, and the mean queue for it. */
  readonly #host: HostHop | null
  readonly #hostQueue: HostQueueMean | null
  /** True if what waits has a record for every hop, and no more. */
  #complete = false

  /**
   * @param busiestOnly only the hop with the highest inflight bytes is sent back; @param host the last hop, if it is to be one;
   * @param rooms of the host
   */
  constructor(busiestOnly: boolean, host: HostHop | null = null, rooms = new EchoRooms()) {
    this.#rooms = rooms
    this.#host = host
    this.#hostQueue = host === null ? null : new HostQueueMean()
    this.#busiest = busiestOnly ? new BusiestHop() : null
  }

  /** The peer has taken another path: what comes is compared with nothing that came before. */
  onPathChange(): void {
    this.#format = -1
  }

  /** A packet with telemetry to be sent back has arrived. */
  keep(frame: Frame): void {
    if (this.#room === NO_ROOM) this.#room = this.#rooms.take()
    const { view } = this.#room
    const again = this.bytes > 0
    this.bytes = telemetry.writeEcho(view, 0, frame)
    this.#complete = false
    const format = intShim.format(view, 0)
    const hops = intShim.slots(view, 0)
    const pathId = intShim.pathId(view, 0)
    const samePath = format === this.#format && hops === this.#hops && pathId === this.#pathId
    this.#format = format
    this.#hops = hops
    this.#pathId = pathId
    for (let i = 0; i < hops; i++) this.#accumulate(i, samePath, again && samePath)
    if (again && samePath) intShim.setFlags(view, 0, intShim.flags(view, 0) | intShim.FLAG_ACCUMULATED)
  }

  /**
   * Adds one hop. @param samePath the packet took the path of the one before; @param again something waits already,
   * and is to be summed up
   */
  #accumulate(i: number, samePath: boolean, again: boolean): void {
    const { view, columns } = this.#room
    const wide = this.#format === intShim.FORMAT_WIDE
    const slot = intShim.BYTES + i * (wide ? intShim.WIDE_SLOT_BYTES : intShim.COMPACT_SLOT_BYTES)
    const queue = wide ? view.getUint32(slot + WIDE_QUEUE) : view.getUint16(slot + COMPACT_QUEUE)
    // Both stamps wrap; the low 28 bits of either have room for the difference between two packets.
    const stamp = wide ? view.getUint32(slot + WIDE_STAMP) : view.getUint32(slot + COMPACT_STAMP) >>> 4
    const bits = wide ? 0xfff_ffff : 0xff_ffff
    const time = samePath ? ((stamp & bits) - columns[STAMP + i]!) & bits : 0
    const least = samePath ? Math.min(queue, columns[QUEUE + i]!) : queue
    columns[QUEUE + i] = queue
    columns[STAMP + i] = stamp & bits
    if (!again) {
      columns[TIME + i] = time
      columns[SUM + i] = least * time
      return
    }
    columns[TIME + i]! += time
    columns[SUM + i]! += least * time
    const mean = columns[TIME + i]! > 0 ? Math.round(columns[SUM + i]! / columns[TIME + i]!) : least
    if (wide) view.setUint32(slot + WIDE_QUEUE, mean)
    else view.setUint16(slot + COMPACT_QUEUE, mean)
  }

  /**
   * Writes what waits into an answer from `at` on; returns its bytes. @param tNs T of the flow, 0 = not known
   */
  write(into: Frame, at: number, tNs: number): number {
    if (!this.#complete) this.#finish(tNs)
    const { view } = into
    const own = this.#room.view
    const { bytes } = this
    // Records have whole words; a library call costs more than these few.
    for (let i = 0; i < bytes; i += 4) view.setInt32(at + i, own.getInt32(i, true), true)
    return bytes
  }

  /** Appends the host's own record to decoded ones, if the host is to be the last hop. */
  appendHost(hops: HopRecords): void {
    if (this.#hostQueue !== null) this.#host!.appendTo(hops, this.#hostQueue)
  }

  #finish(tNs: number): void {
    if (this.#hostQueue !== null) this.bytes = this.#host!.append(this.#room.view, this.#hostQueue)
    if (this.#busiest !== null) this.bytes = this.#busiest.leave(this.#room.view, this.bytes, tNs)
    this.#complete = true
  }

  /** What waited has been sent. */
  clear(): void {
    this.bytes = 0
  }

  /** The connection has ended. */
  end(): void {
    this.bytes = 0
    this.#format = -1
    if (this.#room !== NO_ROOM) this.#rooms.give(this.#room)
    this.#room = NO_ROOM
  }
}

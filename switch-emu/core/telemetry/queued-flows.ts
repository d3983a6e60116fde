import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import { isReadResponse } from '../../../lib/wire/ib/opcode.js'
import * as udp from '../../../lib/wire/net/udp.js'
import { flowHash } from '../forwarding/ecmp.js'

/** Bytes of headers up to UDP's end that are kept. */
const HEADERS_MAX = 128

/** A flow whose packets wait in a queue, as its newest packet names it. */
export class QueuedFlow {
  readonly bytes = Buffer.alloc(HEADERS_MAX)
  readonly view = new DataView(this.bytes.buffer, this.bytes.byteOffset, HEADERS_MAX)
  key = 0
  l3 = 0
  l4 = 0
  partitionKey = 0
  destQpn = 0
  psn = 0
  ofResponse = false
  seenNs: Nanos = 0

  keep(now: Nanos, { bytes, view, l3, l4, bth: at }: Frame): void {
    bytes.copy(this.bytes, 0, 0, l4 + udp.BYTES)
    this.l3 = l3
    this.l4 = l4
    this.partitionKey = bth.partitionKey(view, at)
    this.destQpn = bth.destQpn(view, at)
    this.psn = bth.psn(view, at)
    this.ofResponse = isReadResponse(bth.opcode(view, at))
    this.seenNs = now
  }
}

/**
 * The flows of one port's queue: those with a packet in the last `ageNs`. At most `capacity`. A hash of 31 bits distinguishes flows: two
 * with the same hash count as one, which the newer packet of the two names.
 */
export class QueuedFlows {
  readonly #capacity: number
  readonly #ageNs: Nanos
  readonly #at = new Map<number, number>()
  /** The first `#count` are in use. */
  readonly #flows: QueuedFlow[] = []
  #count = 0
  /** Packets of flows for which there was no place. */
  missed = 0

  constructor(capacity: number, ageNs: Nanos) {
    this.#capacity = capacity
    this.#ageNs = ageNs
  }

  get count(): number {
    return this.#count
  }

  /** A packet of a flow has come to the queue. */
  add(now: Nanos, frame: Frame): void {
    const { view, length, l3, l4 } = frame
    const key = flowHash(view, length, l3, l4) ^ bth.destQpn(view, frame.bth)
    const at = this.#at.get(key) ?? this.#place(now, key)
    if (at < 0 || l4 + udp.BYTES > HEADERS_MAX) this.missed++
    else this.#flows[at]!.keep(now, frame)
  }

  #place(now: Nanos, key: number): number {
    if (this.#count === this.#capacity) this.removeOld(now)
    if (this.#count === this.#capacity) return -1
    const at = this.#count++
    if (at === this.#flows.length) this.#flows.push(new QueuedFlow())
    this.#flows[at]!.key = key
    this.#at.set(key, at)
    return at
  }

  /** Takes out flows that have sent nothing for too long. */
  removeOld(now: Nanos): void {
    for (let at = this.#count - 1; at >= 0; at--) {
      const flow = this.#flows[at]!
      if (now - flow.seenNs <= this.#ageNs) continue
      this.#at.delete(flow.key)
      const last = this.#flows[--this.#count]!
      if (last === flow) continue
      this.#flows[at] = last
      this.#flows[this.#count] = flow
      this.#at.set(last.key, at)
    }
  }

  /** @param index below `count` */
  flow(index: number): QueuedFlow {
    return this.#flows[index]!
  }
}

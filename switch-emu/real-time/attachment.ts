import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { FrameRing } from '../../lib/io/frame-ring.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { Serializer } from '../core/serializer.js'

export interface AttachmentOptions {
  pool: FramePool
  /** Rate of the host's link, bit/s. */
  rateBps: number
  /** Its propagation delay, one way. The network's own link to this node has none. */
  delayNs: Nanos
  /** Bytes that may wait for the host's own link; what comes on top is dropped. Default 4 MiB. */
  backlogBytesMax?: number
  /** Takes a frame that has arrived at the host, and owns it. */
  deliver: (frame: Frame) => void
}

/** Frames that the network has not taken yet: all that come in between two rounds of the loop. */
const READY_FRAMES = 1024
/** Frames on their way to the host: what the longest link can hold. */
const LEAVING_FRAMES = 16_384

/**
 * Stands where a host's NIC would be in the emulated network. What comes from the real host is put on the
 * emulated link on an exact timeline: each frame starts when it came in or when the one before it has left,
 * whichever is later, however late and in what bursts the process woke.
 *
 * The host link's delay is kept here, both ways, and not in the network: so it is known, `delayNs` ahead, when
 * something must really leave the process, and nothing else needs the process to wake.
 */
export class Attachment implements Node {
  /** Frames dropped because the host sent more than its link carries. */
  drops = 0
  readonly #pool: FramePool
  readonly #line: Serializer
  readonly #backlogNsMax: Nanos
  readonly #deliver: (frame: Frame) => void
  readonly #delayNs: Nanos
  readonly #ready = new FrameRing(READY_FRAMES)
  readonly #leaving = new FrameRing(LEAVING_FRAMES)

  constructor(options: AttachmentOptions) {
    this.#pool = options.pool
    this.#line = new Serializer(options.rateBps)
    this.#backlogNsMax = ((options.backlogBytesMax ?? 4 << 20) * 8e9) / options.rateBps
    this.#deliver = options.deliver
    this.#delayNs = options.delayNs
  }

  /** A frame came from the real host: it takes its place on the link. Call `Network.kick` after the last one. */
  inject(now: Nanos, frame: Frame): void {
    if (this.#line.endNs - now > this.#backlogNsMax || this.#ready.full) {
      this.drops++
      this.#pool.give(frame)
      return
    }
    this.#line.transmit(now, frame.wireLength)
    frame.port = 0
    frame.departNs = this.#line.endNs + this.#delayNs
    this.#ready.push(frame)
  }

  /** A frame has left the last switch. */
  onFrame(now: Nanos, _port: number, frame: Frame): void {
    frame.departNs = now + this.#delayNs
    if (this.#leaving.push(frame)) return
    this.drops++
    this.#pool.give(frame)
  }

  /** When the next frame arrives at the host, or NEVER. */
  nextDelivery(): Nanos {
    return this.#leaving.peek()?.departNs ?? NEVER
  }

  /** Delivers what has arrived at the host by `now`. */
  deliverUntil(now: Nanos): void {
    while (this.nextDelivery() <= now) this.#deliver(this.#leaving.shift()!)
  }

  onTimeout(_now: Nanos): void {}

  nextTimeout(): Nanos {
    return NEVER
  }

  /** Hands frames out at once, with the time at which they will have left: the link's delay line does the rest. */
  pollTransmit(_now: Nanos): Frame | null {
    return this.#ready.shift()
  }

  /** Gives back what the network has not taken, and what has not been delivered. */
  close(): void {
    for (const ring of [this.#ready, this.#leaving]) {
      for (let frame = ring.shift(); frame !== null; frame = ring.shift()) this.#pool.give(frame)
    }
  }
}

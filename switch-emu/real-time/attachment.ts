import { type Frame, UNKNOWN_ARRIVAL } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { FrameRing } from '../../lib/io/ports/frame-ring.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { Classifier } from '../core/forwarding/classifier.js'
import { Serializer } from '../core/queueing/serializer.js'
import type { HostLinkEnd } from '../network/host-link-end.js'
import type { Gathering } from './gathering.js'
import { HostLine } from './host-line.js'

interface AttachmentOptions {
  pool: FramePool
  /** Rate of the host's link, bit/s. */
  rateBps: number
  /** Its propagation delay, one way. The network's own link to this node has none. */
  delayNs: Nanos
  /** Bytes that may wait for the host's own link. A frame beyond that is dropped. Default 4 MiB. */
  backlogBytesMax?: number
  /** Gets a frame that has arrived at the host, and owns it. */
  deliver: (frame: Frame) => void
  /** Gets, for each delivered frame, the time since its arrival on the emulated link. Default: none. */
  onDelivered?: (lateNs: Nanos) => void
  /** Hears how long frames from hosts were under way. Default: none. */
  gathering?: Gathering
  /**
   * Priorities of the host's frames. With it the host's end of the link obeys pauses. Default: it does not.
   */
  classifier?: Classifier
}

const BACKLOG_BYTES_MAX = 4 << 20

/** Frames that the network has not taken yet: all that arrive between two rounds of the loop. */
const READY_FRAMES = 1024
/** Frames on their way to the host: as many as the longest link can hold. */
const LEAVING_FRAMES = 16_384

/**
 * Represents a host's NIC in the emulated network. It puts frames from the real host on the emulated link on
 * an exact timeline. Each frame starts when it arrived or when the previous one has left, whichever is later,
 * however late and in what bursts the process woke.
 *
 * This class adds the host link's delay, both ways, and not the network. So it knows `delayNs` ahead when a
 * frame must leave the process, and nothing else needs the process to wake.
 */
export class Attachment implements HostLinkEnd {
  /** Frames that were dropped because the host sent more than its link carries. */
  drops = 0
  readonly #pool: FramePool
  readonly #line: Serializer
  /** Replaces `#line` and `#ready` where pauses are obeyed. */
  readonly #hostLine: HostLine | null
  readonly #backlogBytesMax: number
  #backlogNsMax: Nanos
  readonly #deliver: (frame: Frame) => void
  readonly #onDelivered: (lateNs: Nanos) => void
  readonly #gathering: Gathering | undefined
  #toHostNs: Nanos
  #fromHostNs: Nanos
  /** Arrival of the last frame at the host. */
  #lastNs: Nanos = 0
  readonly #ready = new FrameRing(READY_FRAMES)
  readonly #leaving = new FrameRing(LEAVING_FRAMES)

  constructor(options: AttachmentOptions) {
    this.#pool = options.pool
    this.#line = new Serializer(options.rateBps)
    const { pool, rateBps, classifier, backlogBytesMax = BACKLOG_BYTES_MAX } = options
    this.#backlogBytesMax = backlogBytesMax
    this.#backlogNsMax = (backlogBytesMax * 8e9) / rateBps
    this.#hostLine = classifier ? new HostLine({ pool, rateBps, backlogBytesMax, classifier }) : null
    this.#deliver = options.deliver
    this.#onDelivered = options.onDelivered ?? (() => {})
    this.#gathering = options.gathering
    this.#toHostNs = options.delayNs
    this.#fromHostNs = options.delayNs
  }

  /**
   * A frame arrived from the real host, and takes its place on the link. Call `Network.kick` after the last
   * one.
   */
  inject(now: Nanos, frame: Frame): void {
    frame.arrivedNs = now
    if (this.#hostLine !== null) {
      if (this.#hostLine.send(now, frame)) return
      this.drops++
      this.#pool.give(frame)
      return
    }
    if (this.#line.endNs - now > this.#backlogNsMax || this.#ready.full) {
      this.drops++
      this.#pool.give(frame)
      return
    }
    this.#line.transmit(now, frame.wireLength)
    frame.port = 0
    frame.departNs = this.#line.endNs + this.#fromHostNs
    this.#ready.push(frame)
  }

  /** A frame has left the last switch. */
  onFrame(now: Nanos, _port: number, frame: Frame): void {
    // After a change to a shorter delay no frame overtakes another.
    this.#lastNs = Math.max(now + this.#toHostNs, this.#lastNs)
    frame.departNs = this.#lastNs
    if (frame.arrivedNs !== UNKNOWN_ARRIVAL) this.#gathering?.onFrame(this.#lastNs - frame.arrivedNs)
    this.#hostLine?.note(frame.departNs, frame)
    if (this.#leaving.push(frame)) return
    this.drops++
    this.#pool.give(frame)
  }

  /** Delay of the link to the host. */
  get toHostNs(): Nanos {
    return this.#toHostNs
  }

  setLinkRate(now: Nanos, rateBps: number): void {
    this.#line.setRate(rateBps)
    this.#hostLine?.setRate(now, rateBps)
    this.#backlogNsMax = (this.#backlogBytesMax * 8e9) / rateBps
  }

  setLinkDelay(toHostNs: Nanos, fromHostNs: Nanos): void {
    this.#toHostNs = toHostNs
    this.#fromHostNs = fromHostNs
  }

  /** Frames that have not arrived at the host by `now` are lost. */
  cutLink(now: Nanos): number {
    this.#hostLine?.cut(now)
    let lost = 0
    for (let left = this.#leaving.size; left > 0; left--) {
      const frame = this.#leaving.shift()!
      if (frame.departNs <= now) this.#leaving.push(frame)
      else {
        lost++
        this.#pool.give(frame)
      }
    }
    this.#lastNs = now
    return lost
  }

  /** When the next frame arrives at the host, or NEVER. */
  nextDelivery(): Nanos {
    return this.#leaving.peek()?.departNs ?? NEVER
  }

  /** Delivers the frames that have arrived at the host by `now`. */
  deliverUntil(now: Nanos): void {
    for (let atNs = this.nextDelivery(); atNs <= now; atNs = this.nextDelivery()) {
      this.#onDelivered(now - atNs)
      this.#deliver(this.#leaving.shift()!)
    }
  }

  onTimeout(_now: Nanos): void {}

  nextTimeout(): Nanos {
    return this.#hostLine === null ? NEVER : this.#hostLine.nextTimeout()
  }

  /**
   * Returns frames at once, with the time at which they will have left. The link's delay line does the rest.
   * Where pauses are obeyed, it returns each frame when its transmission starts.
   */
  pollTransmit(now: Nanos): Frame | null {
    if (this.#hostLine === null) return this.#ready.shift()
    const frame = this.#hostLine.pollTransmit(now)
    if (frame === null) return null
    frame.port = 0
    frame.departNs += this.#fromHostNs
    return frame
  }

  /** Returns frames to their pool that the network has not taken, or that were not delivered. */
  close(): void {
    this.#hostLine?.close()
    this.#ready.giveAll(this.#pool)
    this.#leaving.giveAll(this.#pool)
  }
}

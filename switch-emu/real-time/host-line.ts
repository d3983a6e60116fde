import { assert } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { FrameRing } from '../../lib/io/ports/frame-ring.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { WireError } from '../../lib/wire/bytes/wire-error.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import type { Classifier } from '../core/forwarding/classifier.js'
import { DropReason } from '../core/queueing/counters.js'
import { EgressPort } from '../core/queueing/egress-port.js'
import { PRIORITIES } from '../core/queueing/shared-buffer.js'

/** Frames whose time has not come: all that arrive between two rounds of the loop. */
const ARRIVING_FRAMES = 1024
/** PFC frames on their way to one host. */
const PAUSES_MAX = 64
/** A pause in the ring: its arrival, its priorities, and the quanta of each. */
const COLUMNS = 2 + PRIORITIES
const EQUAL_WEIGHTS = new Array<number>(PRIORITIES).fill(1)

interface HostLineOptions {
  pool: FramePool
  /** Rate of the host's link, bit/s. */
  rateBps: number
  /** Bytes that may wait for the link. */
  backlogBytesMax: number
  /** Priorities according to the switch at the other end. */
  classifier: Classifier
}

/**
 * The host's end of an emulated link on which pauses are obeyed, like the transmitter of a NIC. The real host
 * obeys them too, but learns of them only when the machine lets it run. Here they hold from the nanosecond of
 * their arrival, so that a lossless switch needs no memory for the machine's slowness.
 */
export class HostLine {
  readonly #port: EgressPort
  readonly #pool: FramePool
  readonly #backlogBytesMax: number
  readonly #classifier: Classifier
  readonly #pauses = new Float64Array(PAUSES_MAX * COLUMNS)
  #pauseHead = 0
  #pauseCount = 0
  /** Frames that the host has sent by `enqueuedNs`, later than the network's time. */
  readonly #arriving = new FrameRing(ARRIVING_FRAMES)
  #arrivingBytes = 0
  #startNs: Nanos = NEVER

  constructor(options: HostLineOptions) {
    const { pool, rateBps, backlogBytesMax } = options
    this.#pool = pool
    this.#backlogBytesMax = backlogBytesMax
    this.#classifier = options.classifier
    this.#port = new EgressPort(
      0,
      { rateBps, weights: EQUAL_WEIGHTS },
      {
        bufferBytes: backlogBytesMax,
        pool,
        losslessMask: 0xff,
      },
    )
  }

  /**
   * Takes a frame that the host has sent at `now`, which is not before the previous one. Returns false if too
   * much waits already. Then the caller still owns it.
   */
  send(now: Nanos, frame: Frame): boolean {
    const bytes = this.#port.queueBytes + this.#arrivingBytes + frame.wireLength
    if (bytes > this.#backlogBytesMax || !this.#arriving.push(frame)) return false
    frame.enqueuedNs = now
    this.#arrivingBytes += frame.wireLength
    return true
  }

  /** If the frame is a PFC frame, it holds from its arrival at the host on, `atNs`. */
  note(atNs: Nanos, frame: Frame): void {
    const { view, length } = frame
    if (frame.l3 >= 0 || pfc.check(view, 0, length) !== WireError.OK) return
    // No link can hold more, so the oldest one is due.
    if (this.#pauseCount === PAUSES_MAX) this.#applyFirst()
    const at = ((this.#pauseHead + this.#pauseCount++) % PAUSES_MAX) * COLUMNS
    this.#pauses[at] = atNs
    this.#pauses[at + 1] = pfc.enableVector(view, 0)
    for (let p = 0; p < PRIORITIES; p++) this.#pauses[at + 2 + p] = pfc.quanta(view, 0, p)
  }

  /** Sets the rate of frames that start from now on. */
  setRate(now: Nanos, rateBps: number): void {
    this.#port.setRate(now, rateBps)
  }

  /** The link has gone down: pauses that are on their way are lost, and those that hold end. */
  cut(now: Nanos): void {
    while (this.#nextPauseNs() <= now) this.#applyFirst()
    this.#pauseCount = 0
    for (let p = 0; p < PRIORITIES; p++) this.#port.pause.onPause(now, p, 0)
    this.#startNs = this.#port.nextStartNs(now)
  }

  nextTimeout(): Nanos {
    return Math.min(this.#startNs, this.#nextPauseNs(), this.#nextArrivalNs())
  }

  /** Returns a frame whose transmission starts by `now`, or null. Its last bit leaves at `frame.departNs`. */
  pollTransmit(now: Nanos): Frame | null {
    this.#catchUp(now)
    if (this.#startNs > now) return null
    const dueNs = this.#startNs
    const frame = this.#port.transmit(dueNs)
    this.#startNs = this.#port.nextStartNs(dueNs)
    return frame
  }

  /** Returns waiting frames to their pool. */
  close(): void {
    for (let p = 0; p < PRIORITIES; p++) {
      for (let frame = this.#port.takeOut(0, p); frame !== null; frame = this.#port.takeOut(0, p)) {
        this.#pool.give(frame)
      }
    }
    this.#arriving.giveAll(this.#pool)
    this.#startNs = NEVER
  }

  /** Handles what comes before the next start, in the order of the times: pauses, and frames of the host. */
  #catchUp(now: Nanos): void {
    for (;;) {
      const pauseNs = this.#nextPauseNs()
      const arrivalNs = this.#nextArrivalNs()
      if (Math.min(pauseNs, arrivalNs) > Math.min(now, this.#startNs)) return
      if (pauseNs <= arrivalNs) this.#applyFirst()
      else this.#enqueueFirst()
    }
  }

  #nextArrivalNs(): Nanos {
    return this.#arriving.peek()?.enqueuedNs ?? NEVER
  }

  #enqueueFirst(): void {
    const frame = this.#arriving.shift()!
    this.#arrivingBytes -= frame.wireLength
    const now = frame.enqueuedNs
    const priority = this.#priority(frame)
    const refused = this.#port.admit(now, frame, priority)
    assert(refused === DropReason.NONE, "host line: its queue is smaller than its backlog's bound")
    this.#port.enqueue(now, frame, priority)
    this.#startNs = this.#port.nextStartNs(now)
  }

  #nextPauseNs(): Nanos {
    return this.#pauseCount === 0 ? NEVER : this.#pauses[this.#pauseHead * COLUMNS]!
  }

  #applyFirst(): void {
    const at = this.#pauseHead * COLUMNS
    const now = this.#pauses[at]!
    for (let p = 0; p < PRIORITIES; p++) {
      if ((this.#pauses[at + 1]! >>> p) & 1) this.#port.pause.onPause(now, p, this.#pauses[at + 2 + p]!)
    }
    this.#pauseHead = (this.#pauseHead + 1) % PAUSES_MAX
    this.#pauseCount--
    this.#startNs = this.#port.nextStartNs(now)
  }

  /** Reads the headers without checks, which the switch makes. */
  #priority(frame: Frame): number {
    const { view, length } = frame
    const type = length >= ethernet.TAGGED_BYTES ? ethernet.etherType(view, 0) : 0
    if (type !== ethernet.TYPE_IPV4 && type !== ethernet.TYPE_IPV6) return 0
    frame.l3 = ethernet.headerBytes(view, 0)
    const priority = this.#classifier.priority(frame)
    frame.l3 = -1
    return priority
  }
}

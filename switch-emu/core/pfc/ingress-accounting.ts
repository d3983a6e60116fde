import { assert, WeirError } from '../../../lib/errors.js'
import { DropReason } from '../queueing/counters.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'

/** Options of priority flow control. SONiC's names in BUFFER_PROFILE and PORT_QOS_MAP are in brackets. */
export interface PfcOptions {
  /** Lossless priorities, each 0 to 7 [pfc_enable]. */
  priorities: readonly number[]
  /** Static threshold: bytes of one port and priority above which its peer is paused [static_th]. */
  xoffBytes?: number
  /** Dynamic threshold instead: this factor times the free bytes of the shared pool [2^dynamic_th]. */
  alpha?: number
  /** The peer may resume when at most this many bytes remain [xon]. Default 0. */
  xonBytes?: number
  /**
   * The peer may also resume when the bytes are this far below the threshold [xon_offset]. Default: only
   * xonBytes counts.
   */
  xonOffsetBytes?: number
  /** Bytes reserved for each port and lossless priority, within its threshold [size]. Default 0. */
  reservedBytes?: number
  /** By port: bytes that each lossless priority may take in after its peer was paused [xoff]. */
  headroomBytes: readonly number[]
  /** Pause time in PFC frames, in 512 bit times, 1 to 65535. Default 65535. */
  quanta?: number
}

/**
 * The packet memory of a lossless switch, accounted by ingress port. It is divided as by SONiC on Broadcom's
 * chips, without their rounding to cells:
 *
 * - Each port and lossless priority (a priority group) has its own reserved bytes and headroom.
 * - The rest is one shared pool, for lossless and lossy frames.
 *
 * A lossless frame that fits below the threshold uses reserved, then shared memory. Otherwise it uses the
 * headroom, and the group requests a pause (xoff) until it has drained (xon): headroom first, reserved last.
 * The frame is lost only when the headroom is full. A lossy frame is lost when the shared pool is full.
 */
export class IngressAccounting {
  /** Bit p: priority p is lossless. */
  readonly losslessMask: number
  readonly sharedBytesMax: number
  readonly #xoffBytes: number
  readonly #alpha: number
  readonly #xonBytes: number
  readonly #xonOffsetBytes: number
  readonly #reservedBytes: number
  readonly #headroomBytesMax: Float64Array
  // By port x 8 + priority.
  readonly #bytes: Float64Array
  readonly #headroom: Float64Array
  readonly #maxBytes: Float64Array
  readonly #maxHeadroom: Float64Array
  /** By port, bit p: the peer must hold priority p. */
  readonly #xoff: Uint8Array
  #sharedUsed = 0

  /**
   * Throws WEIR_BAD_ARGUMENT if no memory remains to share.
   *
   * @param bufferBytes all packet memory
   */
  constructor(options: PfcOptions, bufferBytes: number, ports: number) {
    const { priorities, xoffBytes, alpha, headroomBytes, reservedBytes = 0 } = options
    check(options, ports)
    this.losslessMask = priorities.reduce((mask, p) => mask | (1 << p), 0)
    this.#xoffBytes = xoffBytes ?? 0
    this.#alpha = alpha ?? 0
    this.#xonBytes = options.xonBytes ?? 0
    this.#xonOffsetBytes = options.xonOffsetBytes ?? Number.POSITIVE_INFINITY
    this.#reservedBytes = reservedBytes
    this.#headroomBytesMax = Float64Array.from(headroomBytes)
    this.sharedBytesMax = sharedBytesOf(options, bufferBytes)
    if (!(this.sharedBytesMax > 0)) {
      const own = bufferBytes - this.sharedBytesMax
      throw bad(
        `reserved bytes and headroom of all ports, ${own}, leave nothing of the buffer of ${bufferBytes}`,
      )
    }
    this.#bytes = new Float64Array(ports * PRIORITIES)
    this.#headroom = new Float64Array(ports * PRIORITIES)
    this.#maxBytes = new Float64Array(ports * PRIORITIES)
    this.#maxHeadroom = new Float64Array(ports * PRIORITIES)
    this.#xoff = new Uint8Array(ports)
  }

  /** Bytes of the shared pool in use. */
  get sharedUsedBytes(): number {
    return this.#sharedUsed
  }

  /** Bit p: the peer of `port` must hold priority p. */
  xoffMask(port: number): number {
    return this.#xoff[port]!
  }

  /** Bytes that came in by `port` with a lossless `priority`, including headroom. */
  bytesOf(port: number, priority: number): number {
    return this.#bytes[port * PRIORITIES + priority]!
  }

  headroomBytesOf(port: number, priority: number): number {
    return this.#headroom[port * PRIORITIES + priority]!
  }

  /** The most bytes of one lossless priority of `port` since the window began. */
  maxBytesOf(port: number): number {
    return largest(this.#maxBytes, port)
  }

  /** The most bytes of headroom of one lossless priority of `port` since the window began. */
  maxHeadroomOf(port: number): number {
    return largest(this.#maxHeadroom, port)
  }

  resetWindow(): void {
    this.#maxBytes.set(this.#bytes)
    this.#maxHeadroom.set(this.#headroom)
  }

  /** Bytes of a lossless priority and port above which frames use its headroom, now. */
  thresholdBytes(): number {
    if (this.#alpha === 0) return this.#xoffBytes
    return this.#reservedBytes + this.#alpha * (this.sharedBytesMax - this.#sharedUsed)
  }

  /** Admits a frame, or returns why there is no room. In both cases `xoffMask(port)` may have changed. */
  admit(port: number, priority: number, bytes: number): DropReason {
    if (((this.losslessMask >>> priority) & 1) === 0) {
      if (this.#sharedUsed + bytes > this.sharedBytesMax) return DropReason.BUFFER_FULL
      this.#sharedUsed += bytes
      return DropReason.NONE
    }
    const at = port * PRIORITIES + priority
    const before = this.#bytes[at]!
    // Headroom is used only above the threshold. Then reserved and shared memory do not matter.
    if (
      this.#headroom[at] === 0 &&
      before + bytes <= this.thresholdBytes() &&
      this.#takeShared(before, bytes)
    ) {
      this.#bytes[at] = before + bytes
    } else {
      this.#xoff[port]! |= 1 << priority
      const headroom = this.#headroom[at]! + bytes
      if (headroom > this.#headroomBytesMax[port]!) return DropReason.HEADROOM_FULL
      this.#headroom[at] = headroom
      this.#bytes[at] = before + bytes
      if (headroom > this.#maxHeadroom[at]!) this.#maxHeadroom[at] = headroom
    }
    if (this.#bytes[at]! > this.#maxBytes[at]!) this.#maxBytes[at] = this.#bytes[at]!
    return DropReason.NONE
  }

  /**
   * An admitted frame has left. `xoffMask(port)` may have changed: the peer resumes once the headroom is
   * empty and xon is reached.
   */
  release(port: number, priority: number, bytes: number): void {
    if (((this.losslessMask >>> priority) & 1) === 0) {
      this.#sharedUsed -= bytes
      return
    }
    const at = port * PRIORITIES + priority
    const left = this.#bytes[at]! - bytes
    assert(left >= 0, 'ingress accounting: more released than admitted')
    const fromHeadroom = Math.min(bytes, this.#headroom[at]!)
    this.#headroom[at]! -= fromHeadroom
    this.#bytes[at] = left
    const owned = left - this.#headroom[at]!
    this.#sharedUsed -= this.#sharedPart(owned + bytes - fromHeadroom) - this.#sharedPart(owned)
    if ((this.#xoff[port]! >>> priority) & 1 && left === owned && left <= this.resumeBytes()) {
      this.#xoff[port]! &= ~(1 << priority)
    }
  }

  /** Bytes of a lossless priority and port at which its peer may resume, now. */
  resumeBytes(): number {
    return Math.max(this.#xonBytes, this.thresholdBytes() - this.#xonOffsetBytes)
  }

  /** Returns false if the pool has no room for `bytes` more of a group that holds `before`. */
  #takeShared(before: number, bytes: number): boolean {
    const used = this.#sharedUsed + this.#sharedPart(before + bytes) - this.#sharedPart(before)
    if (used > this.sharedBytesMax) return false
    this.#sharedUsed = used
    return true
  }

  /** Bytes of a group outside its headroom that exceed its reserved bytes. */
  #sharedPart(bytes: number): number {
    return bytes > this.#reservedBytes ? bytes - this.#reservedBytes : 0
  }
}

/**
 * Bytes of `bufferBytes` that remain to share after every port and lossless priority has its own. May be
 * negative.
 */
function sharedBytesOf(
  options: Pick<PfcOptions, 'priorities' | 'reservedBytes' | 'headroomBytes'>,
  bufferBytes: number,
): number {
  const groups = new Set(options.priorities).size
  const own = options.headroomBytes.reduce((sum, bytes) => sum + bytes + (options.reservedBytes ?? 0), 0)
  return bufferBytes - groups * own
}

function check(options: PfcOptions, ports: number): void {
  const { priorities, xoffBytes, alpha, headroomBytes, reservedBytes = 0, xonBytes = 0 } = options
  if (priorities.length === 0 || priorities.some(p => !Number.isInteger(p) || p < 0 || p >= PRIORITIES)) {
    throw bad(`priorities are one or more whole numbers from 0 to 7, not [${priorities.join(', ')}]`)
  }
  if ((xoffBytes === undefined) === (alpha === undefined)) throw bad('give one of xoffBytes and alpha')
  if (alpha !== undefined && !(alpha > 0)) throw bad(`alpha is above 0, not ${alpha}`)
  if (xoffBytes !== undefined && !(xoffBytes > xonBytes && xoffBytes >= reservedBytes)) {
    throw bad(
      `xoffBytes (${xoffBytes}) is above xonBytes (${xonBytes}), and not below reservedBytes (${reservedBytes})`,
    )
  }
  if (headroomBytes.length !== ports || headroomBytes.some(bytes => !(bytes >= 0))) {
    throw bad(
      `headroomBytes has a number from 0 for each of ${ports} ports, not [${headroomBytes.join(', ')}]`,
    )
  }
}

function largest(values: Float64Array, port: number): number {
  return Math.max(...values.subarray(port * PRIORITIES, (port + 1) * PRIORITIES))
}

function bad(what: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `pfc: ${what}`)
}

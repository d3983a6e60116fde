import { assert, WeirError } from '../../../lib/errors.js'

/** Priorities of a port, 0 to 7. 7 is served first (IEEE 802.1Q). */
export const PRIORITIES = 8

/**
 * Bytes of packet memory in use: of the whole switch, of each ingress port and priority, of each egress port.
 * It holds no frames and only decides whether a frame fits: `check`, then `update` when a frame is admitted,
 * then `remove` when its transmission starts.
 */
export class SharedBuffer {
  readonly bytesMax: number
  readonly #ingress: Float64Array
  readonly #egress: Float64Array
  #used = 0

  /**
   * Throws WEIR_BAD_ARGUMENT for `bytesMax` below 1.
   *
   * @param bytesMax memory of the whole switch, bytes
   */
  constructor(bytesMax: number, ports: number) {
    if (!Number.isInteger(bytesMax) || bytesMax < 1) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `shared buffer: bufferBytes is a whole number from 1, not ${bytesMax}`,
      )
    }
    this.bytesMax = bytesMax
    this.#ingress = new Float64Array(ports * PRIORITIES)
    this.#egress = new Float64Array(ports)
  }

  get usedBytes(): number {
    return this.#used
  }

  /** Bytes in the switch that came in by `port` with `priority`. */
  ingressBytes(port: number, priority: number): number {
    return this.#ingress[port * PRIORITIES + priority]!
  }

  /** Bytes in the switch that wait to leave by `port`. */
  egressBytes(port: number): number {
    return this.#egress[port]!
  }

  /** Returns true if a frame of `bytes` may be admitted. */
  check(bytes: number): boolean {
    return this.#used + bytes <= this.bytesMax
  }

  /** A frame was admitted. */
  update(ingress: number, priority: number, egress: number, bytes: number): void {
    this.#used += bytes
    assert(this.#used <= this.bytesMax, 'shared buffer: more admitted than it has')
    this.#ingress[ingress * PRIORITIES + priority]! += bytes
    this.#egress[egress]! += bytes
  }

  /** An admitted frame has left the queue. */
  remove(ingress: number, priority: number, egress: number, bytes: number): void {
    const at = ingress * PRIORITIES + priority
    assert(
      this.#ingress[at]! >= bytes && this.#egress[egress]! >= bytes,
      'shared buffer: more removed than admitted',
    )
    this.#used -= bytes
    this.#ingress[at]! -= bytes
    this.#egress[egress]! -= bytes
  }
}

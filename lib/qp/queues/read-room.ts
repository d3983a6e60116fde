/**
 * Bounds the bytes that all queue pairs of a host request at once by READs. Nothing acknowledges READ responses, so
 * what is requested has to fit into the host's receive buffer. A READ longer than half of the bound is requested in
 * parts: as one request it would exceed the buffer, or leave the link idle between its last response and the next
 * request. A queue pair for which there is no room waits for its turn.
 */
export class ReadRoom {
  readonly #limitBytes: number
  /** Bytes requested that have not arrived yet. */
  #outBytes = 0
  /** Bytes that each waiting queue pair would ask for, by QPN, first come first. */
  readonly #waiting = new Map<number, number>()
  /** Bytes that the first of them would ask for. */
  #firstBytes = 0
  /** QPNs that have had their turn to ask. */
  readonly #called = new Set<number>()

  /** @param limitBytes Port.receiveBudgetBytes; infinite where nothing is lost for want of memory */
  constructor(limitBytes = Number.POSITIVE_INFINITY) {
    this.#limitBytes = limitBytes
  }

  /** Bytes that one READ request may ask for: whole packets of `pathMtu`, one at least. */
  requestBytesMax(pathMtu: number): number {
    return Math.max(1, Math.floor(this.#limitBytes / 2 / pathMtu)) * pathMtu
  }

  /** True if that queue pair may ask for so many bytes; if not, it waits from now on. */
  admits(qpn: number, bytes: number): boolean {
    if (this.#fits(bytes) && (this.#waiting.size === 0 || this.#called.has(qpn))) return true
    this.#called.delete(qpn)
    this.#waiting.set(qpn, bytes)
    this.#findFirst()
    return false
  }

  /** The queue pair has asked for them. */
  take(qpn: number, bytes: number): void {
    this.#outBytes += bytes
    this.leave(qpn)
  }

  /** They have come, or are no longer waited for. */
  give(bytes: number): void {
    this.#outBytes -= bytes
  }

  /** The queue pair waits no longer. */
  leave(qpn: number): void {
    this.#called.delete(qpn)
    if (this.#waiting.delete(qpn)) this.#findFirst()
  }

  /** True if there is room for the first that waits. */
  get calls(): boolean {
    return this.#waiting.size > 0 && this.#fits(this.#firstBytes)
  }

  /** QPN of the first that waits: it waits no longer, and has its turn to ask. Only if `calls`. */
  call(): number {
    const [qpn] = this.#waiting.keys()
    this.leave(qpn!)
    this.#called.add(qpn!)
    return qpn!
  }

  #findFirst(): void {
    const [bytes] = this.#waiting.values()
    this.#firstBytes = bytes ?? 0
  }

  #fits(bytes: number): boolean {
    // What is longer than all of the room goes alone.
    return this.#outBytes === 0 || this.#outBytes + bytes <= this.#limitBytes
  }
}

/**
 * How many bytes all queue pairs of a host ask for at once by READs: nothing acknowledges the responses, so what comes back
 * has to fit into the host's receive buffer. One that is greater than half of it counts as half: alone it would leave the
 * link idle between its last response and the next request. Who has no room waits for its turn.
 */
export class ReadRoom {
  readonly #limitBytes: number
  /** Asked for, and not come. */
  #outBytes = 0
  /** By QPN, first come first: bytes that the queue pair would ask for. */
  readonly #waiting = new Map<number, number>()
  /** Of the first that waits. */
  #firstBytes = 0
  /** QPNs that have had their turn to ask. */
  readonly #called = new Set<number>()

  /** @param limitBytes Port.receiveBudgetBytes; infinite where nothing is lost for want of memory */
  constructor(limitBytes = Number.POSITIVE_INFINITY) {
    this.#limitBytes = limitBytes
  }

  /** May that queue pair ask for so many bytes? If not, it waits. */
  admits(qpn: number, bytes: number): boolean {
    if (this.#fits(bytes) && (this.#waiting.size === 0 || this.#called.has(qpn))) return true
    this.#called.delete(qpn)
    this.#waiting.set(qpn, bytes)
    this.#findFirst()
    return false
  }

  /** It has asked for them. */
  take(qpn: number, bytes: number): void {
    this.#outBytes += bytes
    this.leave(qpn)
  }

  /** They have come, or are no longer waited for. */
  give(bytes: number): void {
    this.#outBytes -= bytes
  }

  /** It does not wait any more. */
  leave(qpn: number): void {
    this.#called.delete(qpn)
    if (this.#waiting.delete(qpn)) this.#findFirst()
  }

  /** True if there is room for the first that waits. */
  get calls(): boolean {
    return this.#waiting.size > 0 && this.#fits(this.#firstBytes)
  }

  /** Its QPN: it has its turn, and waits no longer. Only if `calls`. */
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
    return this.#outBytes + Math.min(bytes, this.#limitBytes / 2) <= this.#limitBytes
  }
}

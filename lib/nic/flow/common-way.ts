/**
 * A way of a connection's packets that takes both ends: true, or how far they go in it. Of two ends the one that does less decides. Before the
 * handshake nothing is agreed.
 */
export class CommonWay<T extends boolean | number> {
  readonly #none: T
  #offered: T
  #isAgreed = false

  /** @param own what this end would do; @param none what an end does that does not take the way: false, or 0 */
  constructor(own: T, none: T) {
    this.#none = none
    this.#offered = own
  }

  /** Before the handshake what this end would do, after it what both do. */
  get offered(): T {
    return this.#offered
  }

  /** What both ends do. */
  get agreed(): T {
    return this.#isAgreed ? this.#offered : this.#none
  }

  /** The peer has said what it would do. */
  agree(said: T): void {
    if (said < this.#offered) this.#offered = said
    this.#isAgreed = true
  }

  /** This end does not take the way on the connection. */
  drop(): void {
    this.#offered = this.#none
  }
}

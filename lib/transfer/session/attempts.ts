/** The latest session of each transfer that comes here over one connection after another. */

import { TRANSFER_NAME_BYTES_MAX } from '../protocol/messages.js'

/** A session as its successor knows it. */
interface Attempt {
  /** Resolves when every resource has been given back. */
  readonly outcome: Promise<unknown>
  /** Ends it, as a later attempt of the same transfer has come. */
  supersede(): void
}

export class Attempts {
  readonly #latest = new Map<string, Attempt>()

  /**
   * Makes `session` the latest attempt of the transfer that `peer` calls by that name. Ends the attempt before, whose
   * connection the peer has lost, perhaps unnoticed here, and resolves when that one has given back what it held:
   * above all its file.
   */
  async begin(peer: string, name: Uint8Array, session: Attempt): Promise<void> {
    if (name.length === 0 || name.length > TRANSFER_NAME_BYTES_MAX) return
    const key = `${peer} ${Buffer.from(name).toString('hex')}`
    const before = this.#latest.get(key)
    this.#latest.set(key, session)
    void session.outcome.then(() => {
      if (this.#latest.get(key) === session) this.#latest.delete(key)
    })
    if (!before) return
    before.supersede()
    await before.outcome
  }
}

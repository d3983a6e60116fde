/** Of transfers that come here by one connection after the other: which session is the latest of which transfer. */
import type { PassiveSession } from './passive-session.js'

/** A transfer's name is 16 bytes long; what is longer than this is none. */
const NAME_BYTES_MAX = 64

export class Attempts {
  readonly #latest = new Map<string, PassiveSession>()

  /**
   * `session` is the latest attempt of the transfer that `peer` calls so. Ends the one before, whose connection the peer
   * has lost and this end need not know of yet, and resolves when that has given back what it held: its file above all.
   */
  async begin(peer: string, name: Uint8Array, session: PassiveSession): Promise<void> {
    if (name.length === 0 || name.length > NAME_BYTES_MAX) return
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

/**
 * Files that a host sends twice: its daemon was killed, and its user sends the file again. This host has not noticed the loss, and the
 * session that nobody goes on with still holds the file.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Nanos, SECOND } from '../time/nanos.js'
import type { Offer } from './messages.js'

/** A sender that lives brings the next chunk sooner, or its next attempt comes back to what has arrived. */
const SILENT_NS = 2 * SECOND
const LOOK_EVERY_MS = 50

/** A session that brings a file. */
export interface Bringer {
  /** When the peer last did what it has to. */
  readonly progressNs: Nanos
  /** It is this end that has something to do. */
  readonly isBusy: boolean
  readonly ended: boolean
  /** Resolves when it has given back all that it holds. */
  readonly outcome: Promise<unknown>
  /** Ends it; what has arrived is kept. */
  supersede(): void
}

export class SameFile {
  readonly #latest = new Map<string, Bringer>()

  /**
   * Makes `session` the latest one that brings this file of `peer`. Resolves when the one before has ended, which it does when it has
   * been silent for 2 s, or when that one goes on.
   */
  async begin(peer: string, offer: Offer, session: Bringer, now: () => Nanos): Promise<void> {
    const { directory, name, nameInFolder = '', size, mtimeMs } = offer
    const key = JSON.stringify([peer, directory, name, nameInFolder, size, mtimeMs])
    const before = this.#latest.get(key)
    this.#latest.set(key, session)
    let hasEnded = false
    void session.outcome.then(() => {
      if (this.#latest.get(key) === session) this.#latest.delete(key)
    })
    if (!before) return
    void before.outcome.then(() => {
      hasEnded = true
    })
    const { progressNs } = before
    while (!hasEnded && !before.isBusy && before.progressNs === progressNs && !session.ended) {
      if (now() - progressNs >= SILENT_NS) {
        before.supersede()
        await before.outcome
        return
      }
      await sleep(LOOK_EVERY_MS)
    }
    // The one that goes on is the one to look at for whoever comes next.
    if (!hasEnded) this.#latest.set(key, before)
  }
}

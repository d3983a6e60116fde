/**
 * Who gives way when more hosts want to move files than can at a time. One that is silent does, of the host that holds the
 * most: so a host that asks for much and does nothing is in its own way. No clock.
 */
import { type Nanos, SECOND } from '../../time/nanos.js'
import { TransferFailure } from '../protocol/failure.js'

/** A transfer gives its memory to another one after so long without anything new of its file. */
const SILENT_NS = 10 * SECOND
/** Connections for each file that can be under way: those beyond it are refused: there is no place. */
const CONNECTIONS_PER_RING = 2

/** A session, as far as its place is concerned. */
export interface Holder {
  readonly remoteName: string
  /** It has said what it wants. */
  readonly hasAsked: boolean
  /** It holds memory of the pool. */
  readonly holdsRing: boolean
  /** When the peer last did what it has to. */
  readonly progressNs: Nanos
  /** The peer waits for this host, which looks through a part that has arrived before, or brings a file to disk. */
  readonly isBusy: boolean
  /** Resolves when it has given back all that it holds. */
  readonly outcome: Promise<unknown>
  /** Ends it. What has arrived is kept. @param atOnce without waiting until the peer has heard why */
  giveWay(why: TransferFailure, atOnce: boolean): void
}

interface Rings {
  readonly limit: number
  readonly inUse: number
}

/** Established sessions of one direction that others have begun. */
export class Places {
  readonly #rings: Rings
  readonly #holders = new Set<Holder>()
  /** Sessions that were asked to end, and have not ended. */
  #leaving = 0

  constructor(rings: Rings) {
    this.#rings = rings
  }

  get size(): number {
    return this.#holders.size
  }

  /** The session is established. It, or one that has asked for nothing yet, has to go if there are too many. */
  enter(holder: Holder): void {
    this.#holders.add(holder)
    void holder.outcome.then(() => this.#holders.delete(holder))
    if (this.#holders.size <= CONNECTIONS_PER_RING * this.#rings.limit) return
    const loser = this.#oldestOfGreediest(({ hasAsked }) => !hasAsked) ?? holder
    this.#end(loser, 'too many transfers run here: try again when one has ended')
  }

  /**
   * Before the session takes memory: resolves when there is some, if a silent one can give way. A host that has all but one
   * place leaves that to others.
   */
  async makeRoom(now: Nanos, holder: Holder): Promise<void> {
    const { limit } = this.#rings
    const most = limit > 1 ? limit - 1 : 1
    const own = [...this.#holders].filter(other => other.holdsRing && other.remoteName === holder.remoteName)
    if (own.length >= most) {
      const silent = own.filter(other => isSilent(now, other))
      const loser = silent.sort((a, b) => a.progressNs - b.progressNs)[0]
      if (!loser) throw new TransferFailure('BUSY', `${most} files of this host are under way already`)
      await this.#replace(loser)
    } else if (this.#rings.inUse >= limit) {
      const loser = this.#oldestOfGreediest(other => other.holdsRing && isSilent(now, other))
      if (loser) await this.#replace(loser)
    }
  }

  async #replace(loser: Holder): Promise<void> {
    this.#end(loser, 'it was silent, and others waited for its place')
    await loser.outcome
  }

  #end(loser: Holder, why: string): void {
    this.#holders.delete(loser)
    const atOnce = loser.holdsRing || this.#leaving >= CONNECTIONS_PER_RING * this.#rings.limit
    this.#leaving++
    void loser.outcome.then(() => this.#leaving--)
    loser.giveWay(new TransferFailure('BUSY', why), atOnce)
  }

  /** The session among those that may go whose peer holds the most, and of that peer's the one that was silent for longest. */
  #oldestOfGreediest(mayGo: (holder: Holder) => boolean): Holder | null {
    const counts = new Map<string, number>()
    for (const { remoteName } of this.#holders) counts.set(remoteName, (counts.get(remoteName) ?? 0) + 1)
    let found: Holder | null = null
    for (const holder of this.#holders) {
      if (!mayGo(holder)) continue
      const more = found === null ? 1 : counts.get(holder.remoteName)! - counts.get(found.remoteName)!
      if (more > 0 || (more === 0 && holder.progressNs < found!.progressNs)) found = holder
    }
    return found
  }
}

function isSilent(now: Nanos, { progressNs, isBusy }: Holder): boolean {
  return !isBusy && now - progressNs >= SILENT_NS
}

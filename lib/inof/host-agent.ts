/** A host of an iNOF network: it says that it is there, and hears which members of its zones are. */
import { type Nanos, NEVER } from '../time/nanos.js'
import {
  type HostPresence,
  HostState,
  InofEvent,
  type InofNotice,
  type NoticesHeader,
} from '../wire/weir/inof-tlv.js'

/** Between two announcements. */
const ANNOUNCE_NS: Nanos = 300_000_000
/** A switch forgets a host that is silent for so long: three announcements may be lost. */
const PRESENCE_TTL_SECONDS = 1

/** Options of the agent of a host. */
interface HostAgentOptions {
  address: number
  /** 0: a host, 1: a host with storage. */
  kind: number
  /** A random number of this start. */
  epoch: number
}

/** What the agent asks of the host. */
interface HostAgentOwner {
  sendPresence(now: Nanos, presence: HostPresence, ttlSeconds: number): void
  /** A member has arrived, departed or failed. */
  peerChanged(now: Nanos, notice: InofNotice): void
}

export class HostAgent {
  readonly #options: HostAgentOptions
  readonly #owner: HostAgentOwner
  readonly #peers = new Map<number, InofNotice>()
  /** Peers that a switch which has begun anew has not named yet. */
  readonly #unlisted = new Set<number>()
  #switchEpoch = 0
  #heard = 0
  #announceAtNs: Nanos

  constructor(now: Nanos, options: HostAgentOptions, owner: HostAgentOwner) {
    this.#options = options
    this.#owner = owner
    this.#announceAtNs = now
  }

  /** Who is there, by address. */
  peers(): InofNotice[] {
    return [...this.#peers.values()].sort((a, b) => a.address - b.address)
  }

  nextTimeout(): Nanos {
    return this.#announceAtNs
  }

  onTimeout(now: Nanos): void {
    if (this.#announceAtNs <= now) this.announce(now)
  }

  /** Says that it is there: at intervals, when its link comes up, and to acknowledge. */
  announce(now: Nanos): void {
    this.#announceAtNs = now + ANNOUNCE_NS
    this.#say(now, HostState.PRESENT, PRESENCE_TTL_SECONDS)
  }

  /** Says that it leaves. */
  leave(now: Nanos): void {
    this.#announceAtNs = NEVER
    this.#say(now, HostState.LEAVING, 0)
  }

  onNotices(now: Nanos, header: NoticesHeader, notices: readonly InofNotice[]): void {
    if (header.epoch !== this.#options.epoch || this.#announceAtNs === NEVER) return
    if (header.switchEpoch !== this.#switchEpoch) {
      this.#switchEpoch = header.switchEpoch
      this.#heard = 0
      for (const address of this.#peers.keys()) this.#unlisted.add(address)
    }
    for (const [i, notice] of notices.entries()) {
      if (header.first + i !== this.#heard + 1) continue
      this.#heard++
      this.#onNotice(now, notice)
    }
    this.announce(now)
  }

  #onNotice(now: Nanos, notice: InofNotice): void {
    const { event, address } = notice
    if (event === InofEvent.LISTED) {
      for (const gone of this.#unlisted) {
        const peer = this.#peers.get(gone)!
        this.#peers.delete(gone)
        this.#owner.peerChanged(now, { ...peer, event: InofEvent.DEPARTED })
      }
      this.#unlisted.clear()
      return
    }
    this.#unlisted.delete(address)
    if (event === InofEvent.ARRIVED) {
      const isKnown = this.#peers.has(address)
      this.#peers.set(address, notice)
      if (!isKnown) this.#owner.peerChanged(now, notice)
    } else if (this.#peers.delete(address)) this.#owner.peerChanged(now, notice)
  }

  #say(now: Nanos, state: HostState, ttlSeconds: number): void {
    const { address, kind, epoch } = this.#options
    this.#owner.sendPresence(
      now,
      { kind, state, epoch, switchEpoch: this.#switchEpoch, heard: this.#heard, address },
      ttlSeconds,
    )
  }
}

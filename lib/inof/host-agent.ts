/** A host of an iNOF network: it says that it is there, and hears which members of its zones are. */
import { type Nanos, NEVER } from '../time/nanos.js'
import {
  type HostPresence,
  HostState,
  InofEvent,
  type InofNotice,
  type NoticesHeader,
} from '../wire/weir/inof-tlv.js'

/** Announcements in the time after which a silent host is forgotten: three in a row may be lost. */
export const ANNOUNCEMENTS = 10 / 3
const NS_PER_S = 1_000_000_000
/** Failed links that are remembered, at most. */
const FAILED_LINKS_MAX = 4096

/** Options of the agent of a host. */
interface HostAgentOptions {
  address: number
  /** 0: a host, 1: a host with storage. */
  kind: number
  /** A random number of this start. */
  epoch: number
  /** Its switch forgets it after a silence of so long. Default 1. */
  silenceSeconds?: number
}

/** What the agent asks of the host. */
interface HostAgentOwner {
  sendPresence(now: Nanos, presence: HostPresence, ttlSeconds: number): void
  /** A member has arrived, departed or failed. */
  peerChanged(now: Nanos, notice: InofNotice): void
  /** A link between switches has failed, or is up again. */
  linkChanged?(now: Nanos, notice: InofNotice): void
}

export class HostAgent {
  readonly #options: HostAgentOptions
  readonly #owner: HostAgentOwner
  readonly #peers = new Map<number, InofNotice>()
  /** Peers that a switch which has begun anew has not named yet. */
  readonly #unlisted = new Set<number>()
  /** Links that have failed, and those of them that a switch which has begun anew has not named yet. */
  readonly #failedLinks = new Map<number, InofNotice>()
  readonly #unlistedLinks = new Set<number>()
  readonly #silenceSeconds: number
  #switchEpoch = 0
  #heard = 0
  #announceAtNs: Nanos

  constructor(now: Nanos, options: HostAgentOptions, owner: HostAgentOwner) {
    this.#options = options
    this.#owner = owner
    this.#silenceSeconds = options.silenceSeconds ?? 1
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
    this.#announceAtNs = now + Math.floor((this.#silenceSeconds * NS_PER_S) / ANNOUNCEMENTS)
    this.#say(now, HostState.PRESENT, this.#silenceSeconds)
  }

  /** Says that it leaves. */
  leave(now: Nanos): void {
    this.#announceAtNs = NEVER
    this.#say(now, HostState.LEAVING, 0)
  }

  onNotices(now: Nanos, header: NoticesHeader, notices: readonly InofNotice[]): void {
    if (this.#announceAtNs === NEVER) return
    if (header.epoch === 0 && notices.length === 0) this.announce(now)
    if (header.epoch !== this.#options.epoch) return
    if (header.switchEpoch !== this.#switchEpoch) {
      this.#switchEpoch = header.switchEpoch
      this.#heard = 0
      for (const address of this.#peers.keys()) this.#unlisted.add(address)
      for (const link of this.#failedLinks.keys()) this.#unlistedLinks.add(link)
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
      this.#onListed(now)
      return
    }
    if (event >= InofEvent.LINK_DOWN) {
      this.#onLink(now, notice)
      return
    }
    this.#unlisted.delete(address)
    if (event === InofEvent.ARRIVED) {
      // A known peer in another zone is news too.
      const isKnown = this.#peers.get(address)?.zone === notice.zone
      this.#peers.set(address, notice)
      if (!isKnown) this.#owner.peerChanged(now, notice)
    } else if (this.#peers.delete(address)) this.#owner.peerChanged(now, notice)
  }

  /** The switch has named all that is: what it has not named is over. */
  #onListed(now: Nanos): void {
    for (const gone of this.#unlisted) {
      const peer = this.#peers.get(gone)!
      this.#peers.delete(gone)
      this.#owner.peerChanged(now, { ...peer, event: InofEvent.DEPARTED })
    }
    this.#unlisted.clear()
    for (const link of this.#unlistedLinks) {
      const failed = this.#failedLinks.get(link)!
      this.#failedLinks.delete(link)
      this.#owner.linkChanged?.(now, { ...failed, event: InofEvent.LINK_UP })
    }
    this.#unlistedLinks.clear()
  }

  #onLink(now: Nanos, notice: InofNotice): void {
    const link = notice.address * 0x1_0000 + notice.zone
    const isNamedAgain = this.#unlistedLinks.delete(link)
    if (notice.event === InofEvent.LINK_UP) this.#failedLinks.delete(link)
    else if (isNamedAgain) return
    else if (this.#failedLinks.size < FAILED_LINKS_MAX) this.#failedLinks.set(link, notice)
    this.#owner.linkChanged?.(now, notice)
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

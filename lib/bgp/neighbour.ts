/** A neighbour of a BGP speaker: what it has sent, what it has to hear, and its connections (RFC 4271, section 8). */
import { type Nanos, NEVER } from '../time/nanos.js'
import type { PrefixKey } from '../wire/bgp/prefix.js'
import type { BgpRoute } from './route.js'
import { type BgpSession, SessionState } from './session.js'

/** Options of a neighbour. */
export interface NeighbourOptions {
  /** Its address, which is its name too. */
  address: string
  /** True: it makes the connection. */
  passive?: boolean
  /** True: this speaker reflects routes to it (RFC 4456). */
  client?: boolean
}

/** What `weir inof show peers` says of a neighbour. */
export interface NeighbourStatus {
  address: string
  state: 'idle' | 'connect' | 'active' | 'open-sent' | 'open-confirm' | 'established'
  client: boolean
  /** Routes that it has sent. */
  routes: number
  /** Those that are kept after its connection was lost. */
  stale: number
  /** Times that a session was established. */
  sessions: number
  /** Routes and withdrawals that wait to be written, because the neighbour does not read as fast. Each prefix waits once. */
  waiting: number
  /** Times that some began to wait. */
  waits: number
  /** Why the last session ended, or null. */
  lastEnd: string | null
}

const STATE_NAMES = ['idle', 'open-sent', 'open-confirm', 'established'] as const

/** State of one neighbour, which `speaker.ts` changes. */
export class Neighbour {
  readonly index: number
  readonly options: Required<NeighbourOptions>
  /** Two while both ends have connected at once (RFC 4271, section 6.8). */
  readonly sessions: BgpSession[] = []
  /** Adj-RIB-In. */
  readonly routes = new Map<PrefixKey, BgpRoute>()
  /** What the neighbour sent before it was lost, and has not sent since (RFC 4724, section 4.2). */
  readonly stale = new Set<PrefixKey>()
  /** Adj-RIB-Out: the prefixes that it has a route of. */
  readonly sent = new Set<PrefixKey>()
  /** Prefixes whose route has changed since it was last written. A prefix is in it once, so the RIB bounds it. */
  readonly dirty = new Set<PrefixKey>()
  /** An End-of-RIB is due when `dirty` is empty. */
  owesEndOfRib = false
  /** Its End-of-RIB has arrived in this session. */
  synchronised = false
  /** When to connect, or NEVER. */
  connectAtNs: Nanos = NEVER
  /** A connection is being made. */
  connecting = false
  /** When stale routes are given up. */
  staleAtNs: Nanos = NEVER
  established = 0
  /** The stream had no room for all of `dirty` when that was written last. */
  blocked = false
  waits = 0
  lastEnd: string | null = null

  constructor(index: number, { address, passive = false, client = false }: NeighbourOptions) {
    this.index = index
    this.options = { address, passive, client }
  }

  /** The established session, or null. */
  get session(): BgpSession | null {
    return this.sessions.find(({ state }) => state === SessionState.ESTABLISHED) ?? null
  }

  nextTimeout(): Nanos {
    let first = Math.min(this.connectAtNs, this.staleAtNs)
    for (const session of this.sessions) first = Math.min(first, session.nextTimeout())
    return first
  }

  status(): NeighbourStatus {
    const furthest = Math.max(0, ...this.sessions.map(({ state }) => state as number))
    return {
      address: this.options.address,
      state: furthest > 0 ? STATE_NAMES[furthest]! : this.#waiting(),
      client: this.options.client,
      routes: this.routes.size,
      stale: this.stale.size,
      sessions: this.established,
      waiting: this.session === null ? 0 : this.dirty.size,
      waits: this.waits,
      lastEnd: this.lastEnd,
    }
  }

  #waiting(): NeighbourStatus['state'] {
    if (this.connecting) return 'connect'
    return this.options.passive || this.connectAtNs !== NEVER ? 'active' : 'idle'
  }
}

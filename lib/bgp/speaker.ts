/**
 * A BGP speaker and route reflector within one autonomous system (RFC 4271, 4456, 4724), without clock or socket. Its owner makes
 * the connections that it asks for, hands bytes in, and hears of routes.
 */
import { WeirError } from '../errors.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import { LOCAL_PREF_DEFAULT, Origin, type PathAttributes } from '../wire/bgp/attributes.js'
import { type BgpFault, CEASE, Cease, makeFault, OPEN_FAULT } from '../wire/bgp/fault.js'
import { MESSAGE_BYTES_MAX } from '../wire/bgp/message.js'
import type { BgpOpen } from '../wire/bgp/open.js'
import type { PrefixKey } from '../wire/bgp/prefix.js'
import {
  type BgpUpdate,
  fitsUpdate,
  writeEndOfRib,
  writeRoutes,
  writeWithdrawal,
} from '../wire/bgp/update.js'
import type { ByteStream } from './byte-stream.js'
import { Neighbour, type NeighbourOptions, type NeighbourStatus } from './neighbour.js'
import { type BgpRoute, compareRoutes } from './route.js'
import { BgpSession, type SessionEnd, type SessionOwner, SessionState } from './session.js'

const NS_PER_S = 1_000_000_000
/** Between two attempts to connect, less up to a quarter (RFC 4271, section 10). The RFC suggests 2 minutes. */
const CONNECT_RETRY_NS: Nanos = NS_PER_S
/** Prefixes that are looked at before a message is written. */
const PREFIXES_AT_ONCE = 64
const BAD_PEER_AS = 2
const BAD_IDENTIFIER = 3

/** Options of a speaker. */
export interface SpeakerOptions {
  /** The autonomous system of all speakers. */
  as: number
  /** BGP identifier, unique among the speakers. */
  identifier: number
  neighbours: readonly NeighbourOptions[]
  /** The reflectors of one cluster have the same. Default: the identifier. */
  clusterId?: number
  /** Default 3 s, the least that BGP allows. */
  holdSeconds?: number
  /** How long neighbours keep the routes of this speaker after its connection is lost, if they do. Default 0: not at all. */
  restartSeconds?: number
  /** Routes that a neighbour may send. Default 65,536. */
  routesMax?: number
  /** Uniform in [0, 1). */
  random: () => number
}

/** What a speaker asks of its owner. */
interface SpeakerOwner {
  /** Connect to a neighbour: answer by `onConnected` or `onConnectFailed`. */
  connect(now: Nanos, neighbour: number): void
  /** The best route to a prefix has changed; null: there is none. */
  routeChanged(now: Nanos, prefix: PrefixKey, attributes: PathAttributes | null): void
  /** A neighbour has sent all routes that it has. */
  synchronised?(now: Nanos): void
}

/** The routes of one speaker with their numbers. */
export class Speaker implements SessionOwner {
  readonly neighbours: readonly Neighbour[]
  readonly #options: Required<SpeakerOptions>
  readonly #owner: SpeakerOwner
  readonly #own = new Map<PrefixKey, BgpRoute>()
  /** Loc-RIB. */
  readonly #best = new Map<PrefixKey, BgpRoute>()
  readonly #neighbourOf = new Map<BgpSession, Neighbour>()

  constructor(options: SpeakerOptions, owner: SpeakerOwner) {
    const holdSeconds = options.holdSeconds ?? 3
    if (holdSeconds !== 0 && holdSeconds < 3) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `a hold time is 0 or 3 s and more, not ${holdSeconds} s`)
    }
    this.#options = {
      clusterId: options.identifier,
      restartSeconds: 0,
      routesMax: 65_536,
      ...options,
      holdSeconds,
    }
    this.#owner = owner
    this.neighbours = options.neighbours.map((neighbour, index) => new Neighbour(index, neighbour))
  }

  /** Begins to connect. */
  start(now: Nanos): void {
    for (const neighbour of this.neighbours) if (!neighbour.options.passive) neighbour.connectAtNs = now
  }

  /** Ends all sessions. Neighbours forget the routes at once. */
  stop(now: Nanos): void {
    for (const neighbour of this.neighbours) {
      for (const session of [...neighbour.sessions]) session.end(now, makeFault(CEASE, Cease.SHUTDOWN))
      neighbour.connectAtNs = NEVER
    }
  }

  nextTimeout(): Nanos {
    let first = NEVER
    for (const neighbour of this.neighbours) first = Math.min(first, neighbour.nextTimeout())
    return first
  }

  onTimeout(now: Nanos): void {
    for (const neighbour of this.neighbours) {
      for (const session of [...neighbour.sessions]) session.onTimeout(now)
      if (neighbour.staleAtNs <= now) this.#dropStale(now, neighbour)
      if (neighbour.connectAtNs <= now) {
        neighbour.connectAtNs = NEVER
        neighbour.connecting = true
        this.#owner.connect(now, neighbour.index)
      }
    }
    this.#flushAll(now)
  }

  /** As `BgpSession.onHeldUp`, for all sessions. */
  onHeldUp(now: Nanos): void {
    for (const { sessions } of this.neighbours) for (const session of sessions) session.onHeldUp(now)
  }

  /** The connection that `connect` asked for is there. */
  onConnected(now: Nanos, index: number, stream: ByteStream): BgpSession {
    this.neighbours[index]!.connecting = false
    return this.#begin(now, this.neighbours[index]!, stream, true)
  }

  onConnectFailed(now: Nanos, index: number): void {
    this.neighbours[index]!.connecting = false
    this.#retry(now, this.neighbours[index]!)
  }

  /** A neighbour has connected. Returns null, and closes the stream, for who is none or has two connections already. */
  onAccepted(now: Nanos, address: string, stream: ByteStream): BgpSession | null {
    const neighbour = this.neighbours.find(one => one.options.address === address)
    if (neighbour === undefined || neighbour.sessions.length >= 2) {
      stream.close(now)
      return null
    }
    return this.#begin(now, neighbour, stream, false)
  }

  onBytes(now: Nanos, session: BgpSession, bytes: Uint8Array): void {
    session.onBytes(now, bytes)
    this.#flushAll(now)
  }

  onClosed(now: Nanos, session: BgpSession): void {
    session.onClosed(now)
    this.#flushAll(now)
  }

  /** A stream has room again. */
  onWritable(now: Nanos, session: BgpSession): void {
    const neighbour = this.#neighbourOf.get(session)
    if (neighbour !== undefined) this.#flush(now, neighbour)
  }

  /** Announces a route of this speaker itself, or changes its communities. */
  announce(now: Nanos, prefix: PrefixKey, given: Partial<PathAttributes> & { nextHop: number }): void {
    const attributes: PathAttributes = {
      origin: Origin.IGP,
      asPath: [],
      med: 0,
      localPref: LOCAL_PREF_DEFAULT,
      largeCommunities: [],
      originatorId: 0,
      clusterList: [],
      others: [],
      ...given,
    }
    if (!fitsUpdate(attributes)) {
      throw new WeirError('WEIR_FULL', 'a route has more communities than a BGP message has room for')
    }
    const { identifier } = this.#options
    this.#own.set(prefix, { attributes, from: -1, identifier, fromClient: true })
    this.#decide(now, prefix)
    this.#flushAll(now)
  }

  withdraw(now: Nanos, prefix: PrefixKey): void {
    if (!this.#own.delete(prefix)) return
    this.#decide(now, prefix)
    this.#flushAll(now)
  }

  /** The best routes. */
  *routes(): Generator<[PrefixKey, PathAttributes]> {
    for (const [prefix, { attributes }] of this.#best) yield [prefix, attributes]
  }

  status(): NeighbourStatus[] {
    return this.neighbours.map(neighbour => neighbour.status())
  }

  opened(now: Nanos, session: BgpSession, open: BgpOpen): BgpFault | null {
    const { as, identifier } = this.#options
    if (open.as !== as) return makeFault(OPEN_FAULT, BAD_PEER_AS)
    if (open.identifier === identifier) return makeFault(OPEN_FAULT, BAD_IDENTIFIER)
    const neighbour = this.#neighbourOf.get(session)!
    const rival = neighbour.sessions.find(other => other !== session)
    if (rival === undefined) return null
    const collision = makeFault(CEASE, Cease.COLLISION)
    if (rival.state === SessionState.ESTABLISHED) {
      // RFC 4724, section 5: who restarts and connects has lost the old connection.
      if (session.outgoing || rival.peer?.gracefulRestart == null) return collision
      rival.replace(now)
      return null
    }
    // RFC 4271, section 6.8: the connection of the speaker with the higher identifier stays.
    const keepsOutgoing = identifier > open.identifier
    if (session.outgoing !== keepsOutgoing) return collision
    rival.end(now, collision)
    return null
  }

  established(_now: Nanos, session: BgpSession): void {
    const neighbour = this.#neighbourOf.get(session)!
    neighbour.established++
    neighbour.connectAtNs = NEVER
    neighbour.synchronised = false
    neighbour.sent.clear()
    for (const prefix of this.#best.keys()) neighbour.dirty.add(prefix)
    neighbour.owesEndOfRib = true
    // Stale routes stay until the End-of-RIB, or no longer if the neighbour has not kept its forwarding state.
    const restart = session.peer?.gracefulRestart
    if (neighbour.stale.size > 0 && !(restart?.ipv4 && restart.forwarding)) neighbour.staleAtNs = _now
  }

  update(now: Nanos, session: BgpSession, { withdrawn, attributes, routes, endOfRib }: BgpUpdate): void {
    const neighbour = this.#neighbourOf.get(session)!
    for (const prefix of withdrawn) this.#forget(now, neighbour, prefix)
    if (attributes !== null && this.#isLoop(attributes)) {
      for (const prefix of routes) this.#forget(now, neighbour, prefix)
    } else if (attributes !== null) {
      const { client } = neighbour.options
      const identifier = session.peer!.identifier
      for (const prefix of routes) {
        neighbour.routes.set(prefix, { attributes, from: neighbour.index, identifier, fromClient: client })
        neighbour.stale.delete(prefix)
        this.#decide(now, prefix)
      }
    }
    if (neighbour.routes.size > this.#options.routesMax) {
      session.end(now, makeFault(CEASE, Cease.MAXIMUM_PREFIXES))
      return
    }
    if (!endOfRib) return
    neighbour.synchronised = true
    this.#dropStale(now, neighbour)
    this.#outdate(now)
    this.#owner.synchronised?.(now)
  }

  refresh(_now: Nanos, session: BgpSession): void {
    const neighbour = this.#neighbourOf.get(session)!
    for (const prefix of this.#best.keys()) neighbour.dirty.add(prefix)
  }

  ended(now: Nanos, session: BgpSession, end: SessionEnd): void {
    const neighbour = this.#neighbourOf.get(session)!
    this.#neighbourOf.delete(session)
    neighbour.sessions.splice(neighbour.sessions.indexOf(session), 1)
    if (neighbour.session !== null) return
    neighbour.lastEnd = end.reason
    neighbour.synchronised = false
    if (neighbour.sessions.length === 0) this.#retry(now, neighbour)
    const restart = session.peer?.gracefulRestart
    if (!end.notified && restart?.ipv4 === true && neighbour.routes.size > 0) {
      for (const prefix of neighbour.routes.keys()) neighbour.stale.add(prefix)
      neighbour.staleAtNs = Math.min(neighbour.staleAtNs, now + restart.seconds * NS_PER_S)
      for (const prefix of neighbour.stale) this.#decide(now, prefix)
      return
    }
    for (const prefix of [...neighbour.routes.keys()]) this.#forget(now, neighbour, prefix)
  }

  #begin(now: Nanos, neighbour: Neighbour, stream: ByteStream, outgoing: boolean): BgpSession {
    const { as, identifier, holdSeconds, restartSeconds } = this.#options
    const restart = { restarted: false, seconds: restartSeconds, ipv4: restartSeconds > 0, forwarding: true }
    const session = new BgpSession(now, {
      stream,
      outgoing,
      owner: this,
      open: {
        as,
        holdSeconds,
        identifier,
        ipv4: true,
        routeRefresh: true,
        fourOctetAs: true,
        gracefulRestart: restart,
      },
    })
    neighbour.sessions.push(session)
    this.#neighbourOf.set(session, neighbour)
    return session
  }

  #retry(now: Nanos, neighbour: Neighbour): void {
    if (neighbour.options.passive || neighbour.sessions.length > 0) return
    neighbour.connectAtNs = now + Math.ceil(CONNECT_RETRY_NS * (1 - this.#options.random() / 4))
  }

  /** RFC 4456, section 8. */
  #isLoop({ originatorId, clusterList }: PathAttributes): boolean {
    const { identifier, clusterId } = this.#options
    return originatorId === identifier || clusterList.includes(clusterId)
  }

  #forget(now: Nanos, neighbour: Neighbour, prefix: PrefixKey): void {
    neighbour.stale.delete(prefix)
    if (neighbour.routes.delete(prefix)) this.#decide(now, prefix)
  }

  #dropStale(now: Nanos, neighbour: Neighbour): void {
    neighbour.staleAtNs = NEVER
    for (const prefix of [...neighbour.stale]) this.#forget(now, neighbour, prefix)
  }

  /** Stale routes of other reflectors no longer count. */
  #outdate(now: Nanos): void {
    for (const { stale } of this.neighbours) for (const prefix of stale) this.#decide(now, prefix)
  }

  /**
   * A stale route of a reflector counts only while no other reflector has sent all that it knows: the reflectors of a cluster know the
   * same, and a host that has departed since must not stay.
   */
  #counts(neighbour: Neighbour, prefix: PrefixKey): boolean {
    if (neighbour.options.client || !neighbour.stale.has(prefix)) return true
    return !this.neighbours.some(
      other => other !== neighbour && !other.options.client && other.synchronised && other.session !== null,
    )
  }

  #decide(now: Nanos, prefix: PrefixKey): void {
    let best = this.#own.get(prefix) ?? null
    for (const neighbour of this.neighbours) {
      const route = neighbour.routes.get(prefix)
      if (route === undefined || !this.#counts(neighbour, prefix)) continue
      if (best === null || compareRoutes(route, best) < 0) best = route
    }
    const before = this.#best.get(prefix) ?? null
    if (best === before) return
    if (best === null) this.#best.delete(prefix)
    else this.#best.set(prefix, best)
    for (const neighbour of this.neighbours) if (neighbour.session !== null) neighbour.dirty.add(prefix)
    this.#owner.routeChanged(now, prefix, best?.attributes ?? null)
  }

  #flushAll(now: Nanos): void {
    for (const neighbour of this.neighbours) this.#flush(now, neighbour)
  }

  /** Writes what has changed, as far as the stream has room. */
  #flush(now: Nanos, neighbour: Neighbour): void {
    const { session, dirty } = neighbour
    if (session === null) {
      dirty.clear()
      neighbour.blocked = false
      return
    }
    const { stream } = session
    while (dirty.size > 0 && stream.room() >= MESSAGE_BYTES_MAX) this.#writeSome(now, neighbour)
    if (dirty.size === 0 && neighbour.owesEndOfRib && stream.room() >= MESSAGE_BYTES_MAX) {
      neighbour.owesEndOfRib = false
      session.send(now, view => writeEndOfRib(view, 0))
    }
    const isBlocked = dirty.size > 0
    if (isBlocked && !neighbour.blocked) neighbour.waits++
    neighbour.blocked = isBlocked
  }

  /** Writes the first prefixes that have changed: withdrawals, then routes, those with the same attributes together. */
  #writeSome(now: Nanos, neighbour: Neighbour): void {
    const { dirty, sent } = neighbour
    const gone: PrefixKey[] = []
    const groups = new Map<PathAttributes, { route: BgpRoute; prefixes: PrefixKey[] }>()
    let left = PREFIXES_AT_ONCE
    for (const prefix of dirty) {
      if (left-- === 0) break
      const route = this.#best.get(prefix)
      if (route === undefined || !this.#mayGoTo(route, neighbour)) {
        if (sent.has(prefix)) gone.push(prefix)
        else dirty.delete(prefix)
        continue
      }
      const group = groups.get(route.attributes)
      if (group === undefined) groups.set(route.attributes, { route, prefixes: [prefix] })
      else group.prefixes.push(prefix)
    }
    this.#write(now, neighbour, gone, (view, prefixes) => writeWithdrawal(view, 0, prefixes))
    const { fourOctetAs } = neighbour.session!
    for (const { route, prefixes } of groups.values()) {
      const attributes = this.#reflected(route)
      if (!fitsUpdate(attributes)) {
        for (const prefix of prefixes) dirty.delete(prefix)
        continue
      }
      const written = this.#write(now, neighbour, prefixes, (view, rest) =>
        writeRoutes(view, 0, attributes, rest, fourOctetAs),
      )
      for (const prefix of written) sent.add(prefix)
    }
  }

  /** Writes messages until all prefixes are in one, or the stream is full. Returns those that are. */
  #write(
    now: Nanos,
    { session, dirty, sent }: Neighbour,
    prefixes: readonly PrefixKey[],
    write: (view: DataView, prefixes: readonly PrefixKey[]) => { end: number; count: number },
  ): PrefixKey[] {
    let written = 0
    while (written < prefixes.length && session!.stream.room() >= MESSAGE_BYTES_MAX) {
      session!.send(now, view => {
        const { end, count } = write(view, prefixes.slice(written))
        written += count
        return end
      })
    }
    const done = prefixes.slice(0, written)
    for (const prefix of done) {
      dirty.delete(prefix)
      sent.delete(prefix)
    }
    return done
  }

  /** RFC 4456, section 6: from clients to all others, from others to clients. */
  #mayGoTo(route: BgpRoute, neighbour: Neighbour): boolean {
    if (route.from < 0) return true
    if (route.from === neighbour.index) return false
    return route.fromClient || neighbour.options.client
  }

  /** RFC 4456, section 8: a reflected route names its originator, and the clusters that it has passed. */
  #reflected({ attributes, from, identifier }: BgpRoute): PathAttributes {
    if (from < 0) return attributes
    return {
      ...attributes,
      originatorId: attributes.originatorId || identifier,
      clusterList: [this.#options.clusterId, ...attributes.clusterList],
    }
  }
}

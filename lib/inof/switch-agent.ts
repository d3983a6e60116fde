/** A switch of an iNOF network: hosts at its ports, what it knows of others, and what it tells its hosts. */
import { type Nanos, NEVER } from '../time/nanos.js'
import type { PathAttributes } from '../wire/bgp/attributes.js'
import type { PrefixKey } from '../wire/bgp/prefix.js'
import { prefixAddress } from '../wire/bgp/prefix.js'
import type { InofNotice } from '../wire/weir/inof-tlv.js'
import { type HostPresence, HostState, InofEvent, type NoticesHeader } from '../wire/weir/inof-tlv.js'
import { NoticeQueue } from './notice-queue.js'
import {
  hostPrefix,
  type Member,
  MemberState,
  memberCommunities,
  readMember,
  readZone,
  zonePlace,
} from './routes.js'
import { DEFAULT_ZONE, Zones } from './zones.js'

const NS_PER_S = 1_000_000_000
/** Without a reflector's whole table the list of members counts as complete after this time. */
const LIST_WAIT_NS: Nanos = 5 * NS_PER_S

/** Options of the agent of a switch. */
interface SwitchAgentOptions {
  id: number
  as: number
  /** The next hop of its routes. */
  address: number
  ports: number
  /** A random number of this start. */
  epoch: number
  /** Free hosts join the default zone, unless a reflector says otherwise. */
  autoJoin: boolean
  /** False: there are no other switches to wait for. */
  hasReflectors: boolean
}

/** What the agent asks of the switch. */
interface SwitchAgentOwner {
  announce(
    now: Nanos,
    prefix: PrefixKey,
    attributes: Pick<PathAttributes, 'nextHop' | 'largeCommunities'>,
  ): void
  withdraw(now: Nanos, prefix: PrefixKey): void
  sendNotices(now: Nanos, port: number, header: NoticesHeader, notices: readonly InofNotice[]): void
}

interface LocalHost {
  address: number
  kind: number
  epoch: number
  /** Epoch of the notices for it: a host that the switch had forgotten takes them for a new list. */
  stream: number
  expiresNs: Nanos
  state: MemberState
  zones: readonly number[]
  notices: NoticeQueue
  listed: boolean
}

export class SwitchAgent {
  readonly #options: SwitchAgentOptions
  readonly #owner: SwitchAgentOwner
  readonly #hosts: (LocalHost | null)[]
  /** By address: every host of the network that has a route. */
  readonly #members = new Map<number, Member>()
  readonly #zones: Zones
  /** By zone, by part: its members. */
  readonly #parts = new Map<number, Map<number, readonly number[]>>()
  /** When the list of members counts as complete without a word from a reflector. */
  #listAtNs: Nanos
  #isListed: boolean
  /** Hosts that have begun here. */
  #streams = 0

  constructor(now: Nanos, options: SwitchAgentOptions, owner: SwitchAgentOwner) {
    this.#options = options
    this.#owner = owner
    this.#hosts = Array(options.ports).fill(null)
    this.#zones = new Zones(options.autoJoin)
    this.#isListed = !options.hasReflectors
    this.#listAtNs = this.#isListed ? NEVER : now + LIST_WAIT_NS
  }

  /** Every known host, by address. */
  members(): Member[] {
    return [...this.#members.values()].sort((a, b) => a.address - b.address)
  }

  nextTimeout(): Nanos {
    let first = this.#listAtNs
    for (const host of this.#hosts) {
      if (host !== null) first = Math.min(first, host.expiresNs, this.#dueNs(host))
    }
    return first
  }

  onTimeout(now: Nanos): void {
    if (this.#listAtNs <= now) this.onSynchronised(now)
    for (const [port, host] of this.#hosts.entries()) {
      if (host === null) continue
      if (host.expiresNs <= now) this.#leave(now, port)
      else this.#tell(now, port, host)
    }
  }

  /** A host has announced itself. */
  onPresence(now: Nanos, port: number, presence: HostPresence, ttlSeconds: number): void {
    if (ttlSeconds === 0 || presence.state === HostState.LEAVING) {
      this.#leave(now, port)
      return
    }
    const { address, kind, epoch } = presence
    let host = this.#hosts[port]!
    if (host !== null && host.address !== address) this.#leave(now, port)
    host = this.#hosts[port]!
    const isNew = host === null || host.epoch !== epoch
    if (host === null || isNew) {
      host = {
        address,
        kind,
        epoch,
        stream: (this.#options.epoch + this.#streams++) >>> 0,
        expiresNs: 0,
        state: MemberState.FAILED,
        zones: [],
        notices: new NoticeQueue(),
        listed: false,
      }
      this.#moveHere(port, address)
      this.#hosts[port] = host
    }
    host.expiresNs = now + ttlSeconds * NS_PER_S
    const zones = this.#zones.of(address)
    if (host.state !== MemberState.UP || host.kind !== kind || isNew) {
      host.state = MemberState.UP
      host.kind = kind
      host.zones = zones
      this.#announce(now, port, host)
    }
    if (isNew) this.#list(now, host)
    if (presence.switchEpoch === host.stream) host.notices.acknowledge(now, presence.heard)
    this.#tell(now, port, host)
  }

  /** The link of a port has gone down: its host has failed, for all, at once. */
  onLinkDown(now: Nanos, port: number): void {
    const host = this.#hosts[port]
    if (host == null || host.state === MemberState.FAILED) return
    host.state = MemberState.FAILED
    this.#announce(now, port, host)
  }

  /** A reflector has sent all routes that it has. */
  onSynchronised(now: Nanos): void {
    this.#listAtNs = NEVER
    if (this.#isListed) return
    this.#isListed = true
    for (const [port, host] of this.#hosts.entries()) {
      if (host === null) continue
      this.#completeList(now, host)
      this.#tell(now, port, host)
    }
  }

  /** The best route to a prefix has changed; null: there is none. */
  onRoute(now: Nanos, prefix: PrefixKey, attributes: PathAttributes | null): void {
    const place = zonePlace(prefix)
    if (place !== null) {
      this.#onZone(now, prefix, place, attributes)
      return
    }
    const address = prefixAddress(prefix)
    const before = this.#members.get(address) ?? null
    const after = attributes && readMember(this.#options.as, prefix, attributes)
    if (after === null) this.#members.delete(address)
    else this.#members.set(address, after)
    for (const [port, host] of this.#hosts.entries()) {
      if (host === null || host.address === address) continue
      const notice = changeFor(host, before, after)
      if (notice === null) continue
      host.notices.add(now, notice)
      this.#tell(now, port, host)
    }
  }

  #onZone(
    now: Nanos,
    prefix: PrefixKey,
    { zone, chunk }: { zone: number; chunk: number },
    attributes: PathAttributes | null,
  ): void {
    const part = attributes && readZone(this.#options.as, prefix, attributes)
    const parts = this.#parts.get(zone) ?? new Map<number, readonly number[]>()
    this.#parts.set(zone, parts)
    if (part === null) parts.delete(chunk)
    else parts.set(chunk, part.members)
    this.#zones.set(zone, new Set([...parts.values()].flat()))
    if (zone === DEFAULT_ZONE && chunk === 0) this.#zones.autoJoin = part?.autoJoin ?? this.#options.autoJoin
    for (const [port, host] of this.#hosts.entries()) {
      if (host !== null) this.#rezone(now, port, host)
    }
  }

  /** A host may be in other zones now: it hears of others, and they of it. */
  #rezone(now: Nanos, port: number, host: LocalHost): void {
    const zones = this.#zones.of(host.address)
    if (zones.join() === host.zones.join()) return
    const before = { zones: host.zones }
    host.zones = zones
    for (const member of this.#members.values()) {
      if (member.address === host.address || member.state !== MemberState.UP) continue
      const [was, is] = [sharedZone(before, member), sharedZone(host, member)]
      if ((was === null) === (is === null)) continue
      const event = is === null ? InofEvent.DEPARTED : InofEvent.ARRIVED
      host.notices.add(now, { event, kind: member.kind, zone: (is ?? was)!, address: member.address })
    }
    this.#announce(now, port, host)
    this.#tell(now, port, host)
  }

  /** All members of its zones, for a host that knows none. */
  #list(now: Nanos, host: LocalHost): void {
    for (const member of this.#members.values()) {
      const zone = sharedZone(host, member)
      if (member.address === host.address || zone === null || member.state !== MemberState.UP) continue
      host.notices.add(now, { event: InofEvent.ARRIVED, kind: member.kind, zone, address: member.address })
    }
    if (this.#isListed) this.#completeList(now, host)
  }

  #completeList(now: Nanos, host: LocalHost): void {
    if (host.listed) return
    host.listed = true
    host.notices.complete(now, { event: InofEvent.LISTED, kind: 0, zone: 0, address: 0 })
  }

  #announce(now: Nanos, port: number, host: LocalHost): void {
    const { as, id, address: nextHop } = this.#options
    const { address, kind, state, zones } = host
    const member = { address, kind, state, zones, switchId: id, port }
    this.#owner.announce(now, hostPrefix(address), {
      nextHop,
      largeCommunities: memberCommunities(as, member),
    })
  }

  #leave(now: Nanos, port: number): void {
    const host = this.#hosts[port]
    if (host == null) return
    this.#hosts[port] = null
    this.#owner.withdraw(now, hostPrefix(host.address))
  }

  /** A host that was at another port of this switch is here now. Its route stays. */
  #moveHere(port: number, address: number): void {
    for (const [other, host] of this.#hosts.entries()) {
      if (other !== port && host?.address === address) this.#hosts[other] = null
    }
  }

  /** Frames to a host whose link is down would be lost. */
  #dueNs(host: LocalHost): Nanos {
    return host.state === MemberState.UP ? host.notices.dueNs : NEVER
  }

  #tell(now: Nanos, port: number, host: LocalHost): void {
    if (this.#dueNs(host) > now) return
    const { first, notices } = host.notices.next(now)
    this.#owner.sendNotices(now, port, { switchEpoch: host.stream, epoch: host.epoch, first }, notices)
  }
}

/** The first zone that both are in, or null. */
function sharedZone(a: Pick<Member, 'zones'>, b: Pick<Member, 'zones'>): number | null {
  return a.zones.find(zone => b.zones.includes(zone)) ?? null
}

/** What a host hears when a member changes, or null. */
function changeFor(host: LocalHost, before: Member | null, after: Member | null): InofNotice | null {
  const zoneOf = (member: Member | null) =>
    member === null || member.state !== MemberState.UP ? null : sharedZone(host, member)
  const [was, is] = [zoneOf(before), zoneOf(after)]
  if (is !== null && was === null)
    return { event: InofEvent.ARRIVED, kind: after!.kind, zone: is, address: after!.address }
  if (was === null || is !== null) return null
  const event = after?.state === MemberState.FAILED ? InofEvent.FAILED : InofEvent.DEPARTED
  return { event, kind: before!.kind, zone: was, address: before!.address }
}

/** A switch of an iNOF network: hosts at its ports, what it knows of others, and what it tells its hosts. */
import { type Nanos, NEVER } from '../time/nanos.js'
import type { PathAttributes } from '../wire/bgp/attributes.js'
import type { PrefixKey } from '../wire/bgp/prefix.js'
import { prefixAddress } from '../wire/bgp/prefix.js'
import type { InofNotice } from '../wire/weir/inof-tlv.js'
import { type HostPresence, HostState, InofEvent, type NoticesHeader } from '../wire/weir/inof-tlv.js'
import type { ChangeLog } from './change-log.js'
import { ANNOUNCEMENTS } from './host-agent.js'
import { NoticeQueue } from './notice-queue.js'
import {
  hostPrefix,
  type Member,
  MemberState,
  memberCommunities,
  readMember,
  readSwitch,
  readZone,
  switchCommunities,
  zonePlace,
} from './routes.js'
import { DEFAULT_ZONE, Zones } from './zones.js'

const NS_PER_S = 1_000_000_000
/** Without a reflector's whole table the list of members counts as complete after this time. */
const LIST_WAIT_NS: Nanos = 5 * NS_PER_S
/** A host that begins anew, or leaves, sooner after it has begun is not heard: each of these is news for the whole network. */
const CHANGE_LEAST_NS: Nanos = 10_000_000
/** A switch that was held up again and again forgets a silent host all the same: it gets so many more intervals, at most. */
const REPRIEVES_MAX = 3
/** Failed links that a switch names. */
const FAILED_LINKS_MAX = 256
/** The host epoch of a question: nobody has it. */
const ANYBODY = 0

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
  /** False: the link of that port leads to another switch. Default: one that has no host does. */
  leadsToHost?: (port: number) => boolean
  /** Where changes of hosts are recorded. Default: nowhere. */
  log?: ChangeLog
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
  beganNs: Nanos
  /** Epoch of the notices for it: a host that the switch had forgotten takes them for a new list. */
  stream: number
  expiresNs: Nanos
  /** The silence after which it is forgotten. */
  silenceNs: Nanos
  /** Times since its last announcement that it got another interval, because the switch was held up. */
  reprieves: number
  state: MemberState
  zones: readonly number[]
  notices: NoticeQueue
  listed: boolean
}

export class SwitchAgent {
  /** Announcements that came too soon after the last change of their host. */
  hurried = 0
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
  /** Ports that lead to no host, whose links are down. */
  readonly #downPorts = new Set<number>()
  /** By prefix of their switch: failed links of all switches, each as switch x 65,536 + port. */
  readonly #failedLinks = new Map<PrefixKey, readonly number[]>()

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

  /** Failed links of all switches, each as switch x 65,536 + port. */
  failedLinks(): number[] {
    return [...this.#failedLinks.values()].flat().sort((a, b) => a - b)
  }

  /** What the switch says of its own hosts, by port; null: no host has announced itself there. */
  hosts(): readonly (Pick<LocalHost, 'address' | 'kind' | 'state' | 'zones'> | null)[] {
    return this.#hosts
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

  /**
   * The switch did not run for a time that ends at `now`: what hosts have said meanwhile is still to be read. A host whose silence would be
   * over by now gets another interval, in which it announces itself if it is there.
   */
  onHeldUp(now: Nanos): void {
    for (const host of this.#hosts) {
      if (host === null || host.expiresNs > now || host.reprieves === REPRIEVES_MAX) continue
      host.reprieves++
      host.expiresNs = now + Math.floor(host.silenceNs / ANNOUNCEMENTS)
    }
  }

  /** A host has announced itself. */
  onPresence(now: Nanos, port: number, presence: HostPresence, ttlSeconds: number): void {
    const before = this.#hosts[port]!
    const leaves = ttlSeconds === 0 || presence.state === HostState.LEAVING
    const isNew = before === null || before.address !== presence.address || before.epoch !== presence.epoch
    if (before !== null && (leaves || isNew) && now - before.beganNs < CHANGE_LEAST_NS) {
      this.hurried++
      return
    }
    if (leaves) {
      this.#leave(now, port)
      return
    }
    if (before !== null && before.address !== presence.address) this.#leave(now, port)
    const host = isNew ? this.#begin(now, port, presence) : before!
    host.silenceNs = ttlSeconds * NS_PER_S
    host.expiresNs = now + host.silenceNs
    host.reprieves = 0
    if (host.state !== MemberState.UP || host.kind !== presence.kind || isNew)
      this.#rise(now, port, host, presence.kind)
    if (isNew) this.#list(now, host)
    if (presence.switchEpoch === host.stream) host.notices.acknowledge(now, presence.heard)
    this.#tell(now, port, host)
  }

  #begin(now: Nanos, port: number, { address, kind, epoch }: HostPresence): LocalHost {
    const host: LocalHost = {
      address,
      kind,
      epoch,
      beganNs: now,
      stream: (this.#options.epoch + this.#streams++) >>> 0,
      expiresNs: 0,
      silenceNs: 0,
      reprieves: 0,
      state: MemberState.FAILED,
      zones: [],
      notices: new NoticeQueue(),
      listed: false,
    }
    this.#moveHere(port, address)
    this.#hosts[port] = host
    return host
  }

  /** A host is there, or there again. */
  #rise(now: Nanos, port: number, host: LocalHost, kind: number): void {
    const known = this.#members.get(host.address)
    if (known?.state !== MemberState.UP) this.#options.log?.begin(now, host.address, InofEvent.ARRIVED)
    host.state = MemberState.UP
    host.kind = kind
    host.zones = this.#zones.of(host.address)
    this.#announce(now, port, host)
  }

  /** Says that the switch is there, and asks which hosts are. */
  start(now: Nanos): void {
    this.#announceSelf(now)
    for (const port of this.#hosts.keys()) if (!this.#downPorts.has(port)) this.#ask(now, port)
  }

  /** The link of a port has gone down: its host has failed, for all, at once. Where no host is, the link has. */
  onLinkDown(now: Nanos, port: number): void {
    const host = this.#hosts[port]
    if (host == null) {
      if (this.#options.leadsToHost?.(port) === true) return
      this.#downPorts.add(port)
      this.#announceSelf(now)
      return
    }
    if (host.state === MemberState.FAILED) return
    host.state = MemberState.FAILED
    this.#options.log?.begin(now, host.address, InofEvent.FAILED)
    this.#announce(now, port, host)
  }

  /** The link of a port has come up. Its host is asked to announce itself. */
  onLinkUp(now: Nanos, port: number): void {
    if (this.#downPorts.delete(port)) this.#announceSelf(now)
    this.#ask(now, port)
  }

  #ask(now: Nanos, port: number): void {
    const header = { switchEpoch: this.#options.epoch, epoch: ANYBODY, first: 1 }
    this.#owner.sendNotices(now, port, header, [])
  }

  #announceSelf(now: Nanos): void {
    const { as, id, address } = this.#options
    const failed = [...this.#downPorts].slice(0, FAILED_LINKS_MAX)
    this.#owner.announce(now, hostPrefix(address), {
      nextHop: address,
      largeCommunities: switchCommunities(as, id, failed),
    })
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
    const failed = attributes && readSwitch(this.#options.as, prefix, attributes)
    if (failed !== null || this.#failedLinks.has(prefix)) {
      this.#onSwitch(now, prefix, failed)
      return
    }
    const address = prefixAddress(prefix)
    const before = this.#members.get(address) ?? null
    const after = attributes && readMember(this.#options.as, prefix, attributes)
    if (after === null) this.#members.delete(address)
    else {
      // Every switch has the same zones, and a change of them is one step for all members.
      after.zones = this.#zones.of(address)
      this.#members.set(address, after)
    }
    for (const [port, host] of this.#hosts.entries()) {
      if (host === null || host.address === address) continue
      const notice = changeFor(host, before, after)
      if (notice === null) continue
      host.notices.add(now, { ...notice, change: this.#options.log?.of(address, notice.event) ?? null })
      this.#tell(now, port, host)
    }
  }

  /** A switch has other failed links than before. @param failed null: it is gone */
  #onSwitch(now: Nanos, prefix: PrefixKey, failed: readonly number[] | null): void {
    const before = this.#failedLinks.get(prefix) ?? []
    if (failed === null) this.#failedLinks.delete(prefix)
    else this.#failedLinks.set(prefix, failed)
    const after = failed ?? []
    const down = after.filter(link => !before.includes(link))
    const up = before.filter(link => !after.includes(link))
    if (down.length + up.length === 0) return
    const notices = [
      ...up.map(link => linkNotice(InofEvent.LINK_UP, link)),
      ...down.map(link => linkNotice(InofEvent.LINK_DOWN, link)),
    ]
    for (const [port, host] of this.#hosts.entries()) {
      if (host === null) continue
      for (const notice of notices) host.notices.add(now, notice)
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
    const moved = new Map<number, readonly number[]>()
    for (const member of this.#members.values()) {
      moved.set(member.address, member.zones)
      member.zones = this.#zones.of(member.address)
    }
    for (const [port, host] of this.#hosts.entries()) {
      if (host !== null) this.#rezone(now, port, host, moved)
    }
  }

  /**
   * Zones have changed: the host hears of members that share one with it now or no longer, and of those that share another one.
   *
   * @param before zones of the members until now, by address
   */
  #rezone(now: Nanos, port: number, host: LocalHost, before: ReadonlyMap<number, readonly number[]>): void {
    const zones = this.#zones.of(host.address)
    const own = { zones: host.zones }
    const isMoved = zones.join() !== host.zones.join()
    host.zones = zones
    for (const member of this.#members.values()) {
      if (member.address === host.address || member.state !== MemberState.UP) continue
      const [was, is] = [sharedZone(own, { zones: before.get(member.address)! }), sharedZone(host, member)]
      if (was === is) continue
      const event = is === null ? InofEvent.DEPARTED : InofEvent.ARRIVED
      const { kind, address } = member
      host.notices.add(now, { event, kind, zone: (is ?? was)!, address, change: null })
    }
    if (isMoved) this.#announce(now, port, host)
    this.#tell(now, port, host)
  }

  /** All members of its zones, and all failed links, for a host that knows none. */
  #list(now: Nanos, host: LocalHost): void {
    for (const member of this.#members.values()) {
      const zone = sharedZone(host, member)
      if (member.address === host.address || zone === null || member.state !== MemberState.UP) continue
      const { kind, address } = member
      host.notices.add(now, { event: InofEvent.ARRIVED, kind, zone, address, change: null })
    }
    for (const link of this.failedLinks()) host.notices.add(now, linkNotice(InofEvent.LINK_DOWN, link))
    if (this.#isListed) this.#completeList(now, host)
  }

  #completeList(now: Nanos, host: LocalHost): void {
    if (host.listed) return
    host.listed = true
    host.notices.complete(now)
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
    if (host.state === MemberState.UP) this.#options.log?.begin(now, host.address, InofEvent.DEPARTED)
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

/** @param link as of `failedLinks` */
function linkNotice(event: InofEvent, link: number) {
  return { event, kind: 0, zone: link & 0xffff, address: link >>> 16, change: null }
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

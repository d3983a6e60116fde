/** Hosts, switches and reflectors of an iNOF network in virtual time. Frames between host and switch may be lost, by seed. */
import { Speaker } from '../../lib/bgp/speaker.js'
import { StreamNetwork } from '../../lib/bgp/stream-network.js'
import { HostAgent } from '../../lib/inof/host-agent.js'
import { zoneRoutes } from '../../lib/inof/routes.js'
import { SwitchAgent } from '../../lib/inof/switch-agent.js'
import { Random } from '../../lib/sim/random.js'
import { DeadlineHeap } from '../../lib/time/deadline-heap.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { formatIpv4 } from '../../lib/wire/net/address.js'
import type { InofNotice } from '../../lib/wire/weir/inof-tlv.js'

const AS = 65_000
const CLUSTER = 0x0aff_ff00
const REFLECTORS = ['10.254.0.1', '10.254.0.2']

interface Shape {
  switches: number
  hostsASwitch: number
  /** Reflectors, 0 to 2. Default 2. */
  reflectors?: number
  /** From host to switch. Default 1 us. */
  linkNs?: Nanos
  /** From switch to reflector. Default 50 us. */
  streamNs?: Nanos
  /** Share of the frames between host and switch that is lost. Default 0. */
  loss?: number
  seed?: number
  autoJoin?: boolean
}

/** Something that waits for a time, at its place in the heap. */
interface Source {
  nextTimeout(): Nanos
  onTimeout(now: Nanos): void
}

/** Frames in flight on one direction of a link. */
class Lane implements Source {
  readonly #frames: { atNs: Nanos; arrive: (now: Nanos) => void }[] = []
  nextTimeout(): Nanos {
    return this.#frames[0]?.atNs ?? NEVER
  }
  onTimeout(now: Nanos): void {
    this.#frames.shift()!.arrive(now)
  }
  push(atNs: Nanos, arrive: (now: Nanos) => void): void {
    this.#frames.push({ atNs, arrive })
  }
}

interface Seen {
  atNs: Nanos
  host: number
  notice: InofNotice
}

export class InofNet {
  now: Nanos = 0
  readonly hosts: (HostAgent | null)[]
  readonly switches: SwitchAgent[] = []
  readonly reflectors: Speaker[] = []
  /** What hosts have heard, since it was last emptied. */
  readonly seen: Seen[] = []
  readonly cut = new Set<number>()
  readonly #streams: StreamNetwork
  readonly #shape: Required<Shape>
  readonly #random: Random
  readonly #heap = new DeadlineHeap()
  readonly #sources: Source[] = []
  readonly #hostSources: number[] = []
  readonly #lanes: { up: Lane; down: Lane }[] = []
  #epoch = 1

  constructor(shape: Shape) {
    const defaults = { reflectors: 2, linkNs: 1000, streamNs: 50_000, loss: 0, seed: 1, autoJoin: true }
    this.#shape = { ...defaults, ...shape }
    const { switches, hostsASwitch, reflectors, streamNs, seed } = this.#shape
    this.#random = new Random(seed)
    this.#streams = new StreamNetwork(() => streamNs)
    for (let i = 0; i < reflectors; i++) this.#addReflector(REFLECTORS[i]!, i)
    for (let id = 0; id < switches; id++) this.#addSwitch(id)
    this.#add(this.#streams)
    this.hosts = Array(switches * hostsASwitch).fill(null)
    for (let host = 0; host < this.hosts.length; host++) {
      const lanes = { up: new Lane(), down: new Lane() }
      this.#lanes.push(lanes)
      this.#add(lanes.up)
      this.#add(lanes.down)
      const of = () => this.hosts[host]
      this.#hostSources.push(
        this.#add({
          nextTimeout: () => of()?.nextTimeout() ?? NEVER,
          onTimeout: now => of()?.onTimeout(now),
        }),
      )
    }
    this.#refresh()
  }

  static address(host: number): number {
    return 0x0a00_0001 + host
  }

  /** A host begins, or begins anew. */
  plugIn(host: number): void {
    const { hostsASwitch, linkNs } = this.#shape
    const [id, port] = [Math.floor(host / hostsASwitch), host % hostsASwitch]
    this.hosts[host] = new HostAgent(
      this.now,
      { address: InofNet.address(host), kind: 0, epoch: this.#epoch++ },
      {
        sendPresence: (now, presence, ttlSeconds) => {
          if (this.#isLost(host)) return
          this.#lanes[host]!.up.push(now + linkNs, at =>
            this.switches[id]!.onPresence(at, port, presence, ttlSeconds),
          )
        },
        peerChanged: (atNs, notice) => this.seen.push({ atNs, host, notice }),
        linkChanged: (atNs, notice) => this.seen.push({ atNs, host, notice }),
      },
    )
    this.#refresh()
  }

  /** A host says that it leaves, and is gone. */
  leave(host: number): void {
    this.hosts[host]!.leave(this.now)
    this.hosts[host] = null
    this.#refresh()
  }

  /** A host falls silent. */
  kill(host: number): void {
    this.hosts[host] = null
    this.#refresh()
  }

  /** The link of a host goes down: its switch sees that. */
  linkDown(host: number): void {
    const { hostsASwitch } = this.#shape
    this.cut.add(host)
    this.switches[Math.floor(host / hostsASwitch)]!.onLinkDown(this.now, host % hostsASwitch)
    this.#refresh()
  }

  killReflector(index: number): void {
    this.#streams.kill(this.now, REFLECTORS[index]!)
    this.#refresh()
  }

  /** Sets a zone on all reflectors. */
  setZone(zone: number, hosts: readonly number[], autoJoin = true): void {
    for (const reflector of this.reflectors) {
      for (const { prefix, largeCommunities } of zoneRoutes(AS, zone, hosts.map(InofNet.address), autoJoin))
        reflector.announce(this.now, prefix, { nextHop: 1, largeCommunities })
    }
    this.#refresh()
  }

  /** The hosts that a host knows. */
  peersOf(host: number): number[] {
    return this.hosts[host]!.peers().map(({ address }) => address - InofNet.address(0))
  }

  runFor(ns: Nanos): void {
    const until = this.now + ns
    for (let at = this.#heap.firstTime(); at <= until; at = this.#heap.firstTime()) {
      this.now = Math.max(this.now, at)
      const source = this.#heap.first()
      this.#sources[source]!.onTimeout(this.now)
      this.#heap.set(source, this.#sources[source]!.nextTimeout())
      this.#refreshAfter(source)
    }
    this.now = until
  }

  #isLost(host: number): boolean {
    return this.cut.has(host) || (this.#shape.loss > 0 && this.#random.next() < this.#shape.loss)
  }

  #addReflector(address: string, index: number): void {
    const neighbours = Array.from({ length: this.#shape.switches }, (_, id) => ({
      address: switchAddress(id),
      passive: true,
      client: true,
    }))
    const speaker: Speaker = new Speaker(
      {
        as: AS,
        identifier: 0x0afe_0001 + index,
        clusterId: CLUSTER,
        restartSeconds: 120,
        neighbours,
        random: () => 0,
      },
      { connect: (now, to) => this.#streams.connect(now, address, to), routeChanged: () => {} },
    )
    this.#streams.add(address, speaker)
    this.reflectors.push(speaker)
    speaker.start(0)
  }

  #addSwitch(id: number): void {
    const { hostsASwitch: ports, reflectors, autoJoin, linkNs } = this.#shape
    const address = switchAddress(id)
    const identifier = 0x0aff_0001 + id
    const speaker: Speaker = new Speaker(
      {
        as: AS,
        identifier,
        neighbours: REFLECTORS.slice(0, reflectors).map(one => ({ address: one })),
        random: () => 0,
      },
      {
        connect: (now, to) => this.#streams.connect(now, address, to),
        routeChanged: (now, prefix, attributes) => agent.onRoute(now, prefix, attributes),
        synchronised: now => agent.onSynchronised(now),
      },
    )
    const options = {
      id,
      as: AS,
      address: identifier,
      ports,
      epoch: 1000 * id + 1,
      autoJoin,
      hasReflectors: reflectors > 0,
    }
    const agent: SwitchAgent = new SwitchAgent(0, options, {
      announce: (now, prefix, attributes) => speaker.announce(now, prefix, attributes),
      withdraw: (now, prefix) => speaker.withdraw(now, prefix),
      sendNotices: (now, port, header, notices) => {
        const host = id * ports + port
        if (this.#isLost(host)) return
        const copy = [...notices]
        this.#lanes[host]!.down.push(now + linkNs, at => this.hosts[host]?.onNotices(at, header, copy))
        this.#laneDirty.add(host)
      },
    })
    this.switches.push(agent)
    this.#streams.add(address, speaker)
    this.#add(agent)
    speaker.start(0)
  }

  readonly #laneDirty = new Set<number>()

  #add(source: Source): number {
    this.#sources.push(source)
    return this.#heap.add()
  }

  #refresh(): void {
    for (const [i, source] of this.#sources.entries()) this.#heap.set(i, source.nextTimeout())
    this.#laneDirty.clear()
  }

  /** Sets the times of what a source may have changed: switches, streams and lanes. */
  #refreshAfter(source: number): void {
    const { switches } = this.#shape
    const host = Math.floor((source - switches - 1) / 3)
    const set = (id: number) => this.#heap.set(id, this.#sources[id]!.nextTimeout())
    if (host >= 0) {
      const first = switches + 1 + 3 * host
      for (let id = first; id < first + 3; id++) set(id)
      set(Math.floor(host / this.#shape.hostsASwitch))
    } else if (source === switches) for (let id = 0; id < switches; id++) set(id)
    set(switches)
    for (const one of this.#laneDirty) set(switches + 1 + 3 * one + 1)
    this.#laneDirty.clear()
  }
}

function switchAddress(id: number): string {
  return formatIpv4(0x0aff_0001 + id)
}

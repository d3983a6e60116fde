import type { StreamCommand, StreamEvent } from '../../lib/bgp/outside-network.js'
import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { LinkEnd, Scenario } from '../../lib/scenario/model/scenario.js'
import { baseRttNs, Topology } from '../../lib/scenario/model/topology.js'
import type { InofResult } from '../../lib/scenario/result/inof-result.js'
import type { LinkResult, PortResult, Series, TimelineEntry } from '../../lib/scenario/result/result.js'
import type { LinkSettings } from '../../lib/sim/link-options.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { CaptureFile, PortCaptures } from '../captures/port-captures.js'
import type { IpAnswers } from '../core/answers/ip-answers.js'
import { Classifier } from '../core/forwarding/classifier.js'
import { Fabric } from '../network/fabric.js'
import { classifierOptions } from '../network/switch-options.js'
import { linksOf, type NodeLink } from '../node-links.js'
import { portResults } from '../results/port-results.js'
import { PortSampler } from '../results/port-sampler.js'
import { Attachment } from './attachment.js'
import { Gathering } from './gathering.js'
import { type Lateness, LatenessGauge } from './lateness.js'

/** Hosts whose round trips are computed, if a network has more. */
const HOSTS_LOOKED_AT = 32
/** A process that is so late did not run: its loop was held up, or the machine had no processor for it. */
const HELD_UP_NS: Nanos = 10 * MILLISECOND

interface RealTimeFabricOptions {
  scenario: Scenario
  pool: FramePool
  /** The host of each link. Every host of the scenario has one. */
  hosts: readonly string[]
  startNs: Nanos
  /** Captures of every switch port. The caller closes them, the fabric flushes them. Default: none. */
  captures?: PortCaptures
  /**
   * Answers of the switches by themselves, by the number of the switch, for hosts with ordinary IP stacks.
   * Default: none.
   */
  responder?: (switchId: number) => IpAnswers
  /** Bytes of the longest IP packet on the hosts' ports. Default: only frames' slots are the bound. */
  mtuBytes?: number
  /** Bytes of a host that may wait for its own link. Default: the Attachment's. */
  backlogBytesMax?: number
  /** Carries bytes to reflectors outside. Default: they are part of the network. */
  outside?: (command: StreamCommand) => void
  /** Gets a frame that has arrived at the host of that link, and owns it. */
  deliver: (link: number, frame: Frame) => void
}

/** A change of links by hand. */
export interface LinkChange {
  /** The ends from which the directions lead away. */
  ends: LinkEnd[]
  settings: LinkSettings
  /** First they become as the scenario says. */
  reset: boolean
}

/** The ports, what the queue of each holds, and their captures, if there are any. */
export interface Ports {
  /** Frames that the processes lost since they came up, not the emulated network. */
  lostFrames: number
  ports: PortResult[]
  /** Directions of links of which something was set. */
  links: LinkResult[]
  queueBytes: number[]
  /** Which hosts are there. Absent: the scenario has no `inof`. */
  inof?: InofResult
  captures: CaptureFile[]
}

/** The events since `begin`. */
export interface SwitchReport {
  nowNs: Nanos
  ports: PortResult[]
  links: LinkResult[]
  timeline: TimelineEntry[]
  inof?: InofResult
  series: Record<string, Series>
  /** Events of the emulated network. */
  events: number
  /** Frames that the processes lost, not the emulated network. 0 unless the machine is overloaded. */
  lostFrames: number
  lateness: Lateness
}

/**
 * The network of a scenario between real hosts, on any kind of links. Virtual time catches up with the real
 * clock. The driver may wake late, but departures, queues and stamps are on the exact timeline. It holds no
 * clock and no socket.
 */
export class RealTimeFabric {
  readonly #scenario: Scenario
  readonly #fabric: Fabric
  readonly #captures: PortCaptures | undefined
  readonly #attachments: Attachment[] = []
  readonly #gathering = new Gathering()
  readonly #ids: number[] = []
  /** By link: 1 if frames have arrived that the network has not taken. */
  readonly #dirty: Uint8Array
  #anyDirty = false
  #sampler: PortSampler
  #lateness: LatenessGauge
  readonly #lateLimitNs: Nanos
  #eventsBefore = 0
  /** When the next window begins, or NEVER. */
  #beginNs: Nanos = NEVER

  /** Throws WEIR_BAD_SCENARIO or WEIR_BAD_ARGUMENT unless each host has exactly one link. */
  constructor(options: RealTimeFabricOptions) {
    const { scenario, pool, hosts, startNs, captures, responder, mtuBytes, backlogBytesMax, outside } =
      options
    const random = new Random(scenario.seed).fork('marking')
    this.#scenario = scenario
    this.#captures = captures
    this.#fabric = new Fabric(scenario, {
      pool,
      random: () => random.next(),
      startNs,
      captures,
      responder,
      mtuBytes,
      outside,
      hostsKeepDelays: true,
    })
    this.#lateLimitNs = lateLimitNs(scenario)
    this.#lateness = new LatenessGauge(this.#lateLimitNs)
    this.#dirty = new Uint8Array(hosts.length)
    for (const [link, host] of hosts.entries()) {
      const { rateBps, delayNs } = hostLink(scenario, host)
      const deliver = (frame: Frame) => options.deliver(link, frame)
      const classifier = pausingClassifier(scenario, host)
      const onDelivered = (lateNs: Nanos) => this.#lateness.add(lateNs)
      const attachment = new Attachment({
        pool,
        rateBps,
        delayNs,
        deliver,
        onDelivered,
        gathering: this.#gathering,
        classifier,
        backlogBytesMax,
      })
      this.#attachments.push(attachment)
      this.#ids.push(this.#fabric.attach(host, attachment))
    }
    for (const { name } of scenario.hosts) {
      if (!hosts.includes(name)) {
        throw new WeirError('WEIR_BAD_ARGUMENT', `switch: host ${name} has no link; give it one`)
      }
    }
    this.#sampler = new PortSampler(scenario, this.#fabric.switches, startNs)
    this.#fabric.resetWindow(startNs)
  }

  /**
   * A frame has arrived from the host of that link at `now`. A frame that is reported late counts from the
   * time that the network has reached: a burst in the past would be in the switch before a pause could hold
   * it. Call `runUntil` after the last one.
   */
  inject(now: Nanos, link: number, frame: Frame): void {
    this.#attachments[link]!.inject(Math.max(now, this.#fabric.network.now), frame)
    this.#dirty[link] = 1
    this.#anyDirty = true
  }

  /** Advances to `now`, and delivers the frames that have arrived at the hosts by then. */
  runUntil(now: Nanos): void {
    const lateNs = now - this.#fabric.network.nextEventNs()
    if (lateNs > HELD_UP_NS && lateNs > HELD_UP_NS + this.#lookaheadNs()) this.#fabric.heldUp(now)
    this.#takeInjected()
    if (this.#beginNs <= now) {
      this.#advance(this.#beginNs)
      this.#beginWindow(this.#beginNs)
    }
    this.#advance(now)
    for (const attachment of this.#attachments) attachment.deliverUntil(now)
    this.#captures?.onTimeout(now)
  }

  /** Until when no frame can arrive at a host and nothing has to be written, or NEVER. */
  nextDeadline(): Nanos {
    // Only frames that leave the process need it awake. Everything else, including samples, is computed
    // later, exactly.
    let deadline = this.#fabric.network.nextEventNs() + this.#lookaheadNs()
    if (this.#captures !== undefined) deadline = Math.min(deadline, this.#captures.nextTimeout())
    for (const attachment of this.#attachments) deadline = Math.min(deadline, attachment.nextDelivery())
    return deadline
  }

  /** How long the caller may let frames gather before its next round. */
  get gatherNs(): Nanos {
    return this.#gathering.ns
  }

  /**
   * Starts a new window: `report`, and the times of the scenario's routes, count from there.
   *
   * @param atNs now, or a later time, which the network keeps exactly, however late it is called next
   */
  begin(now: Nanos, atNs: Nanos = now): void {
    this.#beginNs = Math.max(atNs, this.#fabric.network.now)
    this.runUntil(now)
  }

  /** @param portDrops frames that the ports to the hosts have dropped */
  report(now: Nanos, portDrops: number): SwitchReport {
    this.runUntil(now)
    return {
      nowNs: now,
      ports: portResults(this.#scenario, this.#fabric.switches, now),
      links: this.#fabric.links.results(),
      timeline: [...this.#fabric.timeline],
      inof: this.#fabric.inof(),
      series: this.#sampler.series(),
      events: this.#fabric.network.events - this.#eventsBefore,
      lateness: this.#lateness.report(),
      lostFrames: portDrops + this.#attachmentDrops(),
    }
  }

  /**
   * Returns the results of the ports so far, and what the queue of each holds now, in the same order.
   *
   * @param portDrops as for `report`
   */
  ports(now: Nanos, portDrops: number): Ports {
    this.runUntil(now)
    const { switches } = this.#fabric
    return {
      ports: portResults(this.#scenario, switches, now),
      links: this.#fabric.links.results(),
      inof: this.#fabric.inof(),
      queueBytes: switches.flatMap(sw => sw.ports.map(port => port.queueBytes)),
      captures: this.#captures?.files() ?? [],
      lostFrames: portDrops + this.#attachmentDrops(),
    }
  }

  /** As `Fabric.turnPfcOn`, at `now`. */
  turnPfcOn(now: Nanos, name: string, ports: readonly number[], priority?: number): number[][] {
    this.runUntil(now)
    const { network } = this.#fabric
    const restored = this.#fabric.turnPfcOn(Math.max(now, network.now), name, ports, priority)
    this.runUntil(now)
    return restored
  }

  /** Changes directions of links from `now` on. Returns what is set of them then. */
  setLinks(now: Nanos, { ends, settings, reset }: LinkChange): LinkResult[] {
    this.runUntil(now)
    const { network, links } = this.#fabric
    const at = Math.max(now, network.now)
    if (reset) links.reset(at, ends)
    links.set(at, ends, settings)
    this.runUntil(now)
    return links.results(ends)
  }

  /** As `InofNetwork.setZone`, at `now`. */
  setZone(now: Nanos, zone: number, hosts: readonly string[]): void {
    this.runUntil(now)
    this.#fabric.setZone(Math.max(now, this.#fabric.network.now), zone, hosts)
    this.runUntil(now)
  }

  /** As `Fabric.onStream`, at `now`. */
  onStream(now: Nanos, event: StreamEvent): void {
    this.runUntil(now)
    this.#fabric.onStream(Math.max(now, this.#fabric.network.now), event)
    this.runUntil(now)
  }

  /** Returns the frames at the hosts' ends to their pool. */
  close(): void {
    for (const attachment of this.#attachments) attachment.close()
  }

  /** The shortest delay to a host. An event of the network reaches no host sooner. */
  #lookaheadNs(): Nanos {
    let shortest = NEVER
    for (const { toHostNs } of this.#attachments) if (toHostNs < shortest) shortest = toHostNs
    return shortest
  }

  #attachmentDrops(): number {
    return this.#attachments.reduce((sum, { drops }) => sum + drops, 0)
  }

  #advance(untilNs: Nanos): void {
    const { network } = this.#fabric
    const sampler = this.#sampler
    for (let at = sampler.nextTimeout(); at <= untilNs; at = sampler.nextTimeout()) {
      network.runUntil(at)
      sampler.sample(at)
    }
    network.runUntil(untilNs)
  }

  #beginWindow(now: Nanos): void {
    this.#beginNs = NEVER
    this.#fabric.begin(now)
    this.#sampler = new PortSampler(this.#scenario, this.#fabric.switches, now)
    this.#eventsBefore = this.#fabric.network.events
    this.#lateness = new LatenessGauge(this.#lateLimitNs)
  }

  /**
   * Passes the arrived frames to the network. The network does not run while frames arrive, so its time is
   * before their arrival, and everything happens in the order of its times.
   */
  #takeInjected(): void {
    if (!this.#anyDirty) return
    this.#anyDirty = false
    for (let link = 0; link < this.#dirty.length; link++) {
      if (this.#dirty[link] === 0) continue
      this.#dirty[link] = 0
      this.#fabric.network.kick(this.#ids[link]!)
    }
  }
}

/** Frames that are later than a quarter of the shortest round trip change the measured figures. */
function lateLimitNs(scenario: Scenario): Nanos {
  const topology = new Topology(scenario)
  const hosts = scenario.hosts.slice(0, HOSTS_LOOKED_AT).map(({ name }) => name)
  const paths = hosts.flatMap((from, i) =>
    hosts.slice(i + 1).flatMap(to => topology.pathKinds(from, to).slice(0, 1)),
  )
  const rtts = paths.map(path => baseRttNs(path, scenario.transport.pathMtu))
  return rtts.length === 0 ? 0 : Math.round(Math.min(...rtts) / 4)
}

/** Returns how the switch of a host distinguishes priorities, or undefined if it pauses nobody. */
function pausingClassifier(scenario: Scenario, host: string): Classifier | undefined {
  const sw = scenario.switches.find(({ name }) => name === hostLink(scenario, host).peer.node)
  return sw?.pfc === undefined ? undefined : new Classifier(classifierOptions(sw))
}

/** The one link of a host. */
function hostLink(scenario: Scenario, host: string): NodeLink {
  const [link, ...others] = linksOf(scenario, host)
  const toSwitch = scenario.switches.some(({ name }) => name === link?.peer.node)
  if (link !== undefined && toSwitch && others.length === 0) return link
  throw new WeirError('WEIR_BAD_SCENARIO', `switch: host ${host} needs exactly one link, to a switch`)
}

import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { monotonicNs } from '../../lib/io/clock.js'
import type { PortCounters } from '../../lib/io/port.js'
import { type Driven, RealTimeLoop } from '../../lib/io/real-time-loop.js'
import { type Endpoint, VxlanSocket } from '../../lib/io/vxlan-socket.js'
import type { PortResult, Series } from '../../lib/scenario/result.js'
import type { Scenario } from '../../lib/scenario/scenario.js'
import { Random } from '../../lib/sim/random.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { Fabric, linksOf, type NodeLink } from '../fabric.js'
import { portResults } from '../port-results.js'
import { PortSampler } from '../port-sampler.js'
import { Attachment } from './attachment.js'

/** A host of the scenario and the UDP endpoint that it really is at. */
export interface HostLink {
  host: string
  vni: number
  peer: Endpoint
}

export interface OverlaySwitchOptions {
  scenario: Scenario
  local: Endpoint
  /** One for every host of the scenario. */
  links: HostLink[]
  /** Frames in all queues and on all links at most. Default 16,384: 75 MB when all have been used at once. */
  poolFrames?: number
  /** Called once if a round throws: a defect. */
  onError: (error: unknown) => void
}

/** What happened since `begin`. */
export interface OverlayReport {
  nowNs: Nanos
  ports: PortResult[]
  series: Record<string, Series>
  /** Events of the emulated network. */
  events: number
  /** Frames lost between the processes, not by the emulated network: 0 unless the machine is overloaded. */
  overlayDrops: number
}

/** Frames on their way out of the socket: what a late wake may release at once. */
const IN_FLIGHT_MAX = 4096

/**
 * All switches of a scenario in one process. The emulated network is virtual time caught up to the real clock:
 * the loop may wake late, but departures, queues and stamps fall on the exact timeline.
 */
export class OverlaySwitch implements Driven {
  readonly #scenario: Scenario
  readonly #fabric: Fabric
  readonly #pool: FramePool
  readonly #attachments: Attachment[] = []
  readonly #ids: number[] = []
  /** By attachment: 1 if frames have come in that the network has not taken. */
  readonly #dirty: Uint8Array
  #anyDirty = false
  readonly #loop: RealTimeLoop
  #vxlan!: VxlanSocket
  #sampler: PortSampler
  #eventsBefore = 0
  /** The shortest delay of a host's link: what happens in the network reaches no host before. */
  readonly #lookaheadNs: Nanos

  /** Binds the socket and starts to forward. */
  static async open(options: OverlaySwitchOptions): Promise<OverlaySwitch> {
    const sw = new OverlaySwitch(options)
    sw.#vxlan = await VxlanSocket.open({
      pool: sw.#pool,
      local: options.local,
      links: options.links,
      maxInFlight: IN_FLIGHT_MAX,
      onFrame: (link, frame) => sw.#onFrame(link, frame),
    })
    sw.#loop.start()
    return sw
  }

  private constructor(options: OverlaySwitchOptions) {
    const { scenario } = options
    const now = monotonicNs()
    const random = new Random(scenario.seed).fork('marking')
    this.#scenario = scenario
    this.#pool = new FramePool(options.poolFrames ?? 16_384)
    this.#fabric = new Fabric(withoutHostDelays(scenario), {
      pool: this.#pool,
      random: () => random.next(),
      startNs: now,
    })
    this.#lookaheadNs = Math.min(...scenario.hosts.map(({ name }) => hostLink(scenario, name).delayNs))
    this.#dirty = new Uint8Array(options.links.length)
    for (const [link, { host }] of options.links.entries()) this.#attach(link, host)
    for (const { name } of scenario.hosts) {
      if (!options.links.some(link => link.host === name)) {
        throw new WeirError('WEIR_BAD_ARGUMENT', `overlay: host ${name} has no link; give it one`)
      }
    }
    this.#sampler = new PortSampler(scenario, this.#fabric.switches, now)
    this.#fabric.resetWindow(now)
    this.#loop = new RealTimeLoop(this, { onError: options.onError })
  }

  get port(): number {
    return this.#vxlan.port
  }

  get counters(): PortCounters {
    return this.#vxlan.counters
  }

  /** Starts a new window: what `report` says counts from here. */
  begin(): void {
    const now = this.#catchUp()
    this.#fabric.resetWindow(now)
    this.#sampler = new PortSampler(this.#scenario, this.#fabric.switches, now)
    this.#eventsBefore = this.#fabric.network.events
  }

  report(): OverlayReport {
    const now = this.#catchUp()
    return {
      nowNs: now,
      ports: portResults(this.#scenario, this.#fabric.switches, now),
      series: this.#sampler.series(),
      events: this.#fabric.network.events - this.#eventsBefore,
      overlayDrops: this.counters.dropped + this.#attachments.reduce((sum, { drops }) => sum + drops, 0),
    }
  }

  /** What the ports did so far, without the series. */
  ports(): PortResult[] {
    return portResults(this.#scenario, this.#fabric.switches, this.#catchUp())
  }

  /** What the queue of each port holds, in the order of `ports`. */
  queueBytes(): number[] {
    this.#catchUp()
    return this.#fabric.switches.flatMap(sw => sw.ports.map(port => port.queueBytes))
  }

  async close(): Promise<void> {
    this.#loop.close()
    await this.#vxlan.close()
    for (const attachment of this.#attachments) attachment.close()
  }

  round(now: Nanos): boolean {
    this.#runUntil(now)
    return false
  }

  nextDeadline(): Nanos {
    // Only what leaves the process needs it awake: the rest, samples too, is caught up with, exactly, later.
    let deadline = this.#fabric.network.nextEventNs() + this.#lookaheadNs
    for (const attachment of this.#attachments) deadline = Math.min(deadline, attachment.nextDelivery())
    return deadline
  }

  #attach(link: number, host: string): void {
    const { rateBps, delayNs } = hostLink(this.#scenario, host)
    const attachment = new Attachment({
      pool: this.#pool,
      rateBps,
      delayNs,
      deliver: frame => this.#vxlan.transmit(link, frame),
    })
    this.#attachments.push(attachment)
    this.#ids.push(this.#fabric.attach(host, attachment))
  }

  #onFrame(link: number, frame: Frame): void {
    this.#attachments[link]!.inject(monotonicNs(), frame)
    this.#dirty[link] = 1
    this.#anyDirty = true
    this.#loop.wake()
  }

  /**
   * Lets the network have what came in. It does not run while frames come in, so its time is before their
   * arrival, and everything happens in the order of its times.
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

  #catchUp(): Nanos {
    const now = monotonicNs()
    this.#runUntil(now)
    return now
  }

  #runUntil(now: Nanos): void {
    this.#takeInjected()
    const { network } = this.#fabric
    const sampler = this.#sampler
    for (let at = sampler.nextTimeout(); at <= now; at = sampler.nextTimeout()) {
      network.runUntil(at)
      sampler.sample(at)
    }
    network.runUntil(now)
    for (const attachment of this.#attachments) attachment.deliverUntil(now)
  }
}

/** The one link of a host. */
function hostLink(scenario: Scenario, host: string): NodeLink {
  const [link, ...others] = linksOf(scenario, host)
  const toSwitch = scenario.switches.some(({ name }) => name === link?.peer.node)
  if (link !== undefined && toSwitch && others.length === 0) return link
  throw new WeirError('WEIR_BAD_SCENARIO', `overlay: host ${host} needs exactly one link, to a switch`)
}

/** The attachments keep the delays of the hosts' links. */
function withoutHostDelays(scenario: Scenario): Scenario {
  const hosts = new Set(scenario.hosts.map(host => host.name))
  const links = scenario.links.map(link =>
    hosts.has(link.a.node) || hosts.has(link.b.node) ? { ...link, delayNs: 0 } : link,
  )
  return { ...scenario, links }
}

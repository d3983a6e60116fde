import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { clockEpochNs, monotonicNs, monotonicNsAt } from '../../lib/io/clock.js'
import { type Driven, RealTimeLoop } from '../../lib/io/loop/real-time-loop.js'
import type { PortCounters } from '../../lib/io/port.js'
import { type Endpoint, VxlanSocket, vxlanMtu } from '../../lib/io/ports/vxlan-socket.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { type CapturePlace, PortCaptures } from '../captures/port-captures.js'
import {
  type LinkChange,
  type Ports,
  RealTimeFabric,
  type SwitchReport,
} from '../real-time/real-time-fabric.js'
import type { RunningSwitch } from '../real-time/switch-process.js'

/** A host of the scenario, and its actual UDP endpoint. */
export interface HostLink {
  host: string
  vni: number
  peer: Endpoint
}

interface OverlaySwitchOptions {
  scenario: Scenario
  local: Endpoint
  /** One for every host of the scenario. */
  links: HostLink[]
  /** Captures every switch port, by the time of day. */
  captures?: CapturePlace
  /** Frames in all queues and on all links at most. Default 16,384: 75 MB when all have been used at once. */
  poolFrames?: number
  /** Called once if a round throws, which is a defect. */
  onError: (error: unknown) => void
}

/** Frames in the socket on their way out. A late wake-up may send as many at once. */
const IN_FLIGHT_MAX = 4096

/** All switches of a scenario in one process. The hosts are at the other ends of VXLAN links. */
export class OverlaySwitch implements Driven, RunningSwitch {
  readonly #captures: PortCaptures | undefined
  readonly #fabric: RealTimeFabric
  readonly #pool: FramePool
  readonly #loop: RealTimeLoop
  #vxlan!: VxlanSocket

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
    const { scenario, captures } = options
    this.#pool = new FramePool(options.poolFrames ?? 16_384, undefined, 0, scenario.int.ifaProtocol)
    this.#captures = captures && new PortCaptures(scenario, { ...captures, epochNs: clockEpochNs() })
    this.#fabric = new RealTimeFabric({
      scenario,
      pool: this.#pool,
      hosts: options.links.map(({ host }) => host),
      startNs: monotonicNs(),
      mtuBytes: vxlanMtu(options.local.address, this.#pool),
      captures: this.#captures,
      deliver: (link, frame) => this.#vxlan.transmit(link, frame),
    })
    this.#loop = new RealTimeLoop(this, { onError: options.onError })
  }

  get port(): number {
    return this.#vxlan.port
  }

  get counters(): PortCounters {
    return this.#vxlan.countDrops()
  }

  /** Starts a new window, at that time of day or now, for `report`. */
  begin(atUnixMs?: number): void {
    const now = monotonicNs()
    this.#fabric.begin(now, atUnixMs === undefined ? now : monotonicNsAt(atUnixMs))
  }

  report(): SwitchReport {
    return this.#fabric.report(monotonicNs(), this.counters.dropped)
  }

  /** The results of the ports so far and what their queues hold, without the series. */
  ports(): Ports {
    return this.#fabric.ports(monotonicNs(), this.counters.dropped)
  }

  turnPfcOn(name: string, ports: readonly number[], priority?: number): number[][] {
    return this.#fabric.turnPfcOn(monotonicNs(), name, ports, priority)
  }

  setZone(zone: number, hosts: readonly string[]): void {
    this.#fabric.setZone(monotonicNs(), zone, hosts)
  }

  setLinks(change: LinkChange): LinkResult[] {
    return this.#fabric.setLinks(monotonicNs(), change)
  }

  async close(): Promise<void> {
    this.#loop.close()
    await this.#vxlan.close()
    this.#fabric.close()
    this.#captures?.close()
  }

  round(now: Nanos): boolean {
    this.#fabric.runUntil(now)
    return false
  }

  nextDeadline(): Nanos {
    return this.#fabric.nextDeadline()
  }

  #onFrame(link: number, frame: Frame): void {
    this.#fabric.inject(monotonicNs(), link, frame)
    this.#loop.wake()
  }
}

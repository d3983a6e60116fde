import type { StreamCommand, StreamEvent } from '../../lib/bgp/outside-network.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { clockEpochNs, monotonicNs, monotonicNsAt } from '../../lib/io/clock.js'
import { FdWaiter } from '../../lib/io/linux/fd-waiter.js'
import { Nap } from '../../lib/io/linux/nap.js'
import { interfaceMtuOf } from '../../lib/io/linux/packet-socket.js'
import { becomeRealTime } from '../../lib/io/linux/thread-priority.js'
import { WallClock } from '../../lib/io/linux/wall-clock.js'
import { PacketPort } from '../../lib/io/ports/packet-port.js'
import { macOf } from '../../lib/nic/config.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { tunnelBytesMost } from '../../lib/scenario/model/vtep.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import { PortCaptures } from '../captures/port-captures.js'
import { HostTable } from '../core/answers/host-table.js'
import { IpAnswers } from '../core/answers/ip-answers.js'
import { tunnelAddresses } from '../network/vtep-options.js'
import {
  type LinkChange,
  type Ports,
  RealTimeFabric,
  type SwitchReport,
} from '../real-time/real-time-fabric.js'
import type { VethStart } from './veth-messages.js'

interface VethSwitchOptions extends Omit<VethStart, 'type'> {
  /** Becomes readable when another thread wants `run` to check `isWanted`. */
  wakeFd: number
  /** Carries bytes to reflectors outside. */
  outside: (command: StreamCommand) => void
}

/**
 * Frames in all queues and on all links: at least this many, and enough for full buffers of frames of this
 * size.
 */
const POOL_FRAMES_LEAST = 16_384
const MEAN_FRAME_BYTES = 1024
/** The most memory for them. The system provides only what has been used. */
const POOL_BYTES_MOST = 1 << 30
/**
 * Bytes that a host's kernel has sent and its emulated link has not taken yet. A NIC would hold TCP back.
 * Here only TCP's send buffer bounds it, 4 MiB by default, and it must not lose packets because of that.
 */
const HOST_BACKLOG_BYTES = 16 << 20
/** Frames taken from one port before the other ports have their turn. */
const BATCH_FRAMES = 64
/** The number of frames from which on they do not wait for others. */
const GATHERED_FRAMES = 32
/** Greatest age that is believed. With a greater one the time of day was set in between. */
const AGE_MOST_NS: Nanos = 100_000_000
/**
 * If readings of the two clocks are further apart than this, they are repeated, a bounded number of times.
 */
const CLOCKS_APART_NS: Nanos = 10_000
const CLOCK_TRIES = 3
/** Shorter sleeps would overrun. */
const SLEEP_LEAST_NS: Nanos = 5_000
/** Longest sleep, because a process that exits waits for its threads. */
const SLEEP_MOST_NS: Nanos = 250_000_000

/**
 * All switches of a scenario in one thread. The hosts are at the other ends of veth pairs. It runs to
 * completion: takes arrived frames, advances the network, sends frames that leave, and sleeps until the next
 * departure or the next frame. It uses no event loop.
 */
export class VethSwitch {
  readonly #fabric: RealTimeFabric
  readonly #pool: FramePool
  readonly #ports: PacketPort[] = []
  readonly #waiter: FdWaiter
  /** Frames that came in or went out in this round. */
  #moved = 0
  readonly #wallClock = new WallClock()
  readonly #nap = new Nap()
  /** By link: when its last frame arrived. No frame is before the previous one, whatever the clocks say. */
  readonly #arrivals: Float64Array
  readonly #busyPoll: boolean
  readonly #captures: PortCaptures | null

  /**
   * Opens the interfaces, in this thread's network namespace. Throws what `PacketPort` and `RealTimeFabric`
   * throw, after it closed what was open.
   */
  constructor(options: VethSwitchOptions) {
    const { scenario, links, captures } = options
    this.#busyPoll = options.busyPoll ?? false
    this.#arrivals = new Float64Array(links.length)
    const hosts = hostTable(scenario)
    const mtu = Math.max(...links.map(link => interfaceMtuOf(link.interface)))
    this.#pool = poolFor(scenario, slotBytesFor(mtu + tunnelBytesMost(scenario)))
    this.#captures =
      captures === undefined ? null : new PortCaptures(scenario, { ...captures, epochNs: clockEpochNs() })
    try {
      for (const link of links)
        this.#ports.push(new PacketPort({ pool: this.#pool, interface: link.interface, dropsWhenFull: true }))
      this.#fabric = new RealTimeFabric({
        scenario,
        pool: this.#pool,
        hosts: links.map(({ host }) => host),
        startNs: monotonicNs(),
        mtuBytes: Math.min(...this.#ports.map(port => port.mtu)),
        backlogBytesMax: HOST_BACKLOG_BYTES,
        outside: options.outside,
        responder: id => new IpAnswers(hosts, id),
        deliver: (link, frame) => this.#deliver(link, frame),
        ...(this.#captures === null ? {} : { captures: this.#captures }),
      })
      this.#waiter = new FdWaiter([options.wakeFd, ...this.#ports.map(({ fd }) => fd)])
    } catch (error) {
      for (const port of this.#ports) void port.close()
      this.#captures?.close()
      throw error
    }
  }

  /** Forwards until `isWanted` says that its caller has something else to do. It asks once a round. */
  run(isWanted: () => boolean): void {
    // Without sleeps in between, a real-time thread would keep everything else from its core.
    if (!this.#busyPoll) becomeRealTime()
    let woken = false
    while (!isWanted()) {
      const now = this.#readClocks()
      this.#moved = 0
      this.#receive(now)
      this.#fabric.runUntil(now)
      this.#flush()
      if (this.#moved > 0) {
        // The thread lets frames gather, as a NIC moderates its interrupts. With many frames it does not
        // wait.
        if (this.#moved < GATHERED_FRAMES && !this.#busyPoll) this.#nap.sleep(this.#fabric.gatherNs)
        continue
      }
      // It woke without a frame. An interface that went down must be handled, or it wakes for ever.
      if (woken) for (const port of this.#ports) port.onError()
      woken = this.#sleep()
    }
  }

  /** @param atUnixMs default: now */
  begin(atUnixMs?: number): void {
    const now = monotonicNs()
    this.#fabric.begin(now, atUnixMs === undefined ? now : monotonicNsAt(atUnixMs))
    this.#flush()
  }

  report(): SwitchReport {
    const report = this.#fabric.report(monotonicNs(), this.#portDrops())
    this.#flush()
    return report
  }

  ports(): Ports {
    const ports = this.#fabric.ports(monotonicNs(), this.#portDrops())
    this.#flush()
    return ports
  }

  turnPfcOn(name: string, ports: readonly number[], priority?: number): number[][] {
    const restored = this.#fabric.turnPfcOn(monotonicNs(), name, ports, priority)
    this.#flush()
    return restored
  }

  setLinks(change: LinkChange): LinkResult[] {
    const links = this.#fabric.setLinks(monotonicNs(), change)
    this.#flush()
    return links
  }

  setZone(zone: number, hosts: readonly string[]): void {
    this.#fabric.setZone(monotonicNs(), zone, hosts)
    this.#flush()
  }

  onStream(event: StreamEvent): void {
    this.#fabric.onStream(monotonicNs(), event)
    this.#flush()
  }

  async close(): Promise<void> {
    for (const port of this.#ports) await port.close()
    await this.#waiter.close()
    this.#fabric.close()
    this.#captures?.close()
  }

  #portDrops(): number {
    return this.#ports.reduce((sum, { counters }) => sum + counters.dropped, 0)
  }

  /** Reads both clocks as close together as the scheduler allows. Returns the monotonic one. */
  #readClocks(): Nanos {
    for (let left = CLOCK_TRIES; ; left--) {
      const before = monotonicNs()
      this.#wallClock.read()
      const now = monotonicNs()
      if (now - before < CLOCKS_APART_NS || left === 1) return now
    }
  }

  #receive(now: Nanos): void {
    for (let link = 0; link < this.#ports.length; link++) {
      const port = this.#ports[link]!
      for (let n = 0; n < BATCH_FRAMES; n++) {
        const frame = port.receive()
        if (frame === null) break
        // On the emulated line it begins when it actually arrived, not when this thread woke.
        const ageNs = Math.min(Math.max(port.ageNs(this.#wallClock), 0), AGE_MOST_NS)
        const arrivalNs = Math.max(now - ageNs, this.#arrivals[link]!)
        this.#arrivals[link] = arrivalNs
        this.#fabric.inject(arrivalNs, link, frame)
        this.#moved++
      }
    }
  }

  #deliver(link: number, frame: Frame): void {
    this.#moved++
    this.#ports[link]!.transmit(frame)
  }

  /** Returns true if a frame has arrived. */
  #sleep(): boolean {
    if (this.#busyPoll) return false
    const deadline = this.#fabric.nextDeadline()
    const ns = deadline === NEVER ? SLEEP_MOST_NS : Math.min(deadline - monotonicNs(), SLEEP_MOST_NS)
    return ns >= SLEEP_LEAST_NS && this.#waiter.wait(ns)
  }

  #flush(): void {
    for (const port of this.#ports) port.flush()
  }
}

/**
 * Every host answers to the MAC address that a Weir NIC derives from its address, because labs give it to the
 * interface.
 */
function hostTable(scenario: Scenario): HostTable {
  const table = new HostTable()
  for (const host of scenario.hosts) {
    const address = HostAddress.parse(host.address)
    table.add(address, macOf(address))
  }
  for (const { address, mac } of tunnelAddresses(scenario)) table.add(address, mac)
  return table
}

function poolFor(scenario: Scenario, slotBytes: number): FramePool {
  const buffered = scenario.switches.reduce((sum, { bufferBytes }) => sum + bufferBytes, 0)
  const wanted = Math.max(POOL_FRAMES_LEAST, Math.ceil(buffered / MEAN_FRAME_BYTES))
  const frames = Math.min(wanted, Math.floor(POOL_BYTES_MOST / slotBytes))
  return new FramePool(frames, slotBytes, 0, scenario.int.ifaProtocol)
}

/** Room for a whole frame with a VLAN tag, in multiples of 64 bytes. */
function slotBytesFor(mtu: number): number {
  return (mtu + ethernet.TAGGED_BYTES + 63) & ~63
}

import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert, WeirError } from '../../lib/errors.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { FailedLinks } from '../../lib/inof/failed-links.js'
import { InofHostEnd } from '../../lib/inof/host-end.js'
import { ACK_TIMEOUT_NS, macOf, type OwnSettings } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import { SLOT_NS } from '../../lib/nic/tx/timing-wheel.js'
import type { TxCounters } from '../../lib/nic/tx/tx-pipeline.js'
import { DEFAULT_PRIORITY, hostDscps } from '../../lib/scenario/model/priorities.js'
import {
  type Scenario,
  type ScenarioFlow,
  withOwnControllers,
  withSeed,
} from '../../lib/scenario/model/scenario.js'
import { baseRttNs, Topology } from '../../lib/scenario/model/topology.js'
import { tunnelBytesMost } from '../../lib/scenario/model/vtep.js'
import { headerSlotBytes } from '../../lib/scenario/model/wire-sizes.js'
import { expandTraffic } from '../../lib/scenario/read/expand-traffic.js'
import type { FeedbackResult, RunResult } from '../../lib/scenario/result/result.js'
import { Agenda } from '../../lib/sim/agenda.js'
import { Random } from '../../lib/sim/random.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { TrafficSink } from '../../lib/traffic/traffic-sink.js'
import { formatDuration } from '../../lib/units/units.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import type { InofNotice } from '../../lib/wire/weir/inof-tlv.js'
import { type CapturePlace, PortCaptures } from '../captures/port-captures.js'
import { refuseHostHop } from '../host-hop.js'
import { Fabric, type FaultsOf } from '../network/fabric.js'
import { linksOf } from '../node-links.js'
import { portResults } from '../results/port-results.js'
import { PortSampler } from '../results/port-sampler.js'
import { makeResult } from '../results/report.js'
import type { RunView } from '../results/run-view.js'
import { FlowLives, type VirtualHost } from './flow-lives.js'
import { FlowSampler } from './flow-sampler.js'

/** Frames of one run. The buffers bound the queues long before. */
const FRAMES_MAX = 1 << 20
/** Length of a sink's memory, which exceeds any message. */
const SINK_BYTES = 2 ** 31
/** Series of single flows are kept for at most this many flows. */
const FLOW_SERIES_MAX = 64
/** Round trips that must fit into the ACK timeout. */
const ACK_TIMEOUT_ROUND_TRIPS = 4
/**
 * The traffic starts at a multiple of this: whole slots of the NICs' timing wheels, so that results are the same however long it took
 * to make the connections before.
 */
const START_GRID_NS = 1000 * SLOT_NS
/** Events between two looks at the clock, at most. */
const STEPS_A_SLICE = 2000
/** How long a run occupies its thread before signals and timers are handled, ms. */
const SLICE_MS = 30
/** Interval of progress reports. */
const REPORT_EVERY_MS = 50

/** Options of a run in virtual time. */
interface VirtualRunOptions {
  /** Seed of every random choice. Default: the scenario's. */
  seed?: number
  /**
   * Captures every switch port. Time 0 of the captures is that of the network, before the connections are
   * made.
   */
  captures?: CapturePlace
  /** Frames of the run in all queues and on all links. Default 1,048,576. */
  framesMax?: number
  /** What happens to frames on links, for tests. Default: nothing. */
  faults?: FaultsOf
  /** Called several times a second. */
  onProgress?: (view: RunView) => void
}

/**
 * Runs a scenario in virtual time: the NICs and switches of real time, joined by the virtual network. Payloads are
 * counted and not materialised. First those connections are made whose beginning sends packets, one after the other, on an idle
 * network; then the traffic's clock starts, at a time that results call 0.
 */
export class VirtualRun {
  readonly #scenario: Scenario
  readonly #options: VirtualRunOptions
  readonly #pool: FramePool
  readonly #captures: PortCaptures | undefined
  readonly #fabric: Fabric
  readonly #hosts = new Map<string, VirtualHost>()
  readonly #agenda = new Agenda()
  readonly #agendaId: number
  readonly #plan: readonly ScenarioFlow[]
  readonly #topology: Topology
  /** Bytes of all flows. */
  readonly #bytes: number
  readonly #flows: FlowLives
  #t0: Nanos = 0

  /** Throws WEIR_BAD_SCENARIO for a setting without effect in virtual time. */
  constructor(scenario: Scenario, options: VirtualRunOptions = {}) {
    refuseHostHop(scenario, 'in virtual time')
    this.#scenario = withOwnControllers(
      options.seed === undefined ? scenario : withSeed(scenario, options.seed),
    )
    this.#options = options
    this.#pool = new FramePool(
      options.framesMax ?? FRAMES_MAX,
      headerSlotBytes(scenario.int, tunnelBytesMost(scenario)),
      0,
      scenario.int.ifaProtocol,
      'slabs',
    )
    const random = new Random(this.#scenario.seed)
    const marking = random.fork('marking')
    this.#captures = options.captures && new PortCaptures(scenario, { ...options.captures, virtual: true })
    this.#fabric = new Fabric(scenario, {
      pool: this.#pool,
      random: () => this.#draw(marking),
      captures: this.#captures,
      faults: options.faults,
    })
    this.#plan = expandTraffic(this.#scenario)
    this.#topology = new Topology(this.#scenario)
    this.#bytes = this.#plan.reduce((sum, flow) => sum + flow.bytes, 0)
    const traffic = trafficOf(this.#plan, this.#topology, scenario.transport.pathMtu)
    for (const { name, address } of scenario.hosts)
      this.#addHost(name, address, traffic.get(name) ?? NO_TRAFFIC, random.fork(name))
    this.#agendaId = this.#fabric.network.addNode(this.#agenda)
    this.#flows = new FlowLives({
      scenario: this.#scenario,
      plan: this.#plan,
      hosts: this.#hosts,
      network: this.#fabric.network,
      topology: this.#topology,
      // Who looks at packets wants to see how connections are made.
      byPackets: options.captures !== undefined,
      keepAll: this.#samplesFlows,
      rateMaxBps: Math.max(...scenario.links.map(({ rateBps }) => rateBps)),
    })
  }

  /** Runs to the end at once. The thread does nothing else meanwhile. */
  run(): RunResult {
    try {
      const work = this.#work()
      for (;;) {
        const { done, value } = work.next()
        if (done) return value
      }
    } finally {
      this.#captures?.close()
    }
  }

  /**
   * Runs to the end, and yields to other work on this thread at intervals. The result is that of `run`.
   * Throws WEIR_CANCELLED soon after `signal` is aborted. Captures contain what has passed by then.
   */
  async runAside(signal?: AbortSignal): Promise<RunResult> {
    try {
      const work = this.#work()
      for (let sliceMs = performance.now(); ; ) {
        const { done, value } = work.next()
        if (done) return value
        if (performance.now() - sliceMs < SLICE_MS) continue
        await nextTurn()
        if (signal?.aborted) throw cancelled(signal, this.#fabric.network.now - this.#t0)
        sliceMs = performance.now()
      }
    } finally {
      this.#captures?.close()
    }
  }

  /** When the traffic began, on the network's clock: zero of the result's times, but not of the captures'. */
  get startNs(): Nanos {
    return this.#t0
  }

  /** Yields at intervals, where it may continue later. */
  *#work(): Generator<void, RunResult> {
    const began = performance.now()
    yield* this.#flows.beginAhead()
    const network = this.#fabric.network
    this.#t0 = Math.ceil(network.now / START_GRID_NS + 1) * START_GRID_NS
    network.runUntil(this.#t0 - 1)
    const eventsBefore = network.events
    const portSampler = new PortSampler(this.#scenario, this.#fabric.switches, this.#t0)
    const sampled = this.#samplesFlows ? this.#plan : []
    const flowSampler = new FlowSampler(
      i => this.#flows.at(i),
      sampled,
      this.#t0,
      this.#scenario.watch.everyNs,
    )
    this.#schedule()
    for (const { watches } of [portSampler, flowSampler])
      for (const watch of watches) this.#fabric.watch(watch.node, watch)
    network.kick(this.#agendaId)
    const endNs = yield* this.#loop()
    // Where time ends the run, its last instant belongs to it. The event that ends it precedes the samples of its time.
    const sampledUntil = this.#t0 + endNs + (this.#flows.ended < this.#plan.length ? 1 : 0)
    portSampler.sampleBefore(sampledUntil)
    flowSampler.sampleBefore(sampledUntil)
    return makeResult(this.#scenario, {
      on: 'virtual',
      durationNs: endNs,
      flows: this.#plan,
      outcomes: this.#flows.outcomes(),
      ports: portResults(this.#scenario, this.#fabric.switches, this.#t0 + endNs),
      links: this.#fabric.links.results(),
      timeline: this.#fabric.timeline,
      inof: this.#fabric.inof(),
      series: { ...portSampler.series(), ...flowSampler.series() },
      feedback: this.#feedback(),
      events: network.events - eventsBefore,
      wallSeconds: (performance.now() - began) / 1000,
    })
  }

  /** Packets that the hosts have sent since the run's beginning, by kind, including connection set-up. */
  get hostCounters(): TxCounters[] {
    return [...this.#hosts.values()].map(({ nic }) => nic.counters.tx)
  }

  /** Hosts' counters of received packets, by host, since the run's beginning. */
  get hostRxCounters() {
    return [...this.#hosts.values()].map(({ nic }) => ({
      ...nic.counters.rx,
      feedback: nic.counters.feedback,
    }))
  }

  /** Connections that exist now. */
  get connections(): number {
    return [...this.#hosts.values()].reduce((sum, { nic }) => sum + nic.table.count, 0) / 2
  }

  #feedback(): FeedbackResult {
    const found = { refused: 0, implausible: 0 }
    for (const host of this.hostRxCounters) {
      found.refused += host.untaggedFeedback + host.forgedFeedback + host.replayedFeedback
      found.implausible += host.implausibleTelemetry + host.feedback.implausibleTelemetry
    }
    return found
  }

  /** Frames that all switch ports have sent since the traffic began. */
  get packetHops(): number {
    const now = this.#fabric.network.now
    const ports = this.#fabric.switches.flatMap(sw => sw.ports.map((_, port) => sw.report(now, port)))
    return ports.reduce((sum, { txFrames }) => sum + txFrames, 0)
  }

  #addHost(name: string, address: string, { flows, longestNs }: HostTraffic, random: Random): void {
    const neededNs = ACK_TIMEOUT_ROUND_TRIPS * longestNs
    const own = {
      address: HostAddress.parse(address),
      random: () => random.u32(),
      lineRateBps: linksOf(this.#scenario, name)[0]!.rateBps,
      dscpOfPriority: hostDscps(this.#scenario, name),
      ackTimeoutNs: this.#scenario.transport.ackTimeoutNs || Math.max(ACK_TIMEOUT_NS, neededNs),
      connectionsMax: Math.max(16, flows),
    }
    const [first] = this.#hosts.values()
    const nic = first === undefined ? this.#firstNic(own) : Nic.like(first.nic, own)
    new TrafficSink(nic, SINK_BYTES, false)
    const id = this.#fabric.attach(name, nic)
    this.#hosts.set(name, { nic, id })
    if (this.#scenario.inof !== undefined) this.#announce(name, nic, id, random.fork('inof'))
  }

  #firstNic(own: OwnSettings): Nic {
    const { transport, int, telemetry, paths, baseRttNs, cc } = this.#scenario
    return new Nic({
      ...own,
      pool: this.#pool,
      pathMtu: transport.pathMtu,
      cc,
      int,
      telemetry,
      paths,
      baseRttNs: baseRttNs === 'measured' ? undefined : baseRttNs,
      priority: DEFAULT_PRIORITY,
      cnpPriority: transport.cnpPriority,
      untaggedCnps: transport.untaggedCnps,
      ackEveryPackets: transport.ackEvery,
      retryCount: transport.retryCount,
      rnrRetry: transport.rnrRetryCount,
      recovery: transport.recovery,
      start: transport.start,
      secret: transport.key === undefined ? undefined : Buffer.from(transport.key),
      packetsInFlightMax: 4096,
      queueDepth: 16,
      icrc: 'off',
      failover: this.#scenario.inof?.failover ?? false,
    })
  }

  /** The host announces itself from now on. */
  #announce(name: string, nic: Nic, id: number, random: Random): void {
    const { silenceSeconds, storage, failover } = this.#scenario.inof!
    const sender = { mac: macOf(nic.address), name, port: 'nic' }
    const kind = storage.includes(name) ? 1 : 0
    const epoch = (random.u32() | 1) >>> 0
    const { ipv4: address } = nic.address
    const options = { address, sender, kind, epoch, silenceSeconds }
    const links = new FailedLinks(nic)
    const linkChanged = (now: Nanos, notice: InofNotice) => {
      if (failover) links.onNotice(now, notice)
    }
    nic.setLinkLocal(new InofHostEnd(0, options, { linkChanged }))
    this.#fabric.network.kick(id)
  }

  #schedule(): void {
    this.#agenda.add(this.#t0, now => this.#fabric.begin(now))
    const startsNs = Float64Array.from(this.#plan, ({ startNs }) => this.#t0 + startNs)
    this.#agenda.addSeries(startsNs, (now, i) => this.#flows.start(now, i))
  }

  get #samplesFlows(): boolean {
    return this.#scenario.watch.flows && this.#plan.length <= FLOW_SERIES_MAX
  }

  /** Runs until the last flow has ended, or the scenario's time is up. Returns how long that took. */
  *#loop(): Generator<void, Nanos> {
    const network = this.#fabric.network
    const { durationNs } = this.#scenario
    const until = durationNs === undefined ? Number.POSITIVE_INFINITY : this.#t0 + durationNs
    const mayRunAhead = this.#mayRunAhead
    let reportMs = 0
    while (this.#flows.ended < this.#plan.length && network.nextEventNs() <= until) {
      // A run without a duration would wait for ever.
      assert(
        network.nextEventNs() !== NEVER,
        'virtual run: a flow has not ended, and nothing is due any more at any node or link',
      )
      const endsNs = mayRunAhead ? this.#flows.endsNotBefore(network.now, this.#t0) : 0
      const aheadUntil = Math.min(until, endsNs)
      if (aheadUntil >= network.nextEventNs()) network.runAhead(aheadUntil, STEPS_A_SLICE)
      else network.run(until, STEPS_A_SLICE)
      if (this.#options.onProgress !== undefined && performance.now() >= reportMs) {
        this.#options.onProgress(this.#view())
        reportMs = performance.now() + REPORT_EVERY_MS
      }
      yield
    }
    return (this.#flows.ended < this.#plan.length ? until : network.now) - this.#t0
  }

  /**
   * Nodes may be ahead of others, which takes less time. Not where the order of events at different nodes counts: where random numbers of
   * one source are drawn at several, frames of several are written to files, or what one finds out acts on others at once.
   */
  get #mayRunAhead(): boolean {
    const { captures, faults } = this.#options
    const apart = captures === undefined && faults === undefined && this.#scenario.inof === undefined
    return apart && !this.#fabric.switches.some(({ draws }) => draws)
  }

  /** A random number for the features of any switch. */
  #draw(random: Random): number {
    // Not while the fabric is made.
    const isAhead = this.#fabric?.network.isAhead ?? false
    assert(!isAhead, 'virtual run: a feature of switches draws random numbers, and its entry does not say so')
    return random.next()
  }

  #view(): RunView {
    const { durationNs } = this.#scenario
    return {
      on: 'virtual',
      timeNs: this.#fabric.network.now - this.#t0,
      ...(durationNs !== undefined && { durationNs }),
      done: this.#flows.ended,
      flows: this.#plan.length,
      ackedBytes: this.#flows.ackedBytes,
      bytes: this.#bytes,
    }
  }
}

/** What the plan says of one host. */
interface HostTraffic {
  /** Flows that begin or end there. */
  flows: number
  /** T of the longest path of theirs. */
  longestNs: Nanos
}

const NO_TRAFFIC: HostTraffic = { flows: 0, longestNs: 0 }

function trafficOf(
  plan: readonly ScenarioFlow[],
  topology: Topology,
  pathMtu: number,
): Map<string, HostTraffic> {
  const byHost = new Map<string, HostTraffic>()
  const longest = new Map<string, Nanos>()
  for (const { from, to } of plan) {
    const ends = `${from} ${to}`
    let longestNs = longest.get(ends)
    if (longestNs === undefined) {
      longestNs = Math.max(0, ...topology.pathKinds(from, to).map(path => baseRttNs(path, pathMtu)))
      longest.set(ends, longestNs)
    }
    for (const name of [from, to]) {
      const host = byHost.get(name) ?? { flows: 0, longestNs: 0 }
      byHost.set(name, host)
      host.flows++
      host.longestNs = Math.max(host.longestNs, longestNs)
    }
  }
  return byHost
}

function cancelled(signal: AbortSignal, timeNs: Nanos): WeirError {
  const { reason } = signal
  const by = typeof reason === 'string' ? ` by ${reason}` : ''
  const when =
    timeNs > 0 ? ` ${formatDuration(timeNs)} after the start of its traffic` : ' before its traffic began'
  return new WeirError('WEIR_CANCELLED', `the run was stopped${by}${when}; it has no result`, {
    cause: reason,
  })
}

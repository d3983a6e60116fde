import { ccIsReceiverBased } from '../../lib/cc/catalogue.js'
import { probesPaths } from '../../lib/cc/path-settings.js'
import { assert, WeirError } from '../../lib/errors.js'
import { NearVerbs, part } from '../../lib/nic/both-ends.js'
import type { NicConnection } from '../../lib/nic/connect/nic-connection.js'
import type { Flow } from '../../lib/nic/flow/flow.js'
import type { Nic } from '../../lib/nic/nic.js'
import type { Verbs } from '../../lib/nic/types.js'
import { choosesPaths } from '../../lib/scenario/model/chooses-paths.js'
import type { Scenario, ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import type { Topology } from '../../lib/scenario/model/topology.js'
import type { Network } from '../../lib/sim/network.js'
import { type Nanos, SECOND } from '../../lib/time/nanos.js'
import { pathFigures } from '../../lib/traffic/path-figures.js'
import { TrafficFlow } from '../../lib/traffic/traffic-flow.js'
import { formatDuration } from '../../lib/units/units.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { type FlowOutcome, failureOf } from '../results/report.js'

/** A connection that is not there after this time will never be. */
const SETUP_MAX_NS = 60 * SECOND
const PATH_HINT = 'is a link too slow, a delay too long, or the buffer of a switch too small?'
/** Flows that have ended and are looked at, whether they can be freed, as another one starts. */
const LOOKS = 2

export interface VirtualHost {
  nic: Nic
  /** Id in the network. */
  id: number
}

/** What the first flow over a path has measured on the idle network. */
interface MeasuredPath {
  baseRttNs: Nanos
  /** That of the connection manager's messages, as the receiver measured it. */
  roundTripNs: Nanos
}

/** What flows are made in. */
interface FlowLivesOptions {
  scenario: Scenario
  plan: readonly ScenarioFlow[]
  hosts: ReadonlyMap<string, VirtualHost>
  network: Network
  topology: Topology
  /** Every connection is made by packets, before the traffic. */
  byPackets: boolean
  /** No flow is freed before the run ends. */
  keepAll: boolean
  /** Rate of the hosts' fastest link, bit/s. */
  rateMaxBps: number
}

/**
 * The flows of a run, from when they are made to when they are freed.
 *
 * A flow whose beginning sends packets begins before the traffic, one after the other, on an idle network: T is measured, windows
 * are asked for, paths are probed. Any other is made at its start, and its two NICs agree without packets. Where T is measured, the
 * first flow over a path does it for all whose path has the same links.
 *
 * A flow is freed some time after it has ended, if no packet of it was lost: nothing of it is in flight then.
 */
export class FlowLives {
  readonly #options: FlowLivesOptions
  readonly #addresses: ReadonlyMap<string, HostAddress>
  /** By a flow's place in the plan; null before it is made and after it is freed. */
  readonly #flows: (TrafficFlow | null)[]
  /** What became of flows that have been freed. */
  readonly #outcomes: (FlowOutcome | null)[]
  readonly #lastStartNs: Nanos
  readonly #measured = new Map<string, MeasuredPath>()
  /** Flows that have ended and are not freed. Those are first that have been looked at longest ago, or not yet. */
  readonly #resting: number[] = []
  /** Those that are not among them yet, in any order, and when each flow has ended. */
  readonly #justEnded: number[] = []
  readonly #endedNs: Float64Array
  /** The flow that kept the run from ending for longest, when all were looked at last: mostly it still does. */
  #longest = 0
  #ended = 0

  constructor(options: FlowLivesOptions) {
    const { plan, scenario } = options
    this.#options = options
    this.#flows = new Array(plan.length).fill(null)
    this.#outcomes = new Array(plan.length).fill(null)
    this.#endedNs = new Float64Array(plan.length)
    this.#lastStartNs = plan.reduce((last, { startNs }) => Math.max(last, startNs), 0)
    this.#addresses = new Map(scenario.hosts.map(host => [host.name, HostAddress.parse(host.address)]))
  }

  /** Flows that have ended, well or badly. */
  get ended(): number {
    return this.#ended
  }

  get ackedBytes(): number {
    return this.#flows.reduce(
      (sum, flow, i) => sum + (flow?.ackedBytes ?? this.#outcomes[i]?.ackedBytes ?? 0),
      0,
    )
  }

  /**
   * A time before which the run does not end: the last start of a flow, and after that when the hosts can have sent what they have not
   * sent of a flow, or when that flow can fail if this is sooner.
   *
   * @param t0 when the traffic began
   */
  endsNotBefore(now: Nanos, t0: Nanos): Nanos {
    const lastStartNs = t0 + this.#lastStartNs
    if (now < lastStartNs) return lastStartNs
    let endNs = this.#lastsUntil(now, this.#longest)
    if (endNs > now) return endNs
    for (let i = 0; i < this.#flows.length; i++) {
      const lastsNs = this.#lastsUntil(now, i)
      if (lastsNs <= endNs) continue
      endNs = lastsNs
      this.#longest = i
    }
    return endNs
  }

  /** A time before which one flow does not end; `now` where it may end at any time. */
  #lastsUntil(now: Nanos, i: number): Nanos {
    const flow = this.#flows[i] ?? null
    if (flow === null || flow.done) return now
    return Math.max(now, Math.min(now + this.#unsentNs(flow), failsNotBefore(now, flow)))
  }

  /** Time that the host needs at least for what it has not sent of a flow. */
  #unsentNs({ bytes, connection }: TrafficFlow): Nanos {
    const { sentBytes, retransmittedBytes } = connection.stats
    const unsentBytes = Math.max(0, bytes - sentBytes + retransmittedBytes)
    return Math.floor((unsentBytes * 8e9) / this.#options.rateMaxBps)
  }

  /** The flow of that place in the plan; null if it is not there yet or any more. */
  at(i: number): TrafficFlow | null {
    return this.#flows[i]!
  }

  /** Makes the flows that begin before the traffic. Throws WEIR_UNREACHABLE where one does not come about. */
  *beginAhead(): Generator<void> {
    for (const [i, plan] of this.#options.plan.entries()) {
      const path = this.#pathName(plan)
      if (!this.#beginsWithPackets(plan) && (path === 'given' || this.#measured.has(path))) continue
      const made = this.#make(i, this.#options.hosts.get(plan.from)!.nic, undefined)
      this.#connectByPackets(made, plan)
      this.#learn(path, plan, made)
      yield
    }
  }

  /** A flow's time has come. */
  start(now: Nanos, i: number): void {
    const { plan, network, hosts } = this.#options
    this.#free(now)
    const flow = this.#flows[i] ?? this.#makeDirectly(i)
    flow.start(now)
    network.kick(hosts.get(plan[i]!.from)!.id)
  }

  /** What has become of the flows, in the order of the plan. */
  outcomes(): FlowOutcome[] {
    return this.#flows.map(
      (flow, i) => this.#outcomes[i] ?? (flow === null ? NOT_STARTED : this.#outcome(flow)),
    )
  }

  /** The flow's beginning sends packets, even where T is known. */
  #beginsWithPackets({ cc }: ScenarioFlow): boolean {
    const { scenario, byPackets } = this.#options
    const { name } = cc ?? scenario.cc
    // A careful flow learns its path from the first round trips, the connection manager's among them.
    const careful = scenario.transport.start === 'careful'
    return byPackets || careful || probesPaths(scenario.paths) || ccIsReceiverBased(name)
  }

  /** Flows with the same name have the same T. Each has its own where its path depends on more than its ends. */
  #pathName({ name, from, to }: ScenarioFlow): string {
    const { scenario, topology } = this.#options
    if (scenario.baseRttNs !== 'measured') return 'given'
    const kinds = topology.pathKinds(from, to)
    if (kinds.length !== 1 || (scenario.routes ?? []).length > 0) return `flow ${name}`
    return kinds[0]!.map(({ rateBps, delayNs }) => `${rateBps} ${delayNs}`).join()
  }

  #learn(path: string, plan: ScenarioFlow, made: TrafficFlow): void {
    if (path === 'given' || this.#measured.has(path)) return
    const peer = this.#options.hosts.get(plan.to)!.nic.table.find(flowOf(made).qp.remoteQpn)
    assert(peer !== null, 'virtual run: a connection that is established has one end')
    this.#measured.set(path, {
      baseRttNs: made.connection.stats.baseRttNs,
      roundTripNs: peer.handshake.roundTripNs,
    })
  }

  /** @param verbs of the host that it leaves; @param baseRttNs undefined: given by the scenario, or to be measured */
  #make(i: number, verbs: Verbs, baseRttNs: Nanos | undefined): TrafficFlow {
    const { plan, network } = this.#options
    const { name, bytes, to, sourcePort, priority, cc } = plan[i]!
    const made = new TrafficFlow(network.now, verbs, this.#addresses.get(to)!, {
      name,
      bytes,
      messageBytes: bytes,
      storage: false,
      connect: { sourcePort, priority, cc, baseRttNs },
      onDone: () => this.#onDone(i),
    })
    this.#flows[i] = made
    return made
  }

  #makeDirectly(i: number): TrafficFlow {
    const { plan, hosts } = this.#options
    const { from, to } = plan[i]!
    const path = this.#measured.get(this.#pathName(plan[i]!))
    const verbs = new NearVerbs(hosts.get(from)!.nic, hosts.get(to)!.nic, path?.roundTripNs ?? 0)
    const made = this.#make(i, verbs, path?.baseRttNs)
    if (made.error !== null) throw made.error
    return made
  }

  /** Waits until the flow may send, on an idle network. */
  #connectByPackets(made: TrafficFlow, { name, from, to }: ScenarioFlow): void {
    const { network, hosts } = this.#options
    network.kick(hosts.get(from)!.id)
    const deadline = network.now + SETUP_MAX_NS
    while (!(made.established && made.connection.stats.baseRttNs > 0)) {
      if (made.error !== null) throw made.error
      if (!network.step() || network.now > deadline) {
        throw new WeirError(
          'WEIR_UNREACHABLE',
          `flow ${name}: ${to} has not answered ${from} within ${formatDuration(SETUP_MAX_NS)}; ${PATH_HINT}`,
        )
      }
    }
  }

  #onDone(i: number): void {
    this.#ended++
    if (this.#ended === this.#options.plan.length) this.#options.network.halt()
    if (this.#options.keepAll) return
    this.#endedNs[i] = this.#options.network.now
    this.#justEnded.push(i)
  }

  /** Hosts may be ahead of each other, and flows end in the order of time all the same: then the same ones are freed. */
  #rest(): void {
    const { plan, hosts } = this.#options
    const hostOf = (i: number) => hosts.get(plan[i]!.from)!.id
    this.#justEnded.sort((a, b) => this.#endedNs[a]! - this.#endedNs[b]! || hostOf(a) - hostOf(b))
    for (const i of this.#justEnded) this.#resting.push(i)
    this.#justEnded.length = 0
  }

  /** Frees some of the flows that have ended, if nothing of them is in flight. */
  #free(now: Nanos): void {
    this.#rest()
    for (let looks = Math.min(LOOKS, this.#resting.length); looks > 0; looks--) {
      const i = this.#resting.shift()!
      if (!this.#tryFree(now, i)) this.#resting.push(i)
    }
  }

  #tryFree(now: Nanos, i: number): boolean {
    const { plan, hosts } = this.#options
    const { from, to } = plan[i]!
    const flow = this.#flows[i]!
    if (!part(now, hosts.get(from)!.nic, hosts.get(to)!.nic, flowOf(flow))) return false
    this.#outcomes[i] = this.#outcome(flow)
    this.#flows[i] = null
    return true
  }

  #outcome(flow: TrafficFlow): FlowOutcome {
    const { stats } = flow.connection
    const outcome: FlowOutcome = {
      fctNs: flow.endNs < 0 ? null : flow.endNs - flow.startNs,
      ackedBytes: flow.ackedBytes,
      retransmittedBytes: stats.retransmittedBytes,
      spuriousRetransmissions: stats.spuriousRetransmissions,
      timeouts: stats.timeouts,
    }
    if (choosesPaths(this.#options.scenario)) outcome.paths = pathFigures(stats)
    if (flow.error !== null) Object.assign(outcome, failureOf(withHint(flow)))
    return outcome
  }
}

/** The error of a flow that was lost without an answer names the path: with T given data is the first thing that a flow sends. */
function withHint({ error, ackedBytes }: TrafficFlow): WeirError | null {
  if (error?.code !== 'WEIR_CONNECTION_LOST' || ackedBytes > 0) return error
  return new WeirError(error.code, `${error.message}; nothing of it has arrived: ${PATH_HINT}`)
}

/** The run has ended before its time came. */
const NOT_STARTED: FlowOutcome = {
  fctNs: null,
  ackedBytes: 0,
  retransmittedBytes: 0,
  spuriousRetransmissions: 0,
  timeouts: 0,
}

/** A flow that has sent something is admitted, and fails when its retries are exhausted. */
function failsNotBefore(now: Nanos, flow: TrafficFlow): Nanos {
  const { qp, path } = flowOf(flow)
  const mayBeRefused = path.settings.admission > 0 && flow.connection.stats.sentBytes === 0
  return mayBeRefused ? now : qp.exhaustedNotBefore(now)
}

function flowOf(flow: TrafficFlow): Flow {
  return (flow.connection as NicConnection).flow
}

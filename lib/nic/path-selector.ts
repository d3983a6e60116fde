import { probesPaths } from '../cc/path-settings.js'
import { WeirError } from '../errors.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import { formatDuration } from '../units/units.js'
import type { HopRecords } from '../wire/hop-records.js'
import { AdmissionQueue } from './admission-queue.js'
import type { NicSettings } from './config.js'
import { Control, type ControlPackets } from './control-packets.js'
import type { Flow } from './flow.js'
import { newFlowPaths } from './flow-paths.js'
import type { ImplausibleCounter } from './flow-plausibility.js'
import type { HostHeaders } from './host-headers.js'
import { betterPath, leastUsed, leastUtilization } from './path-choice.js'
import { PathProbes, ProbedPath } from './path-probes.js'
import type { SourcePorts } from './source-ports.js'

/** Default interval of probes. */
const INTERVAL_ROUND_TRIPS = 8
/**
 * A new flow chooses when all its paths are known, which takes two rounds at least, and after so many rounds in any
 * case.
 */
const CHOOSE_ROUNDS_MAX = 4
/**
 * One in so many rounds that find a better path leads to a move: flows that share a path find the same better ones at
 * the same time, and would all leave together.
 */
const MOVE_ONE_OF = 4
/** No second move within so many intervals: rounds in between have to show the effect of the first. */
const HOLD_INTERVALS = 2
/** A draining flow that has not emptied after so many round trips goes on sending. */
const DRAIN_ROUND_TRIPS = 8

export interface PathEvents {
  /** The flow may send, or is to be scheduled anew. */
  flowChanged(now: Nanos, flow: Flow): void
  /** The flow is not admitted. */
  refuse(now: Nanos, flow: Flow, error: WeirError): void
}

/**
 * Path selection and admission by telemetry (draft-miao-rtgwg-hpccplus, last section of draft-02).
 *
 * A connection has several entropies: UDP source ports. While it has something to send, probe packets collect the telemetry of
 * the path of each: U as HPCC++ computes it. A new flow takes the least used path; while all are used above a bound it
 * waits or is refused. A flow that runs moves when others use another path notably less than its own, and it has
 * nothing in flight, so that no packet overtakes another. Not all at once: who moves is drawn by lot (PLB, SIGCOMM 2022,
 * draws when and where; Hermes, SIGCOMM 2017, asks for a notably better path).
 *
 * An end chooses the path of what it sends, and the other end, unless it chooses for itself, follows: acknowledgements and
 * READ requests have the source port of the data that they answer, so that a symmetric hash takes them along the same
 * links. An end chooses once it has payload to send, READ responses included.
 */
export class PathSelector {
  readonly #nic: NicSettings
  readonly #headers: HostHeaders
  readonly #ports: SourcePorts
  readonly #control: ControlPackets
  readonly #events: PathEvents
  readonly #queue: AdmissionQueue
  readonly #totals: ImplausibleCounter

  /** @param totals the host's counters, to which telemetry that is not believed is added */
  constructor(
    nic: NicSettings,
    headers: HostHeaders,
    ports: SourcePorts,
    control: ControlPackets,
    totals: ImplausibleCounter,
    events: PathEvents,
  ) {
    this.#nic = nic
    this.#headers = headers
    this.#ports = ports
    this.#control = control
    this.#totals = totals
    this.#events = events
    this.#queue = new AdmissionQueue(nic.paths.admissionQueue)
  }

  /** The flow knows T: from now on it chooses its path, if its settings allow that and the peer answers path probes. */
  begin(flow: Flow): void {
    if (probesPaths(flow.pathSettings) && flow.peerAnswersPaths) flow.paths = newFlowPaths()
  }

  /** Forgets the flow. */
  remove(flow: Flow): void {
    if (flow.paths?.phase === 'waiting') this.#leaveQueue(flow)
  }

  /**
   * The peer sends data from another source port than before: telemetry of its old path does not compare with what
   * comes now.
   */
  onPeerMoved(flow: Flow, sourcePort: number): void {
    const first = flow.peerSourcePort === 0
    flow.peerSourcePort = sourcePort
    if (first) return
    flow.echo.onPathChange()
    if (flow.receiver === null) return
    flow.receiver.onPathChange()
    flow.plausibility.onPathChange()
  }

  /** The peer's data has another source port than this end's packets. Unless it chooses for itself, this end follows once it has nothing in flight. */
  follow(now: Nanos, flow: Flow): void {
    const { peerSourcePort, paths } = flow
    const chooses = paths !== null && paths.phase !== 'new'
    if (chooses || !flow.peerIsWeir || !flow.isQuiet(now)) return
    if (this.#ports.nearest(peerSourcePort) !== peerSourcePort) return
    this.#headers.sendFrom(flow, peerSourcePort)
    flow.onPathChange()
  }

  // ---- Events of a flow with `paths`

  /** The flow has new work, or news of its packets. */
  consider(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    if (flow.phase !== 'established' || flow.refusal !== null) return
    if (paths.phase === 'settled') {
      if (paths.better >= 0 && flow.isQuiet(now)) this.#move(now, flow, paths.better)
      else if (now >= paths.nextRoundNs && !paths.probes!.active && flow.hasDataToSend(now))
        this.#round(now, flow)
    } else if (paths.phase === 'draining') {
      if (flow.isQuiet(now)) this.#move(now, flow, paths.better)
      else if (now >= paths.untilNs) this.#settle(now, flow)
    } else if (paths.phase === 'new') {
      if (flow.cc !== null && flow.hasDataToSend(now)) this.#start(now, flow)
    } else this.#considerWaiting(now, flow)
  }

  onAnswer(now: Nanos, flow: Flow, sequence: number, hops: HopRecords): void {
    const probes = flow.paths?.probes
    if (!probes?.active) return
    probes.onAnswer(now, sequence, hops, flow.stats.baseRttNs, this.#totals)
    if (!probes.active) this.#endRound(now, flow)
  }

  nextTimeout(now: Nanos, flow: Flow): Nanos {
    const paths = flow.paths!
    if (paths.phase === 'new' || flow.phase !== 'established') return NEVER
    const probes = paths.probes!
    const bound = paths.phase === 'draining' || paths.phase === 'waiting' ? paths.untilNs : NEVER
    if (probes.active) return Math.min(bound, probes.deadlineNs(flow.stats.baseRttNs))
    if (paths.phase === 'settled' && !flow.hasDataToSend(now)) return NEVER
    if (paths.phase !== 'draining') return Math.min(bound, paths.nextRoundNs)
    return flow.responsesQuietNs > now ? Math.min(bound, flow.responsesQuietNs) : bound
  }

  onTimeout(now: Nanos, flow: Flow): void {
    const probes = flow.paths!.probes
    if (probes?.active && now >= probes.deadlineNs(flow.stats.baseRttNs)) {
      probes.end()
      this.#endRound(now, flow)
    }
    this.consider(now, flow)
  }

  // ---- Rounds of probes

  #start(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    const ports = [flow.sourcePort]
    const count = Math.min(flow.pathSettings.count, this.#ports.count)
    while (ports.length < count) ports.push(this.#anotherPort(ports))
    paths.probes = new PathProbes(
      ports.map(port => this.#path(flow, port)),
      flow.stats,
    )
    // Without a choice it sends at once, and the first rounds tell whether to move.
    paths.phase =
      flow.pathSettings.start === 'choose' || flow.pathSettings.admission > 0 ? 'choosing' : 'settled'
    this.#round(now, flow)
  }

  /** A port that is not one of these; the caller knows that there are others. */
  #anotherPort(ports: readonly number[]): number {
    for (let number = this.#nic.random(); ; number++) {
      const port = this.#ports.at(number)
      if (!ports.includes(port)) return port
    }
  }

  #path(flow: Flow, port: number): ProbedPath {
    const headers = this.#headers.forFlow(flow.remote, port, flow.dscp)
    return new ProbedPath(port, headers, flow.stats, this.#nic.telemetry.loadMax)
  }

  #round(now: Nanos, flow: Flow): void {
    flow.paths!.probes!.begin(now, flow.sentWireBytes)
    this.#control.push(flow, Control.PATH_PROBE)
  }

  #endRound(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    const probes = paths.probes!
    const t = flow.stats.baseRttNs
    const { utilization } = probes.paths[paths.current]!.load
    flow.stats.pathUtilization = Number.isNaN(utilization) ? 0 : utilization
    if (probes.paths.every(path => path.tellsNothing)) {
      // A network without telemetry: there is nothing to choose by, and nothing to refuse for.
      paths.nextRoundNs = NEVER
      if (paths.phase === 'choosing') this.#settle(now, flow)
    } else if (paths.phase === 'choosing') {
      paths.nextRoundNs = probes.startedNs + t
      const known = probes.rounds >= 2 && probes.paths.every(path => path.isMeasured)
      if (known || probes.rounds >= CHOOSE_ROUNDS_MAX) this.#choose(now, flow)
      else if (probes.rounds === 1) this.#redraw(flow)
    } else {
      // A little more than the interval, by chance, so that flows that began together do not probe together for ever.
      const spread = 1 + (this.#nic.random() % 1024) / 2048
      paths.nextRoundNs = probes.startedNs + Math.round(this.#intervalNs(flow) * spread)
      if (paths.phase === 'waiting') this.#admit(now, flow)
      else if (paths.phase === 'settled') {
        this.#compare(now, flow)
        this.#redraw(flow)
      }
    }
    this.#events.flowChanged(now, flow)
  }

  #intervalNs(flow: Flow): Nanos {
    return flow.pathSettings.intervalNs || INTERVAL_ROUND_TRIPS * flow.stats.baseRttNs
  }

  /** Keeps one of the entropies that lead along the same links; others are tried in place of the rest. */
  #redraw(flow: Flow): void {
    const { probes, current, better } = flow.paths!
    const { paths } = probes!
    if (this.#ports.count <= paths.length) return
    for (let i = 0; i < paths.length; i++) {
      if (i === current || i === better) continue
      const path = paths[i]!
      const other = paths.findIndex(({ load }, j) => (j < i || j === current) && load.isSamePathAs(path.load))
      if (other < 0 && !path.isDead) continue
      paths[i] = this.#path(flow, this.#anotherPort(paths.map(({ sourcePort }) => sourcePort)))
    }
  }

  // ---- New flows, and admission

  #choose(now: Nanos, flow: Flow): void {
    const { admission } = flow.pathSettings
    const least = leastUtilization(flow.paths!.probes!.paths)
    // Nothing measured, nothing to refuse for: there are no switches with telemetry.
    const full = admission > 0 && (least >= admission || this.#queue.firstTo(flow.remote) !== null)
    if (full) this.#delay(now, flow, least)
    else this.#take(now, flow)
  }

  #take(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    const path = leastUsed(paths.probes!.paths, this.#nic.random)
    if (path >= 0 && path !== paths.current) this.#switchTo(flow, path)
    this.#settle(now, flow)
  }

  #settle(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    paths.phase = 'settled'
    paths.better = -1
    paths.nextRoundNs = Math.max(paths.nextRoundNs, now + this.#intervalNs(flow))
    this.#events.flowChanged(now, flow)
  }

  #delay(now: Nanos, flow: Flow, least: number): void {
    const paths = flow.paths!
    const { admissionWaitNs } = flow.pathSettings
    if (admissionWaitNs === 0) {
      this.#refuse(now, flow, least, '')
      return
    }
    if (!this.#queue.add(flow)) {
      this.#refuse(now, flow, least, `, and ${this.#queue.size} flows wait already`)
      return
    }
    paths.phase = 'waiting'
    paths.sinceNs = now
    paths.untilNs = now + admissionWaitNs
  }

  /** A round has ended while the flow waits. */
  #admit(now: Nanos, flow: Flow): void {
    const least = leastUtilization(flow.paths!.probes!.paths)
    if (this.#queue.firstTo(flow.remote) !== flow || least >= flow.pathSettings.admission) return
    this.#endWait(now, flow)
    this.#take(now, flow)
  }

  #considerWaiting(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    const probes = paths.probes!
    if (paths.phase === 'waiting' && now >= paths.untilNs) {
      this.#endWait(now, flow)
      const waited = `, after ${formatDuration(flow.pathSettings.admissionWaitNs)}`
      this.#refuse(now, flow, leastUtilization(probes.paths), waited)
    } else if (!probes.active && now >= paths.nextRoundNs) this.#round(now, flow)
  }

  #endWait(now: Nanos, flow: Flow): void {
    flow.stats.admissionDelayNs = now - flow.paths!.sinceNs
    this.#leaveQueue(flow)
  }

  /** The next flow to that peer has to measure anew: what it knows dates from before this one began to send. */
  #leaveQueue(flow: Flow): void {
    this.#queue.remove(flow)
    const next = this.#queue.firstTo(flow.remote)
    for (const path of next?.paths?.probes?.paths ?? []) path.load.forget()
  }

  #refuse(now: Nanos, flow: Flow, least: number, why: string): void {
    const { admission } = flow.pathSettings
    const paths = flow.paths!.probes!.paths.length
    const measured = Number.isNaN(least) ? 'is not known' : `is ${least.toFixed(3)}`
    const what = `every path to ${flow.remote} is used too much: the utilization of the least used of ${paths} ${measured}`
    const error = new WeirError(
      'WEIR_NOT_ADMITTED',
      `${what}, the bound is ${admission}${why}; try later, or raise paths admission or admissionWait`,
    )
    flow.paths!.phase = 'new'
    this.#events.refuse(now, flow, error)
  }

  // ---- Flows that run

  #compare(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    const { move, margin } = flow.pathSettings
    const { random } = this.#nic
    paths.better = -1
    if (move === 'never' || now < paths.holdUntilNs) return
    const probes = paths.probes!
    const better = betterPath(probes.paths, paths.current, probes.ownBps, margin, random)
    if (better < 0 || random() % MOVE_ONE_OF !== 0) return
    paths.better = better
    if (flow.isQuiet(now)) this.#move(now, flow, better)
    else if (move === 'drain') this.#drain(now, flow)
  }

  #drain(now: Nanos, flow: Flow): void {
    const paths = flow.paths!
    paths.phase = 'draining'
    paths.sinceNs = now
    paths.untilNs = now + DRAIN_ROUND_TRIPS * Math.max(flow.stats.baseRttNs, flow.stats.rttNs)
  }

  /** To a better path, with nothing in flight. */
  #move(now: Nanos, flow: Flow, path: number): void {
    const paths = flow.paths!
    this.#switchTo(flow, path)
    flow.stats.pathMoves++
    paths.holdUntilNs = now + HOLD_INTERVALS * this.#intervalNs(flow)
    this.#settle(now, flow)
  }

  #switchTo(flow: Flow, path: number): void {
    const paths = flow.paths!
    paths.current = path
    this.#headers.sendFrom(flow, paths.probes!.paths[path]!.sourcePort)
    flow.onPathChange()
  }
}

import { probesPaths } from '../../cc/path-settings.js'
import { WeirError } from '../../errors.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import { formatDuration } from '../../units/units.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import type { NicSettings } from '../config.js'
import type { Flow } from '../flow/flow.js'
import { newFlowPaths } from '../flow/flow-paths.js'
import type { ImplausibleCounter } from '../telemetry/flow-plausibility.js'
import { PathProbes, ProbedPath } from '../telemetry/path-probes.js'
import { PathRace, RACE_PORTS } from '../telemetry/path-race.js'
import { Control, type ControlPackets } from '../tx/control-packets.js'
import type { HostHeaders } from '../tx/host-headers.js'
import type { SourcePorts } from '../tx/source-ports.js'
import { AdmissionQueue } from './admission-queue.js'
import { betterPath, leastUsed, leastUtilization } from './path-choice.js'

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

/**
 * Path selection and admission by telemetry (draft-miao-rtgwg-hpccplus, last section of draft-02).
 *
 * A connection has several entropies: UDP source ports. While it has something to send, probe packets collect the telemetry of
 * the path of each: U as HPCC++ computes it. A new flow takes the least used path; while all are used above a bound it
 * waits or is refused. A flow that runs moves when others use another path notably less than its own, and it has
 * nothing in flight, so that no packet overtakes another. Flows do not move all at once: chance decides which do (PLB, SIGCOMM 2022,
 * draws when and where; Hermes, SIGCOMM 2017, requires a notably better path).
 *
 * An end chooses the path of what it sends, and the other end, unless it chooses for itself, follows: acknowledgements and
 * READ requests have the source port of the data that they answer, so that a symmetric hash takes them along the same
 * links. An end chooses once it has payload to send, READ responses included.
 *
 * Whoever calls it reconsiders the flow afterwards: it may send now, or no longer, or be refused.
 */
export class PathSelector {
  readonly #nic: NicSettings
  readonly #headers: HostHeaders
  readonly #ports: SourcePorts
  readonly #control: ControlPackets
  readonly #queue: AdmissionQueue
  readonly #totals: ImplausibleCounter

  /** @param totals the host's counters, to which telemetry that is not believed is added */
  constructor(
    nic: NicSettings,
    headers: HostHeaders,
    ports: SourcePorts,
    control: ControlPackets,
    totals: ImplausibleCounter,
  ) {
    this.#nic = nic
    this.#headers = headers
    this.#ports = ports
    this.#control = control
    this.#totals = totals
    this.#queue = new AdmissionQueue(nic.paths.admissionQueue)
  }

  /** The flow knows T: from now on it chooses its path, if its settings allow that and the peer answers path probes. */
  begin(flow: Flow): void {
    if (probesPaths(flow.path.settings) && flow.peer.answersPaths) flow.path.choose(newFlowPaths())
  }

  /** Forgets the flow. */
  remove(flow: Flow): void {
    if (flow.path.selection?.phase === 'waiting') this.#leaveQueue(flow)
  }

  /**
   * The peer sends data from another source port than before: telemetry of its old path does not compare with what
   * comes now.
   */
  onPeerMoved(flow: Flow, sourcePort: number): void {
    if (!flow.path.onPeerPort(sourcePort)) return
    const { echo, control } = flow.receiver
    echo.onPathChange()
    if (control === null) return
    control.onPathChange()
    flow.plausibility.onPathChange()
  }

  /** The peer's data has another source port than this end's packets. Unless it chooses for itself, this end follows once it has nothing in flight. */
  follow(now: Nanos, flow: Flow): void {
    const { peerSourcePort, selection } = flow.path
    const chooses = selection !== null && selection.phase !== 'new'
    if (chooses || !flow.peer.isWeir || !flow.sender.isQuiet(now)) return
    if (this.#ports.nearest(peerSourcePort) !== peerSourcePort) return
    this.#headers.sendFrom(flow, peerSourcePort)
    flow.onPathChange()
  }

  // ---- Paths that may have failed

  /** The peer answers probes, and this host has other ports to send them from. */
  mayRace(flow: Flow): boolean {
    return flow.peer.answersPaths && this.#ports.count > 1
  }

  /** Sends probes from several source ports, the flow's own among them. */
  race(now: Nanos, flow: Flow): PathRace {
    const { remote, path, peer } = flow
    const ports = [path.sourcePort]
    const count = Math.min(RACE_PORTS, this.#ports.count)
    while (ports.length < count) ports.push(this.#anotherPort(ports))
    const headers = ports.map(port => this.#headers.forFlow(remote, port, path.dscp, peer.reportsMarks))
    this.#control.push(flow, Control.PATH_PROBE)
    return new PathRace(now, ports, headers, this.#nic.random())
  }

  /**
   * The flow's path has failed: it takes another one, whatever is in flight. False: this host has one source port.
   *
   * @param port 0: another one by chance
   */
  leave(now: Nanos, flow: Flow, port: number): boolean {
    if (this.#ports.count < 2) return false
    const { selection, sourcePort } = flow.path
    const next = port === 0 ? this.#anotherPort([sourcePort]) : port
    if (selection !== null && selection.probes !== null) {
      selection.probes.paths[selection.current] = this.#path(flow, next)
      // What it was about to move to was chosen before the link failed.
      if (selection.phase === 'settled' || selection.phase === 'draining') this.#rest(now, flow)
    }
    this.#headers.sendFrom(flow, next)
    flow.onPathChange()
    flow.stats.pathMoves++
    return true
  }

  // ---- Events of a flow with `paths`

  /** The flow has new work, or news of its packets. */
  consider(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    if (flow.ending.phase !== 'established' || flow.ending.refusal !== null) return
    if (paths.phase === 'settled') {
      if (paths.better >= 0 && flow.sender.isQuiet(now)) this.#move(now, flow, paths.better)
      else if (now >= paths.nextRoundNs && !paths.probes!.active && flow.sender.hasData(now))
        this.#round(now, flow)
    } else if (paths.phase === 'draining') {
      if (flow.sender.isQuiet(now)) this.#move(now, flow, paths.better)
      else if (now >= paths.untilNs) this.#rest(now, flow)
    } else if (paths.phase === 'new') {
      if (flow.sender.congestion.begun && flow.sender.hasData(now)) this.#start(now, flow)
    } else this.#considerWaiting(now, flow)
  }

  /** A path probe has been answered. True if the flow is to be reconsidered. */
  onAnswer(now: Nanos, flow: Flow, sequence: number, hops: HopRecords): boolean {
    const probes = flow.path.selection?.probes
    if (!probes?.active) return false
    probes.onAnswer(now, sequence, hops, flow.stats.baseRttNs, this.#totals)
    if (probes.active) return false
    this.#endRound(now, flow)
    return true
  }

  nextTimeout(now: Nanos, flow: Flow): Nanos {
    const paths = flow.path.selection!
    if (paths.phase === 'new' || flow.ending.phase !== 'established') return NEVER
    const probes = paths.probes!
    const bound = paths.phase === 'draining' || paths.phase === 'waiting' ? paths.untilNs : NEVER
    if (probes.active) return Math.min(bound, probes.deadlineNs(flow.stats.baseRttNs))
    if (paths.phase === 'settled' && !flow.sender.hasData(now)) return NEVER
    if (paths.phase !== 'draining') return Math.min(bound, paths.nextRoundNs)
    return flow.sender.responsesQuietNs > now ? Math.min(bound, flow.sender.responsesQuietNs) : bound
  }

  onTimeout(now: Nanos, flow: Flow): void {
    const probes = flow.path.selection!.probes
    if (probes?.active && now >= probes.deadlineNs(flow.stats.baseRttNs)) {
      probes.end()
      this.#endRound(now, flow)
    }
    this.consider(now, flow)
  }

  // ---- Rounds of probes

  #start(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    const ports = [flow.path.sourcePort]
    const count = Math.min(flow.path.settings.count, this.#ports.count)
    while (ports.length < count) ports.push(this.#anotherPort(ports))
    paths.probes = new PathProbes(
      ports.map(port => this.#path(flow, port)),
      flow.stats,
    )
    // Without a choice it sends at once, and the first rounds decide whether to move.
    paths.phase =
      flow.path.settings.start === 'choose' || flow.path.settings.admission > 0 ? 'choosing' : 'settled'
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
    const headers = this.#headers.forFlow(flow.remote, port, flow.path.dscp, flow.peer.reportsMarks)
    return new ProbedPath(port, headers, flow.stats, this.#nic.telemetry.loadMax)
  }

  #round(now: Nanos, flow: Flow): void {
    flow.path.selection!.probes!.begin(now, flow.sender.wireBytes)
    this.#control.push(flow, Control.PATH_PROBE)
  }

  #endRound(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    const probes = paths.probes!
    const t = flow.stats.baseRttNs
    const { utilization } = probes.paths[paths.current]!.load
    flow.stats.pathUtilization = Number.isNaN(utilization) ? 0 : utilization
    if (probes.paths.every(path => path.tellsNothing)) {
      // A network without telemetry: there is nothing to choose by, and nothing to refuse for.
      paths.nextRoundNs = NEVER
      if (paths.phase === 'choosing') this.#rest(now, flow)
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
  }

  #intervalNs(flow: Flow): Nanos {
    return flow.path.settings.intervalNs || INTERVAL_ROUND_TRIPS * flow.stats.baseRttNs
  }

  /** Keeps one of the entropies that lead along the same links; others are tried in place of the rest. */
  #redraw(flow: Flow): void {
    const { probes, current, better } = flow.path.selection!
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
    const { admission } = flow.path.settings
    const least = leastUtilization(flow.path.selection!.probes!.paths)
    // Nothing measured, nothing to refuse for: there are no switches with telemetry.
    const full = admission > 0 && (least >= admission || this.#queue.firstTo(flow.remote) !== null)
    if (full) this.#delay(now, flow, least)
    else this.#take(now, flow)
  }

  #take(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    const path = leastUsed(paths.probes!.paths, this.#nic.random)
    if (path >= 0 && path !== paths.current) this.#switchTo(flow, path)
    this.#rest(now, flow)
  }

  #rest(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    paths.phase = 'settled'
    paths.better = -1
    paths.nextRoundNs = Math.max(paths.nextRoundNs, now + this.#intervalNs(flow))
  }

  #delay(now: Nanos, flow: Flow, least: number): void {
    const paths = flow.path.selection!
    const { admissionWaitNs } = flow.path.settings
    if (admissionWaitNs === 0) {
      this.#refuse(flow, least, '')
      return
    }
    if (!this.#queue.add(flow)) {
      this.#refuse(flow, least, `, and ${this.#queue.size} flows wait already`)
      return
    }
    paths.phase = 'waiting'
    paths.sinceNs = now
    paths.untilNs = now + admissionWaitNs
  }

  /** A round has ended while the flow waits. */
  #admit(now: Nanos, flow: Flow): void {
    const least = leastUtilization(flow.path.selection!.probes!.paths)
    if (this.#queue.firstTo(flow.remote) !== flow || least >= flow.path.settings.admission) return
    this.#endWait(now, flow)
    this.#take(now, flow)
  }

  #considerWaiting(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    const probes = paths.probes!
    if (paths.phase === 'waiting' && now >= paths.untilNs) {
      this.#endWait(now, flow)
      const waited = `, after ${formatDuration(flow.path.settings.admissionWaitNs)}`
      this.#refuse(flow, leastUtilization(probes.paths), waited)
    } else if (!probes.active && now >= paths.nextRoundNs) this.#round(now, flow)
  }

  #endWait(now: Nanos, flow: Flow): void {
    flow.stats.admissionDelayNs = now - flow.path.selection!.sinceNs
    this.#leaveQueue(flow)
  }

  /** The next flow to that peer has to measure anew: what it knows dates from before this one began to send. */
  #leaveQueue(flow: Flow): void {
    this.#queue.remove(flow)
    const next = this.#queue.firstTo(flow.remote)
    for (const path of next?.path.selection?.probes?.paths ?? []) path.load.forget()
  }

  #refuse(flow: Flow, least: number, why: string): void {
    const { admission } = flow.path.settings
    const paths = flow.path.selection!.probes!.paths.length
    const measured = Number.isNaN(least) ? 'is not known' : `is ${least.toFixed(3)}`
    const what = `every path to ${flow.remote} is used too much: the utilization of the least used of ${paths} ${measured}`
    const error = new WeirError(
      'WEIR_NOT_ADMITTED',
      `${what}, the bound is ${admission}${why}; try later, or raise paths admission or admissionWait`,
    )
    flow.path.selection!.phase = 'new'
    flow.ending.refuse(error)
  }

  // ---- Flows that run

  #compare(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    const { move, margin } = flow.path.settings
    const { random } = this.#nic
    paths.better = -1
    if (move === 'never' || now < paths.holdUntilNs) return
    const probes = paths.probes!
    const better = betterPath(probes.paths, paths.current, probes.ownBps, margin, random)
    if (better < 0 || random() % MOVE_ONE_OF !== 0) return
    paths.better = better
    if (flow.sender.isQuiet(now)) this.#move(now, flow, better)
    else if (move === 'drain') this.#drain(now, flow)
  }

  #drain(now: Nanos, flow: Flow): void {
    const paths = flow.path.selection!
    paths.phase = 'draining'
    paths.sinceNs = now
    paths.untilNs = now + DRAIN_ROUND_TRIPS * Math.max(flow.stats.baseRttNs, flow.stats.rttNs)
  }

  /** To a better path, with nothing in flight. */
  #move(now: Nanos, flow: Flow, path: number): void {
    const paths = flow.path.selection!
    this.#switchTo(flow, path)
    flow.stats.pathMoves++
    paths.holdUntilNs = now + HOLD_INTERVALS * this.#intervalNs(flow)
    this.#rest(now, flow)
  }

  #switchTo(flow: Flow, path: number): void {
    const paths = flow.path.selection!
    paths.current = path
    this.#headers.sendFrom(flow, paths.probes!.paths[path]!.sourcePort)
    flow.onPathChange()
  }
}

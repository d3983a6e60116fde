import { type Nanos, NEVER } from '../../time/nanos.js'
import type { Flow } from '../flow/flow.js'
import type { PathDoubt } from '../flow/flow-path.js'
import type { PathSelector } from './path-selector.js'

/** Round trips of silence after which a race has found nothing, or a peer that answers no probes has heard nothing. */
const SILENT_ROUND_TRIPS = 3
/** At least so long: hosts are processes, and answer late now and then. */
const SILENCE_LEAST_NS: Nanos = 1_000_000
/** Attempts after which the usual timeouts take over. */
const ATTEMPTS_MAX = 10
/** The flow's own path has so many times as long to answer as the first other one took. */
const PATIENCE_ROUND_TRIPS = 2

/**
 * Flows whose path may have failed. A switch has said that some link has; which paths have it nobody here knows. So each path counts as
 * doubtful until it has shown that it is whole: something that was sent by it afterwards is acknowledged, or its probe is answered.
 *
 * | peer | a flow in doubt that awaits an answer |
 * |---|---|
 * | answers path probes | sends probes from several source ports at once, its own among them (PathRace). Its own answered: it stays. Another answered, and its own not in the time that its queues can take, and twice that of the first answer: it takes that port, and retransmits what is not acknowledged. None: it tries other ports |
 * | any other | takes another source port by chance after some round trips of silence, and retransmits |
 *
 * Both directions of a flow have one path, because switches hash alike both ways. The end that only answers follows its peer, also
 * where the peer repeats what has come already: its answer was lost.
 */
export class Failover {
  /** Links that were said to have failed, flows that have taken another path, probes that flows in doubt have begun to send. */
  readonly counters = { notices: 0, moves: 0, races: 0 }
  /** A link has failed, and not all are up again. */
  #hasFailed = false
  readonly #flows: readonly (Flow | null)[]
  readonly #paths: PathSelector

  /** @param flows the NIC's table */
  constructor(flows: readonly (Flow | null)[], paths: PathSelector) {
    this.#flows = flows
    this.#paths = paths
  }

  /** A link has failed. Returns the flows in doubt: the caller sets their timers. */
  onLinkFailed(now: Nanos): Flow[] {
    this.counters.notices++
    this.#hasFailed = true
    const doubted = this.#flows.filter(flow => flow?.ending.phase === 'established') as Flow[]
    for (const flow of doubted) doubt(now, flow)
    return doubted
  }

  /** All links are up again. Flows that are in doubt stay so. */
  onMended(): void {
    this.#hasFailed = false
  }

  /** The path of a new flow may be the one that has failed. */
  onEstablished(now: Nanos, flow: Flow): void {
    if (this.#hasFailed) doubt(now, flow)
  }

  /** When the flow has to do something about its doubt, or NEVER. Anything that is news begins its silence anew. */
  nextTimeout(now: Nanos, flow: Flow): Nanos {
    const { doubt } = flow.path
    if (doubt === null) return NEVER
    const { sndUna } = flow.qp
    const isQuiet = awaitsNothing(flow)
    if (sndUna > doubt.provenSeq || doubt.attempts >= ATTEMPTS_MAX) {
      flow.path.doubt = null
      return NEVER
    }
    if (sndUna !== doubt.una || isQuiet) {
      doubt.una = sndUna
      doubt.sinceNs = now
    }
    if (isQuiet) return NEVER
    const isSilentAt = doubt.sinceNs + silenceNs(flow)
    if (!this.#paths.mayRace(flow)) return isSilentAt
    return doubt.race === null ? now : Math.min(isSilentAt, decisionNs(flow, doubt))
  }

  onTimeout(now: Nanos, flow: Flow): void {
    if (this.nextTimeout(now, flow) > now) return
    const doubt = flow.path.doubt!
    const { race } = doubt
    if (race !== null && decisionNs(flow, doubt) <= now) {
      this.#move(now, flow, race.winner)
      this.#onProof(now, flow, doubt)
      return
    }
    doubt.sinceNs = now
    if (this.#paths.mayRace(flow)) {
      if (race !== null) doubt.attempts++
      this.#race(now, flow, doubt)
      return
    }
    doubt.attempts++
    // What was in flight is lost, or late: any answer is to what leaves from now on.
    doubt.provenSeq = flow.qp.sndUna
    this.#move(now, flow, 0)
  }

  /** A flow in doubt has sent something, maybe the first since the link failed: its probes leave with that. */
  onSent(now: Nanos, flow: Flow): void {
    const { doubt } = flow.path
    if (doubt?.race === null && !awaitsNothing(flow) && this.#paths.mayRace(flow))
      this.#race(now, flow, doubt)
  }

  /** The probe with that number is answered: its path is whole. */
  onAnswer(now: Nanos, flow: Flow, sequence: number): void {
    const { doubt, sourcePort } = flow.path
    const port = doubt?.race?.portOf(sequence) ?? 0
    if (port === 0) return
    if (port === sourcePort) this.#onProof(now, flow, doubt!)
    else doubt!.race!.onWhole(now, port)
  }

  /** The flow's path was whole when the race began. Where another link has failed since then, another race follows. */
  #onProof(now: Nanos, flow: Flow, doubt: PathDoubt): void {
    if (!doubt.again) {
      flow.path.doubt = null
      return
    }
    doubt.sinceNs = now
    this.#race(now, flow, doubt)
  }

  /** The peer repeats a request, from that port: it has left its path because this end's answers did not come. */
  onRepeated(flow: Flow, sourcePort: number): void {
    if (flow.path.doubt !== null && sourcePort !== flow.path.peerSourcePort)
      this.#paths.onPeerMoved(flow, sourcePort)
  }

  #race(now: Nanos, flow: Flow, doubt: PathDoubt): void {
    this.counters.races++
    doubt.again = false
    doubt.race = this.#paths.race(now, flow)
  }

  /** @param port that it takes, 0 = any other */
  #move(now: Nanos, flow: Flow, port: number): void {
    if (this.#paths.leave(now, flow, port)) this.counters.moves++
    // It would follow its peer back onto the path that it has left. What the peer sends from now on comes by a path that is whole.
    flow.path.forgetPeerPort()
    if (!flow.qp.isQuiet) flow.qp.repeat(now)
  }
}

/** Nothing that it has sent is to be answered: no request, and no probe that measures T before the first one. */
function awaitsNothing({ qp, sender }: Flow): boolean {
  return qp.isQuiet && sender.baseRttProbe === null
}

function doubt(now: Nanos, { qp: { sndNxt, sndUna }, path }: Flow): void {
  const { doubt } = path
  if (doubt === null) {
    path.doubt = { provenSeq: sndNxt, una: sndUna, sinceNs: now, attempts: 0, race: null, again: false }
    return
  }
  // A notice that followed another would begin the silence anew, and a link that goes up and down would put off each attempt.
  doubt.provenSeq = sndNxt
  doubt.again = doubt.race !== null
}

/** When a race that another path leads is over, or NEVER: no other path has been answered. */
function decisionNs(flow: Flow, { race, sinceNs }: PathDoubt): Nanos {
  if (race === null || race.winner === 0) return NEVER
  const patienceNs = Math.max(ownPathNs(flow), PATIENCE_ROUND_TRIPS * race.roundTripNs)
  return Math.min(race.startedNs + patienceNs, sinceNs + silenceNs(flow))
}

function silenceNs(flow: Flow): Nanos {
  return Math.max(SILENCE_LEAST_NS, SILENT_ROUND_TRIPS * ownPathNs(flow))
}

/** How long the flow's own path may take to answer. Where telemetry shows the queues, other delays of the last round trip are not the path's. */
function ownPathNs({ stats: { rttNs, baseRttNs, pathHops, pathQueueNs } }: Flow): Nanos {
  const roundTripNs = Math.max(rttNs, baseRttNs)
  return pathHops === 0 ? roundTripNs : Math.min(roundTripNs, Math.ceil(baseRttNs + pathQueueNs))
}

import { PATHS_MAX } from '../../cc/path-options.js'
import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as immdt from '../../wire/ib/immdt.js'
import * as reth from '../../wire/ib/reth.js'
import { NeedId } from '../../wire/weir/needs.js'
import type { Flow } from '../flow/flow.js'
import type { Peer } from '../flow/peer.js'
import { FlowRing } from './flow-ring.js'
import type { PfcReceiver } from './pfc-receiver.js'
import type { TxPipeline } from './tx-pipeline.js'

/** Packets that a flow sends beside data and acknowledgements: bits. They go in this order. */
export const Control = {
  /** A probe that measures T. */
  BASE_PROBE: 0x01,
  /** A probe that collects telemetry. */
  PROBE: 0x02,
  /** The answer to the peer's last probe. */
  ANSWER: 0x04,
  /** Telemetry of the peer's data. */
  NOTIFY: 0x08,
  /** The window that this end has worked out for the peer. */
  RATE: 0x10,
  /** Asks the peer to do that. */
  RATE_REQUEST: 0x20,
  /** Probes of the connection's paths. */
  PATH_PROBE: 0x40,
  /** Answers to the peer's. */
  PATH_ANSWER: 0x80,
  /** Asks a peer whether it still knows the connection. */
  CHALLENGE: 0x100,
  /** A packet of the peer came with a CE mark. */
  CNP: 0x200,
} as const

/** Any of them. */
export const ANY_CONTROL = 0xffff
const PATH_PACKETS = Control.PATH_PROBE | Control.PATH_ANSWER
/** Path probes and their answers that are sent in a row, at most: a round of one connection. */
const PATH_RUN_MAX = PATHS_MAX

/**
 * Flows that have such packets to send, in turns. A flow has at most one waiting of each kind; of path probes and
 * their answers, one for each path. A second one takes the place of the first and says what both had to say: so the
 * number of flows bounds them. They are never paced.
 */
export class ControlPackets {
  readonly #flows: readonly (Flow | null)[]
  /** By a flow's index: what it has to send. */
  readonly #waiting: Uint16Array
  readonly #ring: FlowRing
  readonly #pfc: PfcReceiver
  readonly #tx: TxPipeline
  readonly #concurrentFlows: () => number
  /** The flow that has had its turn last. */
  currentFlow: Flow | null = null
  /** Path probes and their answers since `yields` was true. */
  #pathRun = 0

  /**
   * @param flows the NIC's table; @param capacity its size
   * @param concurrentFlows N, which answers tell
   */
  constructor(
    flows: readonly (Flow | null)[],
    capacity: number,
    pfc: PfcReceiver,
    tx: TxPipeline,
    concurrentFlows: () => number,
  ) {
    this.#flows = flows
    this.#waiting = new Uint16Array(capacity)
    this.#ring = new FlowRing(capacity)
    this.#pfc = pfc
    this.#tx = tx
    this.#concurrentFlows = concurrentFlows
  }

  /** The flow has such a packet to send. @param what one of Control */
  push(flow: Flow, what: number): void {
    this.#waiting[flow.index]! |= what
    this.#ring.push(flow.index)
  }

  /** The flow has one that waits for the link. @param what one of Control */
  waits(flow: Flow, what: number): boolean {
    return (this.#waiting[flow.index]! & what) !== 0
  }

  remove(flow: Flow): void {
    this.#waiting[flow.index] = 0
    this.#ring.drop(flow.index)
  }

  /** No flow has any. */
  get isEmpty(): boolean {
    return this.#ring.size === 0
  }

  /** True if one may be sent now. Brings its flow to the front. */
  isReady(): boolean {
    for (let n = this.#ring.size; n > 0; n--) {
      const index = this.#ring.first()
      const flow = this.#flows[index]!
      if (flow !== null && this.#waiting[index] !== 0) {
        if (this.#openTo(flow) !== 0) return true
        this.#ring.push(this.#ring.shift())
      } else this.#ring.shift()
    }
    return false
  }

  /** What the flow has to send that PFC does not hold: bits of Control. CNPs may have a priority of their own. */
  #openTo({ index, path }: Flow): number {
    const waiting = this.#waiting[index]!
    const others = this.#pfc.isHeld(path.priority) ? 0 : waiting & ~Control.CNP
    const cnp = waiting & Control.CNP
    return cnp === 0 || this.#pfc.isHeld(path.cnpPriority) ? others : others | cnp
  }

  /** True once after each run of path probes and answers: then acknowledgements and data have a turn. */
  yields(): boolean {
    if (this.#pathRun < PATH_RUN_MAX) return false
    this.#pathRun = 0
    return true
  }

  /** The next one, or null: there is none, or no frame is free. */
  next(now: Nanos): Frame | null {
    while (this.isReady()) {
      const index = this.#ring.shift()
      const flow = this.#flows[index]!
      this.currentFlow = flow
      const open = this.#openTo(flow)
      const what = open & -open
      const missed = this.#tx.counters.noFrame
      const frame = this.#make(now, flow, what)
      const noFrame = frame === null && this.#tx.counters.noFrame > missed
      if (!noFrame && !this.#hasMore(flow, what)) this.#waiting[index]! &= ~what
      if (this.#waiting[index] !== 0) this.#ring.push(index)
      if (frame !== null && (what & PATH_PACKETS) !== 0) this.#pathRun++
      if (frame !== null || noFrame) return frame
    }
    return null
  }

  /** Null if the packet has nothing to say any more, or no frame is free. */
  #make(now: Nanos, flow: Flow, what: number): Frame | null {
    const tx = this.#tx
    switch (what) {
      case Control.BASE_PROBE: {
        const probe = flow.sender.baseRttProbe
        if (probe === null || !probe.wantsToSend) return null
        const frame = tx.probe(flow, probe, probe.isShort ? 0 : probePayload(flow.peer))
        if (frame !== null) probe.onSent(now)
        return frame
      }
      case Control.PROBE: {
        const probe = flow.sender.telemetryProbe
        if (probe === null || !probe.isDue(now) || !flow.sender.wantsProbe(now)) return null
        const frame = tx.telemetryProbe(flow, probe.sequence)
        if (frame === null) return null
        probe.onSent(now, flow.sender.transmissions, frame.wireLength)
        flow.sender.promises.fallsDue(NeedId.PROBES)
        return frame
      }
      case Control.ANSWER:
        return tx.answer(flow, this.#concurrentFlows())
      case Control.NOTIFY:
        return tx.notification(flow, this.#concurrentFlows())
      case Control.RATE:
        return tx.rate(flow, this.#concurrentFlows())
      case Control.PATH_PROBE:
        return this.#pathProbe(now, flow)
      case Control.PATH_ANSWER:
        return this.#pathAnswer(flow)
      case Control.CHALLENGE:
        return tx.challenge(flow)
      case Control.CNP:
        return tx.cnp(flow)
      default:
        return this.#request(now, flow)
    }
  }

  #pathAnswer(flow: Flow): Frame | null {
    const { pathAnswers } = flow.receiver
    return pathAnswers?.waits ? this.#tx.pathAnswer(flow, pathAnswers) : null
  }

  #hasMore(flow: Flow, what: number): boolean {
    if (what === Control.PATH_PROBE)
      return (flow.path.doubt?.race?.wantsToSend || flow.path.selection?.probes?.wantsToSend) ?? false
    return what === Control.PATH_ANSWER && (flow.receiver.pathAnswers?.waits ?? false)
  }

  #pathProbe(now: Nanos, flow: Flow): Frame | null {
    const race = flow.path.doubt?.race
    if (race?.wantsToSend) {
      const frame = this.#tx.raceProbe(flow, race.headers, race.sequence)
      if (frame !== null) {
        race.onSent()
        flow.stats.pathProbes++
        flow.stats.pathProbeBytes += frame.wireLength
      }
      return frame
    }
    const probes = flow.path.selection?.probes
    if (!probes?.wantsToSend) return null
    const path = probes.nextPath
    const frame = this.#tx.pathProbe(flow, probes.paths[path]!.headers, probes.sequenceOf(path))
    if (frame !== null) probes.onSent(now, path, frame.wireLength)
    return frame
  }

  #request(now: Nanos, flow: Flow): Frame | null {
    const request = flow.sender.rateRequest
    if (request === null || !request.wantsToSend) return null
    const frame = this.#tx.rateRequest(flow, request)
    if (frame === null) return null
    request.onSent(now)
    flow.sender.promises.fallsDue(NeedId.RECEIVING_PART)
    return frame
  }
}

/** What makes a probe as long as the longest packet with payload, where packets are filled: in place of its RETH and immediate. */
function probePayload({ payloadMax, filledPayload }: Peer): number {
  return filledPayload.offered === 0 ? payloadMax : payloadMax + reth.BYTES + immdt.BYTES
}

import type { WeirError } from '../../errors.js'
import { QpState, TxKind } from '../../qp/queue-pair.js'
import { MILLISECOND, type Nanos, NEVER, SECOND } from '../../time/nanos.js'
import type { Flow } from '../flow/flow.js'
import { refusal } from './peer-words.js'

/** Longest time for which an end that leaves goes on sending what it owes, when pauses or pacing delay that. */
const SAYING_NS_MAX = 100 * MILLISECOND
/**
 * Longest time for which an end that has refused a request waits for its peer to leave, however long the peer would
 * repeat it.
 */
const REFUSING_NS_MAX = 5 * SECOND
/**
 * Longest time for which an application that has left waits for its peer to say so too. The connection manager repeats
 * the DREQ by itself.
 */
const CLOSING_NS_MAX = 2 * SECOND
/** An answer may arrive this much later than the DREQ that overtook it: what the queues of a network hold. */
const OVERTAKEN_NS_MAX = 10 * MILLISECOND

/** What endings need of whatever joins flows to the connection manager. */
interface Owner {
  /** Its deadline may have changed, and what it may send. */
  flowChanged(now: Nanos, flow: Flow): void
  /** The flow's queue pair goes into error, its work is flushed. */
  flush(now: Nanos, flow: Flow): void
  /** The connection manager ends the connection, and tells the peer. @param refusal data for the DREQ */
  leave(now: Nanos, flow: Flow, refusal?: Uint8Array): void
  /** The flow is over, and its handler learns it. */
  close(now: Nanos, flow: Flow, error: WeirError | null): void
}

/**
 * The order in which the two ends of a connection learn that it is over, and why.
 *
 * A DREQ waits in other queues than a queue pair's packets do, so it may overtake them. It is repeated until it is
 * answered; ACKs and NAKs are not. Therefore:
 *
 * | an end that | does |
 * |---|---|
 * | leaves | first sends what it owes: the ACK of what has been delivered, or the NAK of what it refuses |
 * | has refused a request | leaves the DREQ to its peer, whose queue pair the NAK takes into error. Until then it repeats the NAK when the peer repeats the request |
 * | waits for answers when its peer leaves | waits a little longer, because the DREQ may have overtaken them |
 *
 * To Linux's librdmacm a DREQ is an orderly end, whatever came before. A Weir host that leaves because of an error says so
 * in the private data.
 */
export class Endings {
  readonly #owner: Owner

  constructor(owner: Owner) {
    this.#owner = owner
  }

  /** The application leaves. */
  disconnect(now: Nanos, flow: Flow): void {
    if (flow.ending.phase === 'established') this.#begin(now, flow)
    else if (flow.ending.phase === 'connecting' || flow.ending.phase === 'accepting') {
      this.#owner.leave(now, flow)
      this.#owner.close(now, flow, null)
    }
  }

  /**
   * The queue pair is in error, or the connection must not be used. The handler learns why once the peer
   * knows.
   */
  fail(now: Nanos, flow: Flow, error: WeirError): void {
    if (flow.ending.phase === 'left') this.#owner.close(now, flow, error)
    if (flow.ending.phase === 'closed' || flow.ending.phase === 'ending') return
    flow.ending.fail(error)
    this.#begin(now, flow)
  }

  /** The flow must not do another thing: its handler hears why at once, the peer from the DREQ alone. */
  abort(now: Nanos, flow: Flow, error: WeirError): void {
    const { phase } = flow.ending
    this.#owner.close(now, flow, error)
    // Last: what shows another defect now keeps the flow no more.
    if (phase === 'established' || phase === 'ending') this.#owner.leave(now, flow, refusal(error, flow))
  }

  /** The peer has left. @param why what has failed at its end, null = it left in order */
  onLeft(now: Nanos, flow: Flow, why: WeirError | null): void {
    if (flow.ending.failure === null) flow.ending.fail(why)
    const awaits = flow.ending.phase === 'established' && flow.qp.state === QpState.RTS && !flow.qp.isQuiet
    if (!awaits) {
      this.#owner.close(now, flow, flow.ending.failure)
      return
    }
    flow.ending.enter('left', now + OVERTAKEN_NS_MAX)
    this.#owner.flowChanged(now, flow)
  }

  /** A packet came or went, or `endsNs` has come. */
  goOn(now: Nanos, flow: Flow): void {
    if (flow.ending.phase === 'ending') this.#goOnEnding(now, flow)
    else if (flow.ending.phase === 'closing' && now >= flow.ending.endsNs) this.#owner.close(now, flow, null)
    else if (flow.ending.phase === 'left' && (now >= flow.ending.endsNs || flow.qp.isQuiet))
      this.#owner.close(now, flow, flow.ending.failure)
  }

  #begin(now: Nanos, flow: Flow): void {
    const refusingNs = Math.min(flow.peer.repeatsNs, REFUSING_NS_MAX)
    flow.ending.enter('ending', now + (flow.qp.hasRefused ? refusingNs : SAYING_NS_MAX))
    this.#owner.flush(now, flow)
    this.#goOnEnding(now, flow)
  }

  #goOnEnding(now: Nanos, flow: Flow): void {
    const { qp } = flow
    if (now < flow.ending.endsNs && (qp.hasRefused || qp.peekTransmit(false) !== TxKind.NONE)) return
    const { failure } = flow.ending
    if (flow.handshake.cmId === 0) {
      // The connection manager knows nothing of it: two programs have connected it, and nobody tells the peer.
      this.#owner.close(now, flow, failure)
    } else if (failure === null) {
      flow.ending.enter('closing', now + CLOSING_NS_MAX)
      this.#owner.leave(now, flow)
      this.#owner.flowChanged(now, flow)
    } else {
      flow.ending.enter('closing', NEVER)
      this.#owner.leave(now, flow, refusal(failure, flow))
      this.#owner.close(now, flow, failure)
    }
  }
}

import { assert, WeirError } from '../errors.js'
import { type Nanos, NEVER, SECOND } from '../time/nanos.js'
import { MessageKind } from '../wire/cm/fields.js'
import * as rej from '../wire/cm/rej.js'
import type * as rep from '../wire/cm/rep.js'
import type * as req from '../wire/cm/req.js'
import type { CmConnection, Ends } from './connection.js'
import type { ConnectionTable } from './connection-table.js'
import type { CmCounters } from './counters.js'
import type { CmEvent, ConnectRequest, Disconnected, Established } from './events.js'
import type { ResolvedCmOptions } from './options.js'
import { type CmSender, dreqBytes, repBytes, reqBytes } from './sender.js'
import { type Action, REPEATING, type State, TRANSITIONS, type Trigger } from './states.js'
import { timeoutNs } from './timing.js'

/** Data that a trigger brings to an action, beyond the connection's own. */
interface Input {
  req?: req.Req
  rep?: rep.Rep
  rej?: rej.Rej
  request?: ConnectRequest
  /** Transaction id of the DREQ to answer. */
  transactionId?: bigint
  /** Service timeout of a sent or received MRA. */
  serviceTimeout?: number
  /** Reason of a REJ from the application. */
  reason?: number
  privateData?: Uint8Array
  /** Private data of a sent or received DREQ. */
  ofDreq?: Uint8Array
  by?: Established['by']
  cause?: Disconnected['cause']
}

const NOTHING = new Uint8Array(0)
/** connectRequest, established, an end, timewaitEnded. */
const EVENTS_PER_CONNECTION = 4
/** Number of challenges, and the interval between them, when a connection is claimed to be stale. */
const CHALLENGES = 8
const CHALLENGE_NS = SECOND

/** Moves connections through the table of states.ts and performs its actions. */
export class CmMachine {
  readonly #options: ResolvedCmOptions
  readonly #table: ConnectionTable
  readonly #sender: CmSender
  readonly #counters: CmCounters
  readonly #events: CmEvent[] = []
  /** Connections whose message waits for room in the outbox, in that order: each once, so the number of connections bounds them. */
  readonly #waiting = new Set<CmConnection>()
  #undecided = 0

  constructor(options: ResolvedCmOptions, table: ConnectionTable, sender: CmSender, counters: CmCounters) {
    this.#options = options
    this.#table = table
    this.#sender = sender
    this.#counters = counters
  }

  /** Connections that wait for the application's decision. */
  get undecided(): number {
    return this.#undecided
  }

  get #hasRoomForEvents(): boolean {
    return this.#events.length < EVENTS_PER_CONNECTION * this.#options.connectionsMax
  }

  takeEvent(): CmEvent | null {
    return this.#events.shift() ?? null
  }

  /**
   * Returns a new idle connection, or null when there is no room. The oldest connection in timewait is removed for it. An application that
   * takes no events gets no connections, because each makes at most a few events.
   *
   * @param named id that has been drawn for it before, and which it gets if that is free still; 0 = none
   */
  open(now: Nanos, passive: boolean, ends: Ends, named = 0): CmConnection | null {
    if (!this.#hasRoomForEvents) return null
    if (this.#table.full) {
      const oldest = this.#table.oldestInTimewait()
      if (!oldest) return null
      this.#counters.timewaitCutShort++
      this.step(now, oldest, 'expire', {})
    }
    const isFree = named !== 0 && this.#table.byId(named) === null
    return this.#table.add(isFree ? named : this.drawId(), passive, ends)
  }

  /** Draws a communication id that no connection has. */
  drawId(): number {
    // At most 65,536 of 2^32 ids are in use, so a hundred failed draws mean a broken source.
    for (let i = 0; i < 100; i++) {
      const id = this.#options.random() >>> 0
      if (id !== 0 && !this.#table.byId(id)) return id
    }
    throw new WeirError('WEIR_BAD_ARGUMENT', 'connection manager: `random` keeps giving the same few numbers')
  }

  /** Returns true if the table has a transition for the trigger in the connection's state. */
  allows(connection: CmConnection, trigger: Trigger): boolean {
    return TRANSITIONS[connection.state][trigger] !== undefined
  }

  /**
   * Performs one transition of the table. Returns false when there is none. Removes a connection that becomes
   * idle.
   */
  step(now: Nanos, connection: CmConnection, trigger: Trigger, input: Input): boolean {
    const transition = TRANSITIONS[connection.state][trigger]
    if (!transition) {
      this.#counters.ignored++
      return false
    }
    const next = transition[0]
    const before = connection.state
    this.#enter(connection, next)
    for (let i = 1; i < transition.length; i++)
      this.#act(now, connection, transition[i] as Action, input, before)
    if (next === 'IDLE') this.#table.remove(connection)
    return true
  }

  #enter(connection: CmConnection, next: State): void {
    if (isUndecided(connection.state)) this.#undecided--
    if (isUndecided(next)) this.#undecided++
    if (!REPEATING.has(next) && connection.pending) {
      connection.pending = null
      this.#waiting.delete(connection)
      this.#table.setDeadline(connection, NEVER)
    }
    if (next !== 'ESTABLISHED' && connection.challengesLeft >= 0) this.#endChallenge(connection)
    if (next === 'TIMEWAIT' && connection.state !== 'TIMEWAIT') this.#table.enterTimewait(connection)
    connection.state = next
  }

  #act(now: Nanos, connection: CmConnection, action: Action, input: Input, before: State): void {
    switch (action) {
      case 'sendReq':
        this.#sendAndAwait(now, connection, reqBytes(connection, input.req!))
        break
      case 'sendRep':
        this.#sendAndAwait(now, connection, repBytes(connection, input.rep!))
        break
      case 'sendDreq':
        this.#sendAndAwait(
          now,
          connection,
          dreqBytes(connection, input.ofDreq ?? this.#options.farewell(connection.id)),
        )
        break
      case 'repeat':
        this.#repeat(now, connection)
        break
      case 'extend':
        this.#extend(now, connection, input.serviceTimeout!)
        break
      case 'startTimewait':
        this.#table.setDeadline(connection, now + this.#peerTimeout(connection.lifeExponent))
        break
      case 'startChallenge':
        // A challenge under way answers this claim as well.
        if (connection.challengesLeft < 0) this.#challenge(now, connection, CHALLENGES)
        break
      case 'repeatChallenge':
        this.#challenge(now, connection, connection.challengesLeft)
        break
      case 'endChallenge':
        this.#endChallenge(connection)
        break
      default:
        if (!this.#reply(connection, action, input)) this.#tell(now, connection, action, input, before)
    }
  }

  /** Sends a message without repetition. Returns false if the action is no such message. */
  #reply(connection: CmConnection, action: Action, input: Input): boolean {
    const sender = this.#sender
    switch (action) {
      case 'sendRtu':
        sender.rtu(connection)
        break
      case 'sendMra':
        sender.mra(connection, input.serviceTimeout ?? this.#options.serviceTimeoutExponent)
        break
      case 'sendDrep':
        sender.drep(connection, input.transactionId!, {
          localCommId: connection.id,
          remoteCommId: connection.remoteId,
        })
        break
      case 'rejectReq':
        sender.reject(connection, MessageKind.REQ, input.reason ?? rej.Reason.CONSUMER, input.privateData)
        break
      case 'rejectRep':
        sender.reject(connection, MessageKind.REP, rej.Reason.CONSUMER)
        break
      case 'rejectStale':
        sender.reject(connection, MessageKind.OTHER, rej.Reason.STALE_CONNECTION)
        break
      case 'rejectTimeout':
        sender.reject(
          connection,
          MessageKind.OTHER,
          rej.Reason.TIMEOUT,
          this.#options.farewell(connection.id),
        )
        break
      case 'rejectOther':
        sender.reject(
          connection,
          MessageKind.OTHER,
          rej.Reason.CONSUMER,
          this.#options.farewell(connection.id),
        )
        break
      default:
        return false
    }
    return true
  }

  /** Sends a message and repeats it until its answer arrives. */
  #sendAndAwait(now: Nanos, connection: CmConnection, message: Uint8Array): void {
    connection.pending = message
    connection.retriesLeft = connection.maxRetries
    connection.intervalNs = connection.timeoutNs
    connection.firstSentNs = now
    connection.timed = true
    this.#send(now, connection, message)
  }

  /** A message that has not left does not time out, and uses up no repetition: it waits for its turn. */
  #send(now: Nanos, connection: CmConnection, message: Uint8Array): void {
    const isSent = this.#sender.bytes(connection, message)
    if (!isSent) this.#waiting.add(connection)
    this.#table.setDeadline(connection, isSent ? now + connection.intervalNs : NEVER)
  }

  /** A datagram has left the outbox: the message that has waited longest takes its place. */
  onRoom(now: Nanos): void {
    if (this.#waiting.size === 0) return
    const [connection] = this.#waiting
    this.#waiting.delete(connection!)
    connection!.firstSentNs = now
    this.#send(now, connection!, connection!.pending!)
  }

  /** Sends the same bytes again, with the same ids. */
  #repeat(now: Nanos, connection: CmConnection): void {
    assert(
      connection.pending !== null,
      `connection ${connection.id} in ${connection.state} has nothing to repeat`,
    )
    connection.retriesLeft--
    connection.timed = false
    this.#counters.repeated++
    this.#send(now, connection, connection.pending)
  }

  /** An MRA arrived: this wait, and those after further repetitions, take as long as the peer requests. */
  #extend(now: Nanos, connection: CmConnection, serviceTimeout: number): void {
    connection.timed = false
    connection.intervalNs = this.#peerTimeout(serviceTimeout) + this.#peerTimeout(connection.lifeExponent)
    this.#table.setDeadline(connection, now + connection.intervalNs)
  }

  /**
   * Makes the application ask the peer whether it knows the connection.
   *
   * @param questions remaining ones, including this one
   */
  #challenge(now: Nanos, connection: CmConnection, questions: number): void {
    connection.challengesLeft = questions - 1
    this.#counters.challenges++
    this.#table.setDeadline(connection, now + CHALLENGE_NS)
    if (this.#hasRoomForEvents) this.#events.push({ type: 'challenged', id: connection.id })
  }

  #endChallenge(connection: CmConnection): void {
    connection.challengesLeft = -1
    this.#table.setDeadline(connection, NEVER)
  }

  #peerTimeout(exponent: number): Nanos {
    return timeoutNs(Math.min(exponent, this.#options.peerTimeoutExponentMax))
  }

  #tell(now: Nanos, connection: CmConnection, action: Action, input: Input, before: State): void {
    const id = connection.id
    switch (action) {
      case 'tellRequest':
        this.#events.push(input.request!)
        break
      case 'tellEstablished':
        this.#events.push({
          type: 'established',
          id,
          peer: connection.peer!,
          by: input.by!,
          roundTripNs: connection.timed && input.by !== 'data' ? now - connection.firstSentNs : null,
          privateData: input.rep?.privateData ?? NOTHING,
        })
        break
      case 'tellRejected':
        this.#events.push(rejectedEvent(id, input.rej))
        break
      case 'tellTimedOut':
        this.#events.push({ type: 'timedOut', id })
        break
      case 'tellDisconnected':
        // The end is reported once. A stale connection was reported before its DREQ is answered.
        if (!connection.over) this.#events.push(disconnectedEvent(id, input, before))
        connection.over = true
        break
      case 'tellTimewaitEnded':
        this.#events.push({ type: 'timewaitEnded', id, qpn: connection.qpn })
        break
      default:
        assert(false, `action ${action} is carried out by nobody`)
    }
  }
}

function isUndecided(state: State): boolean {
  return state === 'REQ_RCVD' || state === 'MRA_REQ_SENT'
}

/** An end that has begun to close reports that, whatever the peer's answer is. */
function disconnectedEvent(id: number, input: Input, before: State): Disconnected {
  const asked = input.cause ?? 'local'
  const cause = before === 'DREQ_SENT' && asked !== 'timeout' ? 'local' : asked
  const privateData = cause === 'peer' ? (input.ofDreq ?? NOTHING) : NOTHING
  return { type: 'disconnected', id, cause, privateData }
}

/** Without a REJ this end refused the peer's REP. */
function rejectedEvent(id: number, message: rej.Rej | undefined): CmEvent {
  if (!message) {
    return { type: 'rejected', id, reason: rej.Reason.CONSUMER, information: NOTHING, privateData: NOTHING }
  }
  return {
    type: 'rejected',
    id,
    reason: message.reason,
    information: message.information.subarray(0, message.informationLength),
    privateData: message.privateData,
  }
}

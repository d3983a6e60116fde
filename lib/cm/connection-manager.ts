import { WeirError } from '../errors.js'
import type { Nanos } from '../time/nanos.js'
import * as dreq from '../wire/cm/dreq.js'
import * as mad from '../wire/cm/mad.js'
import * as rej from '../wire/cm/rej.js'
import * as rep from '../wire/cm/rep.js'
import type { HostAddress } from '../wire/net/address.js'
import { askedOf, buildRep, buildReq, queuePairOf, requestWithoutReq } from './agreement.js'
import type { CmConnection, Ends } from './connection.js'
import { ConnectionTable } from './connection-table.js'
import { CmCounters } from './counters.js'
import { Duties } from './duties.js'
import type { CmEvent, ConnectRequest, PeerParameters } from './events.js'
import { CmMachine } from './machine.js'
import {
  type AcceptParams,
  type CmOptions,
  type ConnectParams,
  checkConnect,
  checkQueuePair,
  type QueuePairParams,
  type ResolvedCmOptions,
  resolveOptions,
  within,
} from './options.js'
import { type MadDatagram, Outbox } from './outbox.js'
import { CmReceiver } from './receiver.js'
import { CmSender } from './sender.js'
import { Sidr } from './sidr.js'
import { ackTimeoutExponent, timeoutNs } from './timing.js'

const NOTHING = new Uint8Array(0)

/** One end of a connection that two ends of one program have made without messages. */
interface JoinedEnd extends QueuePairParams {
  /** Drawn for it; 0 = none. */
  id: number
  local: HostAddress
  /** For the other end's queue pair, as a REQ would have said; 0 where none was to. */
  ackTimeoutExponent: number
}

/**
 * The InfiniBand connection manager over RoCEv2, as Linux's librdmacm implements it in RDMA_PS_TCP. It
 * establishes and closes connections of queue pairs by datagrams between the QPs 1 of the hosts. It holds no
 * clock, socket or randomness.
 *
 * After a command, `onMad` or `onTimeout`, first take all events (`pollEvent`) and set up their queue pairs.
 * Then send all datagrams (`pollTransmit`). Then wait until `nextTimeout`. This order makes a queue pair
 * ready before the peer learns of it.
 *
 * Every connection id ends with exactly one of `rejected`, `timedOut`, `disconnected`, unless the application
 * itself rejected the request. A connection that was established, or that the peer could have taken as such,
 * then stays in timewait, until `timewaitEnded`.
 */
export class ConnectionManager {
  readonly counters = new CmCounters()
  /** While there are none, there is nothing to send, and no deadline. */
  readonly duties = new Duties()
  readonly #options: ResolvedCmOptions
  readonly #table: ConnectionTable
  readonly #outbox: Outbox
  readonly #machine: CmMachine
  readonly #ports = new Set<number>()
  readonly #receiver: CmReceiver
  /** Ports of datagrams. */
  readonly sidr: Sidr

  /** Throws WEIR_BAD_ARGUMENT. */
  constructor(options: CmOptions) {
    this.#options = resolveOptions(options)
    this.#table = new ConnectionTable(this.#options.connectionsMax, this.duties)
    this.#outbox = new Outbox(this.#options.transmitQueueMax, this.duties)
    const sender = new CmSender(options.caGuid, this.#outbox, this.counters)
    this.#machine = new CmMachine(this.#options, this.#table, sender, this.counters)
    this.sidr = new Sidr(this.#options, this.#outbox, this.counters, this.duties)
    this.#receiver = new CmReceiver(
      this.#options,
      this.#table,
      sender,
      this.#machine,
      this.sidr,
      this.#ports,
      this.counters,
    )
  }

  /** Connections in any state, including timewait. */
  get connectionCount(): number {
    return this.#table.size
  }

  get timewaitCount(): number {
    return this.#table.timewaitCount
  }

  /** Datagrams that wait for `pollTransmit`. */
  get pendingTransmits(): number {
    return this.#outbox.length
  }

  /**
   * Accepts requests for a port of RDMA_PS_TCP, 1 to 65535. Throws WEIR_BAD_ARGUMENT, and WEIR_BAD_STATE if
   * the port is in use.
   */
  listen(port: number): void {
    within('port', port, 1, 65_535)
    if (this.#ports.has(port)) {
      throw new WeirError(
        'WEIR_BAD_STATE',
        `port ${port} is listened to already: choose another or unlisten it first`,
      )
    }
    this.#ports.add(port)
  }

  /** Accepts no more requests for the port. Requests that were already reported may still be accepted. */
  unlisten(port: number): void {
    this.#ports.delete(port)
  }

  /**
   * Requests a connection of a peer and returns its id. Throws WEIR_BAD_ARGUMENT, and WEIR_FULL when the
   * maximum of connections exists.
   */
  connect(now: Nanos, params: ConnectParams): number {
    const { addresses } = this.#options
    checkConnect(params, addresses)
    const local = params.local ?? addresses.find(address => address.family === params.remote.family)!
    const udpPort = params.udpPort ?? this.#options.udpPort
    const connection = this.#begin(now, { local, remote: params.remote, udpPort }, params.qpn)
    if (connection === null) {
      throw new WeirError(
        'WEIR_FULL',
        `${this.#table.size} connections exist, as many as may: close some or raise connectionsMax`,
      )
    }
    const asked = askedOf(params, this.#portOf(params), this.#options)
    this.#machine.step(now, connection, 'connect', { req: buildReq(connection, asked, this.#options) })
    return connection.id
  }

  /** An idle connection of this end's making; null: there is no room. Throws WEIR_BAD_ARGUMENT. @param named as CmMachine.open */
  #begin(now: Nanos, ends: Ends, qpn: number, named = 0): CmConnection | null {
    const { responseTimeoutExponent, packetLifeTimeExponent, maxCmRetries } = this.#options
    this.#checkQpnFree(qpn)
    const connection = this.#machine.open(now, false, ends, named)
    if (connection === null) return null
    connection.timeoutNs = timeoutNs(responseTimeoutExponent) + 2 * timeoutNs(packetLifeTimeExponent)
    connection.maxRetries = maxCmRetries
    connection.lifeExponent = packetLifeTimeExponent + 1
    this.#table.addQpn(connection, qpn)
    return connection
  }

  /** This end's port. */
  #portOf({ sourcePort }: ConnectParams): number {
    return sourcePort ?? 32_768 + (this.#options.random() % 28_232)
  }

  /**
   * What the other end would learn of a REQ, for two managers of one program, which make a connection without messages. Its `id` is drawn for
   * the connection at that end. Neither manager knows the connection before `acquaint`. Throws as `connect`.
   *
   * @param isAlike they have been proposed before, but for QPN, PSN and flow label
   */
  propose(params: ConnectParams, to: ConnectionManager, isAlike = false): ConnectRequest {
    const { addresses, udpPort } = this.#options
    if (!isAlike) checkConnect(params, addresses)
    const asked = askedOf(params, this.#portOf(params), this.#options)
    const own = params.local ?? addresses.find(address => address.family === params.remote.family)!
    return requestWithoutReq({ id: to.drawId(), local: params.remote, remote: own, udpPort }, asked)
  }

  /**
   * What this end would learn of the REP with which the other end accepts what was proposed. Throws as `accept`.
   * @param isAlike as `propose`
   */
  answerOf(other: ConnectionManager, params: AcceptParams, isAlike = false): PeerParameters {
    if (!isAlike) checkQueuePair(params, rep.PRIVATE_DATA_BYTES)
    const { caGuid, targetAckDelayExponent } = other.#options
    const timeout = ackTimeoutExponent(targetAckDelayExponent, this.#options.packetLifeTimeExponent)
    return queuePairOf(params, caGuid, timeout)
  }

  /**
   * Two managers of one program learn of a connection that its ends have made without messages (`propose`): it is established, as REP and RTU
   * would have left it. From then on it ends as any other. Returns the ids of both ends: those that had been drawn, if they are free
   * still. Null: there is no room, and neither end knows the connection.
   *
   * @param own the active end, of this manager
   */
  acquaint(now: Nanos, own: JoinedEnd, to: ConnectionManager, other: JoinedEnd): [number, number] | null {
    const { responseTimeoutExponent, maxCmRetries: maxRetries, caGuid, udpPort } = this.#options
    to.#checkQpnFree(other.qpn)
    const asking = this.#begin(now, { local: own.local, remote: other.local, udpPort }, own.qpn, own.id)
    if (asking === null) return null
    const ends = { local: other.local, remote: own.local, udpPort }
    const said = { id: asking.id, transactionId: null, responseTimeoutExponent, maxRetries }
    const ofOwn = queuePairOf(own, caGuid, own.ackTimeoutExponent)
    const accepting = to.#receiver.open(now, ends, said, ofOwn, other.id)
    if (accepting === null) {
      this.#table.remove(asking)
      return null
    }
    to.#table.addQpn(accepting, other.qpn)
    const { targetAckDelayExponent } = to.#options
    const ofOther = queuePairOf(other, to.#options.caGuid, 0)
    this.#receiver.learn(asking, accepting.id, ofOther, targetAckDelayExponent)
    this.#machine.step(now, asking, 'join', {})
    to.#machine.step(now, accepting, 'join', {})
    return [asking.id, accepting.id]
  }

  /** Draws an id for a connection that the manager does not know yet. */
  drawId(): number {
    return this.#machine.drawId()
  }

  /**
   * Accepts a request. The queue pair must be ready to receive. Returns false when the request is gone, which
   * an event reports. Throws WEIR_BAD_ARGUMENT, and WEIR_BAD_STATE when the connection is in a later state.
   */
  accept(now: Nanos, id: number, params: AcceptParams): boolean {
    checkQueuePair(params, rep.PRIVATE_DATA_BYTES)
    const connection = this.#forCommand(id, 'accept')
    if (!connection) return false
    this.#checkQpnFree(params.qpn)
    this.#table.addQpn(connection, params.qpn)
    return this.#machine.step(now, connection, 'accept', { rep: buildRep(connection, params, this.#options) })
  }

  /** Refuses a request, with up to 148 bytes for the peer. Returns and throws as `accept` does. */
  reject(
    now: Nanos,
    id: number,
    reason: number = rej.Reason.CONSUMER,
    privateData: Uint8Array = NOTHING,
  ): boolean {
    within('reason', reason, 1, 0xffff)
    within('privateData.length', privateData.length, 0, rej.PRIVATE_DATA_BYTES)
    const connection = this.#forCommand(id, 'reject')
    return connection !== null && this.#machine.step(now, connection, 'reject', { reason, privateData })
  }

  /**
   * Tells the peer by an MRA that the answer to its request may take 4.096 us * 2^serviceTimeout. Without
   * this call the manager sends the MRA when the peer repeats the request. Returns and throws as `accept`
   * does.
   */
  mra(now: Nanos, id: number, serviceTimeout: number = this.#options.serviceTimeoutExponent): boolean {
    within('serviceTimeout', serviceTimeout, 0, 31)
    const connection = this.#forCommand(id, 'postpone')
    return connection !== null && this.#machine.step(now, connection, 'postpone', { serviceTimeout })
  }

  /**
   * Ends a connection in any state. Has no effect when it has ended.
   *
   * @param privateData at most 220 bytes, for the DREQ. Default: the option `farewell`, which is also used
   * for a REJ
   */
  disconnect(now: Nanos, id: number, privateData?: Uint8Array): void {
    within('privateData.length', privateData?.length ?? 0, 0, dreq.PRIVATE_DATA_BYTES)
    const connection = this.#table.byId(id)
    if (connection && this.#machine.allows(connection, 'close'))
      this.#machine.step(now, connection, 'close', { ofDreq: privateData })
  }

  /** Call it when a packet arrived on this queue pair. It replaces an RTU that was lost or overtaken. */
  onDataArrived(now: Nanos, qpn: number): void {
    const connection = this.#table.byQpn(qpn)
    if (connection && this.#machine.allows(connection, 'data')) {
      this.#machine.step(now, connection, 'data', { by: 'data' })
    }
  }

  /**
   * The peer has shown that it knows the connection: the answer to `challenged`. It may be called at any
   * time.
   */
  confirm(now: Nanos, id: number): void {
    const connection = this.#table.byId(id)
    if (connection !== null && connection.challengesLeft >= 0)
      this.#machine.step(now, connection, 'alive', {})
  }

  /**
   * A datagram for QP 1 arrived: bytes `at` to `end` of `view`, from the IP source `from`. It never throws.
   * `counters` show what was dropped.
   */
  onMad(now: Nanos, from: HostAddress, view: DataView, at: number, end: number): void {
    this.#receiver.onMad(now, from, view, at, end)
  }

  /** Repeats overdue messages, gives up after the last repetition, ends timewaits. It may be called early. */
  onTimeout(now: Nanos): void {
    this.sidr.onTimeout(now)
    for (let c = this.#table.due(now); c; c = this.#table.due(now)) {
      if (c.state === 'TIMEWAIT') this.#machine.step(now, c, 'expire', {})
      else if (c.state === 'ESTABLISHED') this.#onSilence(now, c)
      else if (c.retriesLeft > 0) this.#machine.step(now, c, 'overdue', {})
      else this.#machine.step(now, c, 'exhausted', { cause: 'timeout' })
    }
  }

  /**
   * `onTimeout` has thrown: forgets the connection whose deadline it was, without an event or a datagram. Returns its id, -1 = no
   * deadline has passed.
   */
  abandonDue(now: Nanos): number {
    const connection = this.#table.due(now)
    if (connection === null) return -1
    this.#table.remove(connection)
    return connection.id
  }

  /** The peer of a connection that was claimed to be stale has not answered. */
  #onSilence(now: Nanos, connection: CmConnection): void {
    if (connection.challengesLeft > 0) this.#machine.step(now, connection, 'overdue', {})
    else this.#machine.step(now, connection, 'stale', { cause: 'stale' })
  }

  /** When `onTimeout` next has something to do, or NEVER. */
  nextTimeout(): Nanos {
    return Math.min(this.#table.nextDeadline(), this.sidr.nextTimeout())
  }

  /** Takes the next datagram to be sent to QP 1 of `into.destination`. Returns false when there is none. */
  pollTransmit(now: Nanos, into: MadDatagram): boolean {
    if (!this.#outbox.take(into)) return false
    this.#machine.onRoom(now)
    this.#nameReplyPort(into)
    return true
  }

  /** The next datagram to that host, past those to others; false when there is none. */
  pollTransmitTo(now: Nanos, destination: HostAddress, into: MadDatagram): boolean {
    if (!this.#outbox.takeFor(destination, into)) return false
    this.#machine.onRoom(now)
    this.#nameReplyPort(into)
    return true
  }

  #nameReplyPort(datagram: MadDatagram): void {
    const { udpPort } = this.#options
    if (datagram.udpPort !== udpPort) mad.setReplyPort(datagram.view, 0, udpPort)
  }

  /**
   * Forgets a connection that is established, without a datagram, an event or a timewait: for ends of which the same program has both and
   * knows that nothing of the connection is on its way.
   */
  forget(id: number): void {
    const connection = this.#table.byId(id)
    if (connection?.state === 'ESTABLISHED') this.#table.remove(connection)
  }

  /** The next event, or null. An application that takes none gets no further connections. */
  pollEvent(): CmEvent | null {
    return this.#machine.takeEvent()
  }

  /**
   * Returns the connection, or null when it has ended. Throws WEIR_BAD_STATE when its state does not allow
   * the command.
   */
  #forCommand(id: number, command: 'accept' | 'reject' | 'postpone'): CmConnection | null {
    const connection = this.#table.byId(id)
    if (!connection || connection.state === 'TIMEWAIT') return null
    if (!this.#machine.allows(connection, command)) {
      throw new WeirError(
        'WEIR_BAD_STATE',
        `${command} of connection ${id} in state ${connection.state}: only a request that was not decided yet can be`,
      )
    }
    return connection
  }

  #checkQpnFree(qpn: number): void {
    const user = this.#table.byQpn(qpn)
    if (user) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `queue pair ${qpn} belongs to connection ${user.id}: use another`,
      )
    }
  }
}

import { WeirError } from '../errors.js'
import type { Nanos } from '../time/nanos.js'
import * as dreq from '../wire/cm/dreq.js'
import * as mad from '../wire/cm/mad.js'
import * as rej from '../wire/cm/rej.js'
import * as rep from '../wire/cm/rep.js'
import type { HostAddress } from '../wire/net/address.js'
import { buildRep, buildReq } from './agreement.js'
import type { CmConnection } from './connection.js'
import { ConnectionTable } from './connection-table.js'
import { CmCounters } from './counters.js'
import type { CmEvent } from './events.js'
import { CmMachine } from './machine.js'
import {
  type AcceptParams,
  type CmOptions,
  type ConnectParams,
  checkConnect,
  checkQueuePair,
  type ResolvedCmOptions,
  resolveOptions,
  within,
} from './options.js'
import { type MadDatagram, Outbox } from './outbox.js'
import { CmReceiver } from './receiver.js'
import { CmSender, transactionIdOf } from './sender.js'
import { timeoutNs } from './timing.js'

const NOTHING = new Uint8Array(0)

/**
 * The InfiniBand connection manager over RoCEv2, as Linux's librdmacm speaks it in RDMA_PS_TCP: connections of queue
 * pairs are made and closed by datagrams between the hosts' QPs 1. It holds no clock, socket or randomness.
 *
 * After a command, `onMad` or `onTimeout`, first take all events (`pollEvent`) and set up the queue pairs that they
 * speak of, then send all datagrams (`pollTransmit`), then wait until `nextTimeout`: so a queue pair is ready before
 * the peer learns so.
 *
 * Every connection id ends with exactly one of `rejected`, `timedOut`, `disconnected`, unless the application itself
 * rejected the request. One that was established, or could have been in the peer's eyes, then stays in timewait,
 * until `timewaitEnded`.
 */
export class ConnectionManager {
  readonly counters = new CmCounters()
  readonly #options: ResolvedCmOptions
  readonly #table: ConnectionTable
  readonly #outbox: Outbox
  readonly #machine: CmMachine
  readonly #ports = new Set<number>()
  readonly #receiver: CmReceiver

  /** Throws WEIR_BAD_ARGUMENT. */
  constructor(options: CmOptions) {
    this.#options = resolveOptions(options)
    this.#table = new ConnectionTable(this.#options.connectionsMax)
    this.#outbox = new Outbox(this.#options.transmitQueueMax)
    const sender = new CmSender(options.caGuid, this.#outbox, this.counters)
    this.#machine = new CmMachine(this.#options, this.#table, sender, this.counters)
    this.#receiver = new CmReceiver(
      this.#options,
      this.#table,
      sender,
      this.#machine,
      this.#ports,
      this.counters,
    )
  }

  /** Connections in any state, those in timewait included. */
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

  /** Takes requests for a port of RDMA_PS_TCP, 1 to 65535. Throws WEIR_BAD_ARGUMENT, WEIR_BAD_STATE if it is taken. */
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

  /** Takes no more requests for the port; those that were reported already may still be accepted. */
  unlisten(port: number): void {
    this.#ports.delete(port)
  }

  /**
   * Asks a peer for a connection; returns its id. Throws WEIR_BAD_ARGUMENT, and WEIR_FULL when as many connections
   * exist as may.
   */
  connect(now: Nanos, params: ConnectParams): number {
    const { addresses, random, packetLifeTimeExponent } = this.#options
    checkConnect(params, addresses)
    this.#checkQpnFree(params.qpn)
    const local = params.local ?? addresses.find(address => address.family === params.remote.family)!
    const ends = { local, remote: params.remote, udpPort: params.udpPort ?? this.#options.udpPort }
    const connection = this.#machine.open(now, false, ends)
    if (!connection) {
      throw new WeirError(
        'WEIR_FULL',
        `${this.#table.size} connections exist, as many as may: close some or raise connectionsMax`,
      )
    }
    connection.transactionId = transactionIdOf(connection.id)
    connection.timeoutNs =
      timeoutNs(this.#options.responseTimeoutExponent) + 2 * timeoutNs(packetLifeTimeExponent)
    connection.maxRetries = this.#options.maxCmRetries
    connection.lifeExponent = packetLifeTimeExponent + 1
    this.#table.addQpn(connection, params.qpn)
    const sourcePort = params.sourcePort ?? 32_768 + (random() % 28_232)
    const message = buildReq(connection, params, sourcePort, this.#options)
    this.#machine.step(now, connection, 'connect', { req: message })
    return connection.id
  }

  /**
   * Accepts a request; the queue pair must be ready to receive. False when the request is gone, which an event reports.
   * Throws WEIR_BAD_ARGUMENT, and WEIR_BAD_STATE when the connection is past this.
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
   * Tells the peer that the answer to its request may take 4.096 us * 2^serviceTimeout; otherwise the peer learns so when
   * it repeats the request. Returns and throws as `accept` does.
   */
  mra(now: Nanos, id: number, serviceTimeout: number = this.#options.serviceTimeoutExponent): boolean {
    within('serviceTimeout', serviceTimeout, 0, 31)
    const connection = this.#forCommand(id, 'postpone')
    return connection !== null && this.#machine.step(now, connection, 'postpone', { serviceTimeout })
  }

  /**
   * Ends a connection in whatever state it is in; nothing happens when it has ended already.
   * @param privateData at most 220 bytes, for the DREQ; default: the option `farewell`, which is also that of the REJ that ends
   * what is not established
   */
  disconnect(now: Nanos, id: number, privateData?: Uint8Array): void {
    within('privateData.length', privateData?.length ?? 0, 0, dreq.PRIVATE_DATA_BYTES)
    const connection = this.#table.byId(id)
    if (connection && this.#machine.allows(connection, 'close'))
      this.#machine.step(now, connection, 'close', { ofDreq: privateData })
  }

  /** A packet arrived on this queue pair: stands in for an RTU that was lost or overtaken. */
  onDataArrived(now: Nanos, qpn: number): void {
    const connection = this.#table.byQpn(qpn)
    if (connection && this.#machine.allows(connection, 'data')) {
      this.#machine.step(now, connection, 'data', { by: 'data' })
    }
  }

  /** The peer has shown that it knows the connection: the answer to `challenged`. Harmless at any time. */
  confirm(now: Nanos, id: number): void {
    const connection = this.#table.byId(id)
    if (connection !== null && connection.challengesLeft >= 0)
      this.#machine.step(now, connection, 'alive', {})
  }

  /**
   * A datagram for QP 1 arrived: bytes `at` to `end` of `view`, from the IP source `from`. Whatever it holds, this
   * does not throw; `counters` say what was dropped.
   */
  onMad(now: Nanos, from: HostAddress, view: DataView, at: number, end: number): void {
    this.#receiver.onMad(now, from, view, at, end)
  }

  /** Repeats what is overdue, gives up what was repeated often enough, ends timewaits. Harmless when early. */
  onTimeout(now: Nanos): void {
    for (let c = this.#table.due(now); c; c = this.#table.due(now)) {
      if (c.state === 'TIMEWAIT') this.#machine.step(now, c, 'expire', {})
      else if (c.state === 'ESTABLISHED') this.#onSilence(now, c)
      else if (c.retriesLeft > 0) this.#machine.step(now, c, 'overdue', {})
      else this.#machine.step(now, c, 'exhausted', { cause: 'timeout' })
    }
  }

  /** The peer of a connection that somebody claims to be stale has not answered. */
  #onSilence(now: Nanos, connection: CmConnection): void {
    if (connection.challengesLeft > 0) this.#machine.step(now, connection, 'overdue', {})
    else this.#machine.step(now, connection, 'stale', { cause: 'stale' })
  }

  /** When `onTimeout` next has something to do, or NEVER. */
  nextTimeout(): Nanos {
    return this.#table.nextDeadline()
  }

  /** The next datagram to be sent to QP 1 of `into.destination`; false when there is none. */
  pollTransmit(_now: Nanos, into: MadDatagram): boolean {
    if (!this.#outbox.take(into)) return false
    this.#nameReplyPort(into)
    return true
  }

  /** The next datagram to that host, past those to others; false when there is none. */
  pollTransmitTo(destination: HostAddress, into: MadDatagram): boolean {
    if (!this.#outbox.takeFor(destination, into)) return false
    this.#nameReplyPort(into)
    return true
  }

  #nameReplyPort(datagram: MadDatagram): void {
    const { udpPort } = this.#options
    if (datagram.udpPort !== udpPort) mad.setReplyPort(datagram.view, 0, udpPort)
  }

  /**
   * Forgets an established connection, without a datagram, an event or a timewait: for ends of which the same program has both and
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

  /** The connection, or null when it has ended; throws WEIR_BAD_STATE when its state does not allow the command. */
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

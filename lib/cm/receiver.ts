import type { Nanos } from '../time/nanos.js'
import * as messages from '../wire/cm/cm-messages.js'
import { Attribute } from '../wire/cm/cm-messages.js'
import * as cma from '../wire/cm/cma-header.js'
import * as dreq from '../wire/cm/dreq.js'
import { type CommIds, MessageKind } from '../wire/cm/fields.js'
import * as mad from '../wire/cm/mad.js'
import * as mra from '../wire/cm/mra.js'
import * as rej from '../wire/cm/rej.js'
import * as rep from '../wire/cm/rep.js'
import * as req from '../wire/cm/req.js'
import { QPN_FIRST } from '../wire/ib/deth.js'
import type { HostAddress } from '../wire/net/address.js'
import { type ConnectRefusal, namedAddress, refusalOf, sameGid } from './admission.js'
import { peerOfRep, peerOfReq, requestEvent } from './agreement.js'
import type { CmConnection, Ends } from './connection.js'
import type { ConnectionTable } from './connection-table.js'
import type { CmCounters } from './counters.js'
import type { PeerParameters } from './events.js'
import type { CmMachine } from './machine.js'
import type { ResolvedCmOptions } from './options.js'
import type { CmSender } from './sender.js'
import type { Sidr } from './sidr.js'
import type { State } from './states.js'
import { ackTimeoutExponent, timeoutNs } from './timing.js'

/**
 * Linux accepts a datagram without its last 24 bytes. One from this length on counts as padded with zeros.
 */
const MAD_BYTES_MIN = 232
const NOTHING = new Uint8Array(0)
/** States in which the active end may not know the passive end's id. */
const HANDSHAKE: ReadonlySet<State> = new Set<State>(['REQ_RCVD', 'MRA_REQ_SENT', 'REP_SENT', 'MRA_REP_RCVD'])

/** What a connection's record needs of the end that asks for it. */
interface Asking {
  id: number
  /** Null: no REQ has come. */
  transactionId: bigint | null
  responseTimeoutExponent: number
  maxRetries: number
}

/**
 * Handles incoming messages: finds the connection and the trigger of each, and answers those without a
 * connection.
 */
export class CmReceiver {
  readonly #options: ResolvedCmOptions
  readonly #table: ConnectionTable
  readonly #sender: CmSender
  readonly #machine: CmMachine
  readonly #sidr: Sidr
  readonly #ports: ReadonlySet<number>
  readonly #counters: CmCounters
  /** The current message: 256 bytes, whatever the frame's length. */
  readonly #bytes = new Uint8Array(mad.BYTES)
  readonly #view = new DataView(this.#bytes.buffer)

  constructor(
    options: ResolvedCmOptions,
    table: ConnectionTable,
    sender: CmSender,
    machine: CmMachine,
    sidr: Sidr,
    ports: ReadonlySet<number>,
    counters: CmCounters,
  ) {
    this.#options = options
    this.#table = table
    this.#sender = sender
    this.#machine = machine
    this.#sidr = sidr
    this.#ports = ports
    this.#counters = counters
  }

  onMad(now: Nanos, from: HostAddress, view: DataView, at: number, end: number): void {
    this.#counters.received++
    const length = end - at
    if (at < 0 || length < MAD_BYTES_MIN || length > mad.BYTES || end > view.byteLength) {
      this.#counters.malformed++
      return
    }
    this.#bytes.set(new Uint8Array(view.buffer, view.byteOffset + at, length))
    this.#bytes.fill(0, length)
    if (messages.check(this.#view, 0, mad.BYTES) !== mad.MadFault.NONE) this.#counters.malformed++
    else this.#dispatch(now, from)
  }

  #dispatch(now: Nanos, from: HostAddress): void {
    switch (mad.attributeId(this.#view, 0)) {
      case Attribute.REQ:
        this.#onReq(now, from)
        break
      case Attribute.REP:
        this.#onRep(now, from)
        break
      case Attribute.RTU:
        this.#onRtu(now, from)
        break
      case Attribute.REJ:
        this.#onRej(now, from)
        break
      case Attribute.MRA:
        this.#onMra(now, from)
        break
      case Attribute.DREQ:
        this.#onDreq(now, from)
        break
      case Attribute.DREP:
        this.#onDrep(now, from)
        break
      case Attribute.SIDR_REQ:
        this.#sidr.onRequest(this.#endsTo(from), this.#view)
        break
      case Attribute.SIDR_REP:
        this.#sidr.onReply(from, this.#view)
        break
    }
  }

  #onReq(now: Nanos, from: HostAddress): void {
    const message = req.read(this.#view, 0)
    message.spare = req.spare(this.#view, 0)
    if (message.localCommId === 0) {
      this.#counters.malformed++
      return
    }
    // The answer goes to the GID in the REQ. With another host's GID, that host would get an answer that it
    // never asked for.
    if (!sameGid(message.primary.localGid, from.gid)) {
      this.#counters.wrongSource++
      return
    }
    const repeated = this.#table.byRemoteId(from, message.localCaGuid, message.localCommId)
    if (repeated) {
      this.#machine.step(now, repeated, 'req', {})
      return
    }
    const holder = this.#table.byRemoteQpn(from, message.localCaGuid, message.localQpn)
    if (holder) {
      this.#refuse(from, MessageKind.REQ, rej.Reason.STALE_CONNECTION)
      const userBytes = message.privateData.subarray(cma.BYTES)
      if (this.#options.mayClaim(userBytes, message.localQpn, message.startingPsn)) this.#claim(now, holder)
      else this.#counters.ignored++
      return
    }
    this.#admit(now, from, message)
  }

  /**
   * The peer seems to use the queue pair of a connection for another one. Only an established connection can
   * be stale, because the others end by themselves.
   */
  #claim(now: Nanos, holder: CmConnection): void {
    this.#machine.step(now, holder, 'claim', {})
  }

  #admit(now: Nanos, from: HostAddress, message: req.Req): void {
    const refusal = refusalOf(message, this.#options.addresses, this.#ports)
    if (refusal) {
      this.#refuse(from, MessageKind.REQ, refusal.reason, refusal)
      return
    }
    const local = namedAddress(message, this.#options.addresses)!
    const ends = { ...this.#endsTo(from), local }
    const asking = {
      id: message.localCommId,
      transactionId: mad.transactionId(this.#view, 0),
      responseTimeoutExponent: message.localCmResponseTimeout,
      maxRetries: message.maxCmRetries,
    }
    const connection = this.#hasRoom ? this.open(now, ends, asking, peerOfReq(message)) : null
    if (!connection) {
      this.#counters.noResources++
      this.#refuse(from, MessageKind.REQ, rej.Reason.NO_RESOURCES)
      return
    }
    this.#machine.step(now, connection, 'req', { request: requestEvent(connection, message) })
  }

  get #hasRoom(): boolean {
    return this.#machine.undecided < this.#options.pendingRequestsMax
  }

  /** A new connection that a peer has asked for; null: there is no room. @param named as CmMachine.open */
  open(now: Nanos, ends: Ends, asking: Asking, peer: PeerParameters, named = 0): CmConnection | null {
    const connection = this.#machine.open(now, true, ends, named)
    if (connection === null) return null
    const ceiling = this.#options.peerTimeoutExponentMax
    connection.remoteId = asking.id
    if (asking.transactionId !== null) connection.onRequest(asking.transactionId)
    connection.peer = peer
    connection.timeoutNs = timeoutNs(Math.min(asking.responseTimeoutExponent, ceiling))
    connection.maxRetries = asking.maxRetries
    // The peer's ACK timeout is its packet life time plus one. The value 0 means no life time at all.
    connection.lifeExponent = Math.max(peer.ackTimeoutExponent, 1)
    this.#table.addRemote(connection)
    return connection
  }

  #onRep(now: Nanos, from: HostAddress): void {
    const message = rep.read(this.#view, 0)
    const connection = this.#expected(from, this.#table.byId(message.remoteCommId))
    if (!connection) return
    if (connection.passive || message.localCommId === 0) this.#counters.ignored++
    else if (connection.remoteId === 0) this.#onFirstRep(now, from, connection, message)
    else if (connection.remoteId === message.localCommId) this.#machine.step(now, connection, 'rep', {})
    else this.#counters.unknown++
  }

  #onFirstRep(now: Nanos, from: HostAddress, connection: CmConnection, message: rep.Rep): void {
    const holder = this.#table.byRemoteId(from, message.localCaGuid, message.localCommId)
    if (holder && holder.state !== 'TIMEWAIT') {
      this.#counters.ignored++
      return
    }
    const claimed = this.#table.byRemoteQpn(from, message.localCaGuid, message.localQpn)
    if (claimed) {
      // The REQ is repeated. It can succeed after the old connection is closed.
      this.#refuse(from, MessageKind.REP, rej.Reason.STALE_CONNECTION)
      this.#claim(now, claimed)
      return
    }
    this.learn(connection, message.localCommId, peerOfRep(message), message.targetAckDelay)
    const most = this.#options.rdAtomicMax
    const agreeable =
      message.localQpn >= QPN_FIRST && message.responderResources <= most && message.initiatorDepth <= most
    this.#machine.step(now, connection, agreeable ? 'rep' : 'badRep', { rep: message, by: 'rep' })
  }

  /**
   * The peer has accepted this end's request.
   * @param peer without the time-out, which follows from its delay before it acknowledges data
   */
  learn(connection: CmConnection, remoteId: number, peer: PeerParameters, ackDelayExponent: number): void {
    peer.ackTimeoutExponent = ackTimeoutExponent(ackDelayExponent, connection.lifeExponent - 1)
    connection.lifeExponent = peer.ackTimeoutExponent
    connection.remoteId = remoteId
    connection.peer = peer
    this.#table.addRemote(connection)
  }

  #onRtu(now: Nanos, from: HostAddress): void {
    const connection = this.#expected(from, this.#byBothIds())
    if (connection) this.#machine.step(now, connection, 'rtu', { by: 'rtu' })
  }

  #onRej(now: Nanos, from: HostAddress): void {
    const message = rej.read(this.#view, 0)
    const connection = this.#expected(from, this.#rejected(from, message))
    if (!connection || !this.#mayEnd(connection, message.privateData)) return
    const trigger = message.reason === rej.Reason.STALE_CONNECTION ? 'rejStale' : 'rej'
    this.#machine.step(now, connection, trigger, { rej: message, cause: 'rejected' })
  }

  /**
   * A time-out may come from a peer that never learned this end's id. The GUID and the peer's own id identify
   * it. Such a peer has no established connection, so both ids are needed to end one.
   */
  #rejected(from: HostAddress, message: rej.Rej): CmConnection | null {
    if (message.reason === rej.Reason.TIMEOUT) {
      const guid = rej.informationGuid(this.#view, 0)
      const found = this.#table.byRemoteId(from, guid, message.localCommId)
      const knowsBoth = found === null || message.remoteCommId === found.id
      return knowsBoth || (message.remoteCommId === 0 && HANDSHAKE.has(found.state)) ? found : null
    }
    return message.message === MessageKind.REQ ? this.#byOwnId() : this.#byBothIds()
  }

  #onMra(now: Nanos, from: HostAddress): void {
    const ofReq = mra.message(this.#view, 0) === MessageKind.REQ
    const connection = this.#expected(from, ofReq ? this.#byOwnId() : this.#byBothIds())
    if (!connection) return
    const input = { serviceTimeout: mra.serviceTimeout(this.#view, 0) }
    if (ofReq) this.#machine.step(now, connection, 'mraReq', input)
    else if (mra.message(this.#view, 0) === MessageKind.REP)
      this.#machine.step(now, connection, 'mraRep', input)
    else this.#counters.ignored++
  }

  #onDreq(now: Nanos, from: HostAddress): void {
    const transactionId = mad.transactionId(this.#view, 0)
    const found = this.#byBothIds()
    if (!found) {
      // The connection has been closed and forgotten here.
      this.#counters.unknown++
      this.#sender.drep(this.#endsTo(from), transactionId, this.#turnedIds())
      return
    }
    const connection = this.#expected(from, found)
    if (!connection) return
    if (connection.qpn !== dreq.remoteQpn(this.#view, 0)) this.#counters.wrongQpn++
    else {
      const ofDreq = dreq.read(this.#view, 0).privateData
      if (!this.#mayEnd(connection, ofDreq)) return
      this.#machine.step(now, connection, 'dreq', { transactionId, cause: 'peer', ofDreq })
    }
  }

  #onDrep(now: Nanos, from: HostAddress): void {
    const connection = this.#expected(from, this.#byBothIds())
    if (connection) this.#machine.step(now, connection, 'drep', {})
  }

  /**
   * Only an established connection needs the proof. Before that its peer may not have the keys, and after
   * that it is ending.
   */
  #mayEnd(connection: CmConnection, privateData: Uint8Array): boolean {
    if (connection.state !== 'ESTABLISHED' || this.#options.mayEnd(connection.id, privateData)) return true
    this.#counters.unprovenEnds++
    return false
  }

  #byBothIds(): CmConnection | null {
    return this.#table.byIds(messages.remoteCommId(this.#view, 0), messages.localCommId(this.#view, 0))
  }

  /** The answer to a REQ is found by this end's id alone, but only while the peer's id is not known. */
  #byOwnId(): CmConnection | null {
    return this.#table.byIds(messages.remoteCommId(this.#view, 0), 0)
  }

  /**
   * Returns the connection if there is one and the message comes from its peer. Otherwise counts the reason.
   */
  #expected(from: HostAddress, connection: CmConnection | null): CmConnection | null {
    if (!connection) this.#counters.unknown++
    else if (connection.remote.equals(from)) return connection
    else this.#counters.wrongSource++
    return null
  }

  /** Sends a REJ without a connection: with both ids swapped and the transaction id echoed. */
  #refuse(to: HostAddress, message: MessageKind, reason: number, refusal?: ConnectRefusal): void {
    const ids = this.#turnedIds()
    // A REQ has a reserved field in place of the receiver's id.
    if (message === MessageKind.REQ) ids.localCommId = refusal?.withOwnId ? this.#machine.drawId() : 0
    this.#sender.refuse(this.#endsTo(to), mad.transactionId(this.#view, 0), {
      ...ids,
      message,
      reason,
      information: refusal?.information ?? NOTHING,
      privateData: NOTHING,
    })
  }

  #turnedIds(): CommIds {
    return {
      localCommId: messages.remoteCommId(this.#view, 0),
      remoteCommId: messages.localCommId(this.#view, 0),
    }
  }

  /** Where the answer to the current message goes. */
  #endsTo(remote: HostAddress): Ends {
    const { addresses, udpPort } = this.#options
    const local = addresses.find(address => address.family === remote.family) ?? addresses[0]!
    return { local, remote, udpPort: mad.replyPort(this.#view, 0) || udpPort }
  }
}

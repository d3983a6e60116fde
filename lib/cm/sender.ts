import * as drep from '../wire/cm/drep.js'
import * as dreq from '../wire/cm/dreq.js'
import { type CommIds, MessageKind } from '../wire/cm/fields.js'
import * as mad from '../wire/cm/mad.js'
import * as mra from '../wire/cm/mra.js'
import * as rej from '../wire/cm/rej.js'
import * as rep from '../wire/cm/rep.js'
import * as req from '../wire/cm/req.js'
import * as rtu from '../wire/cm/rtu.js'
import { type CmConnection, type Ends, transactionIdOf } from './connection.js'
import type { CmCounters } from './counters.js'
import type { MadDatagram, Outbox } from './outbox.js'

const NOTHING = new Uint8Array(0)

/** Puts messages into the outbox: those of a connection, and answers without a connection. */
export class CmSender {
  readonly #caGuid: bigint
  readonly #outbox: Outbox
  readonly #counters: CmCounters

  constructor(caGuid: bigint, outbox: Outbox, counters: CmCounters) {
    this.#caGuid = caGuid
    this.#outbox = outbox
    this.#counters = counters
  }

  /** Sends encoded bytes, for the first time or again. False if the outbox is full: nothing is lost, the caller tries again. */
  bytes({ local, remote, udpPort }: CmConnection, message: Uint8Array): boolean {
    const datagram = this.#outbox.add(local, remote, udpPort)
    if (datagram === null) return false
    datagram.bytes.set(message)
    this.#counters.sent++
    return true
  }

  rtu(connection: CmConnection): void {
    const datagram = this.#add(connection)
    if (datagram) rtu.write(datagram.view, 0, connection.transactionId, idsOf(connection))
  }

  /** MRA for a REQ, the only message that an application may take long to answer. */
  mra(connection: CmConnection, serviceTimeout: number): void {
    const datagram = this.#add(connection)
    if (!datagram) return
    const message = { ...idsOf(connection), message: MessageKind.REQ, serviceTimeout }
    mra.write(datagram.view, 0, connection.transactionId, message)
  }

  drep(ends: Ends, transactionId: bigint, ids: CommIds): void {
    const datagram = this.#add(ends)
    if (datagram) drep.write(datagram.view, 0, transactionId, { ...ids, privateData: NOTHING })
  }

  /** A connection's REJ. */
  reject(
    connection: CmConnection,
    message: MessageKind,
    reason: number,
    privateData: Uint8Array = NOTHING,
  ): void {
    // The receiver of a time-out may not know this end's communication id yet. The GUID identifies it
    // instead.
    const information = reason === rej.Reason.TIMEOUT ? guidBytes(this.#caGuid) : NOTHING
    this.refuse(connection, connection.transactionId, {
      ...idsOf(connection),
      message,
      reason,
      information,
      privateData,
    })
  }

  refuse(ends: Ends, transactionId: bigint, message: Omit<rej.Rej, 'informationLength'>): void {
    const datagram = this.#add(ends)
    if (!datagram) return
    rej.write(datagram.view, 0, transactionId, { ...message, informationLength: message.information.length })
  }

  #add({ local, remote, udpPort }: Ends): MadDatagram | null {
    const datagram = this.#outbox.add(local, remote, udpPort)
    if (datagram) this.#counters.sent++
    else this.#counters.outboxFull++
    return datagram
  }
}

export function reqBytes(connection: CmConnection, message: req.Req): Uint8Array {
  const bytes = new Uint8Array(mad.BYTES)
  req.write(new DataView(bytes.buffer), 0, connection.transactionId, message)
  return bytes
}

export function repBytes(connection: CmConnection, message: rep.Rep): Uint8Array {
  const bytes = new Uint8Array(mad.BYTES)
  rep.write(new DataView(bytes.buffer), 0, connection.transactionId, message)
  return bytes
}

/**
 * The peer must be known. A DREQ has a transaction id of its own sender, and at most 220 bytes of private
 * data.
 */
export function dreqBytes(connection: CmConnection, privateData: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(mad.BYTES)
  const message = { ...idsOf(connection), remoteQpn: connection.peer!.qpn, privateData }
  dreq.write(new DataView(bytes.buffer), 0, transactionIdOf(connection.id), message)
  return bytes
}

function idsOf(connection: CmConnection): CommIds & { privateData: Uint8Array } {
  return { localCommId: connection.id, remoteCommId: connection.remoteId, privateData: NOTHING }
}

function guidBytes(guid: bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, guid)
  return bytes
}

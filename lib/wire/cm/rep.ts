/**
 * REP, the passive side's answer that it accepts (IBA 12.6.8). Offsets count from the first byte of the MAD.
 *
 *     24 local comm id | 28 remote comm id | 32 local Q_Key (4) | 36 local QPN (3) | 39 vendor id, high
 *     40 local EECN (3) | 43 vendor id, middle | 44 starting PSN (3) | 47 vendor id, low
 *     48 responder resources | 49 initiator depth | 50 target ACK delay:5, failover accepted:2, end-to-end flow control:1
 *     51 RNR retry:3, SRQ:1, reserved:4 | 52 local CA GUID (8) | 60 private data (196)
 */

import {
  Attribute,
  bytes,
  hex,
  localCommId,
  printPrivateData,
  remoteCommId,
  setBytes,
  setLocalCommId,
  setRemoteCommId,
  setU24,
  u24,
} from './fields.js'
import * as mad from './mad.js'

export const PRIVATE_DATA_BYTES = 196
const PRIVATE_DATA = 60

export interface Rep {
  localCommId: number
  remoteCommId: number
  localQkey: number
  localQpn: number
  /** 24 bits of the enhanced connection establishment. 0 without it. */
  vendorId: number
  localEecn: number
  /** First PSN with which the receiver of this message sends. */
  startingPsn: number
  /** Incoming READs and atomics that the sender serves at a time. */
  responderResources: number
  /** READs and atomics that the sender has outstanding at a time. */
  initiatorDepth: number
  /** 5 bits, 4.096 us * 2^n. */
  targetAckDelay: number
  /** 2 bits. */
  failoverAccepted: number
  endToEndFlowControl: boolean
  /** 3 bits, for the receiver of the message. 7 = without limit. */
  rnrRetry: number
  srq: boolean
  localCaGuid: bigint
  /** Up to 196 bytes when written, 196 when read. */
  privateData: Uint8Array
}

export const localQpn = (view: DataView, at: number): number => u24(view, at + 36)
export const startingPsn = (view: DataView, at: number): number => u24(view, at + 44)

export function read(view: DataView, at: number): Rep {
  const delay = view.getUint8(at + 50)
  const rnr = view.getUint8(at + 51)
  return {
    localCommId: localCommId(view, at),
    remoteCommId: remoteCommId(view, at),
    localQkey: view.getUint32(at + 32),
    localQpn: localQpn(view, at),
    vendorId: (view.getUint8(at + 39) << 16) | (view.getUint8(at + 43) << 8) | view.getUint8(at + 47),
    localEecn: u24(view, at + 40),
    startingPsn: startingPsn(view, at),
    responderResources: view.getUint8(at + 48),
    initiatorDepth: view.getUint8(at + 49),
    targetAckDelay: delay >>> 3,
    failoverAccepted: (delay >>> 1) & 3,
    endToEndFlowControl: (delay & 1) !== 0,
    rnrRetry: rnr >>> 5,
    srq: (rnr & 0x10) !== 0,
    localCaGuid: view.getBigUint64(at + 52),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, rep: Rep): void {
  mad.write(view, at, Attribute.REP, transactionId)
  setLocalCommId(view, at, rep.localCommId)
  setRemoteCommId(view, at, rep.remoteCommId)
  view.setUint32(at + 32, rep.localQkey)
  setU24(view, at + 36, rep.localQpn)
  view.setUint8(at + 39, rep.vendorId >>> 16)
  setU24(view, at + 40, rep.localEecn)
  view.setUint8(at + 43, (rep.vendorId >>> 8) & 0xff)
  setU24(view, at + 44, rep.startingPsn)
  view.setUint8(at + 47, rep.vendorId & 0xff)
  view.setUint8(at + 48, rep.responderResources)
  view.setUint8(at + 49, rep.initiatorDepth)
  view.setUint8(
    at + 50,
    (rep.targetAckDelay << 3) | (rep.failoverAccepted << 1) | (rep.endToEndFlowControl ? 1 : 0),
  )
  view.setUint8(at + 51, (rep.rnrRetry << 5) | (rep.srq ? 0x10 : 0))
  view.setBigUint64(at + 52, rep.localCaGuid)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, rep.privateData)
}

export function print(view: DataView, at: number): string {
  const rep = read(view, at)
  return (
    `CM REP id ${hex(rep.localCommId, 8)} to ${hex(rep.remoteCommId, 8)} guid ${hex(rep.localCaGuid, 16)}` +
    ` qpn ${hex(rep.localQpn, 6)} psn ${hex(rep.startingPsn, 6)} resources ${rep.responderResources}` +
    ` depth ${rep.initiatorDepth} rnr ${rep.rnrRetry} ack-delay ${rep.targetAckDelay}` +
    printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)
  )
}

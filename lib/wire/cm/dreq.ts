/**
 * DREQ, the request to close a connection (IBA 12.6.10).
 *
 *     24 local comm id | 28 remote comm id | 32 remote QPN (3) | 35 reserved | 36 private data (220)
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

export const PRIVATE_DATA_BYTES = 220
const PRIVATE_DATA = 36

interface Dreq {
  localCommId: number
  remoteCommId: number
  /** QPN of the message's receiver. The receiver ignores a message for another QPN. */
  remoteQpn: number
  /** Up to 220 bytes when written, 220 when read. */
  privateData: Uint8Array
}

export const remoteQpn = (view: DataView, at: number): number => u24(view, at + 32)

export function read(view: DataView, at: number): Dreq {
  return {
    localCommId: localCommId(view, at),
    remoteCommId: remoteCommId(view, at),
    remoteQpn: remoteQpn(view, at),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, dreq: Dreq): void {
  mad.write(view, at, Attribute.DREQ, transactionId)
  setLocalCommId(view, at, dreq.localCommId)
  setRemoteCommId(view, at, dreq.remoteCommId)
  setU24(view, at + 32, dreq.remoteQpn)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, dreq.privateData)
}

export function print(view: DataView, at: number): string {
  return (
    `CM DREQ id ${hex(localCommId(view, at), 8)} to ${hex(remoteCommId(view, at), 8)}` +
    ` remote-qpn ${hex(remoteQpn(view, at), 6)}${printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)}`
  )
}

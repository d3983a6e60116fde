/**
 * DREP, the answer to a DREQ: the connection is closed (IBA 12.6.11).
 *
 *     24 local comm id | 28 remote comm id | 32 private data (224)
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
} from './fields.js'
import * as mad from './mad.js'

const PRIVATE_DATA_BYTES = 224
const PRIVATE_DATA = 32

interface Drep {
  localCommId: number
  remoteCommId: number
  /** Up to 224 bytes when written, 224 when read. */
  privateData: Uint8Array
}

export function read(view: DataView, at: number): Drep {
  return {
    localCommId: localCommId(view, at),
    remoteCommId: remoteCommId(view, at),
    privateData: bytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES),
  }
}

/** Writes the whole datagram of 256 bytes, including the common header. */
export function write(view: DataView, at: number, transactionId: bigint, drep: Drep): void {
  mad.write(view, at, Attribute.DREP, transactionId)
  setLocalCommId(view, at, drep.localCommId)
  setRemoteCommId(view, at, drep.remoteCommId)
  setBytes(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES, drep.privateData)
}

export function print(view: DataView, at: number): string {
  return (
    `CM DREP id ${hex(localCommId(view, at), 8)} to ${hex(remoteCommId(view, at), 8)}` +
    printPrivateData(view, at + PRIVATE_DATA, PRIVATE_DATA_BYTES)
  )
}

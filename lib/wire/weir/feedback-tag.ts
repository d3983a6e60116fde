/**
 * What authenticates feedback on a connection with a key: 16 bytes behind the extended headers of every acknowledgement and
 * of every packet of Weir's own (draft-miao-rtgwg-hpccplus, security considerations: feedback is at least integrity
 * checked). Big-endian.
 *
 *     0   sequence number (64 bits): counts such packets of one direction, from 1; below 2^53
 *     8   tag (64 bits): SipHash-2-4 with the key of the direction
 *
 * The tag covers what comes before it, from the echoed telemetry on, or from the BTH on if there is none: the BTH with its
 * marks, the extended headers, the sequence number. Telemetry that hops still write is not covered, nor is a probe's padding.
 */
import type { Frame } from '../../frame/frame.js'
import { sipHash24 } from '../bytes/siphash.js'
import { readU48of64, writeU64 } from '../bytes/u64.js'
import { Opcode } from '../ib/opcode.js'
import * as telemetry from '../telemetry/telemetry.js'

export const BYTES = 16
/** Bytes of the sequence number, which is covered. */
const SEQUENCE_BYTES = 8

const hash = new Uint32Array(2)

/** True if packets of this kind carry a tag where the connection has a key: all that moves a window without being data. */
export function isOn(opcode: number): boolean {
  return opcode === Opcode.RC_ACKNOWLEDGE || opcode === Opcode.RC_ATOMIC_ACKNOWLEDGE || opcode >= Opcode.CNP
}

/** The low 48 bits: no connection sends more such packets. */
export function sequence(view: DataView, at: number): number {
  return readU48of64(view, at)
}

/** Writes sequence number and tag behind the headers of a frame that is complete but for its lengths. */
export function write(frame: Frame, key: Uint32Array, sequenceNumber: number): void {
  const { view, payload } = frame
  writeU64(view, payload, sequenceNumber)
  sipHash24(key, view, coveredFrom(frame), payload + SEQUENCE_BYTES, hash)
  view.setUint32(payload + 8, hash[1]!)
  view.setUint32(payload + 12, hash[0]!)
}

/** True if the tag of a received frame, which has room for one, is right. */
export function verify(frame: Frame, key: Uint32Array): boolean {
  const { view, payload } = frame
  sipHash24(key, view, coveredFrom(frame), payload + SEQUENCE_BYTES, hash)
  const difference = (view.getUint32(payload + 8) ^ hash[1]!) | (view.getUint32(payload + 12) ^ hash[0]!)
  return difference === 0
}

function coveredFrom(frame: Frame): number {
  return telemetry.isEcho(frame) ? frame.shim : frame.bth
}

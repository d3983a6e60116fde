import { Frame } from '../frame/frame.js'
import * as icrc from '../wire/ib/icrc.js'

/** The longest frame: the length of an IP packet has 16 bits. */
const FRAME_BYTES_MAX = 65_535 + 64

const whole = new Frame(0, Buffer.alloc(FRAME_BYTES_MAX))

/**
 * Completes a frame of virtual time as it would be on a wire: with zeros for the payload that is not stored,
 * and with the ICRC of them. Otherwise dissectors report the packet as malformed, because it ends before its
 * length. The result is valid until the next call.
 *
 * @param bytes that the caller uses; the rest need not be right
 */
export function completeFrame(frame: Frame, bytes: number): Frame {
  // Only RoCEv2 packets are incomplete.
  if (frame.bth < 0) return frame
  frame.bytes.copy(whole.bytes, 0, 0, frame.length)
  whole.bytes.fill(0, frame.length, Math.min(frame.wireLength, bytes))
  whole.length = frame.wireLength
  whole.wireLength = frame.wireLength
  if (bytes <= frame.wireLength - icrc.BYTES) return whole
  whole.l3 = frame.l3
  whole.l4 = frame.l4
  whole.shim = frame.shim
  whole.intFormat = frame.intFormat
  whole.bth = frame.bth
  whole.payload = frame.payload
  whole.payloadLength = frame.payloadLength
  icrc.write(whole)
  return whole
}

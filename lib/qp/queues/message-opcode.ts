import type { SendSlot } from './send-queue.js'

/** BTH opcodes by WorkOpcode (IBA 9.2.1), without the service: SEND, with immediate, with invalidate, WRITE, with immediate. */
const FIRST = [0x00, 0x00, 0x00, 0x06, 0x06]
const MIDDLE = [0x01, 0x01, 0x01, 0x07, 0x07]
const LAST = [0x02, 0x03, 0x16, 0x08, 0x09]
const ONLY = [0x04, 0x05, 0x17, 0x0a, 0x0b]

/** Operation of the packet `seq` of a SEND or WRITE: the opcode of the reliable connected service, whose number is 0. */
export function messageOpcode(slot: SendSlot, seq: number): number {
  if (seq === slot.firstSeq) return (seq === slot.lastSeq ? ONLY : FIRST)[slot.opcode]!
  return (seq === slot.lastSeq ? LAST : MIDDLE)[slot.opcode]!
}

/**
 * Window of receiver-based HPCC++ (opcode RATE): 8 bytes behind BTH, AETH and the delayed acknowledgement. The BTH's PSN
 * counts the RATE packets of the connection, so that one that was overtaken is known.
 *
 *     0   N, flows that send to the receiver now (16 bits; 0 = unknown)   W in bytes (48 bits)
 */
export const BYTES = 8

const TWO_32 = 0x1_0000_0000
const TWO_48 = 0x1_0000_0000_0000

/** 16 bits. */
export function flows(view: DataView, at: number): number {
  return view.getUint16(at)
}

/** W, whole bytes below 2^48. */
export function windowBytes(view: DataView, at: number): number {
  return view.getUint16(at + 2) * TWO_32 + view.getUint32(at + 4)
}

/** Rounds the window to whole bytes; flows above 65,535 are written as 65,535. */
export function write(view: DataView, at: number, flowCount: number, bytes: number): void {
  const whole = Math.min(Math.round(bytes), TWO_48 - 1)
  view.setUint16(at, Math.min(flowCount, 0xffff))
  view.setUint16(at + 2, Math.floor(whole / TWO_32))
  view.setUint32(at + 4, whole >>> 0)
}

export function print(view: DataView, at: number): string {
  const count = flows(view, at) === 0 ? '' : ` flows ${flows(view, at)}`
  return `window ${windowBytes(view, at)}${count}`
}

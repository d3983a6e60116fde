/**
 * The packets of a run that may be handled together with the frame before them: those that differ from it in nothing but their
 * payload, and are the next ones of its stream.
 */
import type { Frame } from '../../frame/frame.js'
import type { ReceivedRun } from '../../frame/received-run.js'
import * as bth from './bth.js'

/** Bits of the word with the PSN. */
const PSN = 0xff_ffff
const RESERVED = 0x7f00_0000

/**
 * Returns how many of the first `most` packets of a run are so. Their headers are those of the frame word by word, and their PSNs
 * follow its own. AckReq alone may differ.
 */
export function countAlike(frame: Frame, run: ReceivedRun, most: number): number {
  if (frame.wireLength !== run.headerBytes + run.packetBytes) return 0
  const first = frame.view
  const psnAt = frame.bth + bth.SEQUENCE
  const { view, packetBytes } = run
  const psn = first.getInt32(psnAt)
  // Byte n of the frame is byte n + `offset` of the run's memory.
  let offset = run.at - run.headerBytes
  for (let n = 0; n < most; n++, offset += packetBytes) {
    for (let at = run.headerBytes; at < psnAt; at += 4)
      if (view.getInt32(at + offset) !== first.getInt32(at)) return n
    const word = view.getInt32(psnAt + offset)
    if (((word ^ psn) & RESERVED) !== 0 || ((word - psn) & PSN) !== n + 1) return n
  }
  return most
}

/** Returns how many of the first `most` packets of a run come before the first that asks for an acknowledgement. */
export function countUnasked(frame: Frame, run: ReceivedRun, most: number): number {
  let at = run.at + frame.bth - run.headerBytes
  for (let n = 0; n < most; n++, at += run.packetBytes) if (bth.ackRequest(run.view, at)) return n
  return most
}

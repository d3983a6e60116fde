import { WeirError } from '../errors.js'
import type { StreamShape } from './stream-machine.js'
import { RECEIVES_MAX, RECEIVES_MIN, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN } from './words.js'

const SEGMENT_BYTES = 64 << 10
const RECEIVE_BYTES = 2 << 20
const SEND_BYTES = 1 << 20
const MEMORY_BYTES_MAX = 1 << 30

/** Memory of a stream: what the other end may have on the way, and what this one may. */
export interface StreamMemoryOptions {
  /** Most bytes of one SEND, 256 bytes to 1 MiB; the smaller of both ends' counts. Default 64 KiB. */
  segmentBytes?: number
  /** Memory for what has arrived and has not been read, at least 2 segments. Default 2 MiB. */
  receiveBytes?: number
  /** Memory for what has been written and is not acknowledged, at least 2 segments. Default 1 MiB. */
  sendBytes?: number
}

/** Throws WEIR_BAD_ARGUMENT. */
export function shapeOf(options: StreamMemoryOptions): StreamShape {
  const { segmentBytes = SEGMENT_BYTES, receiveBytes = RECEIVE_BYTES, sendBytes = SEND_BYTES } = options
  check('segmentBytes', segmentBytes, SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
  const most = Math.min(MEMORY_BYTES_MAX, RECEIVES_MAX * segmentBytes)
  check('receiveBytes', receiveBytes, RECEIVES_MIN * segmentBytes, most)
  check('sendBytes', sendBytes, 2 * segmentBytes, most)
  return {
    segmentBytes,
    receives: Math.floor(receiveBytes / segmentBytes),
    sends: Math.floor(sendBytes / segmentBytes),
  }
}

export function check(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `${name} is ${least} to ${most} bytes, not ${String(value)}`)
}

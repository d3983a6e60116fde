/**
 * What two ends say of a stream when they connect, and the immediate of its messages: docs/streams.md has both as tables.
 */
import { WeirError } from '../errors.js'

/** Highest version of the format that this end knows. Both ends use the lower one of theirs. */
export const STREAM_VERSION = 1
/** "WS" */
const MAGIC = 0x5753
/** As many as the private data of a host with a secret has room for. */
const WORDS_BYTES = 16

/** What flows: bytes, or messages with boundaries. */
export type StreamKind = 'bytes' | 'messages'

const KINDS: Readonly<Record<StreamKind, number>> = { bytes: 1, messages: 2 }

/** What an end says about itself. */
export interface StreamWords {
  /** 1 to 255. */
  version: number
  kind: StreamKind
  /** Bytes of each of its receives, which is the longest segment that it takes: 256 to 1 MiB. */
  segmentBytes: number
  /** Its receives for data, 2 to 32767: so many segments may be on the way to it. */
  receives: number
  /** Longest message that it takes, below 2^32. Of bytes 0. */
  messageBytesMax: number
}

export const SEGMENT_BYTES_MIN = 256
export const SEGMENT_BYTES_MAX = 1 << 20
export const RECEIVES_MIN = 2
export const RECEIVES_MAX = 32_767

export function writeWords(words: StreamWords): Uint8Array {
  const bytes = new Uint8Array(WORDS_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, MAGIC)
  view.setUint8(2, words.version)
  view.setUint8(3, KINDS[words.kind])
  view.setUint32(4, words.segmentBytes)
  view.setUint16(8, words.receives)
  view.setUint32(12, words.messageBytesMax)
  return bytes
}

/** Reads the words of the peer, with anything behind them. Throws WEIR_PROTOCOL. */
export function readWords(bytes: Uint8Array): StreamWords {
  if (bytes.length < WORDS_BYTES) throw malformed('the peer says nothing of a stream')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getUint16(0) !== MAGIC) throw malformed('the peer says nothing of a stream')
  const version = view.getUint8(2)
  const kind = (Object.keys(KINDS) as StreamKind[]).find(one => KINDS[one] === view.getUint8(3))
  const segmentBytes = view.getUint32(4)
  const receives = view.getUint16(8)
  if (version < 1) throw malformed('its version is 0')
  if (kind === undefined) throw malformed(`${view.getUint8(3)} is no kind of stream`)
  if (segmentBytes < SEGMENT_BYTES_MIN || segmentBytes > SEGMENT_BYTES_MAX)
    throw malformed(`its segments have ${segmentBytes} bytes`)
  if (receives < RECEIVES_MIN || receives > RECEIVES_MAX) throw malformed(`it has ${receives} receives`)
  return { version, kind, segmentBytes, receives, messageBytesMax: view.getUint32(12) }
}

function malformed(what: string): WeirError {
  return new WeirError('WEIR_PROTOCOL', `stream: ${what}; both ends must speak of the same kind of stream`)
}

/** Flags of a message, in the upper 8 bits of its immediate. */
export const Flag = {
  /** It has a segment, and takes one of the receives that the peer has granted. */
  DATA: 0x01,
  /** Its segment is the last one of a message. */
  MESSAGE_END: 0x02,
  /** Its sender sends no more data. The segment is empty. */
  END: 0x04,
  /** Its sender has everything up to the peer's END. */
  END_ARRIVED: 0x08,
} as const

const FLAGS_KNOWN = Flag.DATA | Flag.MESSAGE_END | Flag.END | Flag.END_ARRIVED

/** Receives granted since the beginning are counted modulo this. */
export const GRANTS = 1 << 24

export function immediateOf(flags: number, granted: number): number {
  return ((flags << 24) | (granted & (GRANTS - 1))) >>> 0
}

export function flagsOf(immediate: number): number {
  return immediate >>> 24
}

export function grantedOf(immediate: number): number {
  return immediate & (GRANTS - 1)
}

/** Throws WEIR_PROTOCOL for flags that version 1 has not. */
export function checkFlags(flags: number): void {
  const isData = (flags & Flag.DATA) !== 0
  const ofData = (flags & (Flag.MESSAGE_END | Flag.END)) !== 0
  if ((flags & ~FLAGS_KNOWN) !== 0 || (ofData && !isData) || (isData && (flags & Flag.END_ARRIVED) !== 0))
    throw malformed(`a message has the flags 0x${flags.toString(16)}`)
}

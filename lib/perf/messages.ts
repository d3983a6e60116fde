/** The messages of proto/perf.proto as plain objects. That file says what they mean. */
import { MessageCodec, messageType } from '../proto/proto.js'

/** Port number of the connection manager at which a daemon accepts runs. */
export const PERF_PORT = 4795
export const PERF_VERSION = 1
/** Longest message, and the size of its buffers. */
export const MESSAGE_BYTES_MAX = 512
/** First byte of the private data of a control connection, and of a data connection. */
export const CONTROL_MARK = 0x43
export const DATA_MARK = 0x44
/** Bytes of a session's name in the private data of data connections. */
export const SESSION_BYTES = 8

export type Op = 'WRITE' | 'SEND' | 'READ'
export type Mode = 'STREAM' | 'PING_PONG'

/** Memory that the other end may write and read. */
export interface RemoteMemory {
  rkey: number
  /** Virtual address. */
  address: number
  bytes: number
}

export interface Open {
  version: number
  op: Op | 'OP_UNSPECIFIED' | number
  mode: Mode | 'MODE_UNSPECIFIED' | number
  size: number
  qps: number
  depth: number
  bidirectional: boolean
  busyPoll: boolean
  memory: RemoteMemory | null
}

export interface Figures {
  elapsedNs: number
  cpuUs: number
  messages: number
  bytes: number
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  peakBps: number
}

export type What = 'FIGURES' | 'START' | 'STOP'

/** One message; `body` names the field that is present. */
export type PerfMessage =
  | { body: 'open'; open: Open }
  | { body: 'opened'; opened: { session: Uint8Array; memory: RemoteMemory | null } }
  | { body: 'refuse'; refuse: { text: string } }
  | { body: 'ask'; ask: { what: What | number } }
  | { body: 'figures'; figures: Figures }
  | { body?: undefined }

const codec = new MessageCodec<PerfMessage>(messageType('perf.proto', 'weir.perf.Message'), MESSAGE_BYTES_MAX)

export function encodeMessage(message: PerfMessage): Uint8Array {
  return codec.encode(message)
}

/**
 * Decodes a message. Throws WEIR_PROTOCOL. It copies the bytes first, so that the message outlives its
 * receive buffer.
 */
export function decodeMessage(bytes: Uint8Array): PerfMessage {
  return codec.decode(new Uint8Array(bytes))
}

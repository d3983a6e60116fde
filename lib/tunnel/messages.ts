/** The messages of proto/tunnel.proto as plain objects. That file says what they mean. */
import { WeirError } from '../errors.js'
import { MessageCodec, messageType } from '../proto/proto.js'
import type { WeirStream } from '../stream/weir-stream.js'

/** Port number of the connection manager at which a daemon accepts streams for TCP connections. */
export const TUNNEL_PORT = 4796
export const TUNNEL_VERSION = 1
const MESSAGE_BYTES_MAX = 1024
const LENGTH_BYTES = 2

export type DialFailure =
  | 'PROTOCOL'
  | 'NOT_ALLOWED'
  | 'NO_NAME'
  | 'CONNECTION_REFUSED'
  | 'HOST_UNREACHABLE'
  | 'NETWORK_UNREACHABLE'
  | 'TIMED_OUT'
  | 'BUSY'
  | 'FAILED'

export interface OpenTarget {
  version: number
  host: string
  port: number
}

/** A decoded message. `body` names the field that is present. */
interface TunnelMessage {
  body?: 'open' | 'opened' | 'refused'
  open?: OpenTarget
  opened?: { address: string; port: number }
  refused?: { reason: DialFailure | 'REASON_UNSPECIFIED' | number; text: string }
}

const codec = new MessageCodec<TunnelMessage>(
  messageType('tunnel.proto', 'weir.tunnel.Message'),
  MESSAGE_BYTES_MAX,
)

/** A message with its length. */
export function encodeMessage(message: TunnelMessage): Buffer {
  const body = codec.encode(message)
  const bytes = Buffer.alloc(LENGTH_BYTES + body.length)
  bytes.writeUInt16BE(body.length)
  bytes.set(body, LENGTH_BYTES)
  return bytes
}

/**
 * Reads the first message of a stream, and leaves what follows in it. Throws WEIR_PROTOCOL for one that is malformed or does not come whole
 * before the end, and what has ended the stream.
 */
export async function readMessage(stream: WeirStream): Promise<TunnelMessage> {
  const head = await take(stream, LENGTH_BYTES)
  const length = head.readUInt16BE()
  if (length === 0 || length > MESSAGE_BYTES_MAX)
    throw new WeirError('WEIR_PROTOCOL', `tunnel: a message of ${length} bytes`)
  return codec.decode(await take(stream, length))
}

/** Takes exactly so many bytes. */
async function take(stream: WeirStream, bytes: number): Promise<Buffer> {
  for (;;) {
    const taken = stream.read(bytes) as Buffer | null
    if (taken !== null && taken.length === bytes) return taken
    if (taken !== null || stream.readableEnded)
      throw new WeirError('WEIR_PROTOCOL', 'tunnel: the stream ends amid a message')
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => {
        for (const event of ['readable', 'end']) stream.off(event, onMore)
        stream.off('error', settle)
        stream.off('close', onClose)
        if (error === undefined) resolve()
        else reject(error)
      }
      const onMore = () => settle()
      const onClose = () =>
        settle(stream.errored ?? new WeirError('WEIR_CANCELLED', 'tunnel: the stream has ended'))
      for (const event of ['readable', 'end']) stream.on(event, onMore)
      stream.on('error', settle)
      stream.on('close', onClose)
      if (stream.destroyed) onClose()
    })
  }
}

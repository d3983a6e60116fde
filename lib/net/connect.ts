/** Streams and messages to a listener of another host. */
import { WeirError } from '../errors.js'
import type { MessageStream } from '../stream/message-stream.js'
import { check, shapeOf } from '../stream/stream-options.js'
import type { WeirStream } from '../stream/weir-stream.js'
import {
  bytesKind,
  type HostStreamKind,
  HostStreamMemory,
  messagesKind,
  privateDataOf,
  serveStream,
} from './host-stream.js'
import type { MessageConnectOptions, MessageOptions, StreamConnectOptions } from './net-options.js'
import { checkedOptions } from './option-names.js'
import { chooseHost } from './own-host.js'

const MESSAGE_BYTES_MAX = 1 << 20
const MESSAGE_BYTES_MOST = 1 << 30

/**
 * Connects to a stream of bytes that another host listens for. Throws WEIR_PROTOCOL when a listener of another kind is there, and what
 * `Host.connect` throws. The stream gets WEIR_CONNECTION_LOST when the other host is gone, and WEIR_STREAM_RESET when its end was destroyed.
 *
 * @param remote a literal address
 * @param port that the other host listens at, 1 to 65535
 */
export async function connect(
  remote: string,
  port: number,
  options: StreamConnectOptions,
): Promise<WeirStream> {
  const given = checkedOptions('connect', options)
  const { signal } = given
  const end = await connectKind(remote, port, given, shape => bytesKind(shape, given))
  const abort = () =>
    end.destroy(new WeirError('WEIR_CANCELLED', 'the stream was cancelled', { cause: signal!.reason }))
  signal?.addEventListener('abort', abort, { once: true })
  end.once('close', () => signal?.removeEventListener('abort', abort))
  if (signal?.aborted) abort()
  return end
}

/** The same for messages. */
export async function connectMessages(
  remote: string,
  port: number,
  options: MessageConnectOptions,
): Promise<MessageStream> {
  const { messageBytesMax: _, ...given } = checkedOptions('connectMessages', options)
  const { signal } = given
  const messageBytesMax = messageBytesOf(options)
  const end = await connectKind(remote, port, given, shape => messagesKind(shape, messageBytesMax))
  const abort = () =>
    end.destroy(new WeirError('WEIR_CANCELLED', 'the messages were cancelled', { cause: signal!.reason }))
  signal?.addEventListener('abort', abort, { once: true })
  void end.closed.then(() => signal?.removeEventListener('abort', abort))
  if (signal?.aborted) abort()
  return end
}

/** Throws WEIR_BAD_ARGUMENT. */
export function messageBytesOf({ messageBytesMax = MESSAGE_BYTES_MAX }: MessageOptions): number {
  check('messageBytesMax', messageBytesMax, 1, MESSAGE_BYTES_MOST)
  return messageBytesMax
}

async function connectKind<E extends WeirStream | MessageStream>(
  remote: string,
  port: number,
  options: StreamConnectOptions,
  kindOf: (shape: ReturnType<typeof shapeOf>) => HostStreamKind<E>,
): Promise<E> {
  const {
    segmentBytes,
    receiveBytes,
    sendBytes,
    allowHalfOpen,
    highWaterMark,
    host: given,
    open,
    ...rest
  } = options
  const shape = shapeOf(options)
  const kind = kindOf(shape)
  const { host, release } = await chooseHost(options, shape)
  let memory: HostStreamMemory | null = null
  try {
    const domain = host.newDomain()
    memory = await HostStreamMemory.take(host, shape, domain)
    const receives = memory.receives(shape)
    const connection = await host.connect(remote, port, {
      ...rest,
      receives,
      domain,
      privateData: privateDataOf(kind),
    })
    return serveStream(connection, memory, kind, false, () => void release().catch(() => {}))
  } catch (error) {
    memory?.release()
    await release()
    throw error
  }
}

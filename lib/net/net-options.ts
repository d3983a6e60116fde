/** Options of streams and messages. */
import type { HostConnectOptions } from '../host/host-options.js'
import type { StreamMemoryOptions } from '../stream/stream-options.js'
import type { WeirStreamOptions } from '../stream/weir-stream.js'
import type { HostChoice } from './own-host.js'

type ConnectionOptions = Omit<
  HostConnectOptions,
  'privateData' | 'receives' | 'domain' | 'sharedReceiveQueue'
>

/** Options of `connect`: of the stream, of its host and of its connection. */
export interface StreamConnectOptions
  extends StreamMemoryOptions,
    WeirStreamOptions,
    HostChoice,
    ConnectionOptions {
  /** Ends the attempt, and later the stream, as `destroy` does. */
  signal?: AbortSignal
}

/** Options of messages at both ends. */
export interface MessageOptions {
  /** Longest message that this end takes, 1 byte to 1 GiB. Default 1 MiB. A message that is arriving has as much memory. */
  messageBytesMax?: number
}

/** Options of `connectMessages`. */
export interface MessageConnectOptions
  extends StreamMemoryOptions,
    MessageOptions,
    HostChoice,
    ConnectionOptions {}

export interface ListenerOptions extends StreamMemoryOptions, HostChoice {
  /** Connections that may wait for `accept`, 1 to 1024; more are rejected. Default 16. */
  backlog?: number
  /** Ends the listener, as `close` does. */
  signal?: AbortSignal
}

/** Options of `listen`. */
export interface StreamListenOptions extends ListenerOptions, WeirStreamOptions {}
/** Options of `listenMessages`. */
export interface MessageListenOptions extends ListenerOptions, MessageOptions {}

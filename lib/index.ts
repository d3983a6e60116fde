/** What programs may import from the package. */
export * from './client/daemon-client.js'
export { ERROR_CODES, type ErrorCode, WeirError } from './errors.js'
export { datagramSource } from './host/datagram-source.js'
export { Host, type HostRegion } from './host/host.js'
export type { HostConnection } from './host/host-connection.js'
export type { HostAddressHandle, HostDatagrams } from './host/host-datagrams.js'
export type { HostListener, ListenOptions } from './host/host-listener.js'
export type {
  HostConnectOptions,
  HostDatagramOptions,
  HostOptions,
  HostQueuePairOptions,
  HostSharedReceiveQueueOptions,
  HostUnreliableOptions,
} from './host/host-options.js'
export type { HostQueuePair } from './host/host-queue-pair.js'
export type { HostSharedReceiveQueue } from './host/host-shared-receive-queue.js'
export type { HostUnreliable } from './host/host-unreliable.js'
export type { UnreliableStats } from './host/messages.js'
export { StreamSocket } from './interop/rsocket/stream-socket.js'
export { connect, connectMessages } from './net/connect.js'
export { listen, listenMessages, type StreamListener } from './net/listen.js'
export type {
  MessageConnectOptions,
  MessageListenOptions,
  MessageOptions,
  StreamConnectOptions,
  StreamListenOptions,
} from './net/net-options.js'
export type { ConnectionStats } from './nic/types.js'
export { Access, type DomainId, type MemoryRegion } from './qp/memory/memory.js'
export { Completion, ReceiveOpcode } from './qp/queues/completion-queue.js'
export { type ReceiveWork, type SendWork, WorkOpcode } from './qp/queues/work.js'
export { WorkStatus, workStatusName } from './qp/queues/work-status.js'
export type { MessageStream } from './stream/message-stream.js'
export type { WeirStream } from './stream/weir-stream.js'

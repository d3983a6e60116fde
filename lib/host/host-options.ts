import type { DatagramOptions } from '../nic/paced/datagram-pair.js'
import type { UnreliableOptions } from '../nic/paced/unreliable-pair.js'
import type { ConnectOptions } from '../nic/types.js'
import type { NicOptions } from '../open-nic/open-nic.js'
import type { DomainId } from '../qp/memory/memory.js'
import type { ReceiveWork } from '../qp/queues/work.js'
import type { SealingOptions } from '../secure/seal-verbs.js'
import type { HostSharedReceiveQueue } from './host-shared-receive-queue.js'

/** Address and settings of the NIC. Only the address is required. */
export interface HostOptions extends NicOptions, Omit<SealingOptions, 'identity'> {
  /**
   * This host's private key: the path of a file that `weir key new` has made, or its 32 bytes. All connections are sealed then, with hosts of
   * `peers` alone. What WRITEs, READs and atomics move is not. Default: none, connections are in the clear.
   */
  identity?: string | Uint8Array
  /**
   * Called once if a defect stops the NIC. All connections are closed then. Default: the error is thrown out
   * of the event loop.
   */
  onDefect?: (error: unknown) => void
}

/** Options of a connection. The host's settings are the defaults. */
export interface HostConnectOptions extends Omit<ConnectOptions, 'peerName'> {
  /** Receives to post before the peer can send. At most as many as a queue has places. */
  receives?: readonly ReceiveWork[]
  /** Protection domain of the connection, from `newDomain`. Default: the host's, 0. */
  domain?: DomainId
  /** A queue of receives that it shares with others, of the same `domain`. Default: it has receives of its own. */
  sharedReceiveQueue?: HostSharedReceiveQueue
  /** Ends the attempt with WEIR_CANCELLED. */
  signal?: AbortSignal
}

/** Options of a reliable queue pair for a program without the connection manager. */
export interface HostQueuePairOptions extends Omit<HostConnectOptions, 'privateData' | 'signal' | 'patient'> {
  /** Reliable connected, the default. */
  type?: 'rc'
}

/** Options of an unreliable connected queue pair. */
export interface HostUnreliableOptions extends UnreliableOptions {
  /** Unreliable connected. */
  type: 'uc'
  /** Receives to post before the peer can send. At most as many as a queue has places. */
  receives?: readonly ReceiveWork[]
  /** Protection domain, from `newDomain`. Default: the host's, 0. */
  domain?: DomainId
  /** A queue of receives that it shares with others, of the same `domain`. Default: it has receives of its own. */
  sharedReceiveQueue?: HostSharedReceiveQueue
}

/** Options of a datagram queue pair. */
export interface HostDatagramOptions extends DatagramOptions {
  /** Protection domain, from `newDomain`. Default: the host's, 0. */
  domain?: DomainId
  /** A queue of receives that it shares with others, of the same `domain`. Default: it has receives of its own. */
  sharedReceiveQueue?: HostSharedReceiveQueue
}

/** Options of a shared receive queue. */
export interface HostSharedReceiveQueueOptions {
  /** Receives that it holds, a power of two from 2 to 32768. Default 1024. */
  depth?: number
  /** Protection domain of its memory and of its queue pairs, from `newDomain`. Default: the host's, 0. */
  domain?: DomainId
}

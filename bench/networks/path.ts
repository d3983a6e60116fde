import type { DaemonClient } from '../../lib/client/daemon-client.js'
import type { Place } from '../support/weir-daemon.js'

/** Messages that `perf bw` keeps in flight: enough to fill the path, and few enough to drain in seconds. */
export interface Load {
  messageBytes: number
  depth: number
}

/** When a flow is measured. */
export interface Span {
  /** How long it runs before. */
  settleSeconds: number
  seconds: number
}

/** A sending host: where programs run, and its daemon. */
export interface Sender extends Place {
  client: DaemonClient
}

/** Counts since the path was made. */
export interface PathCounts {
  /** Bytes that have left the bottleneck's queue, without the 4 bytes of FCS. */
  sentBytes: number
  /** Packets for which the queue had no room. */
  droppedByQueue: number
  /** Packets that were dropped at random, after the queue. */
  droppedAtRandom: number
}

/** Two sending hosts and a receiving one, whose only common link is the bottleneck. */
export interface NetworkPath {
  readonly senders: readonly [Sender, Sender]
  readonly receiver: Place
  /** What the bottleneck has sent and dropped so far. */
  counts(): Promise<PathCounts>
  close(): Promise<void>
}

/** A row of the table. */
export interface NetworkCase {
  readonly name: string
  readonly load: Load
  /** The path drops packets at random, which is not due to its senders. */
  readonly randomLoss: boolean
  /**
   * CUBIC's cycle here: the time after a loss until its window is at the last maximum again (K of RFC 9438,
   * section 4.2). 0: only the machine limits the flows.
   */
  readonly cycleSeconds: number
  /**
   * Throws WEIR_UNSUPPORTED where this machine cannot make it.
   *
   * @param daemon more options of `weir daemon`
   */
  open(daemon: readonly string[]): Promise<NetworkPath>
}

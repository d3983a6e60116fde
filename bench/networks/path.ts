import type { DaemonClient } from '../../lib/client/daemon-client.js'
import type { Place } from '../support/weir-daemon.js'

/** Messages that `perf bw` keeps in flight: enough to fill the path, few enough that they drain in seconds. */
export interface Load {
  messageBytes: number
  depth: number
}

/** When a flow is measured. */
export interface Span {
  /** It runs for so long before. */
  settleSeconds: number
  seconds: number
}

/** A host that sends: where programs run, and its daemon. */
export interface Sender extends Place {
  client: DaemonClient
}

/** Counted since the path was made. */
export interface PathCounts {
  /** Bytes that have left the bottleneck's queue, without the 4 bytes of FCS. */
  sentBytes: number
  /** Packets that the queue had no room for. */
  droppedByQueue: number
  /** Packets dropped at random, behind the queue. */
  droppedAtRandom: number
}

/** Two sending hosts and a receiving one, whose only common link is the bottleneck. */
export interface NetworkPath {
  readonly senders: readonly [Sender, Sender]
  readonly receiver: Place
  /** What has gone through the bottleneck so far, and what has not. */
  counts(): Promise<PathCounts>
  close(): Promise<void>
}

/** A row of the table. */
export interface NetworkCase {
  readonly name: string
  readonly load: Load
  /** The path drops packets at random: that says nothing about its senders. */
  readonly randomLoss: boolean
  /**
   * CUBIC's cycle here: after a loss its window takes so long to come back to the last maximum (K of RFC 9438, section 4.2).
   * 0: nothing limits the flows but the machine.
   */
  readonly cycleSeconds: number
  /** @param daemon more options of `weir daemon`. Throws WEIR_UNSUPPORTED where this machine cannot make it. */
  open(daemon: readonly string[]): Promise<NetworkPath>
}

import type { Frame } from '../frame/frame.js'
import type { ReceivedRun } from '../frame/received-run.js'
import type { Waiter } from './waiter.js'

/**
 * Where frames enter and leave the process. A driver polls the port: it takes frames until `receive` returns
 * null, and passes frames while `canTransmit` is true. Frames are always whole Ethernet frames in both
 * directions, whatever part of them is on the port's own wire, so that parser, ICRC and printer are the same
 * over every port. Tracing and fault injection are ports that wrap a port.
 */
export interface Port {
  /** Bytes of the largest IP packet that this port carries whole. */
  readonly mtu: number
  /**
   * The UDP source ports that frames can leave from, at least one. Null: any. A frame that names another
   * source port leaves from one of these, and its ICRC, which covers the source port, is wrong. So the NIC
   * draws from them. The list never changes.
   */
  readonly sourcePorts: readonly number[] | null
  /**
   * Payload bytes, in 4 KiB datagrams, that can wait unread before the kernel drops. It bounds the bytes in
   * flight.
   */
  readonly receiveBudgetBytes: number
  /**
   * True: the port sends payloads outside the frames' slots from where they are. False: the caller must not
   * pass such frames, so the NIC copies payloads into the slots.
   */
  readonly gathers: boolean
  /** True: `transmit` takes a head with the packets behind it (`FrameRun.handOver`). The port must gather, too. */
  readonly sendsRuns: boolean
  /**
   * False: a run of packets that the sender's kernel has not split (UDP_SEGMENT) can arrive here unsplit, as
   * happens within one machine, and is lost. Then peers must send each packet by itself (`Frame.alone`).
   */
  readonly takesRuns: boolean
  /** Frames come with the ECN field of their IP header, and with its TTL or hop limit. False: the port makes these up. */
  readonly seesMarks: boolean
  readonly seesHops: boolean
  /** Frames come with the IPv4 identification that they had on the way. False: the port makes it 0. The ICRC covers it. */
  readonly seesIds: boolean
  /** Frames leave with the IPv4 identification that they have. False: the kernel numbers them. */
  readonly choosesIds: boolean
  readonly counters: PortCounters
  /**
   * Bytes that have arrived and wait for `receive`, counted as in `counters.rxBytes`. NaN where the kernel
   * does not report it. It may take a system call, so call it once for many frames.
   */
  waitingBytes(): number
  /** Reports arrivals, for a port that does not call `onReadable`. Null for one that does. */
  readonly waiter: Waiter | null
  /**
   * Returns the next frame that arrived, or null. The caller owns the frame. A payload outside its slot
   * belongs to the port until the next call, or the next `look` of its waiter: a caller that keeps the frame longer copies the payload in
   * before that (`Frame.bringIn`). Such a frame has been parsed already.
   */
  receive(): Frame | null
  /**
   * The frame that `receive` would return, where the kernel has put it, or null: there is none, or it is long, or one of a run. It stays the
   * port's, and is whole until the next call but `skip`. A port without these two has no such frames.
   */
  peek?(): Frame | null
  /** The caller has handled the frame that `peek` has just returned: `receive` does not return it. */
  skip?(): void
  /**
   * Packets that arrived together with the frame that `receive` returned last, or null. The caller may take packets from the front
   * before it calls `receive` again, which returns the others one by one. A port without this property returns all packets one by one.
   */
  readonly run?: ReceivedRun | null
  /** False while as many frames as the port allows are on their way out. */
  canTransmit(): boolean
  /** Sends a frame and owns it from then on. If `canTransmit` is false, it drops the frame and counts it. */
  transmit(frame: Frame): void
  /** The caller has no more frames for now. Sends the frames that the port has kept back to send together. */
  flush(): void
  /** `callback` is called when `receive` has a frame after it had none. */
  onReadable(callback: () => void): void
  /** `callback` is called when `canTransmit` turns true after it was false. */
  onWritable(callback: () => void): void
  /** Returns every frame that the port holds to its pool. Resolves when its sockets are closed. */
  close(): Promise<void>
}

/** Why a port dropped a frame. */
const DROP_REASONS = [
  /** All slots of the pool were in use. */
  'poolEmpty',
  /** The ring of received frames was full. */
  'ringFull',
  /** The kernel's queue was full, as far as the kernel reports it. */
  'kernelFull',
  /** Longer than a slot, or than the port's MTU. */
  'tooLong',
  /** Too short for the required headers, or with wrong headers. */
  'malformed',
  /** An unknown VXLAN network identifier. */
  'unknownVni',
  /** From another address than that of the configured peer. */
  'unknownPeer',
  /** Passed to `transmit` while `canTransmit` was false. */
  'txFull',
  /** The socket refused the frame. */
  'txError',
  /** An application has transferred the memory of its payload. */
  'payloadGone',
  /** Passed to `transmit` after `close`, or in the port when it was closed. */
  'closed',
] as const
export type PortDropReason = (typeof DROP_REASONS)[number]

/** Always current. Callers read them only. */
export class PortCounters {
  rxFrames = 0
  /** Bytes of Ethernet frames, without FCS. */
  rxBytes = 0
  txFrames = 0
  txBytes = 0
  /** Errors that the socket reported while receiving, without a frame. */
  rxErrors = 0
  readonly drops: Record<PortDropReason, number> = {
    poolEmpty: 0,
    ringFull: 0,
    kernelFull: 0,
    tooLong: 0,
    malformed: 0,
    unknownVni: 0,
    unknownPeer: 0,
    txFull: 0,
    txError: 0,
    payloadGone: 0,
    closed: 0,
  }

  /** Drops for any reason. */
  get dropped(): number {
    let sum = 0
    for (const reason of DROP_REASONS) sum += this.drops[reason]
    return sum
  }
}

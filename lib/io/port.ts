import type { Frame } from '../frame/frame.js'
import type { Waiter } from './waiter.js'

/**
 * Where frames enter and leave the process. A port is polled: the driver takes frames until `receive` returns
 * null, and hands frames over while `canTransmit` is true. What comes in and goes out is always a whole
 * Ethernet frame, whatever the port keeps of it on its own wire, so that parser, ICRC and printer are the
 * same over every port. Tracing and fault injection are ports that wrap a port.
 */
export interface Port {
  /** Bytes of the largest IP packet that this port carries whole. */
  readonly mtu: number
  /**
   * The UDP source ports that frames can leave from, at least one; null for any. A frame that names another one still
   * leaves, from one of these, and its ICRC, which covers the source port, is wrong: so the NIC draws from them. The
   * list never changes.
   */
  readonly sourcePorts: readonly number[] | null
  /** Payload bytes, in 4 KiB datagrams, that can wait unread before the kernel drops: a bound on bytes in flight. */
  readonly receiveBudgetBytes: number
  /**
   * True: payloads outside the frames' slots are sent from where they lie. False: the port must not be given such
   * frames; the NIC copies payloads into the slots.
   */
  readonly gathers: boolean
  /**
   * False: a run of packets whose sender leaves the cutting to the kernel (UDP_SEGMENT) can arrive here uncut, as
   * happens within one machine, and is lost then. Peers are to send each packet by itself (`Frame.alone`).
   */
  readonly takesRuns: boolean
  /** Frames come with the ECN field of their IP header, and with its TTL or hop limit. False: the port makes these up. */
  readonly seesMarks: boolean
  readonly seesHops: boolean
  readonly counters: PortCounters
  /**
   * Bytes that have arrived and wait for `receive`, counted as in `counters.rxBytes`; NaN where the kernel does not
   * tell. It may take a system call: ask once for many frames.
   */
  waitingBytes(): number
  /** Sees what comes in, for a port that calls no `onReadable`; null for one that does. */
  readonly waiter: Waiter | null
  /**
   * The next frame that arrived, or null. The caller owns it, but a payload outside its slot belongs to the port
   * until the next call: whoever keeps the frame longer copies it in before that (`Frame.bringIn`). Such a frame is
   * parsed already.
   */
  receive(): Frame | null
  /** False while as many frames as the port allows are on their way out. */
  canTransmit(): boolean
  /** Sends a frame and owns it from here on. Called when `canTransmit` is false, it drops and counts it. */
  transmit(frame: Frame): void
  /** No more frames follow for now: sends what the port has kept back to send together. */
  flush(): void
  /** `callback` is called when `receive` has something to give after it had nothing. */
  onReadable(callback: () => void): void
  /** `callback` is called when `canTransmit` turns true after it was false. */
  onWritable(callback: () => void): void
  /** Gives back every frame that the port holds; resolves when its sockets are closed. */
  close(): Promise<void>
}

/** Why a port dropped a frame. */
const DROP_REASONS = [
  /** Arrived while all slots of the pool were in use. */
  'poolEmpty',
  /** Arrived while the ring of received frames was full. */
  'ringFull',
  /** Arrived while the kernel's queue was full, as far as the kernel says. */
  'kernelFull',
  /** Longer than a slot, or than the port's MTU. */
  'tooLong',
  /** Too short for the headers that it must have, or with headers that are wrong. */
  'malformed',
  /** A VXLAN network identifier that nobody here has. */
  'unknownVni',
  /** From an address that is not the configured peer's. */
  'unknownPeer',
  /** Handed over while `canTransmit` was false. */
  'txFull',
  /** The socket refused it. */
  'txError',
  /** Handed over after `close`, or under way when the port was closed. */
  'closed',
] as const
export type PortDropReason = (typeof DROP_REASONS)[number]

/** Always current; read them, do not write them. */
export class PortCounters {
  rxFrames = 0
  /** Bytes of Ethernet frames, without FCS. */
  rxBytes = 0
  txFrames = 0
  txBytes = 0
  /** Errors that the socket reported while receiving; no frame was attached to them. */
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
    closed: 0,
  }

  /** Drops for any reason. */
  get dropped(): number {
    let sum = 0
    for (const reason of DROP_REASONS) sum += this.drops[reason]
    return sum
  }
}

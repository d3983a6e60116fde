import { Backing } from './backing.js'

/**
 * The packets that arrived together with a frame, right behind it: from the same sender and port, with the same traffic class and
 * length, as the kernel joins them (UDP GRO). They lie in memory of the port, one UDP payload behind another, and have no headers below
 * that: those are the frame's.
 *
 * A node may take packets from the front. The port returns the others as frames of their own, so a node that looks at no run misses
 * nothing. One object a port, reused: it is valid until the port's next `receive`.
 */
export class ReceivedRun {
  readonly memory: Backing
  /** The same memory. */
  readonly view: DataView
  /** The same, with views of several packets, which would otherwise displace those of single payloads. */
  readonly wholes: Backing
  /** Where the first packet's UDP payload begins, and the bytes of each. */
  at = 0
  packetBytes = 0
  /** Bytes that a frame has before its UDP payload. */
  headerBytes = 0
  /** Packets that are left. */
  count = 0
  /** Packets that the node has taken. */
  taken = 0

  constructor(memory: Backing) {
    this.memory = memory
    const { buffer, byteOffset, byteLength } = memory.bytes
    this.view = new DataView(buffer, byteOffset, byteLength)
    this.wholes = new Backing(memory.bytes)
  }

  /** Describes the packets behind the next frame; `at` is an offset in `memory`. */
  begin(at: number, packetBytes: number, headerBytes: number, count: number): void {
    this.at = at
    this.packetBytes = packetBytes
    this.headerBytes = headerBytes
    this.count = count
    this.taken = 0
  }

  /** The node has handled the first `packets`, 0 to `count`. */
  take(packets: number): void {
    this.at += packets * this.packetBytes
    this.count -= packets
    this.taken += packets
  }
}

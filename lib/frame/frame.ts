import { DOUBLE_0 } from '../double.js'
import type { Backing } from './backing.js'
import { IFA_PROTOCOL } from './ifa-protocol.js'

/** Earlier than any time. */
export const UNKNOWN_ARRIVAL = -1

/** In place of an ingress priority: the switch has made the frame itself. */
export const OWN_PACKET = -1

const NO_VIEW = new Uint8Array(0)

/**
 * One Ethernet frame in one pooled slot.
 *
 * `view` is made once, at start-up, and `bytes` when it is first asked for. A frame always begins with its Ethernet header at byte 0,
 * whatever port it came by: a port on an ordinary socket writes the headers that the kernel keeps from it.
 *
 * `length` counts the bytes that are really there, `wireLength` those that the frame takes on the wire
 * (without the 4 bytes of FCS). In virtual time the payload is not materialised: the slot holds the real
 * headers up to the payload, `length` stops there, and `wireLength` counts payload, pad and ICRC too.
 *
 * A payload need not be in the slot: with `outside` it lies in other memory, and the slot has a hole in its place. Everything
 * else is there, at its usual offset: headers before, pad and ICRC behind.
 *
 * The offsets are filled in by `parseFrame` of lib/wire (receive) or by the tx pipeline (transmit); -1 = absent.
 */
export class Frame {
  // What each hop looks at comes first: the fields lie in memory in this order, and a frame is seldom in the cache when it arrives.
  readonly view: DataView
  /** Bytes present in `bytes`. */
  length = 0
  /** Bytes on the wire, without FCS; greater than `length` when the payload is not materialised. */
  wireLength = 0
  /** Offset of the IP header. */
  l3 = -1
  /** Offset of the UDP header. */
  l4 = -1
  /** Offset of the telemetry: the INT shim, or the header of another encapsulation. */
  shim = -1
  /** Encapsulation of the telemetry, as lib/wire/telemetry/telemetry.ts numbers them; of no meaning without `shim`. */
  intFormat = 0
  /**
   * Hash of the frame's flow, which the first switch computes and the others take from here (`switch-emu/core/forwarding/ecmp.ts`).
   * -1: not known. Whoever changes addresses or ports sets it to -1; `parseFrame` does.
   */
  flowHash = -1
  /**
   * The IPv4 address that it goes to, as a signed number, kept in the same way: the header need not have come from memory when a switch
   * looks for the frame's port. 0: not known.
   */
  destination = 0
  /** Kept by FramePool: true while somebody owns the frame. */
  taken = false
  /** Index of the port that the frame came in by, or is to leave by. */
  port = 0
  /**
   * While it waits in a switch: the priority, 0 to 7, under which its memory is accounted at the port it came in by, or OWN_PACKET.
   */
  ingressPriority = 0
  /** When the last bit leaves the egress link, set by the node that transmits. */
  departNs = DOUBLE_0
  /** When the frame entered the queue it is in. */
  enqueuedNs = DOUBLE_0
  /**
   * Within a switch: its drop precedence. 0, or 1: queues mark or drop it sooner. A switch that has no use for it leaves it as it is.
   */
  dropPrecedence = 0
  /** Offset of the BTH. */
  bth = -1
  /** Offset of the transport payload, after BTH and its extended headers. */
  payload = -1
  /** Bytes of transport payload, without pad and ICRC; counts bytes that are not materialised. */
  payloadLength = 0
  /** When the kernel received the frame, by the loop's clock. UNKNOWN_ARRIVAL: its port does not know; then it is the time of `onFrame`. */
  arrivedNs = UNKNOWN_ARRIVAL
  readonly slot: number
  /** The memory that has the slot from the first byte of its ArrayBuffer on, if its address may be asked for. */
  readonly memory: Backing | null
  /** Null: nobody has asked for it, and in virtual time hardly anybody does. */
  #bytes: Buffer | null
  /** Within an end of a VXLAN tunnel: number of the remote end that it goes to. -1: it goes to no tunnel. */
  remote = -1
  /**
   * Within an end of a tunnel: its outer header is not ECN-capable, so queues take the frame as such, whatever the inner header says.
   */
  outerNotEct = false
  /** Where the payload lies if not in the slot; byte n of the frame is its byte `outsideBase` + n. Null: all is in the slot. */
  outside: Backing | null = null
  outsideBase = 0
  /**
   * UDP port of RoCEv2 at the receiver, where a socket sends the frame; telemetry goes to the next one. 0: that of the sending
   * port itself. The headers name 4791 and 4792 in any case, and the ICRC covers those.
   */
  udpPort = 0
  /** Must leave as a packet of its own: its receiver cannot take runs, see `Port.takesRuns`. */
  alone = false
  /** Packets of a run that leave with this frame, and the frame that holds their headers (`FrameRun`). Null: it leaves by itself. */
  behind: Frame | null = null
  followers = 0
  /** IP protocol that IFA has in this network; see FramePool. */
  ifaProtocol = IFA_PROTOCOL
  /** The view of the slot that was asked for last. */
  #view: Uint8Array = NO_VIEW

  /** @param memory as the property */
  constructor(slot: number, bytes: Buffer | DataView, memory: Backing | null = null) {
    this.slot = slot
    this.memory = memory
    this.#bytes = bytes instanceof DataView ? null : bytes
    this.view =
      bytes instanceof DataView ? bytes : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** The slot. */
  get bytes(): Buffer {
    return this.#bytes ?? this.#makeBytes()
  }

  #makeBytes(): Buffer {
    const { buffer, byteOffset, byteLength } = this.view
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
    return this.#bytes
  }

  /** True if every byte of the frame is in the slot. */
  get materialised(): boolean {
    return this.length === this.wireLength
  }

  /**
   * The payload, wherever it lies, as a view that the next frame may reuse: keep it no longer than the frame. The
   * payload must be materialised.
   */
  payloadBytes(): Uint8Array {
    const { payload, payloadLength } = this
    if (this.outside !== null) return this.outside.view(this.outsideBase + payload, payloadLength)
    const at = this.bytes.byteOffset + payload
    if (this.#view.length !== payloadLength || this.#view.byteOffset !== at) {
      this.#view = new Uint8Array(this.bytes.buffer, at, payloadLength)
    }
    return this.#view
  }

  /** Copies the payload into the slot, if it lies outside. */
  bringIn(): void {
    if (this.outside === null) return
    this.bytes.set(this.payloadBytes(), this.payload)
    this.outside = null
  }

  /** Forgets lengths and offsets; the bytes stay as they are. */
  reset(): void {
    this.length = 0
    this.wireLength = 0
    this.port = 0
    this.ingressPriority = 0
    this.dropPrecedence = 0
    this.remote = -1
    this.outerNotEct = false
    this.departNs = 0
    this.enqueuedNs = 0
    this.arrivedNs = UNKNOWN_ARRIVAL
    this.flowHash = -1
    this.destination = 0
    this.l3 = -1
    this.l4 = -1
    this.shim = -1
    this.intFormat = 0
    this.bth = -1
    this.payload = -1
    this.payloadLength = 0
    this.outside = null
    this.udpPort = 0
    this.alone = false
    this.followers = 0
  }

  /** Takes over all headers, lengths and offsets of `head`, without payload, pad and ICRC. The frame is as the pool gives it. */
  follow(head: Frame): void {
    const { view, payload } = head
    // The words that are copied may reach into the payload, which is not there yet.
    for (let i = 0; i < payload; i += 4) this.view.setInt32(i, view.getInt32(i))
    this.length = head.length
    this.wireLength = head.wireLength
    this.l3 = head.l3
    this.l4 = head.l4
    this.shim = head.shim
    this.intFormat = head.intFormat
    this.bth = head.bth
    this.payload = payload
    this.payloadLength = head.payloadLength
    this.udpPort = head.udpPort
    this.alone = head.alone
  }

  /** Makes this frame a copy of `other`, without its followers: bytes, lengths and offsets. All of the copy is in its slot. */
  copyFrom(other: Frame): void {
    this.bytes.set(other.bytes.subarray(0, other.length), 0)
    if (other.outside !== null) this.bytes.set(other.payloadBytes(), other.payload)
    this.outside = null
    this.udpPort = other.udpPort
    this.alone = other.alone
    this.length = other.length
    this.wireLength = other.wireLength
    this.port = other.port
    this.ingressPriority = other.ingressPriority
    this.dropPrecedence = other.dropPrecedence
    this.departNs = other.departNs
    this.enqueuedNs = other.enqueuedNs
    this.flowHash = other.flowHash
    this.destination = other.destination
    this.l3 = other.l3
    this.l4 = other.l4
    this.shim = other.shim
    this.intFormat = other.intFormat
    this.bth = other.bth
    this.payload = other.payload
    this.payloadLength = other.payloadLength
  }
}

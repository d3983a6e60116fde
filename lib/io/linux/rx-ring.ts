/**
 * A receive ring that the kernel fills with frames and this process empties, in order, without system calls.
 * `next` moves to the next frame, whose columns then hold; `release` ends its use.
 */
export interface RxRing {
  /** Where frames lie. */
  readonly bytes: Uint8Array
  readonly view: DataView
  /** Of the frame's first byte in `bytes`. */
  offset: number
  /** Bytes of the frame that are there. */
  capturedBytes: number
  /** Bytes that the frame had; more than `capturedBytes` if the ring had no room for all. */
  frameBytes: number
  /** Of TP_STATUS_ constants. */
  status: number
  vlanTci: number
  vlanTpid: number
  /** Time of day at which the kernel received the frame. */
  seconds: number
  nanoseconds: number
  /** Moves to the next frame, or returns false when there is none. The one before must have been released. */
  next(): boolean
  /** The kernel may write over the frame. */
  release(): void
}

/** This side's turn. */
export const TP_STATUS_USER = 0x1
/** The L4 checksum has not been computed: the sender's kernel left that to a NIC. */
export const TP_STATUS_CSUMNOTREADY = 0x8
/** A VLAN tag was taken out of the frame. */
export const TP_STATUS_VLAN_VALID = 0x10
/** `vlanTpid` says which kind. */
export const TP_STATUS_VLAN_TPID_VALID = 0x40

/** So much room before each frame makes its first byte lie at a multiple of 4. */
export const RING_RESERVE_BYTES = 2

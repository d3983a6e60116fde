/** Longest packet that a reader accepts, bytes: tcpdump's limit. */
export const PACKET_BYTES_MAX = 262_144

/** Link types (the registry of tcpdump.org) that `loadFrame` can turn into Ethernet frames. */
export const LinkType = {
  ETHERNET: 1,
  RAW: 101,
  LINUX_SLL: 113,
  IPV4: 228,
  IPV6: 229,
  LINUX_SLL2: 276,
} as const

/**
 * One packet of a capture. A reader fills the same object again and again; the bytes are valid until the next
 * packet.
 */
export class CapturedPacket {
  /** Time since 1970, whole seconds. */
  seconds = 0
  /** The rest of the time, nanoseconds, 0 to 999,999,999. */
  nanos = 0
  linkType: number = LinkType.ETHERNET
  /** Bytes of the file. The packet begins at `at`. */
  buffer: Buffer = Buffer.alloc(0)
  at = 0
  /** Bytes of the packet that were captured. */
  capturedBytes = 0
  /** Bytes that the packet had on the wire. More than `capturedBytes` if it was cut at the snap length. */
  wireBytes = 0
}

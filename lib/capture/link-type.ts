import type { Frame } from '../frame/frame.js'
import * as ethernet from '../wire/net/ethernet.js'
import { type CapturedPacket, LinkType } from './captured-packet.js'

/** Bytes that a frame may need in addition to the captured ones. */
export const FRAME_EXTRA_BYTES = ethernet.BYTES

/**
 * Copies a captured packet into a frame. A packet without an Ethernet header gets one with zero addresses:
 * bare IP, and the "cooked" headers of captures on all of Linux's interfaces. Returns false if the link type
 * is unknown or the packet too short for its link header. The frame's slot must have room for the packet and
 * FRAME_EXTRA_BYTES more.
 */
export function loadFrame(packet: CapturedPacket, frame: Frame): boolean {
  frame.reset()
  switch (packet.linkType) {
    case LinkType.ETHERNET:
      copy(packet, 0, frame, 0)
      return true
    case LinkType.RAW:
    case LinkType.IPV4:
    case LinkType.IPV6:
      if (packet.capturedBytes < 1) return false
      return copyBehindHeader(
        packet,
        0,
        packet.buffer[packet.at]! >>> 4 === 6 ? ethernet.TYPE_IPV6 : ethernet.TYPE_IPV4,
        frame,
      )
    case LinkType.LINUX_SLL:
      return (
        packet.capturedBytes >= 16 &&
        copyBehindHeader(packet, 16, packet.buffer.readUInt16BE(packet.at + 14), frame)
      )
    case LinkType.LINUX_SLL2:
      return (
        packet.capturedBytes >= 20 &&
        copyBehindHeader(packet, 20, packet.buffer.readUInt16BE(packet.at), frame)
      )
    default:
      return false
  }
}

/** Replaces the first `skip` bytes by an Ethernet header. */
function copyBehindHeader(packet: CapturedPacket, skip: number, etherType: number, frame: Frame): boolean {
  ethernet.write(frame.view, 0, 0, 0, etherType)
  copy(packet, skip, frame, ethernet.BYTES)
  return true
}

function copy(packet: CapturedPacket, skip: number, frame: Frame, at: number): void {
  packet.buffer.copy(frame.bytes, at, packet.at + skip, packet.at + packet.capturedBytes)
  frame.length = at + packet.capturedBytes - skip
  frame.wireLength = at + packet.wireBytes - skip
}

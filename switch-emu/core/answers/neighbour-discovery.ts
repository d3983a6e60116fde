import type { Frame } from '../../../lib/frame/frame.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import * as ipv6 from '../../../lib/wire/net/ipv6.js'
import { PROTOCOL_ICMPV6, writeL4Checksum } from '../../../lib/wire/net/l4-checksum.js'
import * as neighbour from '../../../lib/wire/net/neighbour.js'
import type { HostTable } from './host-table.js'

/**
 * Turns a neighbour solicitation for another host's address into the advertisement that this host would give
 * (RFC 4861, section 7.2.4). Returns false when no answer is due.
 */
export function answerSolicitation(frame: Frame, hosts: HostTable): boolean {
  const { view, l3 } = frame
  if (ipv6.version(view, l3) !== 6 || ipv6.nextHeader(view, l3) !== PROTOCOL_ICMPV6) return false
  const at = l3 + ipv6.BYTES
  const end = Math.min(frame.length, at + ipv6.payloadLength(view, l3))
  if (!neighbour.isSolicitation(view, at, end) || ipv6.hopLimit(view, l3) !== neighbour.HOP_LIMIT)
    return false
  // A solicitation from the unspecified address checks whether another host has the address (RFC 4862).
  if (isUnspecified(view, l3) || at + neighbour.WITH_ADDRESS_BYTES > frame.bytes.length) return false
  const asker = ethernet.source(view, 0)
  const target = neighbour.targetOffset(at)
  const mac = hosts.mac6(frame.bytes, target)
  if (mac < 0 || mac === asker) return false
  ethernet.setDestination(view, 0, asker)
  ethernet.setSource(view, 0, mac)
  const to = Uint8Array.from(frame.bytes.subarray(l3 + 8, l3 + 24))
  ipv6.setDestination(view, l3, to)
  ipv6.setSource(view, l3, Uint8Array.from(frame.bytes.subarray(target, target + 16)))
  ipv6.setPayloadLength(view, l3, neighbour.WITH_ADDRESS_BYTES)
  neighbour.writeAdvertisement(view, at, neighbour.SOLICITED_OVERRIDE, mac)
  frame.length = at + neighbour.WITH_ADDRESS_BYTES
  frame.wireLength = frame.length
  writeL4Checksum(view, l3, frame.length)
  return true
}

function isUnspecified(view: DataView, l3: number): boolean {
  for (let word = 0; word < 4; word++) if (ipv6.sourceWord(view, l3, word) !== 0) return false
  return true
}

import type { Frame } from '../../../lib/frame/frame.js'
import * as arp from '../../../lib/wire/net/arp.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import type { HostTable } from './host-table.js'

/**
 * Turns an ARP request for another host's address into the reply that this host would give. Returns false
 * when no answer is due.
 */
export function answerArp(frame: Frame, hosts: HostTable): boolean {
  const { view } = frame
  const at = ethernet.headerBytes(view, 0)
  if (ethernet.etherType(view, 0) !== ethernet.TYPE_ARP || !arp.check(view, at, frame.length)) return false
  if (arp.operation(view, at) !== arp.REQUEST) return false
  const asker = arp.senderMac(view, at)
  const askerAddress = arp.senderAddress(view, at)
  const wanted = arp.targetAddress(view, at)
  const mac = hosts.mac4(wanted)
  // A host that asks for its own address checks whether another host has it (RFC 5227).
  if (mac < 0 || mac === asker) return false
  arp.write(view, at, arp.REPLY, mac, wanted, asker, askerAddress)
  ethernet.setDestination(view, 0, asker)
  ethernet.setSource(view, 0, mac)
  return true
}

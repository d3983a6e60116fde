/** Frames on their way that become CNPs, or are marked. */
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as cnp from '../../lib/wire/ib/cnp.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'

/** Makes a CNP without a tag of an acknowledgement on the same way. */
export function intoCnp(frame: Frame): void {
  const { view, l3, l4 } = frame
  cnp.write(view, frame.bth, bth.DEFAULT_PARTITION_KEY, bth.destQpn(view, frame.bth))
  frame.length = frame.bth + bth.BYTES + cnp.BYTES + icrc.BYTES
  frame.wireLength = frame.length
  ipv4.setTotalLength(view, l3, frame.length - l3)
  setIpChecksum(frame)
  view.setUint16(l4 + 4, frame.length - l4)
  icrc.write(frame)
}

export function setIpChecksum({ view, l3 }: Frame): void {
  ipv4.setChecksum(view, l3, 0)
  let sum = 0
  for (let i = 0; i < 20; i += 2) sum += view.getUint16(l3 + i)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  ipv4.setChecksum(view, l3, ~sum & 0xffff)
}

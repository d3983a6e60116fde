import type { Frame } from '../frame/frame.js'
import * as icrc from '../wire/ib/icrc.js'
import * as ipv4 from '../wire/net/ipv4.js'
import * as udp from '../wire/net/udp.js'

/** Flags and fragment offset of an IPv4 header. */
const FLAGS_AT = 6
const DONT_FRAGMENT = 0x4000

/**
 * `as-meant`: right for the IPv4 header as the sender assumed it. A sender on an ordinary socket computes the
 * ICRC with identification 0 and "don't fragment". The kernel may then number the packets or clear the flag.
 * Receivers on such sockets see neither field. `unused`: it is 0, as two Weir hosts agree by `--icrc none`.
 */
type IcrcCheck = 'right' | 'as-meant' | 'unused' | 'wrong' | 'not-captured'

/**
 * Checks the ICRC of a captured RoCEv2 packet from any sender. A wrong bit in any other field makes it wrong.
 *
 * @param port to which the packet was sent, where the frame has a well-known port in its place
 */
export function checkIcrc(frame: Frame, port = udp.destinationPort(frame.view, frame.l4)): IcrcCheck {
  if (!icrc.isPresent(frame)) return 'not-captured'
  if (icrc.verify(frame) || isRightFor(frame, port)) return 'right'
  if (isRightAsMeant(frame)) return 'as-meant'
  return icrc.isZero(frame) ? 'unused' : 'wrong'
}

/**
 * Weir computes the ICRC with the well-known port, whatever port it sends to. Other hosts use the actual
 * port.
 */
function isRightFor(frame: Frame, port: number): boolean {
  const { view, l4 } = frame
  const wellKnown = udp.destinationPort(view, l4)
  if (port === wellKnown) return false
  udp.setDestinationPort(view, l4, port)
  const isRight = icrc.verify(frame)
  udp.setDestinationPort(view, l4, wellKnown)
  return isRight
}

function isRightAsMeant(frame: Frame): boolean {
  const { view, l3 } = frame
  if (ipv4.version(view, l3) !== 4) return false
  if (icrc.verifyWithZeroId(frame)) return true
  const flags = view.getUint16(l3 + FLAGS_AT)
  view.setUint16(l3 + FLAGS_AT, DONT_FRAGMENT)
  const isRight = icrc.verifyWithZeroId(frame)
  view.setUint16(l3 + FLAGS_AT, flags)
  return isRight
}

/** What packets have in common that a switch sends by itself to the hosts of a packet: headers, and the tag where hosts have a secret. */
import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as icrc from '../../../lib/wire/ib/icrc.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../../lib/wire/net/ipv6.js'
import * as udp from '../../../lib/wire/net/udp.js'
import * as directTag from '../../../lib/wire/weir/direct-tag.js'
import type { FeatureSwitch } from '../feature/feature.js'

const TTL = 64

/** Headers of the packet that a notice is about. */
type PacketHeaders = Pick<Frame, 'view' | 'bytes' | 'l3' | 'l4'>

/** Tags of one switch's notices. All its features count in one series, because hosts take none that is not newer than the last. */
export class NoticeSeals {
  static readonly #all = new WeakMap<FeatureSwitch, NoticeSeals>()
  readonly #switchId: number
  #sequence = 0

  constructor(switchId: number) {
    this.#switchId = switchId
  }

  static of(sw: FeatureSwitch): NoticeSeals {
    const known = NoticeSeals.#all.get(sw) ?? new NoticeSeals(sw.id)
    NoticeSeals.#all.set(sw, known)
    return known
  }

  /** No two notices have the same number. After a restart the clock is ahead of all earlier numbers. */
  seal(now: Nanos, frame: Frame, key: Uint32Array): void {
    this.#sequence = Math.max(this.#sequence + 1, Math.floor(now / 1000))
    directTag.seal(frame, key, this.#switchId, this.#sequence % directTag.SEQUENCE_MODULUS)
  }
}

/** Reused for every response. The lengths are set at the end. */
const HEADER_4: ipv4.Ipv4Header = {
  tos: 0,
  totalLength: 0,
  identification: 0,
  dontFragment: true,
  ttl: TTL,
  protocol: ipv4.PROTOCOL_UDP,
  source: 0,
  destination: 0,
}
const HEADER_6: ipv6.Ipv6Header = {
  trafficClass: 0,
  flowLabel: 0,
  payloadLength: 0,
  nextHeader: ipv4.PROTOCOL_UDP,
  hopLimit: TTL,
  source: new Uint8Array(16),
  destination: new Uint8Array(16),
}

/**
 * Writes Ethernet, IP and UDP of a notice about a packet: to the packet's sender, or to its receiver. Returns
 * the offset of UDP.
 *
 * @param back to the sender
 * @param port UDP port that it goes to
 */
export function beginHeaders(into: Frame, of: PacketHeaders, back: boolean, port: number): number {
  const { view } = into
  const from = of.view
  const version4 = ipv4.version(from, of.l3) === 4
  const to = ethernet.destination(from, 0)
  const source = ethernet.source(from, 0)
  const type = version4 ? ethernet.TYPE_IPV4 : ethernet.TYPE_IPV6
  ethernet.write(view, 0, back ? source : to, back ? to : source, type)
  into.l3 = ethernet.BYTES
  const codepoint = version4 ? ipv4.dscp(from, of.l3) : ipv6.dscp(from, of.l3)
  const trafficClass = (codepoint << 2) | ipv4.ECN_ECT0
  if (version4) {
    const a = ipv4.source(from, of.l3)
    const b = ipv4.destination(from, of.l3)
    HEADER_4.tos = trafficClass
    HEADER_4.source = back ? b : a
    HEADER_4.destination = back ? a : b
    ipv4.write(view, into.l3, HEADER_4)
  } else {
    const a = of.bytes.subarray(of.l3 + 8, of.l3 + 24)
    const b = of.bytes.subarray(of.l3 + 24, of.l3 + 40)
    HEADER_6.trafficClass = trafficClass
    HEADER_6.source = back ? b : a
    HEADER_6.destination = back ? a : b
    ipv6.write(view, into.l3, HEADER_6)
  }
  into.l4 = into.l3 + (version4 ? ipv4.BYTES : ipv6.BYTES)
  udp.write(view, into.l4, udp.sourcePort(from, of.l4), port, 0)
  return into.l4
}

/** Completes the headers and the ICRC of a notice that is written up to `length`. */
export function endHeaders(frame: Frame): void {
  frame.length += icrc.BYTES
  frame.wireLength = frame.length
  const { view, l3, l4 } = frame
  if (ipv4.version(view, l3) === 4) ipv4.addLength(view, l3, frame.length - l3)
  else ipv6.setPayloadLength(view, l3, frame.length - l4)
  udp.setLength(view, l4, frame.length - l4)
  icrc.write(frame)
}

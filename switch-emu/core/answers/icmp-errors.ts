import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import * as icmp from '../../../lib/wire/net/icmp.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'

/** Bytes of the offending packet in the report: its header and enough of what follows. */
const QUOTED_BYTES_MAX = 128
/** Internetwork control, according to RFC 1812, section 4.3.2.5. */
const TOS = 0xc0
const TTL = 64
/**
 * Reports that may follow each other at once, and the time after which one more is allowed (RFC 1812, section
 * 4.3.2.8).
 */
const BURST = 50
const EVERY_NS: Nanos = 1_000_000

/** Answers the sources of IPv4 packets whose TTL has expired, at most 1,000 times a second. */
export class TimeExceeded {
  readonly #address: number
  /** When the next report would be due if they were evenly spaced. It may be BURST of them in the past. */
  #dueNs: Nanos = 0

  /** @param address of the switch */
  constructor(address: number) {
    this.#address = address
  }

  /**
   * Turns an expired packet into the report to its source. Returns false when none is due, and leaves the
   * frame unchanged.
   */
  report(now: Nanos, frame: Frame): boolean {
    if (!mayBeReported(frame)) return false
    const dueNs = Math.max(this.#dueNs, now - BURST * EVERY_NS)
    if (dueNs > now) return false
    this.#dueNs = dueNs + EVERY_NS
    this.#rewrite(frame)
    return true
  }

  #rewrite(frame: Frame): void {
    const { view, bytes, l3 } = frame
    const source = ipv4.source(view, l3)
    const quoted = Math.min(ipv4.totalLength(view, l3), QUOTED_BYTES_MAX)
    const l4 = l3 + ipv4.BYTES
    const data = l4 + icmp.BYTES
    const end = data + quoted
    bytes.copyWithin(data, l3, l3 + quoted)
    icmp.write(view, l4, end, icmp.TYPE_TIME_EXCEEDED, 0)
    ipv4.write(view, l3, {
      tos: TOS,
      totalLength: end - l3,
      identification: 0,
      dontFragment: true,
      ttl: TTL,
      protocol: icmp.PROTOCOL,
      source: this.#address,
      destination: source,
    })
    const asker = ethernet.source(view, 0)
    ethernet.setSource(view, 0, ethernet.destination(view, 0))
    ethernet.setDestination(view, 0, asker)
    frame.length = end
    frame.wireLength = end
    frame.l4 = -1
    frame.shim = -1
    frame.bth = -1
    frame.payload = -1
    frame.payloadLength = 0
  }
}

/**
 * RFC 1122, section 3.2.2: no report about errors, later fragments, group addresses, or packets without a
 * source.
 */
function mayBeReported(frame: Frame): boolean {
  const { view, l3 } = frame
  if (ipv4.version(view, l3) !== 4 || ipv4.fragmentOffset(view, l3) > 0) return false
  const source = ipv4.source(view, l3)
  // 0.0.0.0/8, loopback, multicast and above.
  const top = source >>> 24
  if (top === 0 || top === 127 || top >= 224 || ipv4.destination(view, l3) >>> 24 >= 224) return false
  const l4 = l3 + ipv4.headerBytes(view, l3)
  if (ipv4.protocol(view, l3) !== icmp.PROTOCOL) return true
  return l4 < frame.length && !icmp.isError(view, l4)
}

import type { Frame } from '../../../lib/frame/frame.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import { HostAddress } from '../../../lib/wire/net/address.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../../lib/wire/net/ipv6.js'
import * as udp from '../../../lib/wire/net/udp.js'
import { mix32 } from '../forwarding/mix32.js'

export const KEY_WORDS = 10
/** Words of a key: source and destination (an IPv4 address is the first word), ports or destination QPN, and what kind of flow it is. */
const SOURCE = 0
const DESTINATION = 4
export const ENDS = 8
const KIND = 9

const IS_V6 = 0x200
const IS_ROCE = 0x400
const PRIORITY_SHIFT = 12
/** Protocol numbers in `KIND`. */
const PROTOCOL = 0xff

/**
 * Names a flow: addresses, protocol and ports of its packets, and their priority, because packets of another priority take another queue.
 * RoCEv2 packets have their destination QPN in place of the ports: it names the connection and the direction, and the UDP source port is
 * entropy, which may change. One object is filled again for each frame.
 */
export class FlowKey {
  readonly words = new Uint32Array(KEY_WORDS)
  hash = 0
  readonly #seed: number

  /** @param seed of the hash. Who does not know it cannot choose flows that share a place of the table. */
  constructor(seed: number) {
    this.#seed = seed | 0
  }

  /** Reads a frame whose headers have been found. Returns false if it is not IP. */
  read(frame: Frame, priority: number): boolean {
    const { view, l3, l4 } = frame
    if (l3 < 0) return false
    const v6 = ipv4.version(view, l3) !== 4
    let kind = priority << PRIORITY_SHIFT
    if (frame.bth >= 0) {
      this.words[ENDS] = bth.destQpn(view, frame.bth)
      kind |= IS_ROCE | ipv4.PROTOCOL_UDP
    } else {
      const protocol = v6 ? ipv6.nextHeader(view, l3) : ipv4.protocol(view, l3)
      this.words[ENDS] = portsOf(frame, protocol, v6)
      kind |= l4 >= 0 ? ipv4.PROTOCOL_UDP : protocol
    }
    this.words[KIND] = v6 ? kind | IS_V6 : kind
    this.#readAddresses(view, l3, v6)
    this.#hashIt(v6)
    return true
  }

  /** Makes it the flow of a connection's other direction, to that QPN. It has to be one of RoCEv2. */
  turn(destQpn: number): void {
    const { words } = this
    for (let i = 0; i < 4; i++) {
      const source = words[SOURCE + i]!
      words[SOURCE + i] = words[DESTINATION + i]!
      words[DESTINATION + i] = source
    }
    this.setQpn(destQpn)
  }

  /** Makes it the flow to another QPN of the same host. It has to be one of RoCEv2. */
  setQpn(destQpn: number): void {
    this.words[ENDS] = destQpn
    this.#hashIt((this.words[KIND]! & IS_V6) !== 0)
  }

  /** A hash of the two hosts, in this order, and a number. */
  hashWith(number: number): number {
    const { words } = this
    let h = mix32(number ^ this.#seed)
    for (let i = 0; i < ENDS; i++) h = mix32(h ^ words[i]!)
    return h | 0
  }

  #readAddresses(view: DataView, l3: number, v6: boolean): void {
    const { words } = this
    if (!v6) {
      words[SOURCE] = ipv4.source(view, l3)
      words[DESTINATION] = ipv4.destination(view, l3)
      for (let i = 1; i < 4; i++) {
        words[SOURCE + i] = 0
        words[DESTINATION + i] = 0
      }
      return
    }
    // Destination follows source.
    for (let i = 0; i < 8; i++) words[SOURCE + i] = view.getUint32(l3 + 8 + 4 * i)
  }

  #hashIt(v6: boolean): void {
    const { words } = this
    let h = mix32(words[SOURCE]! ^ this.#seed)
    h = mix32(h ^ words[DESTINATION]!)
    if (v6) for (let i = 1; i < 4; i++) h = mix32(mix32(h ^ words[SOURCE + i]!) ^ words[DESTINATION + i]!)
    this.hash = mix32(mix32(h ^ words[ENDS]!) ^ words[KIND]!) | 0
  }
}

/** What the key of a row says, for reports. */
export interface NamedFlow {
  from: string
  to: string
  priority: number
  /** RoCEv2. */
  qpn?: number
  /** The IP protocol of other flows, and their ports, if they have any. */
  protocol?: number
  fromPort?: number
  toPort?: number
}

/** Reads the key at word `at` of `keys`. */
export function nameFlow(keys: Uint32Array, at: number): NamedFlow {
  const kind = keys[at + KIND]!
  const ends = keys[at + ENDS]!
  const flow: NamedFlow = {
    from: addressText(keys, at + SOURCE, kind),
    to: addressText(keys, at + DESTINATION, kind),
    priority: kind >>> PRIORITY_SHIFT,
  }
  if ((kind & IS_ROCE) !== 0) return { ...flow, qpn: ends }
  const protocol = kind & PROTOCOL
  return ends === 0
    ? { ...flow, protocol }
    : { ...flow, protocol, fromPort: ends >>> 16, toPort: ends & 0xffff }
}

function addressText(keys: Uint32Array, at: number, kind: number): string {
  if ((kind & IS_V6) === 0) return HostAddress.fromIpv4(keys[at]!).toString()
  const gid = new Uint8Array(16)
  const view = new DataView(gid.buffer)
  for (let i = 0; i < 4; i++) view.setUint32(4 * i, keys[at + i]!)
  return HostAddress.fromGid(gid).toString()
}

/** Source port above destination port, or 0: a fragment, or a protocol without ports. */
function portsOf({ view, length, l3, l4 }: Frame, protocol: number, v6: boolean): number {
  if (l4 >= 0) return ((udp.sourcePort(view, l4) << 16) | udp.destinationPort(view, l4)) >>> 0
  if (protocol !== ipv4.PROTOCOL_TCP || (!v6 && ipv4.isFragment(view, l3))) return 0
  const at = l3 + (v6 ? ipv6.BYTES : ipv4.headerBytes(view, l3))
  return at + 4 > length ? 0 : view.getUint32(at)
}

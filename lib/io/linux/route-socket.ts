import { WeirError } from '../../errors.js'
import { HostAddress } from '../../wire/net/address.js'
import type { MacAddress } from '../../wire/net/mac.js'
import { type Libc, loadLibc } from './libc.js'
import { AF_INET, AF_INET6 } from './udp-socket.js'

const AF_NETLINK = 16
const SOCK_RAW = 3
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000
const NETLINK_ROUTE = 0

/** rtnetlink(7). */
const NLM_F_REQUEST = 1
const NLM_F_DUMP = 0x300
const NLMSG_ERROR = 2
const NLMSG_DONE = 3
const RTM_NEWROUTE = 24
const RTM_GETROUTE = 26
const RTM_NEWNEIGH = 28
const RTM_GETNEIGH = 30
const RTA_DST = 1
const RTA_OIF = 4
const RTA_GATEWAY = 5
/** A gateway of the other family than the destination's: two bytes of family, then the address. */
const RTA_VIA = 18
const NDA_DST = 1
const NDA_LLADDR = 2
/** States of a neighbour whose address can be used: reachable, stale, delay, probe, noarp, permanent. */
const NUD_VALID = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80

const HEADER_BYTES = 16
/** `struct rtmsg` and `struct ndmsg` are of the same length. */
const BODY_BYTES = 12
const ATTRIBUTE_BYTES = 4
const MAC_BYTES = 6
/** A dump comes in datagrams of at most this length. */
const ANSWER_BYTES = 65_536

/** A message of an answer: its type, and where its body and its end are. */
type Take = (type: number, body: number, end: number) => void

/**
 * The kernel's tables of routes and neighbours in this network namespace, by netlink. It asks nobody on the network. Nothing of it
 * waits: the kernel has answered when a request has been sent.
 */
export class RouteSocket {
  readonly #libc: Libc = loadLibc()
  readonly #fd: number
  readonly #interfaceIndex: number
  readonly #answer = new Uint8Array(ANSWER_BYTES)
  readonly #view = new DataView(this.#answer.buffer)

  /** Throws WEIR_UNSUPPORTED without system calls or netlink. @param interfaceName answers are of this interface */
  constructor(interfaceName: string) {
    this.#interfaceIndex = this.#libc.ifNameToIndex(interfaceName)
    this.#fd = this.#libc.socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE)
    if (this.#fd < 0) throw new WeirError('WEIR_UNSUPPORTED', `netlink: error ${this.#libc.errno()}`)
  }

  /** Returns the gateway to that host, or the host itself if it is on the link, or if the kernel knows no route. */
  nextHop(to: HostAddress): HostAddress {
    const { bytes, family } = octets(to)
    const body = new Uint8Array(BODY_BYTES)
    body[0] = family
    body[1] = bytes.length * 8
    let hop = to
    const index = new Uint8Array(Uint32Array.of(this.#interfaceIndex).buffer)
    this.#ask(
      RTM_GETROUTE,
      0,
      [body, attribute(RTA_DST, bytes), attribute(RTA_OIF, index)],
      (type, at, end) => {
        if (type !== RTM_NEWROUTE) return
        this.#attributes(at + BODY_BYTES, end, (kind, value, stop) => {
          if (kind === RTA_GATEWAY) hop = this.#addressAt(value, stop - value)
          if (kind === RTA_VIA) hop = this.#addressAt(value + 2, stop - value - 2)
        })
      },
    )
    return hop
  }

  /** Returns the MAC address of a host on the link, or undefined if the kernel has not resolved it. */
  macOf(neighbour: HostAddress): MacAddress | undefined {
    const { family } = octets(neighbour)
    const body = new Uint8Array(BODY_BYTES)
    body[0] = family
    let found: MacAddress | undefined
    this.#ask(RTM_GETNEIGH, NLM_F_DUMP, [body], (type, at, end) => {
      const view = this.#view
      const isHere = view.getInt32(at + 4, true) === this.#interfaceIndex
      if (type !== RTM_NEWNEIGH || !isHere || (view.getUint16(at + 8, true) & NUD_VALID) === 0) return
      let isIt = false
      let mac: MacAddress | undefined
      this.#attributes(at + BODY_BYTES, end, (kind, value, stop) => {
        if (kind === NDA_DST) isIt = this.#addressAt(value, stop - value).equals(neighbour)
        if (kind === NDA_LLADDR && stop - value === MAC_BYTES)
          mac = view.getUint16(value) * 2 ** 32 + view.getUint32(value + 2)
      })
      if (isIt && mac !== undefined) found = mac
    })
    return found
  }

  close(): void {
    this.#libc.close(this.#fd)
  }

  #addressAt(at: number, bytes: number): HostAddress {
    return bytes === 4
      ? HostAddress.fromIpv4(this.#view.getUint32(at))
      : HostAddress.fromGid(this.#answer, at)
  }

  #ask(type: number, flags: number, parts: readonly Uint8Array[], take: Take): void {
    const length = parts.reduce((sum, part) => sum + part.length, HEADER_BYTES)
    const request = new Uint8Array(length)
    const view = new DataView(request.buffer)
    view.setUint32(0, length, true)
    view.setUint16(4, type, true)
    view.setUint16(6, NLM_F_REQUEST | flags, true)
    let at = HEADER_BYTES
    for (const part of parts) {
      request.set(part, at)
      at += part.length
    }
    if (this.#libc.send(this.#fd, request, length, 0) !== length) return
    while (this.#takeDatagram(flags === 0, take));
  }

  /** Returns false once the answer is over. @param single it is one message */
  #takeDatagram(single: boolean, take: Take): boolean {
    const view = this.#view
    const received = this.#libc.recv(this.#fd, this.#answer, ANSWER_BYTES, 0)
    for (let at = 0; at + HEADER_BYTES <= received; ) {
      const length = view.getUint32(at, true)
      const type = view.getUint16(at + 4, true)
      if (length < HEADER_BYTES || at + length > received) return false
      if (type === NLMSG_DONE || type === NLMSG_ERROR) return false
      take(type, at + HEADER_BYTES, at + length)
      at += (length + 3) & ~3
    }
    return received > 0 && !single
  }

  #attributes(from: number, end: number, take: Take): void {
    const view = this.#view
    for (let at = from; at + ATTRIBUTE_BYTES <= end; ) {
      const length = view.getUint16(at, true)
      if (length < ATTRIBUTE_BYTES || at + length > end) return
      take(view.getUint16(at + 2, true), at + ATTRIBUTE_BYTES, at + length)
      at += (length + 3) & ~3
    }
  }
}

function octets({ family, gid }: HostAddress): { bytes: Uint8Array; family: number } {
  return family === 4 ? { bytes: gid.subarray(12), family: AF_INET } : { bytes: gid, family: AF_INET6 }
}

function attribute(type: number, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array((ATTRIBUTE_BYTES + value.length + 3) & ~3)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, ATTRIBUTE_BYTES + value.length, true)
  view.setUint16(2, type, true)
  bytes.set(value, ATTRIBUTE_BYTES)
  return bytes
}

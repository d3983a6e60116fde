/** OPEN (RFC 4271, section 4.2), and its capabilities (RFC 5492). */
import { type BgpFault, makeFault, OPEN_FAULT } from './fault.js'
import {
  AFI_IPV4,
  BgpType,
  HEADER_BYTES,
  length,
  SAFI_UNICAST,
  UNSUPPORTED_VERSION,
  writeHeader,
} from './message.js'

/** Stands in the two bytes of an AS number that needs four (RFC 6793, section 9). */
export const AS_TRANS = 23_456

const VERSION = 4
const VERSION_AT = HEADER_BYTES
const AS_AT = HEADER_BYTES + 1
const HOLD_AT = HEADER_BYTES + 3
const IDENTIFIER_AT = HEADER_BYTES + 5
const PARAMETERS_AT = HEADER_BYTES + 9
const FIXED_BYTES = HEADER_BYTES + 10

const CAPABILITIES = 2
const MULTIPROTOCOL = 1
const ROUTE_REFRESH = 2
const GRACEFUL_RESTART = 64
const FOUR_OCTET_AS = 65

const RESTART_STATE = 0x8000
const RESTART_SECONDS_MAX = 0x0fff
const FORWARDING_STATE = 0x80

const UNSPECIFIC = 0
const BAD_IDENTIFIER = 3
const UNSUPPORTED_PARAMETER = 4
const BAD_HOLD_TIME = 6

/** What graceful restart (RFC 4724, section 3) says. */
interface GracefulRestart {
  /** The sender has restarted, and waits for the End-of-RIB. */
  restarted: boolean
  /** How long the receiver keeps routes of a sender that restarts, 0 to 4,095 s. */
  seconds: number
  /** IPv4 unicast is among the families. False: the sender only helps others to restart. */
  ipv4: boolean
  /** The sender has kept its forwarding state. */
  forwarding: boolean
}

/** What an OPEN says. */
export interface BgpOpen {
  /** Autonomous system, 32 bits. */
  as: number
  /** 0, or 3 s and more. */
  holdSeconds: number
  /** BGP identifier, 32 bits. */
  identifier: number
  /** IPv4 unicast by RFC 4760. A peer without capabilities speaks IPv4 unicast too. */
  ipv4: boolean
  routeRefresh: boolean
  fourOctetAs: boolean
  /** Null: not supported. */
  gracefulRestart: GracefulRestart | null
}

/** Returns what the OPEN says, or what is wrong (RFC 4271, section 6.2). Its header is right. */
export function readOpen(view: DataView, at: number): BgpOpen | BgpFault {
  if (view.getUint8(at + VERSION_AT) !== VERSION) return UNSUPPORTED_VERSION
  const holdSeconds = view.getUint16(at + HOLD_AT)
  if (holdSeconds === 1 || holdSeconds === 2) return makeFault(OPEN_FAULT, BAD_HOLD_TIME)
  const identifier = view.getUint32(at + IDENTIFIER_AT)
  if (identifier === 0) return makeFault(OPEN_FAULT, BAD_IDENTIFIER)
  const end = at + length(view, at)
  if (at + FIXED_BYTES + view.getUint8(at + PARAMETERS_AT) !== end) return makeFault(OPEN_FAULT, UNSPECIFIC)
  const open: BgpOpen = {
    as: view.getUint16(at + AS_AT),
    holdSeconds,
    identifier,
    ipv4: true,
    routeRefresh: false,
    fourOctetAs: false,
    gracefulRestart: null,
  }
  const families = { named: false, ipv4: false }
  for (let parameter = at + FIXED_BYTES; parameter < end; ) {
    if (end - parameter < 2) return makeFault(OPEN_FAULT, UNSPECIFIC)
    const next = parameter + 2 + view.getUint8(parameter + 1)
    if (next > end) return makeFault(OPEN_FAULT, UNSPECIFIC)
    if (view.getUint8(parameter) !== CAPABILITIES) return makeFault(OPEN_FAULT, UNSUPPORTED_PARAMETER)
    if (!readCapabilities(view, parameter + 2, next, open, families)) return makeFault(OPEN_FAULT, UNSPECIFIC)
    parameter = next
  }
  if (families.named) open.ipv4 = families.ipv4
  return open
}

/** Reads the capabilities of one parameter. Unknown ones are skipped (RFC 5492, section 3). False: one is cut off. */
function readCapabilities(
  view: DataView,
  at: number,
  end: number,
  open: BgpOpen,
  families: { named: boolean; ipv4: boolean },
): boolean {
  for (let capability = at; capability < end; ) {
    if (end - capability < 2) return false
    const bytes = view.getUint8(capability + 1)
    const value = capability + 2
    if (value + bytes > end) return false
    switch (view.getUint8(capability)) {
      case MULTIPROTOCOL:
        if (bytes !== 4) return false
        families.named = true
        if (view.getUint16(value) === AFI_IPV4 && view.getUint8(value + 3) === SAFI_UNICAST)
          families.ipv4 = true
        break
      case ROUTE_REFRESH:
        open.routeRefresh = true
        break
      case FOUR_OCTET_AS:
        if (bytes !== 4) return false
        open.fourOctetAs = true
        open.as = view.getUint32(value)
        break
      case GRACEFUL_RESTART:
        if (bytes < 2 || (bytes - 2) % 4 !== 0) return false
        open.gracefulRestart = readGracefulRestart(view, value, bytes)
        break
    }
    capability = value + bytes
  }
  return true
}

function readGracefulRestart(view: DataView, at: number, bytes: number): GracefulRestart {
  const flags = view.getUint16(at)
  let ipv4 = false
  let forwarding = false
  for (let family = at + 2; family < at + bytes; family += 4) {
    if (view.getUint16(family) !== AFI_IPV4 || view.getUint8(family + 2) !== SAFI_UNICAST) continue
    ipv4 = true
    forwarding = (view.getUint8(family + 3) & FORWARDING_STATE) !== 0
  }
  return { restarted: (flags & RESTART_STATE) !== 0, seconds: flags & RESTART_SECONDS_MAX, ipv4, forwarding }
}

/** Writes an OPEN with all its capabilities in one parameter. Returns its end. */
export function writeOpen(view: DataView, at: number, open: BgpOpen): number {
  view.setUint8(at + VERSION_AT, VERSION)
  view.setUint16(at + AS_AT, open.as > 0xffff ? AS_TRANS : open.as)
  view.setUint16(at + HOLD_AT, open.holdSeconds)
  view.setUint32(at + IDENTIFIER_AT, open.identifier)
  const capabilities = at + FIXED_BYTES + 2
  let end = capabilities
  const begin = (code: number, bytes: number): number => {
    view.setUint8(end, code)
    view.setUint8(end + 1, bytes)
    end += 2 + bytes
    return end - bytes
  }
  if (open.ipv4) view.setUint32(begin(MULTIPROTOCOL, 4), (AFI_IPV4 << 16) | SAFI_UNICAST)
  if (open.routeRefresh) begin(ROUTE_REFRESH, 0)
  const restart = open.gracefulRestart
  if (restart !== null) {
    const value = begin(GRACEFUL_RESTART, restart.ipv4 ? 6 : 2)
    const seconds = Math.min(restart.seconds, RESTART_SECONDS_MAX)
    view.setUint16(value, (restart.restarted ? RESTART_STATE : 0) | seconds)
    if (restart.ipv4) {
      view.setUint16(value + 2, AFI_IPV4)
      view.setUint8(value + 4, SAFI_UNICAST)
      view.setUint8(value + 5, restart.forwarding ? FORWARDING_STATE : 0)
    }
  }
  if (open.fourOctetAs) view.setUint32(begin(FOUR_OCTET_AS, 4), open.as)
  const none = end === capabilities
  if (none) end -= 2
  view.setUint8(at + PARAMETERS_AT, end - at - FIXED_BYTES)
  if (!none) {
    view.setUint8(at + FIXED_BYTES, CAPABILITIES)
    view.setUint8(at + FIXED_BYTES + 1, end - capabilities)
  }
  writeHeader(view, at, BgpType.OPEN, end - at)
  return end
}

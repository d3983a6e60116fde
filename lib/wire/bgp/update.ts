/** UPDATE (RFC 4271, section 4.3), and its errors (section 6.3 and RFC 7606). */
import {
  attributesBytes,
  missingAttribute,
  type PathAttributes,
  readAttributes,
  writeAttributes,
} from './attributes.js'
import { type BgpFault, makeFault, UPDATE_FAULT } from './fault.js'
import { BgpType, HEADER_BYTES, length, MESSAGE_BYTES_MAX, writeHeader } from './message.js'
import { type PrefixKey, prefixBytes, readPrefixes, writePrefix } from './prefix.js'

const MALFORMED_LIST = 1
const INVALID_NETWORK = 10

/** What an UPDATE says. With no route and nothing withdrawn it is the End-of-RIB of IPv4 (RFC 4724, section 2). */
export interface BgpUpdate {
  withdrawn: PrefixKey[]
  /** Null: there are no routes. */
  attributes: PathAttributes | null
  routes: PrefixKey[]
  endOfRib: boolean
  /** What was wrong with attributes, without ending the session. */
  remarks: string[]
}

/** Returns what the UPDATE says, or the fault that ends the session. Its header is right. */
export function readUpdate(view: DataView, at: number, fourOctetAs: boolean): BgpUpdate | BgpFault {
  const end = at + length(view, at)
  const withdrawnAt = at + HEADER_BYTES + 2
  const withdrawnEnd = withdrawnAt + view.getUint16(withdrawnAt - 2)
  if (withdrawnEnd + 2 > end) return makeFault(UPDATE_FAULT, MALFORMED_LIST)
  const attributesAt = withdrawnEnd + 2
  const attributesEnd = attributesAt + view.getUint16(withdrawnEnd)
  if (attributesEnd > end) return makeFault(UPDATE_FAULT, MALFORMED_LIST)
  const withdrawn = readPrefixes(view, withdrawnAt, withdrawnEnd)
  const routes = readPrefixes(view, attributesEnd, end)
  // RFC 7606, section 5.3: without its routes an UPDATE cannot be treated as a withdrawal.
  if (withdrawn === null || routes === null) return makeFault(UPDATE_FAULT, INVALID_NETWORK)
  const read = readAttributes(view, attributesAt, attributesEnd, fourOctetAs)
  if ('code' in read) return read
  const { remarks, present } = read
  let { attributes } = read
  if (routes.length === 0) {
    const endOfRib = withdrawn.length === 0 && attributesEnd === attributesAt
    return { withdrawn, attributes: null, routes: [], endOfRib, remarks }
  }
  const missing = missingAttribute(present)
  if (attributes !== null && missing !== null) {
    // RFC 7606, section 3 d.
    remarks.push(`${missing} is missing`)
    attributes = null
  }
  if (attributes === null)
    return { withdrawn: [...withdrawn, ...routes], attributes: null, routes: [], endOfRib: false, remarks }
  return { withdrawn, attributes, routes, endOfRib: false, remarks }
}

/** Writes an UPDATE that withdraws as many of the prefixes as fit. Returns its end, and how many. */
export function writeWithdrawal(
  view: DataView,
  at: number,
  prefixes: readonly PrefixKey[],
): { end: number; count: number } {
  const room = at + MESSAGE_BYTES_MAX - 2
  let end = at + HEADER_BYTES + 2
  let count = 0
  while (count < prefixes.length && end + prefixBytes(prefixes[count]!) <= room) {
    end = writePrefix(view, end, prefixes[count++]!)
  }
  view.setUint16(at + HEADER_BYTES, end - at - HEADER_BYTES - 2)
  view.setUint16(end, 0)
  end += 2
  writeHeader(view, at, BgpType.UPDATE, end - at)
  return { end, count }
}

/** Writes the End-of-RIB of IPv4 unicast: an UPDATE of 23 bytes. */
export function writeEndOfRib(view: DataView, at: number): number {
  return writeWithdrawal(view, at, []).end
}

/** True if the attributes of a route leave room for its prefix in a message. */
export function fitsUpdate(attributes: PathAttributes): boolean {
  return HEADER_BYTES + 4 + attributesBytes(attributes) + 5 <= MESSAGE_BYTES_MAX
}

/** Writes an UPDATE with as many of the prefixes as fit; the attributes are those of all. Returns its end, and how many. */
export function writeRoutes(
  view: DataView,
  at: number,
  attributes: PathAttributes,
  prefixes: readonly PrefixKey[],
  fourOctetAs: boolean,
): { end: number; count: number } {
  const attributesAt = at + HEADER_BYTES + 4
  let end = writeAttributes(view, attributesAt, attributes, fourOctetAs)
  view.setUint16(at + HEADER_BYTES, 0)
  view.setUint16(at + HEADER_BYTES + 2, end - attributesAt)
  let count = 0
  while (count < prefixes.length && end + prefixBytes(prefixes[count]!) <= at + MESSAGE_BYTES_MAX) {
    end = writePrefix(view, end, prefixes[count++]!)
  }
  writeHeader(view, at, BgpType.UPDATE, end - at)
  return { end, count }
}

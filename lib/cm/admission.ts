/**
 * Checks whether a REQ may have a connection. These checks need no connection. Their order and reasons are
 * those that Linux's stack was seen to use, which are not always those of the standard.
 */

import * as cma from '../wire/cm/cma-header.js'
import * as rej from '../wire/cm/rej.js'
import * as req from '../wire/cm/req.js'
import { QPN_FIRST } from '../wire/ib/deth.js'
import type { HostAddress } from '../wire/net/address.js'

export interface ConnectRefusal {
  reason: number
  information: Uint8Array
  /** A connection with an id of its own sends the refusal, as if its application had made it. */
  withOwnId: boolean
}

const NOTHING = new Uint8Array(0)
const CMA_VERSION = 0
const INVALID_SERVICE: ConnectRefusal = {
  reason: rej.Reason.INVALID_SERVICE_ID,
  information: NOTHING,
  withOwnId: false,
}
const BAD_ADDRESSES: ConnectRefusal = { reason: rej.Reason.CONSUMER, information: NOTHING, withOwnId: false }
const BAD_QUEUE_PAIR: ConnectRefusal = {
  reason: rej.Reason.UNSUPPORTED_REQUEST,
  information: NOTHING,
  withOwnId: false,
}
const BAD_MTU: ConnectRefusal = { reason: rej.Reason.CONSUMER, information: NOTHING, withOwnId: true }

/** The address of this host that the REQ names, or null. */
export function namedAddress(request: req.Req, own: readonly HostAddress[]): HostAddress | null {
  return own.find(address => sameGid(address.gid, request.primary.remoteGid)) ?? null
}

/**
 * Returns why the REQ is refused, or null.
 *
 * @param ports those with a listener
 */
export function refusalOf(
  request: req.Req,
  own: readonly HostAddress[],
  ports: ReadonlySet<number>,
): ConnectRefusal | null {
  const port = cma.portOf(request.serviceId)
  if (!ports.has(port) || request.serviceId !== cma.serviceIdOf(port)) return INVALID_SERVICE
  const local = namedAddress(request, own)
  if (!local || !isDefaultPartition(request.pkey)) {
    return { reason: rej.Reason.PRIMARY_GID, information: own[0]!.gid, withOwnId: false }
  }
  if (!isAddressedTo(request, local) || request.transport !== req.Transport.RC) return BAD_ADDRESSES
  if (request.localQpn < QPN_FIRST) return BAD_QUEUE_PAIR
  // Code 0 leaves the path MTU open. 6 and above are invalid.
  if (request.pathMtu !== 0 && req.mtuBytes(request.pathMtu) === 0) return BAD_MTU
  return null
}

/** The default partition, as full or limited member: the membership bit does not count (IBA 10.9.3). */
function isDefaultPartition(pkey: number): boolean {
  return (pkey & 0x7fff) === 0x7fff
}

/**
 * The CMA header must name the same destination as the GID. Any source is accepted, because the peer may have
 * several addresses.
 */
function isAddressedTo(request: req.Req, local: HostAddress): boolean {
  const data = request.privateData
  const header = cma.read(new DataView(data.buffer, data.byteOffset, data.byteLength), 0)
  return (
    header.version === CMA_VERSION &&
    header.ipVersion === local.family &&
    sameGid(header.destination, local.gid)
  )
}

export function sameGid(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < 16; i++) if (a[i] !== b[i]) return false
  return true
}

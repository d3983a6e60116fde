/** Ethernet frames of iNOF. They are LLDP frames to the nearest bridge, which no switch forwards. */
import type { Frame } from '../frame/frame.js'
import { WireError } from '../wire/bytes/wire-error.js'
import * as ethernet from '../wire/net/ethernet.js'
import * as lldp from '../wire/net/lldp.js'
import type { MacAddress } from '../wire/net/mac.js'
import {
  type HostPresence,
  type InofNotice,
  type NoticesHeader,
  readNotices,
  readPresence,
  writeNotices,
  writePresence,
} from '../wire/weir/inof-tlv.js'

/** The shortest Ethernet frame, without FCS. */
const FRAME_BYTES_MIN = 60
/** A switch repeats what is not acknowledged, so what it says need not be kept for long. */
const NOTICES_TTL_SECONDS = 1

/** Who sends a frame. */
export interface FrameSender {
  mac: MacAddress
  /** Names of the sender and of its port: a few characters. */
  name: string
  port: string
}

/** True for a whole LLDP frame to the nearest bridge. */
export function isLldp({ view, length }: Frame): boolean {
  return (
    length >= ethernet.BYTES &&
    ethernet.etherType(view, 0) === ethernet.TYPE_LLDP &&
    ethernet.destination(view, 0) === lldp.NEAREST_BRIDGE &&
    lldp.check(view, ethernet.headerBytes(view, 0), length) === WireError.OK
  )
}

/** Reads what a host says in an LLDP frame, or returns null: it says nothing of iNOF. */
export function presenceOf({ view, length }: Frame): { presence: HostPresence; ttlSeconds: number } | null {
  const at = ethernet.headerBytes(view, 0)
  const presence = readPresence(view, at, length)
  return presence && { presence, ttlSeconds: lldp.ttlSeconds(view, at) }
}

/** Reads what a switch says in an LLDP frame, or returns null. */
export function noticesOf({ view, length }: Frame): { header: NoticesHeader; notices: InofNotice[] } | null {
  return readNotices(view, ethernet.headerBytes(view, 0), length)
}

export function writePresenceFrame(
  frame: Frame,
  from: FrameSender,
  presence: HostPresence,
  ttlSeconds: number,
): void {
  finish(frame, writePresence(frame.view, begin(frame, from, ttlSeconds), presence))
}

export function writeNoticesFrame(
  frame: Frame,
  from: FrameSender,
  header: NoticesHeader,
  notices: readonly InofNotice[],
): void {
  finish(frame, writeNotices(frame.view, begin(frame, from, NOTICES_TTL_SECONDS), header, notices))
}

/** Returns where the first organisational TLV begins. */
function begin({ view }: Frame, { mac, name, port }: FrameSender, ttlSeconds: number): number {
  ethernet.write(view, 0, lldp.NEAREST_BRIDGE, mac, ethernet.TYPE_LLDP)
  return lldp.writeSender(view, ethernet.BYTES, { chassis: mac, port, ttlSeconds, systemName: name })
}

function finish(frame: Frame, at: number): void {
  const end = lldp.writeEnd(frame.view, at)
  if (end < FRAME_BYTES_MIN) frame.bytes.fill(0, end, FRAME_BYTES_MIN)
  frame.length = Math.max(FRAME_BYTES_MIN, end)
  frame.wireLength = frame.length
}

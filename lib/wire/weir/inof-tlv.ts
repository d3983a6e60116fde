/**
 * What hosts and switches of an iNOF network say to each other: organisational TLVs of LLDP frames.
 *
 * The OUI is 02-57-45. Its bits mark it as administered locally (IEEE Std 802c-2017, SLAP quadrant AAI: the low hexadecimal
 * digit of the first byte is 2), so the IEEE assigns it to nobody. A receiver that does not know it skips the TLV.
 *
 * Subtype 1, presence, host to switch: version, kind, state, address family (4), epoch of the host (u32), epoch of the
 * switch that it has heard (u32), number of the last notice that it has (u32), address (IPv4).
 *
 * Subtype 2, notices, switch to host: version, count, 2 bytes reserved, epoch of the switch (u32), epoch of the host that is
 * meant (u32), number of the first notice (u32), then notices of 8 bytes: event, kind, zone (u16), address (IPv4).
 *
 * An epoch is a number that changes when its owner starts anew, or when the switch has forgotten the host. The notices of a switch to one host are numbered
 * from 1, and the presence acknowledges all up to a number. What is not acknowledged is repeated.
 *
 * A switch that means host epoch 0, and has no notices, asks who is there. The host announces itself at once.
 */
import * as lldp from '../net/lldp.js'

export const OUI = 0x02_57_45
const PRESENCE = 1
const NOTICES = 2
const VERSION = 1
const IPV4 = 4

const PRESENCE_BYTES = 20
const NOTICES_HEADER = 16
const NOTICE_BYTES = 8
/** Notices of one frame: it fits into slots that have room for headers alone. */
export const NOTICES_MAX = 40

export const HostState = { LEAVING: 0, PRESENT: 1 } as const
export type HostState = (typeof HostState)[keyof typeof HostState]

/**
 * `LISTED`: all members that were there when the switch began have been named. `LINK_DOWN`, `LINK_UP`: a link of a switch that leads to
 * no host; the notice has the switch's number in place of an address, and its port in place of a zone.
 */
export const InofEvent = {
  ARRIVED: 1,
  DEPARTED: 2,
  FAILED: 3,
  LISTED: 4,
  LINK_DOWN: 5,
  LINK_UP: 6,
} as const
export type InofEvent = (typeof InofEvent)[keyof typeof InofEvent]

/** What a host says. */
export interface HostPresence {
  /** 0: a host, 1: a host with storage. Others are for users. */
  kind: number
  state: HostState
  epoch: number
  switchEpoch: number
  heard: number
  address: number
}

/** What a switch says about one member of a zone. */
export interface InofNotice {
  event: InofEvent
  kind: number
  zone: number
  address: number
}

/** What a frame of notices begins with. */
export interface NoticesHeader {
  switchEpoch: number
  epoch: number
  first: number
}

/** Returns the presence of a checked LLDPDU, or null where it has none that this version understands. */
export function readPresence(view: DataView, at: number, end: number): HostPresence | null {
  const value = lldp.findOrganisational(view, at, end, OUI, PRESENCE)
  if (value < 0 || lldp.organisationalBytes(view, value) < PRESENCE_BYTES) return null
  if (view.getUint8(value) !== VERSION || view.getUint8(value + 3) !== IPV4) return null
  return {
    kind: view.getUint8(value + 1),
    state: view.getUint8(value + 2) === HostState.LEAVING ? HostState.LEAVING : HostState.PRESENT,
    epoch: view.getUint32(value + 4),
    switchEpoch: view.getUint32(value + 8),
    heard: view.getUint32(value + 12),
    address: view.getUint32(value + 16),
  }
}

/** Writes the TLV. Returns where the next begins. */
export function writePresence(view: DataView, at: number, presence: HostPresence): number {
  const value = lldp.beginOrganisational(view, at, OUI, PRESENCE, PRESENCE_BYTES)
  view.setUint8(value, VERSION)
  view.setUint8(value + 1, presence.kind)
  view.setUint8(value + 2, presence.state)
  view.setUint8(value + 3, IPV4)
  view.setUint32(value + 4, presence.epoch)
  view.setUint32(value + 8, presence.switchEpoch)
  view.setUint32(value + 12, presence.heard)
  view.setUint32(value + 16, presence.address)
  return value + PRESENCE_BYTES
}

/** Returns the notices of a checked LLDPDU, or null where it has none that this version understands. */
export function readNotices(
  view: DataView,
  at: number,
  end: number,
): { header: NoticesHeader; notices: InofNotice[] } | null {
  const value = lldp.findOrganisational(view, at, end, OUI, NOTICES)
  if (value < 0) return null
  const bytes = lldp.organisationalBytes(view, value)
  if (bytes < NOTICES_HEADER || view.getUint8(value) !== VERSION) return null
  const count = view.getUint8(value + 1)
  if (count > NOTICES_MAX || bytes < NOTICES_HEADER + count * NOTICE_BYTES) return null
  const header = {
    switchEpoch: view.getUint32(value + 4),
    epoch: view.getUint32(value + 8),
    first: view.getUint32(value + 12),
  }
  const notices: InofNotice[] = []
  for (let i = 0; i < count; i++) {
    const notice = value + NOTICES_HEADER + i * NOTICE_BYTES
    const event = view.getUint8(notice)
    if (event < InofEvent.ARRIVED || event > InofEvent.LINK_UP) return null
    notices.push({
      event: event as InofEvent,
      kind: view.getUint8(notice + 1),
      zone: view.getUint16(notice + 2),
      address: view.getUint32(notice + 4),
    })
  }
  return { header, notices }
}

/**
 * Writes the TLV. Returns where the next begins.
 *
 * @param notices at most NOTICES_MAX
 */
export function writeNotices(
  view: DataView,
  at: number,
  header: NoticesHeader,
  notices: readonly InofNotice[],
): number {
  const bytes = NOTICES_HEADER + notices.length * NOTICE_BYTES
  const value = lldp.beginOrganisational(view, at, OUI, NOTICES, bytes)
  view.setUint8(value, VERSION)
  view.setUint8(value + 1, notices.length)
  view.setUint16(value + 2, 0)
  view.setUint32(value + 4, header.switchEpoch)
  view.setUint32(value + 8, header.epoch)
  view.setUint32(value + 12, header.first)
  for (const [i, { event, kind, zone, address }] of notices.entries()) {
    const notice = value + NOTICES_HEADER + i * NOTICE_BYTES
    view.setUint8(notice, event)
    view.setUint8(notice + 1, kind)
    view.setUint16(notice + 2, zone)
    view.setUint32(notice + 4, address)
  }
  return value + bytes
}

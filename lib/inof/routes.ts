/** Presence of hosts, and zones, as BGP routes with large communities: see README.md. */
import type { LargeCommunity, PathAttributes } from '../wire/bgp/attributes.js'
import { type PrefixKey, prefixAddress, prefixKey, prefixLength } from '../wire/bgp/prefix.js'
import { DEFAULT_ZONE, ZONES_MAX } from './zones.js'

const ZONE = 1
const PORT = 2
const KIND = 3
const STATE = 4
const SWITCH = 5
const FAILED_PORT = 6
const MEMBER = 16
const AUTO_JOIN = 17

const HOST_BITS = 32
/** Addresses for benchmarks (RFC 2544), which are no hosts of a network. */
const ZONES_BASE = 0xc612_0000
const CHUNKS = 128
/** Members of one route: it fits into a message. */
const CHUNK_MEMBERS = 300

export const MemberState = { UP: 1, FAILED: 2 } as const
export type MemberState = (typeof MemberState)[keyof typeof MemberState]

/** A host, as its route says. */
export interface Member {
  address: number
  kind: number
  state: MemberState
  zones: readonly number[]
  switchId: number
  port: number
}

/** A part of a zone, as its route says. */
interface ZonePart {
  zone: number
  chunk: number
  members: readonly number[]
  autoJoin: boolean
}

export function hostPrefix(address: number): PrefixKey {
  return prefixKey(address, HOST_BITS)
}

/** The communities of a host's route. */
export function memberCommunities(as: number, member: Member): LargeCommunity[] {
  const { zones, switchId, port, kind, state } = member
  const community = (local1: number, local2: number) => ({ global: as, local1, local2 })
  return [
    ...zones.map(zone => community(ZONE, zone)),
    community(PORT, switchId * 0x1_0000 + port),
    community(KIND, kind),
    community(STATE, state),
  ]
}

/** Returns the host of a route, or null: the route is something else. */
export function readMember(as: number, prefix: PrefixKey, attributes: PathAttributes): Member | null {
  if (prefixLength(prefix) !== HOST_BITS) return null
  const values = (wanted: number) => valuesOf(as, attributes, wanted)
  const [place] = values(PORT)
  const [state] = values(STATE)
  if (place === undefined || (state !== MemberState.UP && state !== MemberState.FAILED)) return null
  return {
    address: prefixAddress(prefix),
    kind: values(KIND)[0] ?? 0,
    state,
    zones: values(ZONE).sort((a, b) => a - b),
    switchId: place >>> 16,
    port: place & 0xffff,
  }
}

/** The communities of a switch's own route. @param ports those whose links have failed */
export function switchCommunities(as: number, id: number, ports: readonly number[]): LargeCommunity[] {
  return [
    { global: as, local1: SWITCH, local2: id },
    ...ports.map(port => ({ global: as, local1: FAILED_PORT, local2: id * 0x1_0000 + port })),
  ]
}

/** Returns the failed links of a switch, each as switch x 65,536 + port, or null: the route is something else. */
export function readSwitch(as: number, prefix: PrefixKey, attributes: PathAttributes): number[] | null {
  if (prefixLength(prefix) !== HOST_BITS || valuesOf(as, attributes, SWITCH).length === 0) return null
  return valuesOf(as, attributes, FAILED_PORT)
}

/** The routes of a zone: of the default zone at least one, which says whether free hosts join. */
export function zoneRoutes(
  as: number,
  zone: number,
  members: readonly number[],
  autoJoin: boolean,
): { prefix: PrefixKey; largeCommunities: LargeCommunity[] }[] {
  const chunks = Math.max(zone === DEFAULT_ZONE ? 1 : 0, Math.ceil(members.length / CHUNK_MEMBERS))
  return Array.from({ length: Math.min(chunks, CHUNKS) }, (_, chunk) => ({
    prefix: prefixKey(ZONES_BASE + CHUNKS * zone + chunk, HOST_BITS),
    largeCommunities: [
      ...members
        .slice(chunk * CHUNK_MEMBERS, (chunk + 1) * CHUNK_MEMBERS)
        .map(member => ({ global: as, local1: MEMBER, local2: member })),
      ...(zone === DEFAULT_ZONE ? [{ global: as, local1: AUTO_JOIN, local2: autoJoin ? 1 : 0 }] : []),
    ],
  }))
}

/** Which part of which zone a prefix is, or null. */
export function zonePlace(prefix: PrefixKey): { zone: number; chunk: number } | null {
  const offset = prefixAddress(prefix) - ZONES_BASE
  if (prefixLength(prefix) !== HOST_BITS || offset < 0 || offset >= ZONES_MAX * CHUNKS) return null
  return { zone: Math.floor(offset / CHUNKS), chunk: offset % CHUNKS }
}

/** Returns the part of a zone that a route is, or null. */
export function readZone(as: number, prefix: PrefixKey, attributes: PathAttributes): ZonePart | null {
  const place = zonePlace(prefix)
  if (place === null) return null
  return {
    ...place,
    members: valuesOf(as, attributes, MEMBER),
    autoJoin: valuesOf(as, attributes, AUTO_JOIN)[0] === 1,
  }
}

function valuesOf(as: number, { largeCommunities }: PathAttributes, wanted: number): number[] {
  return largeCommunities.flatMap(({ global, local1, local2 }) =>
    global === as && local1 === wanted ? [local2] : [],
  )
}

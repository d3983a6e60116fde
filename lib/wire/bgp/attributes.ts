/**
 * Path attributes of an UPDATE (RFC 4271, section 4.3; RFC 1997, 4456, 6793, 8092), and what a malformed one does (RFC 7606).
 */
import { type BgpFault, makeFault, UPDATE_FAULT } from './fault.js'
import { AS_TRANS } from './open.js'

export const Origin = { IGP: 0, EGP: 1, INCOMPLETE: 2 } as const
export type Origin = (typeof Origin)[keyof typeof Origin]

/** A large community (RFC 8092): three numbers of 32 bits. */
export interface LargeCommunity {
  global: number
  local1: number
  local2: number
}

/** Attributes of a route, of which several routes may share one object. Nobody changes it. */
export interface PathAttributes {
  readonly origin: Origin
  readonly asPath: readonly number[]
  readonly nextHop: number
  readonly med: number
  readonly localPref: number
  readonly largeCommunities: readonly LargeCommunity[]
  /** 0: none. */
  readonly originatorId: number
  readonly clusterList: readonly number[]
  /** Attributes that are passed on as they came: those that mean nothing here, and optional transitive ones that are not known. */
  readonly others: readonly Uint8Array[]
}

/** What was found in the attributes of an UPDATE. */
interface ReadAttributes {
  /** Null: the routes of the UPDATE count as withdrawn (RFC 7606, section 2). */
  attributes: PathAttributes | null
  /** Why, or which attribute was left out; empty: all is well. */
  remarks: string[]
  /** The codes that were there. */
  present: ReadonlySet<number>
}

export const LOCAL_PREF_DEFAULT = 100

const OPTIONAL = 0x80
const TRANSITIVE = 0x40
const PARTIAL = 0x20
const EXTENDED = 0x10

const ORIGIN = 1
const AS_PATH = 2
const NEXT_HOP = 3
const MED = 4
const LOCAL_PREF = 5
const ATOMIC_AGGREGATE = 6
const AGGREGATOR = 7
const COMMUNITIES = 8
const ORIGINATOR_ID = 9
const CLUSTER_LIST = 10
const MP_REACH = 14
const MP_UNREACH = 15
const AS4_PATH = 17
const AS4_AGGREGATOR = 18
const LARGE_COMMUNITIES = 32

const LARGE_COMMUNITY_BYTES = 12
const AS_SEQUENCE = 2
const SEGMENT_ASES_MAX = 255

const MALFORMED_LIST = 1
const UNKNOWN_WELL_KNOWN = 2

type Draft = { -readonly [K in keyof PathAttributes]: PathAttributes[K] }

/** What a malformed attribute does: its routes are taken away, or it is left out. */
type Consequence = 'withdraw' | 'discard'

interface AttributeRule {
  name: string
  /** The bits OPTIONAL and TRANSITIVE that it has. */
  flags: number
  /** Returns false if the value is malformed. */
  read(view: DataView, at: number, bytes: number, into: Draft, fourOctetAs: boolean): boolean
  malformed: Consequence
  /** It is passed on as it came. */
  passedOn?: boolean
}

const ignore = () => true

/** RFC 7606, section 7. */
const RULES: Readonly<Record<number, AttributeRule>> = {
  [ORIGIN]: {
    name: 'ORIGIN',
    flags: TRANSITIVE,
    malformed: 'withdraw',
    read(view, at, bytes, into) {
      if (bytes !== 1 || view.getUint8(at) > Origin.INCOMPLETE) return false
      into.origin = view.getUint8(at) as Origin
      return true
    },
  },
  [AS_PATH]: { name: 'AS_PATH', flags: TRANSITIVE, malformed: 'withdraw', read: readAsPath },
  [NEXT_HOP]: {
    name: 'NEXT_HOP',
    flags: TRANSITIVE,
    malformed: 'withdraw',
    read: word((into, value) => {
      into.nextHop = value
    }),
  },
  [MED]: {
    name: 'MULTI_EXIT_DISC',
    flags: OPTIONAL,
    malformed: 'withdraw',
    read: word((into, value) => {
      into.med = value
    }),
  },
  [LOCAL_PREF]: {
    name: 'LOCAL_PREF',
    flags: TRANSITIVE,
    malformed: 'withdraw',
    read: word((into, value) => {
      into.localPref = value
    }),
  },
  [ATOMIC_AGGREGATE]: {
    name: 'ATOMIC_AGGREGATE',
    flags: TRANSITIVE,
    malformed: 'discard',
    passedOn: true,
    read: (_view, _at, bytes) => bytes === 0,
  },
  [AGGREGATOR]: {
    name: 'AGGREGATOR',
    flags: OPTIONAL | TRANSITIVE,
    malformed: 'discard',
    passedOn: true,
    read: (_view, _at, bytes, _into, fourOctetAs) => bytes === (fourOctetAs ? 8 : 6),
  },
  [COMMUNITIES]: {
    name: 'COMMUNITIES',
    flags: OPTIONAL | TRANSITIVE,
    malformed: 'withdraw',
    passedOn: true,
    read: (_view, _at, bytes) => bytes > 0 && bytes % 4 === 0,
  },
  [ORIGINATOR_ID]: {
    name: 'ORIGINATOR_ID',
    flags: OPTIONAL,
    malformed: 'withdraw',
    read: word((into, value) => {
      into.originatorId = value
    }),
  },
  [CLUSTER_LIST]: {
    name: 'CLUSTER_LIST',
    flags: OPTIONAL,
    malformed: 'withdraw',
    read(view, at, bytes, into) {
      if (bytes === 0 || bytes % 4 !== 0) return false
      into.clusterList = Array.from({ length: bytes / 4 }, (_, i) => view.getUint32(at + 4 * i))
      return true
    },
  },
  // Routes of other families were not agreed on: RFC 4760 has no duty to read them.
  [MP_REACH]: { name: 'MP_REACH_NLRI', flags: OPTIONAL, malformed: 'discard', read: ignore },
  [MP_UNREACH]: { name: 'MP_UNREACH_NLRI', flags: OPTIONAL, malformed: 'discard', read: ignore },
  // RFC 6793, section 6: whoever speaks four octets ignores what translates for others.
  [AS4_PATH]: { name: 'AS4_PATH', flags: OPTIONAL | TRANSITIVE, malformed: 'discard', read: ignore },
  [AS4_AGGREGATOR]: {
    name: 'AS4_AGGREGATOR',
    flags: OPTIONAL | TRANSITIVE,
    malformed: 'discard',
    read: ignore,
  },
  [LARGE_COMMUNITIES]: {
    name: 'LARGE_COMMUNITY',
    flags: OPTIONAL | TRANSITIVE,
    malformed: 'withdraw',
    read: readLargeCommunities,
  },
}

/**
 * Reads the attributes from `at` to `end`. A fault is one that ends the session even by RFC 7606.
 *
 * @param fourOctetAs both ends have agreed to it (RFC 6793)
 */
export function readAttributes(
  view: DataView,
  at: number,
  end: number,
  fourOctetAs: boolean,
): ReadAttributes | BgpFault {
  const into: Draft = {
    origin: Origin.INCOMPLETE,
    asPath: [],
    nextHop: 0,
    med: 0,
    localPref: LOCAL_PREF_DEFAULT,
    largeCommunities: [],
    originatorId: 0,
    clusterList: [],
    others: [],
  }
  const remarks: string[] = []
  const present = new Set<number>()
  let withdraw = false
  for (let next = at; next < end; ) {
    const found = header(view, next, end)
    if (found === null) {
      // RFC 7606, section 4: the list is cut off, but the routes behind it can still be found.
      remarks.push('the list of attributes is cut off')
      return { attributes: null, remarks, present }
    }
    const { flags, code, value, bytes } = found
    if (present.has(code)) {
      if (code === MP_REACH || code === MP_UNREACH) return makeFault(UPDATE_FAULT, MALFORMED_LIST)
      remarks.push(`attribute ${code} was there twice: the first counts`)
    } else {
      const rule = RULES[code]
      if (rule === undefined && (flags & OPTIONAL) === 0)
        return makeFault(UPDATE_FAULT, UNKNOWN_WELL_KNOWN, copy(view, next, value + bytes))
      const wrong =
        rule === undefined
          ? keepUnknown(view, next, found, into)
          : readOne(rule, view, found, into, fourOctetAs)
      if (wrong !== null) remarks.push(wrong)
      else if (rule?.passedOn) into.others = [...into.others, copy(view, next, value + bytes)]
      if (wrong !== null && rule?.malformed === 'withdraw') withdraw = true
      present.add(code)
    }
    next = value + bytes
  }
  return { attributes: withdraw ? null : into, remarks, present }
}

/** The name of a well-known attribute that a route must have and has not (RFC 4271, section 5), or null. */
export function missingAttribute(present: ReadonlySet<number>): string | null {
  const missing = [ORIGIN, AS_PATH, NEXT_HOP].find(code => !present.has(code))
  return missing === undefined ? null : RULES[missing]!.name
}

interface AttributeHeader {
  flags: number
  code: number
  value: number
  bytes: number
}

function header(view: DataView, at: number, end: number): AttributeHeader | null {
  if (end - at < 3) return null
  const flags = view.getUint8(at)
  const extended = (flags & EXTENDED) !== 0
  if (extended && end - at < 4) return null
  const value = at + (extended ? 4 : 3)
  const bytes = extended ? view.getUint16(at + 2) : view.getUint8(at + 2)
  return value + bytes > end ? null : { flags, code: view.getUint8(at + 1), value, bytes }
}

/** Returns what is wrong, or null. */
function readOne(
  rule: AttributeRule,
  view: DataView,
  { flags, value, bytes }: AttributeHeader,
  into: Draft,
  fourOctetAs: boolean,
): string | null {
  // RFC 7606, section 3 c: wrong flags are as bad as a wrong value.
  if ((flags & (OPTIONAL | TRANSITIVE)) !== rule.flags)
    return `${rule.name} has flags 0x${flags.toString(16)}`
  return rule.read(view, value, bytes, into, fourOctetAs) ? null : `${rule.name} is malformed`
}

/** An optional attribute that is not known: kept with the partial bit if it is transitive, else ignored. */
function keepUnknown(
  view: DataView,
  at: number,
  { flags, value, bytes }: AttributeHeader,
  into: Draft,
): null {
  if ((flags & TRANSITIVE) === 0) return null
  const kept = copy(view, at, value + bytes)
  kept[0]! |= PARTIAL
  into.others = [...into.others, kept]
  return null
}

function copy(view: DataView, at: number, end: number): Uint8Array {
  return new Uint8Array(view.buffer.slice(view.byteOffset + at, view.byteOffset + end))
}

function word(set: (into: Draft, value: number) => void): AttributeRule['read'] {
  return (view, at, bytes, into) => {
    if (bytes !== 4) return false
    set(into, view.getUint32(at))
    return true
  }
}

function readAsPath(view: DataView, at: number, bytes: number, into: Draft, fourOctetAs: boolean): boolean {
  const size = fourOctetAs ? 4 : 2
  const path: number[] = []
  for (let segment = at; segment < at + bytes; ) {
    if (at + bytes - segment < 2) return false
    const kind = view.getUint8(segment)
    const count = view.getUint8(segment + 1)
    const next = segment + 2 + count * size
    // RFC 7606, section 7.2. Sets are a thing of the past (RFC 9774), and confederations are not spoken here.
    if (kind !== AS_SEQUENCE || count === 0 || next > at + bytes) return false
    for (let i = segment + 2; i < next; i += size)
      path.push(fourOctetAs ? view.getUint32(i) : view.getUint16(i))
    segment = next
  }
  into.asPath = path
  return true
}

function readLargeCommunities(view: DataView, at: number, bytes: number, into: Draft): boolean {
  if (bytes === 0 || bytes % LARGE_COMMUNITY_BYTES !== 0) return false
  into.largeCommunities = Array.from({ length: bytes / LARGE_COMMUNITY_BYTES }, (_, i) => {
    const community = at + i * LARGE_COMMUNITY_BYTES
    return {
      global: view.getUint32(community),
      local1: view.getUint32(community + 4),
      local2: view.getUint32(community + 8),
    }
  })
  return true
}

/** Bytes that `writeAttributes` writes, at most. */
export function attributesBytes(attributes: PathAttributes): number {
  const { asPath, largeCommunities, clusterList, others } = attributes
  const segments = Math.ceil(asPath.length / SEGMENT_ASES_MAX)
  const fixed = 4 + 7 + 7 + 7 + 7 + 4 * 3
  return (
    fixed +
    2 * segments +
    4 * asPath.length +
    LARGE_COMMUNITY_BYTES * largeCommunities.length +
    4 * clusterList.length +
    others.reduce((sum, one) => sum + one.length, 0)
  )
}

/** Writes the attributes of a route within an autonomous system, in the order of their codes. Returns their end. */
export function writeAttributes(
  view: DataView,
  at: number,
  attributes: PathAttributes,
  fourOctetAs: boolean,
): number {
  let end = at
  const begin = (flags: number, code: number, bytes: number): number => {
    const extended = bytes > 0xff
    view.setUint8(end, flags | (extended ? EXTENDED : 0))
    view.setUint8(end + 1, code)
    if (extended) view.setUint16(end + 2, bytes)
    else view.setUint8(end + 2, bytes)
    const value = end + (extended ? 4 : 3)
    end = value + bytes
    return value
  }
  const words = (flags: number, code: number, values: readonly number[]) => {
    const value = begin(flags, code, 4 * values.length)
    for (const [i, one] of values.entries()) view.setUint32(value + 4 * i, one)
  }
  const { origin, asPath, nextHop, med, localPref, originatorId, clusterList, largeCommunities } = attributes
  view.setUint8(begin(TRANSITIVE, ORIGIN, 1), origin)
  writeAsPath(view, begin(TRANSITIVE, AS_PATH, asPathBytes(asPath, fourOctetAs)), asPath, fourOctetAs)
  words(TRANSITIVE, NEXT_HOP, [nextHop])
  if (med !== 0) words(OPTIONAL, MED, [med])
  words(TRANSITIVE, LOCAL_PREF, [localPref])
  if (originatorId !== 0) words(OPTIONAL, ORIGINATOR_ID, [originatorId])
  if (clusterList.length > 0) words(OPTIONAL, CLUSTER_LIST, clusterList)
  if (largeCommunities.length > 0) {
    const flat = largeCommunities.flatMap(({ global, local1, local2 }) => [global, local1, local2])
    words(OPTIONAL | TRANSITIVE, LARGE_COMMUNITIES, flat)
  }
  for (const one of attributes.others) {
    for (let i = 0; i < one.length; i++) view.setUint8(end + i, one[i]!)
    end += one.length
  }
  return end
}

function asPathBytes(path: readonly number[], fourOctetAs: boolean): number {
  return 2 * Math.ceil(path.length / SEGMENT_ASES_MAX) + path.length * (fourOctetAs ? 4 : 2)
}

function writeAsPath(view: DataView, at: number, path: readonly number[], fourOctetAs: boolean): void {
  let end = at
  for (let first = 0; first < path.length; first += SEGMENT_ASES_MAX) {
    const segment = path.slice(first, first + SEGMENT_ASES_MAX)
    view.setUint8(end, AS_SEQUENCE)
    view.setUint8(end + 1, segment.length)
    end += 2
    for (const as of segment) {
      if (fourOctetAs) view.setUint32(end, as)
      else view.setUint16(end, as > 0xffff ? AS_TRANS : as)
      end += fourOctetAs ? 4 : 2
    }
  }
}

/** Prints a large community as 65000:1:7 (RFC 8092, section 4). */
export function formatLargeCommunity({ global, local1, local2 }: LargeCommunity): string {
  return `${global}:${local1}:${local2}`
}

/**
 * What authenticates a switch's direct response, or fair rate, where hosts have a secret: 16 bytes behind its headers, as of other feedback
 * (`feedback-tag.ts`). A switch knows no connection, so its key is that of the domain: HKDF-SHA256 (RFC 5869) from the hosts'
 * secret. Big-endian.
 *
 *     0   id of the switch (16 bits)
 *     2   sequence number of that switch (48 bits), which wraps; a clock in us, so that it goes on when the switch starts anew
 *     8   tag (64 bits): SipHash-2-4 over both IP addresses (16 bytes each, IPv4 mapped), telemetry, BTH, headers and the first 8 bytes
 *
 * The addresses are covered, for the key is not that of one connection: a response to one host is none to another.
 */
import { hkdfSync } from 'node:crypto'
import type { Frame } from '../../frame/frame.js'
import { keyWords, sipHash24 } from '../bytes/siphash.js'
import { writeU64 } from '../bytes/u64.js'
import * as ipv4 from '../net/ipv4.js'

export const BYTES = 16
const NUMBER_BYTES = 8
const TAG_AT = 8
/** Numbers of a switch before they wrap. */
export const SEQUENCE_MODULUS = 0x1_0000_0000_0000

const KEY_BYTES = 16
const LABEL = 'weir direct response 1'
const ADDRESSES_BYTES = 32
const IPV6_SOURCE = 8
const IPV4_SOURCE = 12
/** Room to copy what is covered (addresses, 15 hops in an echo, headers), as it does not lie in one piece. */
const COVERED_MAX = 1024

const covered = Buffer.alloc(COVERED_MAX)
const coveredView = new DataView(covered.buffer, covered.byteOffset, COVERED_MAX)
const hash = new Uint32Array(2)

/** The key of the switches of a domain. @param secret the hosts' */
export function directKey(secret: Uint8Array): Uint32Array {
  return keyWords(new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(0), LABEL, KEY_BYTES)))
}

export function switchId(view: DataView, at: number): number {
  return view.getUint16(at)
}

/** Number of the response among those of its switch, below SEQUENCE_MODULUS. */
export function sequence(view: DataView, at: number): number {
  return view.getUint16(at + 2) * 0x1_0000_0000 + view.getUint32(at + 4)
}

/** Puts number and tag behind the headers of a response, whose lengths then count them. */
export function seal(frame: Frame, key: Uint32Array, id: number, number: number): void {
  const { view, payload } = frame
  writeU64(view, payload, number)
  view.setUint16(payload, id)
  tag(frame, key)
  view.setUint32(payload + TAG_AT, hash[1]!)
  view.setUint32(payload + TAG_AT + 4, hash[0]!)
  frame.payloadLength = BYTES
  frame.length = payload + BYTES
  frame.wireLength = frame.length
}

/** True if the tag of a received response, which has room for one, is right. */
export function verify(frame: Frame, key: Uint32Array): boolean {
  if (frame.payload - coveredFrom(frame) + ADDRESSES_BYTES + NUMBER_BYTES > COVERED_MAX) return false
  tag(frame, key)
  const { view } = frame
  const at = frame.payload + TAG_AT
  return ((view.getUint32(at) ^ hash[1]!) | (view.getUint32(at + 4) ^ hash[0]!)) === 0
}

function tag(frame: Frame, key: Uint32Array): void {
  const { bytes, view, l3, payload } = frame
  covered.fill(0, 0, ADDRESSES_BYTES)
  if (ipv4.version(view, l3) === 4) {
    // ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2).
    coveredView.setUint16(10, 0xffff)
    coveredView.setUint32(12, view.getUint32(l3 + IPV4_SOURCE))
    coveredView.setUint16(26, 0xffff)
    coveredView.setUint32(28, view.getUint32(l3 + IPV4_SOURCE + 4))
  } else bytes.copy(covered, 0, l3 + IPV6_SOURCE, l3 + IPV6_SOURCE + ADDRESSES_BYTES)
  const from = coveredFrom(frame)
  const end = payload + NUMBER_BYTES
  bytes.copy(covered, ADDRESSES_BYTES, from, end)
  sipHash24(key, coveredView, 0, ADDRESSES_BYTES + end - from, hash)
}

/** Fair rates bring no telemetry. */
function coveredFrom({ shim, bth }: Frame): number {
  return shim >= 0 ? shim : bth
}

/**
 * What two ends of an rsocket say (librdmacm/rsocket.c, version 1 of its connection data; read there, and seen with rstream of
 * rdma-core 44).
 *
 * At connect, 40 bytes of private data, big endian:
 *
 *     0 version 1 | 1 flags: 0x01 big-endian host, 0x02 takes I/O maps | 2 credits (2) | 4 zeros (3) | 7 size of the I/O map
 *     8 list of targets: address (8), key (4), entries (4) | 24 first buffer: address (8), key (4), bytes (4)
 *
 * An entry of the list has address, key and bytes in the order of the host that has the list, as its flags say.
 *
 * Then WRITEs with immediate alone: the three high bits are what it is, the others a number.
 */
import { WeirError } from '../../errors.js'

const CONNECT_BYTES = 40
/** An entry of the list of targets. */
export const TARGET_BYTES = 16
/** Entries of this end's list. */
export const TARGETS = 2

/** So that what begins there and has as many entries as can be said ends below 2^53. */
const ADDRESS_MAX = 2 ** 53 - 2 ** 32 * TARGET_BYTES

const VERSION = 1
const BIG_ENDIAN = 0x01

const AT = { version: 0, flags: 1, credits: 2, list: 8, buffer: 24 } as const

/** Memory of the other end. */
export interface PeerMemory {
  address: number
  key: number
  /** Bytes; of a list entries. */
  length: number
}

interface ConnectWords {
  isBigEndian: boolean
  /** Messages that may be sent before more credits come. */
  credits: number
  list: PeerMemory
  buffer: PeerMemory
}

export function connectBytes({ credits, list, buffer }: Omit<ConnectWords, 'isBigEndian'>): Uint8Array {
  const bytes = new Uint8Array(CONNECT_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint8(AT.version, VERSION)
  view.setUint16(AT.credits, credits)
  writePeerMemory(view, AT.list, list, false)
  writePeerMemory(view, AT.buffer, buffer, false)
  return bytes
}

/** @param bytes private data; zeros may follow. Throws WEIR_PROTOCOL. */
export function readConnect(bytes: Uint8Array): ConnectWords {
  if (bytes.length < CONNECT_BYTES || bytes[AT.version] !== VERSION)
    throw new WeirError(
      'WEIR_PROTOCOL',
      `the peer is no rsocket: ${CONNECT_BYTES} bytes of version ${VERSION} are expected, ${bytes.length} of version ${bytes[AT.version]} came`,
    )
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const words = {
    isBigEndian: (view.getUint8(AT.flags) & BIG_ENDIAN) !== 0,
    credits: view.getUint16(AT.credits),
    list: readPeerMemory(view, AT.list, false),
    buffer: readPeerMemory(view, AT.buffer, false),
  }
  if (words.list.length > 0) return words
  throw new WeirError('WEIR_PROTOCOL', 'the peer has no list of targets')
}

/** Throws WEIR_PROTOCOL for memory that reaches 2^53, where numbers are not exact. */
export function readPeerMemory(view: DataView, at: number, littleEndian: boolean): PeerMemory {
  const address = Number(view.getBigUint64(at, littleEndian))
  if (address > ADDRESS_MAX)
    throw new WeirError('WEIR_PROTOCOL', "the peer's memory is above 2^53, where that of user space is not")
  return {
    address,
    key: view.getUint32(at + 8, littleEndian),
    length: view.getUint32(at + 12, littleEndian),
  }
}

export function writePeerMemory(
  view: DataView,
  at: number,
  { address, key, length }: PeerMemory,
  littleEndian: boolean,
): void {
  view.setBigUint64(at, BigInt(address), littleEndian)
  view.setUint32(at + 8, key, littleEndian)
  view.setUint32(at + 12, length, littleEndian)
}

/** What an immediate stands for. */
export const Word = {
  /** The number is the bytes of the WRITE. */
  DATA: 0,
  /** The list has a new entry, or only more credits: the number is how many messages may have been sent, modulo 2^16. */
  CREDITS: 4,
  IO_MAP: 6,
  /** The number is one of Control. */
  CONTROL: 7,
} as const

export const Control = { DISCONNECT: 0, KEEP_ALIVE: 1, SHUTDOWN: 2 } as const

const KIND_SHIFT = 29
const NUMBER_MASK = 0x1fff_ffff

export function immediateOf(word: number, value: number): number {
  return ((word << KIND_SHIFT) | (value & NUMBER_MASK)) >>> 0
}

export function wordOf(immediate: number): number {
  return immediate >>> KIND_SHIFT
}

export function numberIn(immediate: number): number {
  return immediate & NUMBER_MASK
}

/**
 * The messages of perftest (linux-rdma/perftest), by which its two ends agree before a test and report after it. They travel by TCP, or with
 * `-R` as SENDs of a connection of their own. Each is answered by one of the same length: the client speaks first.
 *
 * | message | by TCP | with -R |
 * |---|---|---|
 * | version | 16 bytes of text, zeros behind | the same |
 * | cycle buffer, cache line | 4 bytes each, big endian | the same |
 * | path MTU | 2 bytes of text: its number, 1 for 256 to 5 for 4096 | the same |
 * | keys of a queue pair | 108 bytes of text (59 on InfiniBand, without a GID) | 56 bytes, big endian |
 * | five figures of a report | 8 bytes each, big endian | the same |
 */
import { WeirError } from '../../errors.js'
import { printable } from '../../printable.js'
import { PATH_MTUS } from '../../qp/transport-options.js'
import { QPN_FIRST } from '../../wire/ib/deth.js'

/**
 * What this end says of itself. Its messages are those of perftest 4.5 of Debian 12. To versions before 6.28 later ones do not say what they
 * are about to measure.
 */
export const VERSION = '6.06'
/** Before, messages had other lengths. */
const VERSION_LEAST = 5.33
export const VERSION_BYTES = 16
export const NUMBER_BYTES = 4
export const MTU_BYTES = 2
export const KEYS_TEXT_BYTES = 108
export const KEYS_BYTES = 56
export const FIGURE_BYTES = 8
/** What both ends round buffers up to, and space small messages by. */
export const CYCLE_BUFFER = 4096
export const CACHE_LINE = 64

/** What an end says of a queue pair. */
export interface Keys {
  /** READs and atomics that this end answers at a time. */
  outReads: number
  qpn: number
  psn: number
  rkey: number
  /** Where the other end may write and read. */
  address: number
  gid: Uint8Array
}

/** What a client has measured: MiB/s and million messages a second. */
export interface Report {
  size: number
  iterations: number
  peak: number
  average: number
  messageRate: number
}

export function versionOf(text: string): Uint8Array {
  const bytes = new Uint8Array(VERSION_BYTES)
  bytes.set(Buffer.from(text, 'latin1').subarray(0, VERSION_BYTES - 1))
  return bytes
}

/** Throws WEIR_PROTOCOL, also for a version of other messages. */
export function readVersion(bytes: Uint8Array): string {
  const text = textOf(bytes)
  const number = /^\d+\.\d+/.test(text) ? Number.parseFloat(text) : Number.NaN
  if (Number.isNaN(number)) throw malformed('a version, as in 6.06', bytes)
  if (number >= VERSION_LEAST) return text
  throw new WeirError(
    'WEIR_PROTOCOL',
    `the peer has perftest ${text}: ${VERSION_LEAST} and later are understood`,
  )
}

export function numberOf(value: number): Uint8Array {
  const bytes = new Uint8Array(NUMBER_BYTES)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

/** @param bytes payload of a packet, 256 to 4096; others are rounded down */
export function mtuOf(bytes: number): Uint8Array {
  return Buffer.from(`${PATH_MTUS.findLastIndex(mtu => mtu <= bytes) + 1}\0`, 'latin1')
}

/** Payload bytes of a packet. Throws WEIR_PROTOCOL. */
export function readMtu(bytes: Uint8Array): number {
  const mtu = PATH_MTUS[Number(textOf(bytes)) - 1]
  if (mtu === undefined) throw malformed('a path MTU, 1 to 5', bytes)
  return mtu
}

/** LID, outstanding READs, QPN, PSN, key, address, GID and SRQ number. */
export function keysText({ outReads, qpn, psn, rkey, address, gid }: Keys): Uint8Array {
  const head = [hex(0, 4), hex(outReads, 4), hex(qpn, 6), hex(psn, 6), hex(rkey, 8), hex(address, 16)]
  const text = [...head, ...Array.from(gid, byte => hex(byte, 2)), hex(0, 8)].join(':')
  return Buffer.from(`${text}:\0`, 'latin1')
}

const FIELD = '([0-9a-f]+)'
const KEYS = new RegExp(
  `^${FIELD}:${FIELD}:${FIELD}:${FIELD}:${FIELD}:${FIELD}((?::[0-9a-f]{2}){16}):${FIELD}:?$`,
  'i',
)

/** Throws WEIR_PROTOCOL. */
export function readKeysText(bytes: Uint8Array): Keys {
  const found = KEYS.exec(textOf(bytes))
  if (found === null) throw malformed('LID:OUT:QPN:PSN:RKEY:ADDRESS:GID:SRQ in hexadecimal digits', bytes)
  const [, , outReads, qpn, psn, rkey, address, gid] = found
  const keys = checkKeys({
    outReads: Number.parseInt(outReads!, 16),
    qpn: Number.parseInt(qpn!, 16),
    psn: Number.parseInt(psn!, 16),
    rkey: Number.parseInt(rkey!, 16),
    address: Number.parseInt(address!, 16),
    gid: Buffer.from(gid!.replaceAll(':', ''), 'hex'),
  })
  if (keys.qpn >= QPN_FIRST) return keys
  throw new WeirError('WEIR_PROTOCOL', `the peer's queue pair has number ${keys.qpn}, which no program's has`)
}

/** Offsets in the 56 bytes: LID, READs, QPN, PSN, key, (4 of padding), address, GID, SRQ number, GID index. */
const AT = { outReads: 4, qpn: 8, psn: 12, rkey: 16, address: 24, gid: 32 } as const

export function keysBytes({ outReads, qpn, psn, rkey, address, gid }: Keys): Uint8Array {
  const bytes = new Uint8Array(KEYS_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint32(AT.outReads, outReads)
  view.setUint32(AT.qpn, qpn)
  view.setUint32(AT.psn, psn)
  view.setUint32(AT.rkey, rkey)
  view.setBigUint64(AT.address, BigInt(address))
  bytes.set(gid, AT.gid)
  return bytes
}

/** Throws WEIR_PROTOCOL. */
export function readKeysBytes(bytes: Uint8Array): Keys {
  if (bytes.length !== KEYS_BYTES) throw malformed(`the ${KEYS_BYTES} bytes of a queue pair's keys`, bytes)
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  return checkKeys({
    outReads: view.getUint32(AT.outReads),
    qpn: view.getUint32(AT.qpn),
    psn: view.getUint32(AT.psn),
    rkey: view.getUint32(AT.rkey),
    address: Number(view.getBigUint64(AT.address)),
    gid: bytes.slice(AT.gid, AT.gid + 16),
  })
}

/** The figures of a report in the order in which they are exchanged, as the peer sends them. */
export function figuresOf({ size, iterations, peak, average, messageRate }: Report): Uint8Array[] {
  return [whole(size), whole(iterations), real(peak), real(average), real(messageRate)]
}

/** @param figures five of 8 bytes. Nothing is done by them, so any value is taken. */
export function readFigures(figures: readonly Uint8Array[]): Report {
  const [size, iterations, ...reals] = figures.map(bytes => new DataView(bytes.buffer, bytes.byteOffset))
  const [peak, average, messageRate] = reals.map(view => view.getFloat64(0))
  return {
    size: Number(size!.getBigUint64(0)),
    iterations: Number(iterations!.getBigUint64(0)),
    peak: peak!,
    average: average!,
    messageRate: messageRate!,
  }
}

function whole(value: number): Uint8Array {
  const bytes = new Uint8Array(FIGURE_BYTES)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

function real(value: number): Uint8Array {
  const bytes = new Uint8Array(FIGURE_BYTES)
  new DataView(bytes.buffer).setFloat64(0, value)
  return bytes
}

function checkKeys(keys: Keys): Keys {
  const { qpn, psn, rkey, address } = keys
  const isRight = qpn < 2 ** 24 && psn < 2 ** 24 && rkey < 2 ** 32 && address <= Number.MAX_SAFE_INTEGER
  if (isRight) return keys
  throw new WeirError(
    'WEIR_PROTOCOL',
    `a queue pair's keys are out of range: QPN and PSN have 24 bits, the key 32, the address is below 2^53; the peer has 0x${qpn.toString(16)}, 0x${psn.toString(16)}, 0x${rkey.toString(16)}, 0x${address.toString(16)}`,
  )
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

/** Up to the first zero byte. Messages to people may have it, so it steers no terminal. */
function textOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  return printable(text.split('\0', 1)[0]!.trim())
}

function malformed(what: string, bytes: Uint8Array): WeirError {
  const shown = JSON.stringify(textOf(bytes).slice(0, KEYS_TEXT_BYTES))
  return new WeirError(
    'WEIR_PROTOCOL',
    `no message of perftest: ${what}, is expected; the peer sent ${shown}`,
  )
}

/**
 * Reader of the classic pcap format: a 24-byte file header, then records of a 16-byte header and the bytes
 * captured. The magic number gives byte order and time unit (draft-ietf-opsawg-pcap).
 */
import { WeirError } from '../errors.js'
import type { ByteSource } from './byte-source.js'
import { type CapturedPacket, PACKET_BYTES_MAX } from './captured-packet.js'

const MAGIC_MICROSECONDS = 0xa1b2c3d4
const MAGIC_NANOSECONDS = 0xa1b23c4d
const FILE_HEADER_BYTES = 24
const RECORD_HEADER_BYTES = 16

/** Returns true if a file that begins with these four bytes (read as big-endian) is a pcap file. */
export function isPcap(magic: number): boolean {
  const swapped = Buffer.from([magic & 0xff, (magic >>> 8) & 0xff, (magic >>> 16) & 0xff, magic >>> 24])
  return isMagic(magic) || isMagic(swapped.readUInt32BE(0))
}

function isMagic(value: number): boolean {
  return value === MAGIC_MICROSECONDS || value === MAGIC_NANOSECONDS
}

export class PcapReader {
  readonly #source: ByteSource
  readonly #littleEndian: boolean
  /** Nanoseconds of one unit of a record's fraction of a second. */
  readonly #fractionNs: number
  readonly #linkType: number

  /** Reads the file header. Throws WEIR_BAD_CAPTURE. */
  constructor(source: ByteSource) {
    this.#source = source
    if (!source.need(FILE_HEADER_BYTES)) throw bad(source, 'the file header is cut short')
    this.#littleEndian = !isMagic(source.buffer.readUInt32BE(source.at))
    const magic = this.#u32(0)
    const major = this.#u16(4)
    if (major !== 2) throw bad(source, `pcap version ${major}.${this.#u16(6)} is unknown; 2.x is expected`)
    this.#fractionNs = magic === MAGIC_NANOSECONDS ? 1 : 1000
    // The upper half has the length of the FCS, if there is one.
    this.#linkType = this.#u32(20) & 0xffff
    source.skip(FILE_HEADER_BYTES)
  }

  /** Fills in the next packet. Returns false at the end of the file. Throws WEIR_BAD_CAPTURE. */
  next(into: CapturedPacket): boolean {
    const source = this.#source
    if (!source.need(RECORD_HEADER_BYTES)) {
      if (source.available === 0) return false
      throw bad(source, 'the file ends within a record header')
    }
    const captured = this.#u32(8)
    if (captured > PACKET_BYTES_MAX) {
      throw bad(source, `a packet of ${captured} bytes is beyond the limit of ${PACKET_BYTES_MAX}`)
    }
    if (this.#u32(12) < captured) {
      throw bad(source, `${captured} bytes captured of a packet that has only ${this.#u32(12)}`)
    }
    const fraction = this.#u32(4) * this.#fractionNs
    if (fraction >= 1_000_000_000)
      throw bad(source, `the fraction of a second, ${this.#u32(4)}, is out of range`)
    into.seconds = this.#u32(0)
    into.nanos = fraction
    into.linkType = this.#linkType
    into.capturedBytes = captured
    into.wireBytes = this.#u32(12)
    if (!source.need(RECORD_HEADER_BYTES + captured)) {
      throw bad(source, `the file ends within a packet of ${captured} bytes`)
    }
    into.buffer = source.buffer
    into.at = source.at + RECORD_HEADER_BYTES
    source.skip(RECORD_HEADER_BYTES + captured)
    return true
  }

  #u32(offset: number): number {
    const { buffer, at } = this.#source
    return this.#littleEndian ? buffer.readUInt32LE(at + offset) : buffer.readUInt32BE(at + offset)
  }

  #u16(offset: number): number {
    const { buffer, at } = this.#source
    return this.#littleEndian ? buffer.readUInt16LE(at + offset) : buffer.readUInt16BE(at + offset)
  }
}

export function bad(source: ByteSource, what: string): WeirError {
  return new WeirError('WEIR_BAD_CAPTURE', `${source.name}: at byte ${source.offset}: ${what}`)
}

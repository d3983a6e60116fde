/**
 * Reader of pcapng (draft-ietf-opsawg-pcapng): a sequence of blocks, each with its type, its length before
 * and after, and a body padded to 4 bytes. A section header sets the byte order and ends the validity of
 * earlier interfaces. Interface descriptions give link type, snap length and time unit. The reader uses
 * enhanced and simple packet blocks, and skips every other kind.
 */
import type { ByteSource } from './byte-source.js'
import { type CapturedPacket, PACKET_BYTES_MAX } from './captured-packet.js'
import { bad } from './pcap-reader.js'

export const BLOCK_SECTION = 0x0a0d0d0a
export const BLOCK_INTERFACE = 1
const BLOCK_SIMPLE_PACKET = 3
export const BLOCK_ENHANCED_PACKET = 6

export const BYTE_ORDER_MAGIC = 0x1a2b3c4d
const BLOCK_BYTES_MAX = 16 << 20
const INTERFACES_MAX = 4096

export const OPTION_END = 0
export const OPTION_TSRESOL = 9
const OPTION_TSOFFSET = 14

interface CaptureInterface {
  linkType: number
  /** 0: no limit. */
  snapBytes: number
  /** Time units in a second. */
  unitsPerSecond: bigint
  /** Seconds to add to every time stamp. */
  offsetSeconds: bigint
}

export class PcapngReader {
  readonly #source: ByteSource
  #littleEndian = true
  readonly #interfaces: CaptureInterface[] = []

  /** @param source at its first section header */
  constructor(source: ByteSource) {
    this.#source = source
  }

  /** Fills in the next packet. Returns false at the end of the file. Throws WEIR_BAD_CAPTURE. */
  next(into: CapturedPacket): boolean {
    for (;;) {
      const length = this.#needBlock()
      if (length === 0) return false
      const type = this.#u32(0)
      if (type === BLOCK_INTERFACE) this.#readInterface(length)
      const isPacket =
        (type === BLOCK_ENHANCED_PACKET && this.#readEnhanced(length, into)) ||
        (type === BLOCK_SIMPLE_PACKET && this.#readSimple(length, into))
      this.#source.skip(length)
      if (isPacket) return true
    }
  }

  /** Makes the next block available as a whole and returns its length, or 0 at the end of the file. */
  #needBlock(): number {
    const source = this.#source
    if (!source.need(12)) {
      if (source.available === 0) return 0
      throw bad(source, 'the file ends within a block header')
    }
    if (this.#u32(0) === BLOCK_SECTION) this.#startSection()
    const length = this.#u32(4)
    if (length < 12 || length % 4 !== 0 || length > BLOCK_BYTES_MAX) {
      throw bad(source, `block length ${length}: a multiple of 4 from 12 to ${BLOCK_BYTES_MAX} is expected`)
    }
    if (!source.need(length)) throw bad(source, `the file ends within a block of ${length} bytes`)
    if (this.#u32(length - 4) !== length) {
      throw bad(source, `block lengths before and after differ: ${length} and ${this.#u32(length - 4)}`)
    }
    return length
  }

  #startSection(): void {
    const { buffer, at } = this.#source
    if (buffer.readUInt32LE(at + 8) === BYTE_ORDER_MAGIC) this.#littleEndian = true
    else if (buffer.readUInt32BE(at + 8) === BYTE_ORDER_MAGIC) this.#littleEndian = false
    else throw bad(this.#source, 'the section header has no byte-order magic')
    if (this.#u32(4) < 28) throw bad(this.#source, 'the section header is cut short')
    if (!this.#source.need(16)) throw bad(this.#source, 'the file ends within a section header')
    if (this.#u16(12) !== 1) {
      throw bad(this.#source, `pcapng version ${this.#u16(12)}.${this.#u16(14)} is unknown; 1.x is expected`)
    }
    this.#interfaces.length = 0
  }

  #readInterface(length: number): void {
    if (length < 20) throw bad(this.#source, 'the interface description is cut short')
    if (this.#interfaces.length === INTERFACES_MAX) {
      throw bad(this.#source, `more than ${INTERFACES_MAX} interfaces in a section`)
    }
    const described: CaptureInterface = {
      linkType: this.#u16(8),
      snapBytes: this.#u32(12),
      unitsPerSecond: 1_000_000n,
      offsetSeconds: 0n,
    }
    this.#readOptions(16, length - 4, described)
    this.#interfaces.push(described)
  }

  #readOptions(from: number, end: number, into: CaptureInterface): void {
    let at = from
    while (at + 4 <= end) {
      const code = this.#u16(at)
      const bytes = this.#u16(at + 2)
      if (code === OPTION_END) return
      if (at + 4 + bytes > end) throw bad(this.#source, `option ${code} runs past the end of its block`)
      if (code === OPTION_TSRESOL && bytes >= 1) {
        const resolution = this.#source.buffer[this.#source.at + at + 4]!
        into.unitsPerSecond = (resolution & 0x80 ? 2n : 10n) ** BigInt(resolution & 0x7f)
      } else if (code === OPTION_TSOFFSET && bytes >= 8) {
        into.offsetSeconds = this.#littleEndian
          ? this.#source.buffer.readBigInt64LE(this.#source.at + at + 4)
          : this.#source.buffer.readBigInt64BE(this.#source.at + at + 4)
      }
      at += 4 + bytes + ((4 - (bytes % 4)) % 4)
    }
  }

  #readEnhanced(length: number, into: CapturedPacket): boolean {
    if (length < 32) throw bad(this.#source, 'the enhanced packet block is cut short')
    const from = this.#interface(this.#u32(8))
    const units = (BigInt(this.#u32(12)) << 32n) | BigInt(this.#u32(16))
    const perSecond = from.unitsPerSecond
    into.seconds = Number(units / perSecond + from.offsetSeconds)
    into.nanos = Number(((units % perSecond) * 1_000_000_000n) / perSecond)
    this.#setBytes(into, 28, this.#u32(20), this.#u32(24), length - 4, from.linkType)
    return true
  }

  /** Simple packets have no time. They belong to the section's first interface. */
  #readSimple(length: number, into: CapturedPacket): boolean {
    if (length < 16) throw bad(this.#source, 'the simple packet block is cut short')
    const from = this.#interface(0)
    const wireBytes = this.#u32(8)
    const captured = from.snapBytes === 0 ? wireBytes : Math.min(wireBytes, from.snapBytes)
    into.seconds = 0
    into.nanos = 0
    this.#setBytes(into, 12, captured, wireBytes, length - 4, from.linkType)
    return true
  }

  #interface(index: number): CaptureInterface {
    const found = this.#interfaces[index]
    if (found === undefined) {
      throw bad(
        this.#source,
        `a packet names interface ${index}; the section describes ${this.#interfaces.length}`,
      )
    }
    return found
  }

  #setBytes(
    into: CapturedPacket,
    offset: number,
    captured: number,
    wireBytes: number,
    end: number,
    linkType: number,
  ): void {
    if (captured > PACKET_BYTES_MAX || offset + captured > end) {
      throw bad(this.#source, `a packet of ${captured} bytes does not fit its block`)
    }
    if (wireBytes < captured) {
      throw bad(this.#source, `${captured} bytes captured of a packet that has only ${wireBytes}`)
    }
    into.linkType = linkType
    into.buffer = this.#source.buffer
    into.at = this.#source.at + offset
    into.capturedBytes = captured
    into.wireBytes = wireBytes
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

/**
 * Writer of pcapng (draft-ietf-opsawg-pcapng): one section, one Ethernet interface, and an enhanced packet block for
 * each frame, with its time in nanoseconds and its direction.
 */
import type { Frame } from '../frame/frame.js'
import { checkValue } from '../options/check-options.js'
import type { Nanos } from '../time/nanos.js'
import { ByteSink } from './byte-sink.js'
import { PCAP_SIZE, SNAPLEN } from './capture-options.js'
import { LinkType } from './captured-packet.js'
import { completeFrame } from './complete-frame.js'
import {
  BLOCK_ENHANCED_PACKET,
  BLOCK_INTERFACE,
  BLOCK_SECTION,
  BYTE_ORDER_MAGIC,
  OPTION_END,
  OPTION_TSRESOL,
} from './pcapng-reader.js'

/** Has room for the longest packet's block, and is small enough for captures of hundreds of ports. */
const BUFFER_BYTES = 72 * 1024
const OPTION_USER_APPLICATION = 4
const OPTION_INTERFACE_NAME = 2
const OPTION_INTERFACE_SPEED = 8
const OPTION_PACKET_FLAGS = 2
/** Block head, packet head, flags, end of options, block tail. */
const PACKET_OVERHEAD_BYTES = 8 + 20 + 8 + 4 + 4
const TWO_32 = 0x1_0000_0000

/** What a capture holds. */
export interface CaptureAmount {
  /** Bytes on disk, with those of the older file. */
  bytes: number
  packets: number
  /** Packets that were removed to make room for newer ones. */
  discardedPackets: number
}

/** Values of a packet's direction (section 4.3.1, flags word). */
export const PacketDirection = { RECEIVED: 1, SENT: 2 } as const
export type PacketDirection = (typeof PacketDirection)[keyof typeof PacketDirection]

interface PcapngWriterOptions {
  /** Name of the interface in Wireshark. */
  interfaceName: string
  /** Rate of the interface, bit/s. */
  rateBps: number
  /** Bytes kept of each frame, 64 to 65,535. Default: all. */
  snapBytes?: number
  /** Nanoseconds since 1970 that `now` = 0 stands for. Default 0. */
  epochNs?: bigint
  /**
   * Bytes that the capture may take on disk, at least 1 MiB, so that each of its two files holds the longest packet and many of the usual length. When the file has half of them it becomes the
   * older one (`olderCapture`), which it replaces, and a new file begins: the newest packets are always there. Default:
   * no bound.
   */
  bytesMax?: number
  /**
   * The frames are of virtual time, without payload and ICRC. The writer completes them (`completeFrame`).
   * Default false.
   */
  virtual?: boolean
}

/**
 * Writes the frames of one port. It uses one buffer of fixed size. What has been written is a valid file,
 * whenever the process ends. If the file cannot be written, it throws WEIR_NO_FILE.
 */
export class PcapngWriter {
  readonly #sink: ByteSink
  readonly #snapBytes: number
  readonly #epochHigh: number
  readonly #epochLow: number
  readonly #virtual: boolean
  readonly #path: string
  readonly #options: PcapngWriterOptions
  /** Bytes of one file. */
  readonly #fileBytesMax: number
  /** Packets of this file, of the older one, and of discarded ones. */
  #packets = 0
  #packetsOlder = 0
  #packetsDiscarded = 0
  #bytesOlder = 0

  /** Creates or replaces the file. Throws WEIR_BAD_ARGUMENT for a snap length out of range. */
  constructor(path: string, options: PcapngWriterOptions) {
    this.#snapBytes = checkSnapBytes(options.snapBytes)
    const epochNs = options.epochNs ?? 0n
    this.#epochHigh = Number(epochNs >> 32n)
    this.#epochLow = Number(epochNs & 0xffff_ffffn)
    this.#virtual = options.virtual ?? false
    this.#path = path
    this.#options = options
    this.#fileBytesMax = Math.floor(checkBytesMax(options.bytesMax) / 2)
    this.#sink = new ByteSink(path, BUFFER_BYTES)
    this.#writeHead()
  }

  get amount(): CaptureAmount {
    return {
      bytes: this.#sink.bytes + this.#bytesOlder,
      packets: this.#packets + this.#packetsOlder,
      discardedPackets: this.#packetsDiscarded,
    }
  }

  /** Appends a frame. Throws WEIR_BAD_STATE after `close`. */
  write(now: Nanos, frame: Frame, direction: PacketDirection): void {
    const whole = this.#virtual ? completeFrame(frame, this.#snapBytes) : frame
    const bytes = Math.min(whole.length, this.#snapBytes)
    const padded = (bytes + 3) & ~3
    const total = PACKET_OVERHEAD_BYTES + padded
    if (this.#sink.bytes + total > this.#fileBytesMax) this.#turnOver()
    this.#packets++
    let at = this.#sink.reserve(total)
    const { buffer } = this.#sink
    const wholeNs = Math.floor(now)
    const high = Math.floor(wholeNs / TWO_32)
    const low = this.#epochLow + (wholeNs - high * TWO_32)
    at = buffer.writeUInt32LE(BLOCK_ENHANCED_PACKET, at)
    at = buffer.writeUInt32LE(total, at)
    at = buffer.writeUInt32LE(0, at)
    at = buffer.writeUInt32LE((this.#epochHigh + high + (low >= TWO_32 ? 1 : 0)) >>> 0, at)
    at = buffer.writeUInt32LE(low % TWO_32, at)
    at = buffer.writeUInt32LE(bytes, at)
    at = buffer.writeUInt32LE(frame.wireLength, at)
    whole.bytes.copy(buffer, at, 0, bytes)
    buffer.fill(0, at + bytes, at + padded)
    at += padded
    at = buffer.writeUInt16LE(OPTION_PACKET_FLAGS, at)
    at = buffer.writeUInt16LE(4, at)
    at = buffer.writeUInt32LE(direction, at)
    at = buffer.writeUInt32LE(OPTION_END, at)
    buffer.writeUInt32LE(total, at)
  }

  /** Writes the buffered bytes to the file. */
  flush(): void {
    this.#sink.flush()
  }

  /** Flushes and closes. Has no effect the second time. */
  close(): void {
    this.#sink.close()
  }

  /** This file becomes the older one, and the former older one is removed. */
  #turnOver(): void {
    const { bytes } = this.#sink
    this.#sink.startAnew(olderCapture(this.#path))
    this.#bytesOlder = bytes
    this.#packetsDiscarded += this.#packetsOlder
    this.#packetsOlder = this.#packets
    this.#packets = 0
    this.#writeHead()
  }

  #writeHead(): void {
    const options = this.#options
    const section = Buffer.alloc(16)
    section.writeUInt32LE(BYTE_ORDER_MAGIC, 0)
    section.writeUInt16LE(1, 4) // version 1.0
    section.fill(0xff, 8) // of unknown length
    this.#writeBlock(BLOCK_SECTION, [section, option(OPTION_USER_APPLICATION, Buffer.from('weir'))])
    const described = Buffer.alloc(8)
    described.writeUInt16LE(LinkType.ETHERNET, 0)
    described.writeUInt32LE(this.#snapBytes, 4)
    const speed = Buffer.alloc(8)
    speed.writeBigUInt64LE(BigInt(Math.round(options.rateBps)))
    this.#writeBlock(BLOCK_INTERFACE, [
      described,
      option(OPTION_INTERFACE_NAME, Buffer.from(options.interfaceName)),
      option(OPTION_INTERFACE_SPEED, speed),
      option(OPTION_TSRESOL, Buffer.from([9])), // 10^-9 s
    ])
    // From now on readers can open the file, even if no packet comes.
    this.#sink.flush()
  }

  #writeBlock(type: number, parts: readonly Buffer[]): void {
    const body = Buffer.concat([...parts, Buffer.alloc(4)]) // the end of the options
    const at = this.#sink.reserve(12 + body.length)
    const { buffer } = this.#sink
    buffer.writeUInt32LE(type, at)
    buffer.writeUInt32LE(12 + body.length, at + 4)
    body.copy(buffer, at + 8)
    buffer.writeUInt32LE(12 + body.length, at + 8 + body.length)
  }
}

/** Code, length, value, and padding to 4 bytes. */
function option(code: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc(4 + Math.ceil(value.length / 4) * 4)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt16LE(value.length, 2)
  value.copy(bytes, 4)
  return bytes
}

/**
 * Returns the path of the file with the packets before those of the file at `path`, when the capture is
 * bounded.
 */
function olderCapture(path: string): string {
  return path.replace(/(\.pcapng)?$/, '.older.pcapng')
}

function checkBytesMax(bytesMax = Number.POSITIVE_INFINITY): number {
  if (bytesMax !== Number.POSITIVE_INFINITY)
    checkValue('capture', { ...PCAP_SIZE, name: 'bytesMax' }, bytesMax)
  return bytesMax
}

function checkSnapBytes(snapBytes: number = SNAPLEN.max): number {
  checkValue('capture', { ...SNAPLEN, name: 'snapBytes' }, snapBytes)
  return snapBytes
}

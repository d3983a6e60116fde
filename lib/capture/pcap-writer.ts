import { closeSync, openSync, writeSync } from 'node:fs'
import { WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import { LinkType, PACKET_BYTES_MAX } from './captured-packet.js'
import { FILE_HEADER_BYTES, MAGIC_NANOSECONDS, RECORD_HEADER_BYTES } from './pcap-reader.js'

const BUFFER_BYTES = 256 * 1024
const SECOND_NS = 1_000_000_000

export interface PcapWriterOptions {
  /** Bytes kept of each frame, 64 to 65,535. Default: all. */
  snapBytes?: number
  /** Seconds since 1970 that `now` = 0 stands for. Default 0. */
  epochSeconds?: number
}

/**
 * Writes frames to a pcap file with nanosecond times, through a buffer of fixed size. A frame whose payload
 * is not materialised is written as a packet cut at the snap length. Errors are WEIR_NO_FILE.
 */
export class PcapWriter {
  readonly #path: string
  readonly #fd: number
  readonly #snapBytes: number
  readonly #epochSeconds: number
  readonly #buffer = Buffer.alloc(BUFFER_BYTES)
  #used = 0
  #open = true

  /** Creates or replaces the file. */
  constructor(path: string, options: PcapWriterOptions = {}) {
    const snapBytes = options.snapBytes ?? 65_535
    if (!Number.isInteger(snapBytes) || snapBytes < 64 || snapBytes > 65_535) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `pcap writer: snapBytes is 64 to 65535, not ${snapBytes}`)
    }
    this.#path = path
    this.#snapBytes = snapBytes
    this.#epochSeconds = options.epochSeconds ?? 0
    this.#fd = this.#guard(() => openSync(path, 'w'))
    this.#writeFileHeader()
  }

  /** Appends a frame. Its time must not be before the epoch; seconds are taken modulo 2^32. */
  write(now: Nanos, frame: Frame): void {
    if (!this.#open) throw new WeirError('WEIR_BAD_STATE', `pcap writer: ${this.#path} is closed`)
    const bytes = Math.min(frame.length, this.#snapBytes)
    if (this.#used + RECORD_HEADER_BYTES + bytes > BUFFER_BYTES) this.flush()
    const seconds = Math.floor(now / SECOND_NS)
    let at = this.#used
    at = this.#buffer.writeUInt32LE((this.#epochSeconds + seconds) >>> 0, at)
    at = this.#buffer.writeUInt32LE(Math.floor(now - seconds * SECOND_NS), at)
    at = this.#buffer.writeUInt32LE(bytes, at)
    at = this.#buffer.writeUInt32LE(frame.wireLength, at)
    frame.bytes.copy(this.#buffer, at, 0, bytes)
    this.#used = at + bytes
  }

  /** Hands what is buffered to the operating system. */
  flush(): void {
    this.#guard(() => {
      for (let at = 0; at < this.#used; ) at += writeSync(this.#fd, this.#buffer, at, this.#used - at)
    })
    this.#used = 0
  }

  /** Flushes and closes; may be called again. */
  close(): void {
    if (!this.#open) return
    this.#open = false
    try {
      this.flush()
    } finally {
      closeSync(this.#fd)
    }
  }

  #writeFileHeader(): void {
    const header = this.#buffer
    header.writeUInt32LE(MAGIC_NANOSECONDS, 0)
    header.writeUInt16LE(2, 4)
    header.writeUInt16LE(4, 6)
    header.writeUInt32LE(0, 8)
    header.writeUInt32LE(0, 12)
    header.writeUInt32LE(PACKET_BYTES_MAX, 16)
    header.writeUInt32LE(LinkType.ETHERNET, 20)
    this.#used = FILE_HEADER_BYTES
  }

  #guard<T>(operation: () => T): T {
    try {
      return operation()
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error)
      throw new WeirError('WEIR_NO_FILE', `cannot write ${this.#path}: ${reason}`, { cause: error })
    }
  }
}

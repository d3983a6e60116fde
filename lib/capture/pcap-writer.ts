import { WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import { ByteSink } from './byte-sink.js'
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
  readonly #sink: ByteSink
  readonly #snapBytes: number
  readonly #epochSeconds: number

  /** Creates or replaces the file. */
  constructor(path: string, options: PcapWriterOptions = {}) {
    this.#snapBytes = checkSnapBytes(options.snapBytes)
    this.#epochSeconds = options.epochSeconds ?? 0
    this.#sink = new ByteSink(path, BUFFER_BYTES)
    this.#writeFileHeader()
  }

  /** Appends a frame. Its time must not be before the epoch; seconds are taken modulo 2^32. */
  write(now: Nanos, frame: Frame): void {
    const bytes = Math.min(frame.length, this.#snapBytes)
    let at = this.#sink.reserve(RECORD_HEADER_BYTES + bytes)
    const { buffer } = this.#sink
    const seconds = Math.floor(now / SECOND_NS)
    at = buffer.writeUInt32LE((this.#epochSeconds + seconds) >>> 0, at)
    at = buffer.writeUInt32LE(Math.floor(now - seconds * SECOND_NS), at)
    at = buffer.writeUInt32LE(bytes, at)
    at = buffer.writeUInt32LE(frame.wireLength, at)
    frame.bytes.copy(buffer, at, 0, bytes)
  }

  /** Hands what is buffered to the operating system. */
  flush(): void {
    this.#sink.flush()
  }

  /** Flushes and closes; may be called again. */
  close(): void {
    this.#sink.close()
  }

  #writeFileHeader(): void {
    const at = this.#sink.reserve(FILE_HEADER_BYTES)
    const header = this.#sink.buffer
    header.writeUInt32LE(MAGIC_NANOSECONDS, at)
    header.writeUInt16LE(2, at + 4)
    header.writeUInt16LE(4, at + 6)
    header.writeUInt32LE(0, at + 8)
    header.writeUInt32LE(0, at + 12)
    header.writeUInt32LE(PACKET_BYTES_MAX, at + 16)
    header.writeUInt32LE(LinkType.ETHERNET, at + 20)
  }
}

/** Default: all of a frame. Throws WEIR_BAD_ARGUMENT. */
export function checkSnapBytes(snapBytes = 65_535): number {
  if (Number.isInteger(snapBytes) && snapBytes >= 64 && snapBytes <= 65_535) return snapBytes
  throw new WeirError('WEIR_BAD_ARGUMENT', `capture: snapBytes is 64 to 65535, not ${snapBytes}`)
}

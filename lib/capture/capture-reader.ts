import { ByteSource } from './byte-source.js'
import type { CapturedPacket } from './captured-packet.js'
import { bad, isPcap, PcapReader } from './pcap-reader.js'
import { BLOCK_SECTION, PcapngReader } from './pcapng-reader.js'

export { CapturedPacket, LinkType, PACKET_BYTES_MAX } from './captured-packet.js'
export { FRAME_EXTRA_BYTES, loadFrame } from './link-type.js'

/**
 * Reads the packets of a capture file, pcap or pcapng, sequentially. Memory use does not grow with the file.
 * Errors are WEIR_NO_FILE, and WEIR_BAD_CAPTURE with the file and the offset in it.
 */
export class CaptureReader {
  readonly #source: ByteSource
  readonly #reader: PcapReader | PcapngReader

  private constructor(source: ByteSource) {
    this.#source = source
    try {
      this.#reader = openFormat(source)
    } catch (error) {
      source.close()
      throw error
    }
  }

  /** @param path `-` is standard input */
  static open(path: string): CaptureReader {
    return new CaptureReader(ByteSource.open(path))
  }

  /** @param name file name in messages */
  static fromBytes(name: string, bytes: Uint8Array): CaptureReader {
    return new CaptureReader(ByteSource.fromBytes(name, bytes))
  }

  /** Fills in the next packet. Returns false at the end. The packet's bytes are valid until the next call. */
  next(into: CapturedPacket): boolean {
    return this.#reader.next(into)
  }

  /**
   * True if every packet that has been read was returned, so that the next call has to read, and may have to
   * wait.
   */
  get isDrained(): boolean {
    return this.#source.isDrained
  }

  close(): void {
    this.#source.close()
  }
}

function openFormat(source: ByteSource): PcapReader | PcapngReader {
  if (!source.need(4)) throw bad(source, 'the file is too short to be a capture')
  const magic = source.buffer.readUInt32BE(source.at)
  if (magic === BLOCK_SECTION) return new PcapngReader(source)
  if (isPcap(magic)) return new PcapReader(source)
  throw bad(source, 'this is neither pcap nor pcapng; a capture of tcpdump or tshark is expected')
}

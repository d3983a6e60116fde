/** `weir-roce/capture`: reads pcap and pcapng files, packet by packet. */
import { checkInstance, checkText, knownOptions, optionNames } from '../arguments.js'
import { WeirError } from '../errors.js'
import { Frame } from '../frame/frame.js'
import { IFA_PROTOCOL, ifaProtocolFault } from '../frame/ifa-protocol.js'
import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
  PACKET_BYTES_MAX,
} from './capture-reader.js'
import { decodePacket } from './decode.js'
import type { Packet } from './packet.js'

export { ERROR_CODES, type ErrorCode, WeirError } from '../errors.js'
export type * from './packet.js'

/** How a capture is read. */
export interface CaptureOptions {
  /**
   * IP protocol number of IFA in the captured network, 0 to 255, which nothing else uses there. Default 253.
   */
  ifaProtocol?: number
}

const OPTION_NAMES = optionNames<CaptureOptions>({ ifaProtocol: true })

/**
 * Reads the packets of a capture file in order. Memory use does not grow with the file. The file is closed
 * when the loop ends, also by `break`.
 *
 * Packets in VXLAN are `vxlan.inner`, and `text` shows both. A malformed packet is no error: its `fault` says
 * what is wrong.
 *
 * @param path of a pcap or pcapng file, for example of tcpdump, tshark or `weir run --pcap`
 *
 * Throws WEIR_BAD_ARGUMENT at once for an option out of range, or that nothing reads. The loop throws WEIR_NO_FILE when the
 * file cannot be read, and WEIR_BAD_CAPTURE, with file and offset, where it is no capture or is truncated.
 */
export function readCapture(path: string, options: CaptureOptions = {}): Generator<Packet, void, void> {
  checkText('readCapture', 'path', path)
  return packetsOf(path, () => CaptureReader.open(path), ifaProtocolOf('readCapture', options))
}

/**
 * The same for a capture in memory.
 *
 * @param name file name in messages
 */
export function parseCapture(
  bytes: Uint8Array,
  name = 'capture',
  options: CaptureOptions = {},
): Generator<Packet, void, void> {
  checkInstance('parseCapture', 'bytes', Uint8Array, bytes)
  checkText('parseCapture', 'name', name)
  return packetsOf(name, () => CaptureReader.fromBytes(name, bytes), ifaProtocolOf('parseCapture', options))
}

function ifaProtocolOf(what: string, options: CaptureOptions): number {
  const { ifaProtocol = IFA_PROTOCOL } = knownOptions(what, OPTION_NAMES, options)
  const fault = ifaProtocolFault(ifaProtocol)
  if (fault !== null) throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: ifaProtocol: ${fault}`)
  return ifaProtocol
}

/** @param open is called with the first packet: a file that nobody reads is not opened */
function* packetsOf(
  name: string,
  open: () => CaptureReader,
  ifaProtocol: number,
): Generator<Packet, void, void> {
  const reader = open()
  try {
    const frame = new Frame(0, Buffer.alloc(PACKET_BYTES_MAX + FRAME_EXTRA_BYTES))
    frame.ifaProtocol = ifaProtocol
    const packet = new CapturedPacket()
    for (let number = 1; reader.next(packet); number++) {
      if (!loadFrame(packet, frame)) {
        const why = `packet ${number} is of link type ${packet.linkType}, which is not read here, or is too short for it`
        throw new WeirError('WEIR_BAD_CAPTURE', `${name}: ${why}; capture on an Ethernet interface`)
      }
      yield decodePacket(packet, frame, number)
    }
  } finally {
    reader.close()
  }
}

import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
} from '../../lib/capture/capture-reader.js'
import { Frame } from '../../lib/frame/frame.js'

/** Sources of the frames of a capture that are IPv4, by their number. */
export function sourcesIn(path: string): Map<string, number> {
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  const frame = new Frame(0, Buffer.alloc(65_536 + FRAME_EXTRA_BYTES))
  const sources = new Map<string, number>()
  while (reader.next(packet)) {
    loadFrame(packet, frame)
    if (frame.view.getUint16(12) !== 0x0800) continue
    const source = [...frame.bytes.subarray(26, 30)].join('.')
    sources.set(source, (sources.get(source) ?? 0) + 1)
  }
  reader.close()
  return sources
}

/** A capture file of one TCP connection whose segments carry given bytes, made without any code of lib. */
import { writeFileSync } from 'node:fs'

const LINK_ETHERNET = 1

/**
 * Writes a pcap file (little-endian, version 2.4) with a frame for each payload.
 *
 * @param payloads in order; all are sent by 10.0.0.1 to 10.0.0.2
 */
export function writeTcpCapture(path: string, port: number, payloads: readonly Uint8Array[]): void {
  let sequence = 1
  const frames = payloads.map(payload => {
    const ip = Buffer.alloc(40)
    ip.writeUInt8(0x45, 0)
    ip.writeUInt16BE(40 + payload.length, 2)
    ip.writeUInt8(255, 8)
    ip.writeUInt8(6, 9)
    ip.writeUInt32BE(0x0a000001, 12)
    ip.writeUInt32BE(0x0a000002, 16)
    ip.writeUInt16BE(40_000, 20)
    ip.writeUInt16BE(port, 22)
    ip.writeUInt32BE(sequence, 24)
    ip.writeUInt32BE(1, 28)
    ip.writeUInt8(0x50, 32)
    // PSH and ACK.
    ip.writeUInt8(0x18, 33)
    ip.writeUInt16BE(0xffff, 34)
    sequence += payload.length
    const link = Buffer.from('0200000000020200000000010800', 'hex')
    return Buffer.concat([link, ip, payload])
  })
  writeFrameCapture(path, frames)
}

/** The same for whole Ethernet frames. */
export function writeFrameCapture(path: string, frames: readonly Uint8Array[]): void {
  const head = Buffer.alloc(24)
  head.writeUInt32LE(0xa1b2c3d4, 0)
  head.writeUInt16LE(2, 4)
  head.writeUInt16LE(4, 6)
  head.writeUInt32LE(65_535, 16)
  head.writeUInt32LE(LINK_ETHERNET, 20)
  const records = frames.flatMap((frame, i) => {
    const record = Buffer.alloc(16)
    record.writeUInt32LE(i, 0)
    record.writeUInt32LE(frame.length, 8)
    record.writeUInt32LE(frame.length, 12)
    return [record, frame]
  })
  writeFileSync(path, Buffer.concat([head, ...records]))
}

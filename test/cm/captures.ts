/** The connection manager's datagrams in the captures of Linux's stack, and beside them the data packets. */
import { readFileSync } from 'node:fs'
import { HostAddress } from '../../lib/wire/net/address.js'
import { fixturePath } from '../support/fixtures.js'

export const CAPTURES = [
  'cm_rping',
  'cm_sendbw_R',
  'cm_privdata',
  'cm_srv_disc',
  'cm_rej_noport',
  'cm_rej_user',
  'cm_lost_rtu',
] as const

export interface CapturedMad {
  capture: string
  /** Counted from 1, as a dissector counts. */
  packet: number
  timeNs: number
  source: HostAddress
  destination: HostAddress
  /** 256 bytes. */
  bytes: Uint8Array
  view: DataView
}

/** A packet of a reliable connection. */
interface CapturedData {
  udpSourcePort: number
  destinationQpn: number
  psn: number
  source: HostAddress
}

interface Capture {
  mads: CapturedMad[]
  data: CapturedData[]
}

/** Reads a pcap of little-endian microseconds by hand: the tests of this folder use no other code of Weir. */
export function readCapture(name: string): Capture {
  const file = readFileSync(fixturePath(`roce-pcaps/${name}.pcap`))
  const capture: Capture = { mads: [], data: [] }
  let packet = 0
  for (let at = 24; at < file.length; ) {
    const timeNs = file.readUInt32LE(at) * 1e9 + file.readUInt32LE(at + 4) * 1e3
    const length = file.readUInt32LE(at + 8)
    const frame = file.subarray(at + 16, at + 16 + length)
    at += 16 + length
    packet++
    if (frame.readUInt16BE(12) !== 0x0800 || frame[23] !== 17) continue
    const source = HostAddress.fromIpv4(frame.readUInt32BE(26))
    const destination = HostAddress.fromIpv4(frame.readUInt32BE(30))
    if (frame[42] === 0x64) {
      const bytes = new Uint8Array(frame.subarray(62, 62 + 256))
      const view = new DataView(bytes.buffer)
      capture.mads.push({ capture: name, packet, timeNs, source, destination, bytes, view })
    } else {
      capture.data.push({
        udpSourcePort: frame.readUInt16BE(34),
        destinationQpn: frame.readUIntBE(47, 3),
        psn: frame.readUIntBE(51, 3),
        source,
      })
    }
  }
  return capture
}

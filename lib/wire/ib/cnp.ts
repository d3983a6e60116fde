/**
 * Congestion Notification Packet of RoCEv2 (IBA annex A17.9.3): a BTH with opcode 0x81, BECN set, MigReq and PSN 0,
 * then 16 reserved bytes.
 */
import * as bth from './bth.js'
import { Opcode } from './opcode.js'

/** Reserved bytes after the BTH. */
export const BYTES = 16

/** Writes BTH and reserved bytes: 28 in all. */
export function write(view: DataView, at: number, partitionKey: number, destQpn: number): void {
  bth.write(view, at, new bth.Bth({ opcode: Opcode.CNP, migrated: false, partitionKey, destQpn }))
  bth.setBecn(view, at, true)
  for (let i = 0; i < BYTES; i += 4) view.setUint32(at + bth.BYTES + i, 0)
}

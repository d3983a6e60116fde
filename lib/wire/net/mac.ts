import { WeirError } from '../../errors.js'

/** A MAC address as a 48-bit number, which can be compared and needs no object on the packet path. */
export type MacAddress = number

/** Parses `02:00:00:00:00:01`. Throws WEIR_BAD_ARGUMENT for anything else. */
export function parseMac(text: string): MacAddress {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(text)) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `"${text}" is no MAC address: six bytes in hex with colons are expected, as in 02:00:00:00:00:01`,
    )
  }
  return Number.parseInt(text.replaceAll(':', ''), 16)
}

/** Prints `02:00:00:00:00:01`. */
export function formatMac(mac: MacAddress): string {
  return mac
    .toString(16)
    .padStart(12, '0')
    .replace(/..(?=.)/g, '$&:')
}

export function readMac(view: DataView, at: number): MacAddress {
  return view.getUint16(at) * 0x1_0000_0000 + view.getUint32(at + 2)
}

export function writeMac(view: DataView, at: number, mac: MacAddress): void {
  view.setUint16(at, Math.floor(mac / 0x1_0000_0000))
  view.setUint32(at + 2, mac >>> 0)
}

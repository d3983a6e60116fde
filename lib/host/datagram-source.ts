import * as grh from '../wire/ib/grh.js'

/** The address that a datagram came from, by the 40 bytes before its payload. @param at of those bytes */
export function datagramSource(bytes: Uint8Array, at = 0): string {
  return grh.source(bytes, at).toString()
}

import { checkInstance } from '../arguments.js'
import { WeirError } from '../errors.js'
import * as grh from '../wire/ib/grh.js'

/** The address that a datagram came from, by the 40 bytes before its payload. @param at of those bytes. Throws WEIR_BAD_ARGUMENT. */
export function datagramSource(bytes: Uint8Array, at = 0): string {
  checkInstance('datagramSource', 'bytes', Uint8Array, bytes)
  if (!Number.isInteger(at) || at < 0 || at + grh.BYTES > bytes.length)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `datagramSource: ${grh.BYTES} bytes from ${String(at)} on are not within the ${bytes.length} given`,
    )
  return grh.source(bytes, at).toString()
}

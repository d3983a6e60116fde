/** What rping's ends tell each other: where memory is that the other one is to use. 16 bytes, big endian. */
import { WeirError } from '../../errors.js'

export const INFO_BYTES = 16
/** rping's own bound, `-S 65535`. */
export const PING_BYTES_MAX = 65_535

/** A piece of memory of one end. */
interface MemoryInfo {
  address: number
  key: number
  length: number
}

export function infoOf({ address, key, length }: MemoryInfo): Uint8Array {
  const bytes = new Uint8Array(INFO_BYTES)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, BigInt(address))
  view.setUint32(8, key)
  view.setUint32(12, length)
  return bytes
}

/** Throws WEIR_PROTOCOL. */
export function readInfo(bytes: Uint8Array): MemoryInfo {
  if (bytes.length !== INFO_BYTES)
    throw new WeirError(
      'WEIR_PROTOCOL',
      `a message of rping has ${INFO_BYTES} bytes: address, key and length; one of ${bytes.length} came`,
    )
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const [address, key, length] = [view.getBigUint64(0), view.getUint32(8), view.getUint32(12)]
  if (address > BigInt(Number.MAX_SAFE_INTEGER))
    throw new WeirError('WEIR_PROTOCOL', `the peer's address 0x${address.toString(16)} is above 2^53`)
  if (length > PING_BYTES_MAX)
    throw new WeirError(
      'WEIR_PROTOCOL',
      `a ping has at most ${PING_BYTES_MAX} bytes; the peer asks for ${length}`,
    )
  return { address: Number(address), key, length }
}

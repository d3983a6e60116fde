import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { WeirError } from '../errors.js'
import { whyNotRead } from '../file-reason.js'
import { checkSecret, SECRET_BYTES_MAX } from '../nic/keys/connection-key.js'

/** Permission bits of everybody but the file's owner. */
const OTHERS = 0o077

/**
 * Returns the secret in a key file: its bytes without trailing line ends. Throws WEIR_NO_FILE if the file
 * cannot be read. Throws WEIR_BAD_ARGUMENT if others may read it, or if the secret is too short or too long.
 */
export function readKeyFile(path: string): Uint8Array {
  const bytes = Buffer.alloc(SECRET_BYTES_MAX + 2)
  let length = 0
  try {
    const file = openSync(path, 'r')
    try {
      const { mode } = fstatSync(file)
      if ((mode & OTHERS) !== 0) {
        const is = (mode & 0o777).toString(8).padStart(4, '0')
        throw new WeirError(
          'WEIR_BAD_ARGUMENT',
          `--key-file ${path}: others may use it (mode ${is}); chmod 0600 ${path}`,
        )
      }
      length = readSync(file, bytes)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (error instanceof WeirError) throw error
    throw new WeirError('WEIR_NO_FILE', `--key-file ${path}: ${whyNotRead(error)}`, { cause: error })
  }
  while (length > 0 && (bytes[length - 1] === 0x0a || bytes[length - 1] === 0x0d)) length--
  const secret = bytes.subarray(0, length)
  try {
    checkSecret(secret)
  } catch (error) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `--key-file ${path}: ${(error as Error).message}`)
  }
  return secret
}

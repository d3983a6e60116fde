import { WeirError } from '../errors.js'
import { whyNotRead } from '../file-reason.js'
import { checkSecret, SECRET_BYTES_MAX } from '../nic/keys/connection-key.js'
import { readPrivateFile } from '../secure/private-file.js'

/**
 * Returns the secret in a key file: its bytes without trailing line ends. Throws WEIR_NO_FILE if the file
 * cannot be read. Throws WEIR_BAD_ARGUMENT if others may read it, or if the secret is too short or too long.
 */
export function readKeyFile(path: string): Uint8Array {
  let bytes: Buffer
  try {
    // With a line end of two characters.
    bytes = readPrivateFile(path, SECRET_BYTES_MAX + 2)
  } catch (error) {
    if (error instanceof WeirError) throw new WeirError(error.code, `--key-file ${error.message}`)
    throw new WeirError('WEIR_NO_FILE', `--key-file ${path}: ${whyNotRead(error)}`, { cause: error })
  }
  let { length } = bytes
  while (length > 0 && (bytes[length - 1] === 0x0a || bytes[length - 1] === 0x0d)) length--
  const secret = bytes.subarray(0, length)
  try {
    checkSecret(secret)
  } catch (error) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `--key-file ${path}: ${(error as Error).message}`)
  }
  return secret
}

/** Public keys as people see and type them: `x25519:` and 43 characters of base64url (RFC 4648, section 5). */
import { KEY_BYTES } from './x25519.js'

const PREFIX = 'x25519:'

export function keyText(publicKey: Uint8Array): string {
  return PREFIX + Buffer.from(publicKey).toString('base64url')
}

/** Null for other text. */
export function keyOfText(text: string): Buffer | null {
  if (!text.startsWith(PREFIX)) return null
  const key = Buffer.from(text.slice(PREFIX.length), 'base64url')
  return key.length === KEY_BYTES && keyText(key) === text ? key : null
}

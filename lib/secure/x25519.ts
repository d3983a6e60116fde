/** X25519 key pairs (RFC 7748) as raw bytes, by Node's OpenSSL, which takes keys in DER (RFC 8410). */
import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'

export const KEY_BYTES = 32
/** What stands before the 32 bytes of a key in DER. */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b656e032100', 'hex')

export interface KeyPair {
  readonly privateKey: KeyObject
  /** 32 bytes. */
  readonly publicKey: Uint8Array
}

export function newKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  return { privateKey, publicKey: rawPublic(publicKey) }
}

/** @param bytes 32 bytes */
export function keyPairOf(bytes: Uint8Array): KeyPair {
  const key = Buffer.concat([PRIVATE_PREFIX, bytes])
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  return { privateKey, publicKey: rawPublic(createPublicKey(privateKey)) }
}

/** The 32 bytes of a private key. */
export function rawPrivate({ privateKey }: KeyPair): Buffer {
  return privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PRIVATE_PREFIX.length)
}

/** What both ends of a key exchange know then. Null for a public key of small order (RFC 7748, section 6.1). */
export function sharedSecret({ privateKey }: KeyPair, peer: Uint8Array): Buffer | null {
  const key = Buffer.concat([PUBLIC_PREFIX, peer])
  try {
    return diffieHellman({
      privateKey,
      publicKey: createPublicKey({ key, format: 'der', type: 'spki' }),
    })
  } catch {
    return null
  }
}

function rawPublic(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_PREFIX.length)
}

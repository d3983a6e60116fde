/**
 * The handshake Noise_XXpsk3_25519_AESGCM_SHA256 of the Noise protocol framework, revision 34. Numbers of sections are those of its
 * specification. It does no input or output.
 *
 * There is one protocol and no choice, so nobody on the path can talk two ends down to a weaker one. Hosts without a shared secret take
 * zeros for it: the handshake is as strong as XX then.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'
import { assert } from '../errors.js'
import { KEY_BYTES, type KeyPair, newKeyPair, sharedSecret } from './x25519.js'

const NAME = 'Noise_XXpsk3_25519_AESGCM_SHA256'
const TAG_BYTES = 16
const NOTHING = Buffer.alloc(0)

type Token = 'e' | 's' | 'ee' | 'es' | 'se' | 'psk'

/** Section 7.5, with the modifier psk3 of section 9.4. */
const MESSAGES: readonly (readonly Token[])[] = [['e'], ['e', 'ee', 's', 'es'], ['s', 'se', 'psk']]

/** Bytes of each message that has no payload. */
export const MESSAGE_BYTES: readonly number[] = [
  KEY_BYTES + TAG_BYTES,
  2 * KEY_BYTES + 2 * TAG_BYTES,
  KEY_BYTES + 2 * TAG_BYTES,
]

interface NoiseOptions {
  isInitiator: boolean
  staticKey: KeyPair
  /** 32 bytes. */
  psk: Uint8Array
  /** What both ends have to know alike. */
  prologue: Uint8Array
  /** For tests. Default: a new one. */
  ephemeralKey?: KeyPair
}

/** What a finished handshake leaves. */
interface NoiseKeys {
  /** 32 bytes. */
  send: Buffer
  receive: Buffer
  /** Section 11.2: names this connection, the same at both ends. */
  hash: Buffer
}

export class NoiseHandshake {
  readonly #symmetric: SymmetricState
  readonly #isInitiator: boolean
  readonly #staticKey: KeyPair
  readonly #ephemeralKey: KeyPair
  readonly #psk: Uint8Array
  #peerEphemeral: Uint8Array = NOTHING
  #peerStatic: Uint8Array = NOTHING
  #message = 0

  constructor({ isInitiator, staticKey, psk, prologue, ephemeralKey }: NoiseOptions) {
    assert(psk.length === KEY_BYTES, 'a PSK has 32 bytes')
    this.#isInitiator = isInitiator
    this.#staticKey = staticKey
    this.#ephemeralKey = ephemeralKey ?? newKeyPair()
    this.#psk = psk
    this.#symmetric = new SymmetricState(NAME)
    this.#symmetric.mixHash(prologue)
  }

  /** The peer's public key; empty before it has come. It is proven by a message that could be read. */
  get peerStatic(): Uint8Array {
    return this.#peerStatic
  }

  get isFinished(): boolean {
    return this.#message === MESSAGES.length
  }

  /** True if it is this end's turn. */
  get writes(): boolean {
    return !this.isFinished && (this.#message % 2 === 0) === this.#isInitiator
  }

  /** The next message; null if the peer's key is of small order. */
  write(payload: Uint8Array): Buffer | null {
    assert(this.writes, 'handshake: out of turn')
    const symmetric = this.#symmetric
    const parts: Uint8Array[] = []
    for (const token of MESSAGES[this.#message++]!) {
      if (token === 'e') {
        const { publicKey } = this.#ephemeralKey
        parts.push(publicKey)
        symmetric.mixHash(publicKey)
        symmetric.mixKey(publicKey)
      } else if (token === 's') parts.push(symmetric.encryptAndHash(this.#staticKey.publicKey))
      else if (!this.#mix(token)) return null
    }
    parts.push(symmetric.encryptAndHash(payload))
    return Buffer.concat(parts)
  }

  /** The payload of the peer's next message; null if it is not authentic: the handshake is of no use any more. */
  read(message: Uint8Array): Buffer | null {
    assert(!this.writes && !this.isFinished, 'handshake: out of turn')
    const symmetric = this.#symmetric
    let at = 0
    const take = (bytes: number) => {
      at += bytes
      return message.subarray(at - bytes, at)
    }
    if (message.length < MESSAGE_BYTES[this.#message]!) return null
    for (const token of MESSAGES[this.#message++]!) {
      if (token === 'e') {
        this.#peerEphemeral = Uint8Array.from(take(KEY_BYTES))
        symmetric.mixHash(this.#peerEphemeral)
        symmetric.mixKey(this.#peerEphemeral)
      } else if (token === 's') {
        const key = symmetric.decryptAndHash(take(KEY_BYTES + TAG_BYTES))
        if (key === null) return null
        this.#peerStatic = key
      } else if (!this.#mix(token)) return null
    }
    return symmetric.decryptAndHash(message.subarray(at))
  }

  /** Section 5.2, Split. */
  finish(): NoiseKeys {
    assert(this.isFinished, 'handshake: it is not finished')
    const [first, second] = this.#symmetric.split()
    const { hash } = this.#symmetric
    return this.#isInitiator ? { send: first, receive: second, hash } : { send: second, receive: first, hash }
  }

  /** Section 5.3. Returns false for a key of small order. */
  #mix(token: 'ee' | 'es' | 'se' | 'psk'): boolean {
    if (token === 'psk') {
      this.#symmetric.mixKeyAndHash(this.#psk)
      return true
    }
    // The first letter is the initiator's key, the second one the responder's.
    const [own, peers] = this.#isInitiator ? [token[0], token[1]] : [token[1], token[0]]
    const secret = sharedSecret(
      own === 'e' ? this.#ephemeralKey : this.#staticKey,
      peers === 'e' ? this.#peerEphemeral : this.#peerStatic,
    )
    if (secret === null) return false
    this.#symmetric.mixKey(secret)
    return true
  }
}

/** Section 5.2, with the CipherState of section 5.1 that the handshake uses. */
class SymmetricState {
  #chainingKey: Buffer
  #hash: Buffer
  #key: Buffer | null = null
  #nonce = 0

  constructor(name: string) {
    assert(name.length <= KEY_BYTES, 'the name would have to be hashed')
    this.#hash = Buffer.alloc(KEY_BYTES)
    this.#hash.write(name)
    this.#chainingKey = this.#hash
  }

  get hash(): Buffer {
    return this.#hash
  }

  mixHash(data: Uint8Array): void {
    this.#hash = createHash('sha256').update(this.#hash).update(data).digest()
  }

  mixKey(material: Uint8Array): void {
    const [chainingKey, key] = hkdf(this.#chainingKey, material) as [Buffer, Buffer]
    this.#chainingKey = chainingKey
    this.#initialize(key)
  }

  mixKeyAndHash(material: Uint8Array): void {
    const [chainingKey, hash, key] = hkdf(this.#chainingKey, material) as [Buffer, Buffer, Buffer]
    this.#chainingKey = chainingKey
    this.mixHash(hash)
    this.#initialize(key)
  }

  encryptAndHash(plaintext: Uint8Array): Buffer {
    assert(this.#key !== null, 'handshake: no key yet')
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(this.#nonce++)).setAAD(this.#hash)
    const text = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
    this.mixHash(text)
    return text
  }

  decryptAndHash(text: Uint8Array): Buffer | null {
    assert(this.#key !== null, 'handshake: no key yet')
    const end = text.length - TAG_BYTES
    if (end < 0) return null
    const nonce = nonceOf(this.#nonce++)
    const cipher = createDecipheriv('aes-256-gcm', this.#key, nonce).setAAD(this.#hash)
    cipher.setAuthTag(text.subarray(end))
    try {
      const plaintext = Buffer.concat([cipher.update(text.subarray(0, end)), cipher.final()])
      this.mixHash(text)
      return plaintext
    } catch {
      return null
    }
  }

  split(): [Buffer, Buffer] {
    const [first, second] = hkdf(this.#chainingKey, NOTHING) as [Buffer, Buffer]
    return [first, second]
  }

  #initialize(key: Buffer): void {
    this.#key = key
    this.#nonce = 0
  }
}

/** Section 4.3: the three outputs of HKDF. */
function hkdf(chainingKey: Uint8Array, material: Uint8Array): Buffer[] {
  const temporary = createHmac('sha256', chainingKey).update(material).digest()
  const outputs: Buffer[] = []
  let last: Uint8Array = NOTHING
  for (let i = 1; i <= 3; i++) {
    const output = createHmac('sha256', temporary).update(last).update(Uint8Array.of(i)).digest()
    outputs.push(output)
    last = output
  }
  return outputs
}

/** Section 12.4: four bytes of zeros, then the number, big-endian. */
function nonceOf(number: number): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(number, 8)
  return nonce
}

/**
 * Keys of a connection's feedback, from a secret that both hosts have. The REQ brings a nonce and a proof that its
 * sender has the secret; the REP brings another nonce and a proof by the keys that follow from both nonces:
 * HKDF-SHA256 (RFC 5869), salt = the nonces, one key for each direction. So no two connections have the same keys,
 * and packets recorded on one are worthless on another.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { WeirError } from '../errors.js'
import { keyWords } from '../wire/siphash.js'
import { FeedbackGuard } from './feedback-guard.js'

/** Length of a secret, bytes. */
export const SECRET_BYTES_MIN = 16
export const SECRET_BYTES_MAX = 1024

const NONCE_BYTES = 8
const REQUEST_PROOF_BYTES = 4
const REPLY_PROOF_BYTES = 8
/** `key_words` of proto/connect.proto, in a REQ and in a REP. */
export const REQUEST_BYTES = NONCE_BYTES + REQUEST_PROOF_BYTES
export const REPLY_BYTES = NONCE_BYTES + REPLY_PROOF_BYTES

const KEY_BYTES = 16
const LABEL = 'weir feedback 1'

/** Throws WEIR_BAD_ARGUMENT for a secret that is too short or too long. */
export function checkSecret(secret: Uint8Array): void {
  if (secret.length >= SECRET_BYTES_MIN && secret.length <= SECRET_BYTES_MAX) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `the key has ${secret.length} bytes: ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} are wanted`,
  )
}

/** Key words of a REQ. @param random source of 32-bit numbers; @param qpn of the REQ, as is @param psn */
export function requestWords(secret: Uint8Array, random: () => number, qpn: number, psn: number): Uint8Array {
  const nonce = drawNonce(random)
  return Buffer.concat([nonce, requestProof(secret, nonce, qpn, psn)])
}

/** True if the sender of a REQ has the secret. */
export function provesRequest(words: Uint8Array, secret: Uint8Array, qpn: number, psn: number): boolean {
  if (words.length !== REQUEST_BYTES) return false
  const proof = requestProof(secret, words.subarray(0, NONCE_BYTES), qpn, psn)
  return timingSafeEqual(proof, words.subarray(NONCE_BYTES))
}

/** The passive end: key words of the REP to a REQ that `provesRequest`, and the guard of the connection. */
export function answerRequest(
  words: Uint8Array,
  secret: Uint8Array,
  random: () => number,
): { words: Uint8Array; guard: FeedbackGuard } {
  const nonce = drawNonce(random)
  const keys = deriveKeys(secret, words.subarray(0, NONCE_BYTES), nonce)
  return {
    words: Buffer.concat([nonce, keys.proof]),
    guard: new FeedbackGuard(keys.ofPassive, keys.ofActive),
  }
}

/** The active end: the guard, or null if the sender of the REP does not have the secret. */
export function takeReply(own: Uint8Array, words: Uint8Array, secret: Uint8Array): FeedbackGuard | null {
  if (words.length !== REPLY_BYTES) return null
  const keys = deriveKeys(secret, own.subarray(0, NONCE_BYTES), words.subarray(0, NONCE_BYTES))
  const proven = timingSafeEqual(keys.proof, words.subarray(NONCE_BYTES))
  return proven ? new FeedbackGuard(keys.ofActive, keys.ofPassive) : null
}

function drawNonce(random: () => number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUInt32BE(random() >>> 0, 0)
  nonce.writeUInt32BE(random() >>> 0, 4)
  return nonce
}

function requestProof(secret: Uint8Array, nonce: Uint8Array, qpn: number, psn: number): Buffer {
  const hmac = createHmac('sha256', secret).update(`${LABEL} request ${qpn} ${psn} `).update(nonce)
  return hmac.digest().subarray(0, REQUEST_PROOF_BYTES)
}

function deriveKeys(secret: Uint8Array, active: Uint8Array, passive: Uint8Array) {
  const bytes = 2 * KEY_BYTES + REPLY_PROOF_BYTES
  const made = Buffer.from(hkdfSync('sha256', secret, Buffer.concat([active, passive]), LABEL, bytes))
  return {
    ofActive: keyWords(made.subarray(0, KEY_BYTES)),
    ofPassive: keyWords(made.subarray(KEY_BYTES, 2 * KEY_BYTES)),
    proof: made.subarray(2 * KEY_BYTES),
  }
}

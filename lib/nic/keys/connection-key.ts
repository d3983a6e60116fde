/**
 * Keys of a connection's feedback, from a secret that both hosts have. The REQ brings a nonce and a proof that its
 * sender has the secret; the REP brings another nonce and a proof by the keys that follow from both nonces:
 * HKDF-SHA256 (RFC 5869), salt = the nonces, one key for each direction, and what each end shows when it ends the connection. So no
 * two connections have the same keys, and packets recorded on one are worthless on another.
 *
 * A second proof in the REP (`ConnectWords`) covers all that both ends have said: the active end then knows that nobody has changed either
 * message. The first three bytes of the passive end's nonce say that there is one. The first proof covers the nonce, so nobody can take
 * both away. Hosts from before that proof ignore it, and send none: what they say is not covered.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { WeirError } from '../../errors.js'
import { keyWords } from '../../wire/bytes/siphash.js'
import { END_PROOF_BYTES, EndProof } from './end-proof.js'
import { FeedbackGuard } from './feedback-guard.js'

/** Length of a secret, bytes. */
const SECRET_BYTES_MIN = 16
export const SECRET_BYTES_MAX = 1024

const NONCE_BYTES = 8
const REQUEST_PROOF_BYTES = 4
const REPLY_PROOF_BYTES = 8
/** `key_words` of proto/connect.proto, in a REQ and in a REP. */
const REQUEST_BYTES = NONCE_BYTES + REQUEST_PROOF_BYTES
const REPLY_BYTES = NONCE_BYTES + REPLY_PROOF_BYTES

const KEY_BYTES = 16
/** How the nonce of a passive end begins that proves the words. That of an older one begins so by chance once in 2^24. */
const PROVES_WORDS = [0x57, 0x65, 0x32]
const WORDS_KEY_BYTES = 32
/** `words_proof` of proto/connect.proto. */
const WORDS_PROOF_BYTES = 16
const LABEL = 'weir feedback 1'

/** What an end of a connection has of the secret. */
interface ConnectionKeys {
  guard: FeedbackGuard
  ends: EndProof
  /** Proves what both ends have said; null: the passive end is older, and does not. */
  wordsKey: Uint8Array | null
}

/** What both ends of a connection have said, each as it has read it. */
export interface ConnectWords {
  /** Weir's words in the REQ and in the REP, the latter without this proof. */
  request: Uint8Array
  reply: Uint8Array
  activeQpn: number
  passiveQpn: number
  /** First PSN that each expects. */
  activePsn: number
  passivePsn: number
}

/** Proves that the sender of a REP has read and said this: 16 bytes. @param key `wordsKey` */
export function wordsProof(key: Uint8Array, words: ConnectWords): Uint8Array {
  const { request, reply, activeQpn, passiveQpn, activePsn, passivePsn } = words
  const names = [activeQpn, activePsn, passiveQpn, passivePsn, request.length, reply.length]
  const hmac = createHmac('sha256', key).update(`${LABEL} words ${names.join(' ')} `)
  return hmac.update(request).update(reply).digest().subarray(0, WORDS_PROOF_BYTES)
}

/** True if the active end has said and read the same. */
export function provesWords(proof: Uint8Array, key: Uint8Array, words: ConnectWords): boolean {
  return proof.length === WORDS_PROOF_BYTES && timingSafeEqual(proof, wordsProof(key, words))
}

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

/** The passive end: key words of the REP to a REQ that `provesRequest`, and the keys of the connection. */
export function answerRequest(
  words: Uint8Array,
  secret: Uint8Array,
  random: () => number,
): ConnectionKeys & { words: Uint8Array } {
  const nonce = drawNonce(random)
  nonce.set(PROVES_WORDS)
  const keys = deriveKeys(secret, words.subarray(0, NONCE_BYTES), nonce)
  return {
    words: Buffer.concat([nonce, keys.proof]),
    wordsKey: keys.words,
    guard: new FeedbackGuard(keys.ofPassive, keys.ofActive),
    ends: new EndProof(keys.endOfPassive, keys.endOfActive),
  }
}

/** The active end: the keys, or null if the sender of the REP does not have the secret. */
export function takeReply(own: Uint8Array, words: Uint8Array, secret: Uint8Array): ConnectionKeys | null {
  if (words.length !== REPLY_BYTES) return null
  const keys = deriveKeys(secret, own.subarray(0, NONCE_BYTES), words.subarray(0, NONCE_BYTES))
  if (!timingSafeEqual(keys.proof, words.subarray(NONCE_BYTES))) return null
  return {
    wordsKey: PROVES_WORDS.every((byte, i) => words[i] === byte) ? keys.words : null,
    guard: new FeedbackGuard(keys.ofActive, keys.ofPassive),
    ends: new EndProof(keys.endOfActive, keys.endOfPassive),
  }
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
  const bytes = 2 * KEY_BYTES + REPLY_PROOF_BYTES + 2 * END_PROOF_BYTES + WORDS_KEY_BYTES
  const made = Buffer.from(hkdfSync('sha256', secret, Buffer.concat([active, passive]), LABEL, bytes))
  let taken = 0
  const next = (length: number) => {
    taken += length
    return made.subarray(taken - length, taken)
  }
  return {
    ofActive: keyWords(next(KEY_BYTES)),
    ofPassive: keyWords(next(KEY_BYTES)),
    proof: next(REPLY_PROOF_BYTES),
    endOfActive: next(END_PROOF_BYTES),
    endOfPassive: next(END_PROOF_BYTES),
    // HKDF's output begins alike, however long it is: what older hosts derive stays the same.
    words: next(WORDS_KEY_BYTES),
  }
}

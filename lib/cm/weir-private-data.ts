/**
 * Weir's own data in REQ, REP, REJ and DREQ: the magic "WEIR", a byte of length, and a message of proto/connect.proto. Padding
 * follows. Without the magic the peer is a plain librdmacm one.
 *
 * In a REQ the words stand in place of the alternate path, where no other host looks, so that the private data is the application's
 * alone: nobody knows yet what the peer is. Words that are too long for that, as those of hosts with a key, stand in the private data,
 * and the application's bytes among them. REP, REJ and DREQ have them in the private data, and only Weir hosts get any.
 */

import { WeirError } from '../errors.js'
import { MessageCodec, messageType } from '../proto/proto.js'
import * as rej from '../wire/cm/rej.js'
import * as rep from '../wire/cm/rep.js'
import { mtuCode } from '../wire/cm/req.js'
import { ACK_EVERY_MAX } from '../wire/weir/needs.js'
import { REQ_USER_BYTES, within } from './options.js'

/** "WEIR" */
const MAGIC = [0x57, 0x45, 0x49, 0x52]
const PREFIX_BYTES = MAGIC.length + 1
/** Bytes that an application can add to a REP. */
export const REPLY_BYTES_MAX = 80
const KEY_WORDS_MAX = 16
/**
 * Most bytes of needs. In the private data a REQ has room for 2, which those of Weir's own controllers take, beside 16 bytes of an application
 * and the words of a key. A REQ without room for `ackEvery` leaves it out.
 */
const NEEDS_MAX = 40
/** Length of the proof of a REP's words. */
const WORDS_PROOF_BYTES = 16
/** Field 12, of that length: tag and length of the field that stands last, behind those of higher numbers. */
const WORDS_PROOF_TAG = [(12 << 3) | 2, WORDS_PROOF_BYTES]
const END_PROOF_MAX = 16
const VERSION_MAX = 127
const RECEIVE_BUDGET_MAX = Number.MAX_SAFE_INTEGER
/** Bytes that a unit of `hostBudgetUnits` stands for. */
export const HOST_BUDGET_UNIT = 1 << 18
/** What two bytes say: 4 GiB. */
export const HOST_BUDGET_UNITS_MAX = 0x3fff
const NOTHING = new Uint8Array(0)

export interface ConnectParameters {
  /** 1 to 127. */
  version: number
  /** 32 bits. */
  features: number
  /** 256, 512, 1024, 2048 or 4096 bytes. */
  pathMtu: number
  /** What the host takes of one connection at a time, below 2^53. 0 = unknown. */
  receiveBudgetBytes: number
  /** What it takes of all together, in units of 256 KiB, at most 16,383 of them. 0 = no more, or the peer is older. */
  hostBudgetUnits: number
  /** At most 80 bytes in a REP; in a REQ as many as fit. */
  applicationData: Uint8Array
  /** Length of the private data of a REQ, where that is the application's alone, at most 56 bytes. */
  privateBytes: number
  /** Nonce and proof of hosts with a shared secret, at most 16 bytes. Empty: this end has no secret. */
  keyWords: Uint8Array
  /** What the sender needs of the other end, at most 40 bytes: `lib/wire/weir/needs.ts`. */
  needs: Uint8Array
  /** The sender acknowledges for no fewer packets at a time, 2 to 65535; 0 = as often as asked. */
  ackEvery: number
  /** Payload bytes that fill a packet of the sender's, a multiple of 4 from 256 to 4096; 0 = it does not fill them. */
  filledPayload: number
  /** The sender would do without ICRCs. */
  withoutIcrc: boolean
  /** Packets with payload may carry acknowledgements. */
  carriesAcks: boolean
  /** 16 bytes, in a REP: both ends have written what the other has read. Empty: there is no key, or the peer is older. */
  wordsProof: Uint8Array
}

interface ConnectRejection {
  /** Empty: nothing has failed. */
  code: string
  message: string
  /** Proves that the peer ends an established connection, at most 16 bytes. Empty: there is no key. */
  proof: Uint8Array
}

const parametersCodec = new MessageCodec<ConnectParameters>(
  messageType('connect.proto', 'weir.connect.ConnectParameters'),
  rep.PRIVATE_DATA_BYTES - PREFIX_BYTES,
)
const rejectionCodec = new MessageCodec<ConnectRejection>(
  messageType('connect.proto', 'weir.connect.ConnectRejection'),
  rej.PRIVATE_DATA_BYTES - PREFIX_BYTES,
)

/** Returns the words of a REQ or a REP, which is to see whether it has room. Throws WEIR_BAD_ARGUMENT on a value out of range. */
export function encode(parameters: ConnectParameters): Uint8Array {
  within('version', parameters.version, 1, VERSION_MAX)
  within('features', parameters.features, 0, 0xffffffff)
  within('receiveBudgetBytes', parameters.receiveBudgetBytes, 0, RECEIVE_BUDGET_MAX)
  within('hostBudgetUnits', parameters.hostBudgetUnits, 0, HOST_BUDGET_UNITS_MAX)
  within('applicationData.length', parameters.applicationData.length, 0, REPLY_BYTES_MAX)
  within('privateBytes', parameters.privateBytes, 0, REQ_USER_BYTES)
  within('keyWords.length', parameters.keyWords.length, 0, KEY_WORDS_MAX)
  within('needs.length', parameters.needs.length, 0, NEEDS_MAX)
  within('ackEvery', parameters.ackEvery, 0, ACK_EVERY_MAX)
  if (parameters.wordsProof.length !== 0) {
    within('wordsProof.length', parameters.wordsProof.length, WORDS_PROOF_BYTES, WORDS_PROOF_BYTES)
  }
  if (mtuCode(parameters.pathMtu) === 0) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `pathMtu is 256, 512, 1024, 2048 or 4096, not ${parameters.pathMtu}`,
    )
  }
  if (!isFilledPayload(parameters.filledPayload)) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `filledPayload is 0 or a multiple of 4 from 256 to 4096, not ${parameters.filledPayload}`,
    )
  }
  const { keyWords, needs, ackEvery, filledPayload, withoutIcrc, carriesAcks, ...more } = parameters
  const { hostBudgetUnits, privateBytes, wordsProof, ...others } = more
  const message: Partial<ConnectParameters> = others
  if (keyWords.length > 0) message.keyWords = keyWords
  if (needs.length > 0) message.needs = needs
  if (ackEvery > 0) message.ackEvery = ackEvery
  if (filledPayload > 0) message.filledPayload = filledPayload
  if (withoutIcrc) message.withoutIcrc = true
  if (carriesAcks) message.carriesAcks = true
  if (privateBytes > 0) message.privateBytes = privateBytes
  if (hostBudgetUnits > 0) message.hostBudgetUnits = hostBudgetUnits
  const words = parametersCodec.encode(message)
  if (wordsProof.length === 0) return framed(words)
  return framed(Uint8Array.from([...words, ...WORDS_PROOF_TAG, ...wordsProof]))
}

/**
 * Returns a Weir host's parameters, null for another peer, and 'malformed' for unreadable data. Never throws.
 */
export function decode(privateData: Uint8Array): ConnectParameters | null | 'malformed' {
  const parameters = unframed(privateData, parametersCodec)
  if (parameters === null || parameters === 'malformed') return parameters
  const sound =
    parameters.version >= 1 &&
    parameters.version <= VERSION_MAX &&
    mtuCode(parameters.pathMtu) !== 0 &&
    parameters.receiveBudgetBytes <= RECEIVE_BUDGET_MAX &&
    parameters.applicationData.length <= REPLY_BYTES_MAX &&
    parameters.privateBytes <= REQ_USER_BYTES &&
    parameters.keyWords.length <= KEY_WORDS_MAX &&
    parameters.needs.length <= NEEDS_MAX &&
    parameters.ackEvery <= ACK_EVERY_MAX &&
    isFilledPayload(parameters.filledPayload) &&
    parameters.wordsProof.length <= WORDS_PROOF_BYTES
  return sound ? parameters : 'malformed'
}

/** What the application has sent along with a REQ or a REP. @param words null: it is no Weir host's */
export function applicationData(words: ConnectParameters | null, privateData: Uint8Array): Uint8Array {
  if (words === null) return privateData
  return words.privateBytes > 0 ? privateData.subarray(0, words.privateBytes) : words.applicationData
}

function isFilledPayload(value: number): boolean {
  return value === 0 || (value >= 256 && value <= 4096 && value % 4 === 0)
}

/** The words of private data that `decode` can read, without the padding. */
export function wordsOf(privateData: Uint8Array): Uint8Array {
  return privateData.subarray(0, PREFIX_BYTES + privateData[MAGIC.length]!)
}

/** The words of a REP that `decode` can read, as `encode` made them without their proof, and that proof; empty: there is none. */
export function splitProof(privateData: Uint8Array): { words: Uint8Array; proof: Uint8Array } {
  const whole = wordsOf(privateData)
  const at = whole.length - WORDS_PROOF_TAG.length - WORDS_PROOF_BYTES
  const isThere = at >= PREFIX_BYTES && WORDS_PROOF_TAG.every((byte, i) => whole[at + i] === byte)
  if (!isThere) return { words: whole, proof: NOTHING }
  return {
    words: framed(whole.subarray(PREFIX_BYTES, at)),
    proof: whole.subarray(at + WORDS_PROOF_TAG.length),
  }
}

/** Private data for a REJ, or a DREQ, at most 148 bytes: a long message is cut off. */
export function encodeRejection(rejection: ConnectRejection): Uint8Array {
  const room = rej.PRIVATE_DATA_BYTES - PREFIX_BYTES
  const { proof } = rejection
  within('proof.length', proof.length, 0, END_PROOF_MAX)
  const code = cutOff(rejection.code, 40)
  // Each field has a tag, and a length of one or two bytes.
  const others = Buffer.byteLength(code) + (proof.length > 0 ? proof.length + 2 : 0)
  const message = cutOff(rejection.message, room - others - 5)
  return framed(rejectionCodec.encode(proof.length > 0 ? { code, message, proof } : { code, message }))
}

/**
 * Returns why a Weir host refused or gave up, null for another peer, and 'malformed' for unreadable data.
 * Never throws.
 */
export function decodeRejection(privateData: Uint8Array): ConnectRejection | null | 'malformed' {
  return unframed(privateData, rejectionCodec)
}

function framed(message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(PREFIX_BYTES + message.length)
  bytes.set(MAGIC)
  bytes[MAGIC.length] = message.length
  bytes.set(message, PREFIX_BYTES)
  return bytes
}

function unframed<T extends object>(bytes: Uint8Array, codec: MessageCodec<T>): T | null | 'malformed' {
  if (bytes.length < PREFIX_BYTES || MAGIC.some((byte, i) => bytes[i] !== byte)) return null
  const length = bytes[MAGIC.length]!
  if (PREFIX_BYTES + length > bytes.length) return 'malformed'
  try {
    return codec.decode(bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + length))
  } catch {
    return 'malformed'
  }
}

/** Returns the longest beginning of `text` of at most `bytesMax` bytes in UTF-8 that splits no character. */
function cutOff(text: string, bytesMax: number): string {
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > bytesMax) break
    end += character.length
  }
  return text.slice(0, end)
}

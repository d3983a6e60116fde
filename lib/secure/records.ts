/**
 * Records of one direction of a connection: AES-128-GCM with a nonce that is a counter. A sealer never uses a number twice, because it
 * counts, and asserts so where it encrypts.
 *
 * Keys follow each other as those of TLS 1.3 (RFC 8446, section 7.2): after `RECORDS_A_KEY` records the next one is derived, and the one before
 * cannot be found from it. Records have 16 MiB at most, so a key encrypts 2^34 blocks at most. By the bound of RFC 8446, section 5.5, what an
 * observer can learn from so many is below 2^-60.
 */
import { hkdfSync } from 'node:crypto'
import { assert } from '../errors.js'
import { bestAead, TAG_BYTES } from './aead.js'

export { TAG_BYTES }
/** Where records say their number: 48 bits. */
export const NUMBER_BYTES = 6
export const RECORDS_A_KEY = 2 ** 14
/** A connection makes no more records: 2^33 keys. */
const RECORDS_MAX = 2 ** 47

const SECRET_BYTES = 32

/** What a record is, beside its bytes. Both ends have to say the same. */
export const RecordKind = { VERDICT: 1, MESSAGE: 2, CHUNK: 3, DIGEST: 4 } as const
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind]

const ABOUT_BYTES = 24

/** Writes what a record is into 24 bytes. All numbers are whole and below 2^53. */
export function aboutOf(kind: RecordKind, index: number, position: number, length: number): Buffer {
  const about = Buffer.alloc(ABOUT_BYTES)
  about.writeUIntBE(kind, 0, 2)
  about.writeUIntBE(index % 2 ** 48, 2, 6)
  about.writeUInt32BE(Math.floor(index / 2 ** 48), 8)
  about.writeUInt16BE(Math.floor(position / 2 ** 48), 12)
  about.writeUIntBE(position % 2 ** 48, 14, 6)
  about.writeUInt32BE(length, 20)
  return about
}

/** The keys of one direction, one after another. */
class KeySchedule {
  #secret: Buffer
  #epoch = 0
  #key: Buffer
  #iv: Buffer

  constructor(secret: Uint8Array, epoch = 0) {
    this.#secret = Buffer.from(secret)
    this.#epoch = epoch
    this.#key = derive(this.#secret, 'key', 16)
    this.#iv = derive(this.#secret, 'iv', 12)
  }

  get epoch(): number {
    return this.#epoch
  }

  get key(): Buffer {
    return this.#key
  }

  next(): KeySchedule {
    return new KeySchedule(derive(this.#secret, 'next', SECRET_BYTES), this.#epoch + 1)
  }

  /** RFC 8446, section 5.3. */
  nonceOf(number: number): Buffer {
    const nonce = Buffer.from(this.#iv)
    nonce.writeUInt16BE(nonce.readUInt16BE(6) ^ Math.floor(number / 2 ** 32), 6)
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ (number % 2 ** 32)) >>> 0, 8)
    return nonce
  }
}

export class RecordSealer {
  #keys: KeySchedule
  #next = 0
  #last = -1

  /** @param secret 32 bytes, of this direction alone */
  constructor(secret: Uint8Array) {
    this.#keys = new KeySchedule(secret)
  }

  /** Number of the next record. */
  get next(): number {
    return this.#next
  }

  /**
   * Seals `from` into `into`, which may be the same memory, and writes the tag. Returns the record's number.
   * @param about as `aboutOf`
   */
  seal(from: Uint8Array, into: Uint8Array, tag: Uint8Array, about: Uint8Array): number {
    const number = this.#next++
    assert(number > this.#last && number < RECORDS_MAX, 'a nonce would be used again')
    this.#last = number
    if (epochOf(number) > this.#keys.epoch) this.#keys = this.#keys.next()
    const { key } = this.#keys
    bestAead().seal({ key, nonce: this.#keys.nonceOf(number), about }, from, into, tag)
    return number
  }
}

export class RecordOpener {
  #keys: KeySchedule
  #before: KeySchedule | null = null

  /** @param secret the peer's */
  constructor(secret: Uint8Array) {
    this.#keys = new KeySchedule(secret)
  }

  /**
   * Opens `from` into `into`, which may be the same memory. Returns false if the record is not the peer's, or is another one: `into` is worthless then.
   * Whoever calls it takes care that no record counts twice: by the order of numbers, or by `about`.
   */
  open(number: number, from: Uint8Array, into: Uint8Array, tag: Uint8Array, about: Uint8Array): boolean {
    const keys = this.#keysOf(number)
    if (keys === null) return false
    const by = { key: keys.key, nonce: keys.nonceOf(number), about }
    if (!bestAead().open(by, from, into, tag)) return false
    if (keys.epoch > this.#keys.epoch) {
      this.#before = this.#keys
      this.#keys = keys
    }
    return true
  }

  /** Only a record that is authentic moves on to the next key, and none skips one. */
  #keysOf(number: number): KeySchedule | null {
    const epoch = epochOf(number)
    if (epoch === this.#keys.epoch) return this.#keys
    if (epoch === this.#keys.epoch + 1) return this.#keys.next()
    return epoch === this.#before?.epoch ? this.#before : null
  }
}

/** Secrets of several uses of one key of the handshake. */
export function secretFor(key: Uint8Array, use: string): Buffer {
  return derive(key, use, SECRET_BYTES)
}

function epochOf(number: number): number {
  return Math.floor(number / RECORDS_A_KEY)
}

function derive(secret: Uint8Array, use: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `weir record 1 ${use}`, bytes))
}

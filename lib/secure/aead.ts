/**
 * AES-128-GCM by Node's OpenSSL (NIST SP 800-38D). The cipher objects of node:crypto return new memory for each piece, which costs more than the
 * cipher. So OpenSSL's own functions are called where koffi is installed and the program shows them: they seal memory where it lies.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { assert } from '../errors.js'
import { loadKoffi } from '../koffi.js'

export const TAG_BYTES = 16

/** What a record is sealed by: 16 bytes of key, 12 of nonce, and what is covered beside the text. */
interface Sealing {
  readonly key: Uint8Array
  readonly nonce: Uint8Array
  readonly about: Uint8Array
}

/** `into` may be the memory of `from`, and is as long. */
interface Aead {
  seal(by: Sealing, from: Uint8Array, into: Uint8Array, tag: Uint8Array): void
  /** Returns false if it is not authentic: `into` is worthless then. */
  open(by: Sealing, from: Uint8Array, into: Uint8Array, tag: Uint8Array): boolean
}

/** Pieces of this size stay in the cache, and are taken from the heap instead of mapped anew. */
const PIECE_BYTES = 32 * 1024

export const NODE_AEAD: Aead = {
  seal({ key, nonce, about }, from, into, tag) {
    const cipher = createCipheriv('aes-128-gcm', key, nonce).setAAD(about)
    for (let at = 0; at < from.length; at += PIECE_BYTES) {
      into.set(cipher.update(from.subarray(at, at + PIECE_BYTES)), at)
    }
    cipher.final()
    tag.set(cipher.getAuthTag())
  },
  open({ key, nonce, about }, from, into, tag) {
    const cipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(about).setAuthTag(tag)
    for (let at = 0; at < from.length; at += PIECE_BYTES) {
      into.set(cipher.update(from.subarray(at, at + PIECE_BYTES)), at)
    }
    try {
      cipher.final()
    } catch {
      return false
    }
    return true
  },
}

/** EVP_CTRL_AEAD_GET_TAG and SET_TAG of openssl/evp.h. */
const GET_TAG = 0x10
const SET_TAG = 0x11

/** Null where OpenSSL's functions cannot be called, or do something else than node:crypto. */
export function directAead(): Aead | null {
  try {
    const aead = bind()
    return aead !== null && worksAlike(aead) ? aead : null
  } catch {
    return null
  }
}

let chosen: Aead | null = null

/** The one that costs least here. */
export function bestAead(): Aead {
  chosen ??= directAead() ?? NODE_AEAD
  return chosen
}

function bind(): Aead | null {
  const library = loadKoffi()?.load(null)
  if (library === undefined) return null
  const call = (prototype: string) => library.func(prototype) as (...args: unknown[]) => number
  const cipher = call('uint64_t EVP_aes_128_gcm()')()
  const context = call('uint64_t EVP_CIPHER_CTX_new()')()
  if (cipher === 0 || context === 0) return null
  const begin = call('int EVP_CipherInit_ex(uint64_t, uint64_t, uint64_t, void*, void*, int)')
  const update = call('int EVP_CipherUpdate(uint64_t, void*, void*, void*, int)')
  const end = call('int EVP_CipherFinal_ex(uint64_t, void*, void*)')
  const control = call('int EVP_CIPHER_CTX_ctrl(uint64_t, int, int, void*)')
  const nothing = Buffer.alloc(TAG_BYTES)
  const length = Buffer.alloc(4)
  const pass = ({ key, nonce, about }: Sealing, from: Uint8Array, into: Uint8Array, seals: number) => {
    assert(key.length === 16 && nonce.length === 12 && into.length >= from.length, 'not of AES-128-GCM')
    const isRight =
      begin(context, cipher, 0, key, nonce, seals) === 1 &&
      (about.length === 0 || update(context, null, length, about, about.length) === 1) &&
      (from.length === 0 || update(context, into, length, from, from.length) === 1)
    assert(isRight, 'OpenSSL has refused AES-128-GCM')
  }
  return {
    seal(by, from, into, tag) {
      pass(by, from, into, 1)
      const isRight = end(context, nothing, length) === 1 && control(context, GET_TAG, TAG_BYTES, tag) === 1
      assert(isRight, 'OpenSSL has made no tag')
    },
    open(by, from, into, tag) {
      pass(by, from, into, 0)
      return control(context, SET_TAG, TAG_BYTES, tag) === 1 && end(context, nothing, length) === 1
    },
  }
}

/** One text by each: the same seal, which each opens, and neither opens changed. */
function worksAlike(aead: Aead): boolean {
  const by = { key: Buffer.alloc(16, 1), nonce: Buffer.alloc(12, 2), about: Buffer.alloc(24, 3) }
  const text = Buffer.alloc(100, 'two ways to one text ')
  const [own, other] = [Buffer.alloc(text.length), Buffer.alloc(text.length)]
  const [tag, otherTag] = [Buffer.alloc(TAG_BYTES), Buffer.alloc(TAG_BYTES)]
  aead.seal(by, text, own, tag)
  NODE_AEAD.seal(by, text, other, otherTag)
  if (!own.equals(other) || !tag.equals(otherTag)) return false
  if (!aead.open(by, other, other, tag) || !other.equals(text)) return false
  own[7]! ^= 1
  return !aead.open(by, own, own, tag)
}

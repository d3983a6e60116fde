/**
 * CRC-32 (IEEE 802.3, reflected polynomial 0xedb88320) over pieces of frames.
 *
 * The length decides between two implementations. The native routine is fast per byte, but needs a view
 * object of the bytes and a call. The table takes 16 bytes a step and needs neither, so it is faster for
 * short packets, which includes every packet without payload. Frames and regions keep the views of their
 * payloads (`Frame.payloadBytes`), which saves garbage but no time. Bytes in memory that stays may go to a third
 * one, which takes their address (`updateWithin`). docs/measured/system-calls.md has the figures.
 */
import { createRequire } from 'node:module'
import zlib from 'node:zlib'
import type { Backing } from '../../frame/backing.js'
import { type Crc32ByAddress, loadCrc32ByAddress } from './crc32-by-address.js'

/** `previous` is taken modulo 2^32. */
type NativeCrc32 = (bytes: Uint8Array, previous: number) => number

const POLYNOMIAL = 0xedb8_8320
/** From this length on the native routine is faster. */
export const NATIVE_FROM_BYTES = 384
/** The same of the routine that takes addresses. */
const BY_ADDRESS_FROM_BYTES = 192

/**
 * State before the first byte. All states are signed 32-bit numbers, because V8 allocates no object for
 * these.
 */
export const START = -1

const native = loadNative()

/** Name of the native routine in use. */
export const implementation: string = native.name
const nativeCrc32: NativeCrc32 = native.crc32

/** Row r, column b: the contribution of byte b when r bytes follow it. */
const table = makeTable()

/**
 * Returns the state after the bytes from `at` to `end`. `bytes` and `view` are the same memory. The CRC is
 * `finish` of the last state.
 */
export function update(state: number, bytes: Uint8Array, view: DataView, at: number, end: number): number {
  if (end - at < NATIVE_FROM_BYTES) return updateByTable(state, view, at, end)
  return updateByNative(state, new Uint8Array(bytes.buffer, bytes.byteOffset + at, end - at))
}

/** Returns the state after all of `bytes`, by the native routine. The bytes may be in any memory. */
export function updateByNative(state: number, bytes: Uint8Array): number {
  return ~nativeCrc32(bytes, ~state)
}

/** Undefined: nothing has asked for it yet. Many programs load this file and compute no such CRC. */
let byAddress: Crc32ByAddress | null | undefined

/** The routine that takes addresses, or null where there is none. */
export function crc32ByAddress(): Crc32ByAddress | null {
  if (byAddress === undefined) byAddress = loadCrc32ByAddress()
  return byAddress
}

/** True if that routine is there, and the quickest one for so many bytes. */
export function goesByAddress(bytes: number): boolean {
  return bytes >= BY_ADDRESS_FROM_BYTES && crc32ByAddress() !== null
}

/**
 * Returns the state after `bytes` bytes of the memory from `at` on, by the quickest native routine there is. Throws where an application
 * has transferred or resized the memory: to read at its address would end the process.
 */
export function updateWithin(state: number, memory: Backing, at: number, bytes: number): number {
  const routine = crc32ByAddress()
  if (routine === null || at + bytes > memory.bytes.length)
    return updateByNative(state, memory.view(at, bytes))
  memory.locate(routine.addressOf)
  return ~routine.crc32(~state, memory.pointer[0]! + at, bytes)
}

/** Returns the CRC as an unsigned number. */
export function finish(state: number): number {
  return ~state >>> 0
}

/** Returns the state after the bytes from `at` to `end`, without a native call. */
export function updateByTable(state: number, view: DataView, at: number, end: number): number {
  let c = state | 0
  let i = at
  for (; i + 16 <= end; i += 16) {
    c ^= view.getInt32(i, true)
    const d = view.getInt32(i + 4, true)
    const e = view.getInt32(i + 8, true)
    const f = view.getInt32(i + 12, true)
    c =
      table[0xf00 + (c & 0xff)]! ^
      table[0xe00 + ((c >>> 8) & 0xff)]! ^
      table[0xd00 + ((c >>> 16) & 0xff)]! ^
      table[0xc00 + (c >>> 24)]! ^
      table[0xb00 + (d & 0xff)]! ^
      table[0xa00 + ((d >>> 8) & 0xff)]! ^
      table[0x900 + ((d >>> 16) & 0xff)]! ^
      table[0x800 + (d >>> 24)]! ^
      table[0x700 + (e & 0xff)]! ^
      table[0x600 + ((e >>> 8) & 0xff)]! ^
      table[0x500 + ((e >>> 16) & 0xff)]! ^
      table[0x400 + (e >>> 24)]! ^
      table[0x300 + (f & 0xff)]! ^
      table[0x200 + ((f >>> 8) & 0xff)]! ^
      table[0x100 + ((f >>> 16) & 0xff)]! ^
      table[f >>> 24]!
  }
  for (; i + 4 <= end; i += 4) c = updateByWord(c, view.getInt32(i, true))
  for (; i < end; i++) c = (c >>> 8) ^ table[(c ^ view.getUint8(i)) & 0xff]!
  return c
}

/** Returns the state after the four bytes of a word, the lowest first. */
export function updateByWord(state: number, word: number): number {
  const c = state ^ word
  return (
    table[0x300 + (c & 0xff)]! ^
    table[0x200 + ((c >>> 8) & 0xff)]! ^
    table[0x100 + ((c >>> 16) & 0xff)]! ^
    table[c >>> 24]!
  )
}

/** The state after any bytes and behind them their CRC, little-endian. */
export const RESIDUE = 0xdebb_20e3 | 0

/**
 * Returns what a state (or difference of states) contributes to the state `count` bytes later, whatever these
 * are. CRC-32 is linear: their own contribution is the state after them from state 0.
 *
 * @param count 0 to 65,535
 */
export function shift(state: number, count: number): number {
  return multiply(power(count), state) | 0
}

/**
 * Returns the state after `times` pieces of `bytes` bytes each, from state 0, if each piece alone takes state 0
 * to `each`. The pieces need not be the same.
 *
 * @param bytes 0 to 65,535
 */
export function repeated(each: number, bytes: number, times: number): number {
  // For pieces one after another, `of` contributes to the end of `count` more pieces as `of * factor`.
  let sum = 0
  let of = each
  let factor = power(bytes)
  for (let rest = times; rest > 0; rest >>>= 1) {
    if (rest & 1) sum = multiply(factor, sum) ^ of
    of ^= multiply(factor, of)
    factor = multiply(factor, factor)
  }
  return sum | 0
}

/**
 * Returns the state (or difference of states) that `count` zero bytes turn into `state`. CRC-32 is linear and
 * its step has an inverse, so one multiplication by x^(-8 count) is enough.
 *
 * @param count 0 to 65,535
 */
export function unwind(state: number, count: number): number {
  return multiply(inversePower(count), state)
}

/** x^(8n) and x^(-8n) modulo the polynomial, bit 31 = x^0. A table grows when a longer length is needed. */
let powers = new Uint32Array(0)
let inversePowers = new Uint32Array(0)

function power(count: number): number {
  if (count >= powers.length) powers = grownPowers(count, windByte)
  return powers[count]!
}

function inversePower(count: number): number {
  if (count >= inversePowers.length) inversePowers = grownPowers(count, unwindByte)
  return inversePowers[count]!
}

function grownPowers(count: number, next: (power: number) => number): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(Math.min(0x1_0000, Math.max(2048, 2 * count)))
  grown[0] = 0x8000_0000
  for (let n = 1; n < grown.length; n++) grown[n] = next(grown[n - 1]!)
  return grown
}

/** The state after a zero byte. */
function windByte(state: number): number {
  return ((state >>> 8) ^ table[state & 0xff]!) >>> 0
}

/** Inverts eight steps of the bitwise CRC. Bit 31 shows whether the step added the polynomial. */
function unwindByte(state: number): number {
  let s = state
  for (let bit = 0; bit < 8; bit++) s = s & 0x8000_0000 ? ((s ^ POLYNOMIAL) << 1) | 1 : s << 1
  return s >>> 0
}

/** Product of two polynomials modulo the CRC's, bit 31 = x^0. */
function multiply(a: number, b: number): number {
  let product = 0
  let factor = b | 0
  for (let rest = a | 0; rest !== 0; rest <<= 1) {
    if (rest < 0) product ^= factor
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1
  }
  return product >>> 0
}

function makeTable(): Int32Array {
  const rows = new Int32Array(16 * 256)
  for (let b = 0; b < 256; b++) {
    let c = b
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ POLYNOMIAL : c >>> 1
    rows[b] = c
  }
  for (let i = 256; i < rows.length; i++) {
    const previous = rows[i - 256]!
    rows[i] = (previous >>> 8) ^ rows[previous & 0xff]!
  }
  return rows
}

/** @node-rs/crc32 is an optional dependency: prebuilt for the common platforms, absent on others. */
function loadNative(): { name: string; crc32: NativeCrc32 } {
  try {
    const module = createRequire(import.meta.url)('@node-rs/crc32') as { crc32: NativeCrc32 }
    return { name: '@node-rs/crc32', crc32: module.crc32 }
  } catch {
    return { name: 'zlib', crc32: (bytes, previous) => zlib.crc32(bytes, previous >>> 0) }
  }
}

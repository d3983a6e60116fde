/**
 * XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) whose state can be kept and restored: the libraries' cannot.
 * WebAssembly takes in stripes of 32 bytes; all else is done once for many of them.
 */

const PRIME_1 = 0x9e3779b185ebca87n
const PRIME_2 = 0xc2b2ae3d27d4eb4fn
const PRIME_3 = 0x165667b19e3779f9n
const PRIME_4 = 0x85ebca77c2b2ae63n
const PRIME_5 = 0x27d4eb2f165667c5n
const STRIPE_BYTES = 32
const ROTATIONS = [1n, 7n, 12n, 18n]

/** Where the input lies in WebAssembly's memory; the four accumulators are at 0. */
const INPUT_AT = 64
/** Copied there at a time: it stays in the first cache. */
const PIECE_BYTES = 16_384

/** What a state is, beside the bytes of a stripe that is not full. */
interface State {
  readonly accumulators: BigUint64Array
  readonly tail: Uint8Array
  lengthBytes: number
}

export class Xxh64 {
  #now = newState()
  #marked = newState()

  update(bytes: Uint8Array): void {
    const { accumulators, tail } = this.#now
    const tailBytes = this.#now.lengthBytes % STRIPE_BYTES
    this.#now.lengthBytes += bytes.length
    let at = 0
    if (tailBytes > 0) {
      at = Math.min(bytes.length, STRIPE_BYTES - tailBytes)
      tail.set(bytes.subarray(0, at), tailBytes)
      if (tailBytes + at < STRIPE_BYTES) return
      takeStripes(accumulators, tail)
    }
    const end = bytes.length - ((bytes.length - at) % STRIPE_BYTES)
    if (end > at) takeStripes(accumulators, bytes.subarray(at, end))
    tail.set(bytes.subarray(end))
  }

  /** Digest of the bytes so far; more may follow. */
  digest(): bigint {
    const { accumulators, tail, lengthBytes } = this.#now
    let hash = lengthBytes < STRIPE_BYTES ? PRIME_5 : converge(accumulators)
    hash = wrap(hash + BigInt(lengthBytes))
    const view = new DataView(tail.buffer, tail.byteOffset, lengthBytes % STRIPE_BYTES)
    let at = 0
    for (; at + 8 <= view.byteLength; at += 8) {
      hash = wrap(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * PRIME_1 + PRIME_4)
    }
    if (at + 4 <= view.byteLength) {
      hash = wrap(rotate(hash ^ wrap(BigInt(view.getUint32(at, true)) * PRIME_1), 23n) * PRIME_2 + PRIME_3)
      at += 4
    }
    for (; at < view.byteLength; at++) {
      hash = wrap(rotate(hash ^ wrap(BigInt(view.getUint8(at)) * PRIME_5), 11n) * PRIME_1)
    }
    hash = wrap((hash ^ (hash >> 33n)) * PRIME_2)
    hash = wrap((hash ^ (hash >> 29n)) * PRIME_3)
    return hash ^ (hash >> 32n)
  }

  /** Remembers what has been taken in so far. */
  mark(): void {
    copyState(this.#now, this.#marked)
  }

  /** Forgets what has been taken in since `mark`. */
  back(): void {
    copyState(this.#marked, this.#now)
  }
}

function newState(): State {
  const accumulators = BigUint64Array.of(wrap(PRIME_1 + PRIME_2), PRIME_2, 0n, wrap(-PRIME_1))
  return { accumulators, tail: new Uint8Array(STRIPE_BYTES), lengthBytes: 0 }
}

function copyState(from: State, to: State): void {
  to.accumulators.set(from.accumulators)
  to.tail.set(from.tail)
  to.lengthBytes = from.lengthBytes
}

function converge(accumulators: BigUint64Array): bigint {
  let hash = 0n
  for (const [i, value] of accumulators.entries()) hash = wrap(hash + rotate(value, ROTATIONS[i]!))
  for (const value of accumulators) hash = wrap((hash ^ round(0n, value)) * PRIME_1 + PRIME_4)
  return hash
}

function round(accumulator: bigint, lane: bigint): bigint {
  return wrap(rotate(wrap(accumulator + lane * PRIME_2), 31n) * PRIME_1)
}

function rotate(value: bigint, bits: bigint): bigint {
  return wrap((value << bits) | (value >> (64n - bits)))
}

function wrap(value: bigint): bigint {
  return BigInt.asUintN(64, value)
}

/** @param bytes whole stripes, one at least */
function takeStripes(accumulators: BigUint64Array, bytes: Uint8Array): void {
  machine ??= new Machine()
  machine.takeStripes(accumulators, bytes)
}

let machine: Machine | undefined

/** As much of WebAssembly's interface as is used: the types of Node.js leave it out. */
interface WebAssemblyInterface {
  Module: new (bytes: Uint8Array) => object
  Instance: new (
    module: object,
  ) => { exports: { memory: { buffer: ArrayBuffer }; stripes: (at: number, end: number) => void } }
}

class Machine {
  readonly #bytes: Uint8Array
  readonly #accumulators: BigUint64Array
  readonly #stripes: (at: number, end: number) => void

  constructor() {
    const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyInterface }).WebAssembly
    const { memory, stripes } = new Instance(new Module(moduleBytes())).exports
    this.#bytes = new Uint8Array(memory.buffer)
    this.#accumulators = new BigUint64Array(memory.buffer, 0, 4)
    this.#stripes = stripes
  }

  takeStripes(accumulators: BigUint64Array, bytes: Uint8Array): void {
    this.#accumulators.set(accumulators)
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES)
      this.#bytes.set(piece, INPUT_AT)
      this.#stripes(INPUT_AT, INPUT_AT + piece.length)
    }
    accumulators.set(this.#accumulators)
  }
}

/** Instructions and types of WebAssembly 1.0 (w3.org/TR/wasm-core-1, section 5). */
const I32 = 0x7f
const I64 = 0x7e
const LOOP = [0x03, 0x40]
const END = 0x0b
const REPEAT_IF = [0x0d, 0]
const LOCAL_GET = 0x20
const LOCAL_SET = 0x21
const LOCAL_TEE = 0x22
const LOAD_64 = [0x29, 3]
const STORE_64 = [0x37, 3]
const I32_CONST = 0x41
const I64_CONST = 0x42
const I32_LESS = 0x49
const I32_ADD = 0x6a
const I64_ADD = 0x7c
const I64_MULTIPLY = 0x7e
const I64_ROTATE_LEFT = 0x89

/**
 * The function `stripes(at, end)`: takes the bytes from `at` to before `end` into the accumulators at 0. Locals 0 and 1 are
 * the parameters, 2 to 5 the accumulators.
 */
function moduleBytes(): Uint8Array {
  const lanes = [0, 1, 2, 3]
  const load = (lane: number) => [I32_CONST, 0, ...LOAD_64, 8 * lane, LOCAL_SET, 2 + lane]
  const store = (lane: number) => [I32_CONST, 0, LOCAL_GET, 2 + lane, ...STORE_64, 8 * lane]
  const constant = (value: bigint) => [I64_CONST, ...signedLeb(value)]
  const take = (lane: number) => [
    ...[LOCAL_GET, 2 + lane, LOCAL_GET, 0, ...LOAD_64, 8 * lane, ...constant(PRIME_2), I64_MULTIPLY, I64_ADD],
    ...[...constant(31n), I64_ROTATE_LEFT, ...constant(PRIME_1), I64_MULTIPLY, LOCAL_SET, 2 + lane],
  ]
  const next = [LOCAL_GET, 0, I32_CONST, STRIPE_BYTES, I32_ADD, LOCAL_TEE, 0, LOCAL_GET, 1, I32_LESS]
  const code = [
    ...[1, lanes.length, I64],
    ...lanes.flatMap(load),
    ...[...LOOP, ...lanes.flatMap(take), ...next, ...REPEAT_IF, END],
    ...[...lanes.flatMap(store), END],
  ]
  const name = (text: string) => [text.length, ...Buffer.from(text)]
  const sections: [id: number, content: number[]][] = [
    [1, [1, 0x60, 2, I32, I32, 0]],
    [3, [1, 0]],
    [5, [1, 0, 1]],
    [7, [2, ...name('memory'), 2, 0, ...name('stripes'), 0, 0]],
    [10, [1, ...leb(code.length), ...code]],
  ]
  const header = [...Buffer.from('\0asm'), 1, 0, 0, 0]
  return Uint8Array.from([
    ...header,
    ...sections.flatMap(([id, content]) => [id, ...leb(content.length), ...content]),
  ])
}

function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >> 7)]
}

function signedLeb(value: bigint): number[] {
  const low = Number(BigInt.asUintN(7, value))
  const rest = BigInt.asIntN(64, value) >> 7n
  const isLast = rest === (low & 0x40 ? -1n : 0n)
  return isLast ? [low] : [low | 0x80, ...signedLeb(rest)]
}

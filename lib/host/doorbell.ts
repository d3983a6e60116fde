/** Words: whether any connection rang, whether the NIC's loop sleeps, and a bit for each connection. */
const RUNG = 0
const ASLEEP = 1
const BITS = 2

/** Connections that a doorbell can distinguish. A NIC has as many. */
export const BELLS_MAX = 1024

/**
 * Shows a NIC's thread which connections have new work. While that thread is awake, this costs only a few
 * words of memory.
 */
export class Doorbell {
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array

  constructor(memory = new SharedArrayBuffer(4 * (BITS + BELLS_MAX / 32))) {
    this.memory = memory
    this.#words = new Int32Array(memory)
  }

  /**
   * Application: the connection of that number, 0 to BELLS_MAX - 1, has work. Returns true if the loop
   * sleeps, and a message has to wake it.
   */
  ring(number: number): boolean {
    const words = this.#words
    Atomics.or(words, BITS + (number >>> 5), 1 << (number & 31))
    Atomics.store(words, RUNG, 1)
    return Atomics.load(words, ASLEEP) === 1 && Atomics.exchange(words, ASLEEP, 0) === 1
  }

  get isRung(): boolean {
    return Atomics.load(this.#words, RUNG) === 1
  }

  /** NIC: from now on only a message wakes the loop. Check `isRung` after this call, not before. */
  sleep(): void {
    Atomics.store(this.#words, ASLEEP, 1)
  }

  /** NIC: the loop is awake. */
  awake(): void {
    Atomics.store(this.#words, ASLEEP, 0)
  }

  /** NIC: sleeps until a connection rings, for at most this many milliseconds. */
  nap(ms: number): void {
    Atomics.wait(this.#words, RUNG, 0, ms)
  }

  /** NIC: calls `visit` with the number of each connection that has rung since the last call. */
  take(visit: (number: number) => void): void {
    const words = this.#words
    if (Atomics.exchange(words, RUNG, 0) === 0) return
    for (let w = 0; w < BELLS_MAX / 32; w++) {
      let bits = words[BITS + w] === 0 ? 0 : Atomics.exchange(words, BITS + w, 0)
      while (bits !== 0) {
        const bit = 31 - Math.clz32(bits & -bits)
        bits &= bits - 1
        visit(32 * w + bit)
      }
    }
  }
}

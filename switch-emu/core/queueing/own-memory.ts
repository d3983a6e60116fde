import { SharedBuffer } from './shared-buffer.js'

/**
 * Memory that the switch's own packets take, bytes: fair rates for a thousand flows. It is beyond what frames from links share. Otherwise
 * a full buffer would drop the packets that tell senders of it, and they would take room that a paused peer counts on.
 */
const SHARED_BYTES = 131_072
/** Each port has so much of its own beside that. However many peers pause their ports, there is room for what goes to others. */
const PORT_BYTES = 2048
/** What waits at one port is at most this part of what is free (dynamic thresholds: Choudhury and Hahne, 1998): 48 KiB, if it is the only one. */
export const PORT_SHARE = 3 / 5
/** The same for answers to hosts. So a host that asks without end, and takes no answer, keeps little from others. */
export const ANSWERS_SHARE = 1 / 4

/** What of that memory the packets at each port use. */
export class OwnMemory {
  readonly bytesMax: number
  readonly #shared = new SharedBuffer(SHARED_BYTES)
  #usedBytes = 0
  // By port.
  readonly #used: Float64Array
  readonly #most: Float64Array

  constructor(ports: number) {
    this.bytesMax = SHARED_BYTES + ports * PORT_BYTES
    this.#used = new Float64Array(ports)
    this.#most = new Float64Array(ports)
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Returns true if a frame of `bytes` may wait at that port. @param share see PORT_SHARE */
  check(port: number, bytes: number, share: number): boolean {
    const beyond = beyondOwn(this.#used[port]! + bytes)
    const added = beyond - beyondOwn(this.#used[port]!)
    return beyond <= share * (SHARED_BYTES - this.#shared.usedBytes - added)
  }

  /** A frame waits at that port. */
  update(port: number, bytes: number): void {
    const before = this.#used[port]!
    this.#shared.update(beyondOwn(before + bytes) - beyondOwn(before))
    this.#usedBytes += bytes
    this.#used[port] = before + bytes
    if (before + bytes > this.#most[port]!) this.#most[port] = before + bytes
  }

  /** It has left. */
  remove(port: number, bytes: number): void {
    const before = this.#used[port]!
    this.#shared.remove(beyondOwn(before) - beyondOwn(before - bytes))
    this.#usedBytes -= bytes
    this.#used[port] = before - bytes
  }

  /** The most that waited at that port since the window began. */
  mostBytes(port: number): number {
    return this.#most[port]!
  }

  resetWindow(): void {
    this.#most.set(this.#used)
  }
}

/** What of a port's bytes lies in the shared part. */
function beyondOwn(bytes: number): number {
  return Math.max(0, bytes - PORT_BYTES)
}

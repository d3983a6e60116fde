const PLACES_LEAST = 16
/** 2^32 / golden ratio: spreads keys that lie close together (Knuth, The Art of Computer Programming, volume 3, section 6.4). */
const SPREAD = 0x9e3779b1
const NO_KEY = -1
/** What a map begins with: many stay empty. Nobody writes there. */
const NO_KEYS = new Float64Array(1).fill(NO_KEY)
const NO_VALUES = [null]

/**
 * A map from whole numbers of 0 to 2^32 - 1, for entries that come and go with connections: open addressing, at most half full.
 *
 * V8's `Map` begins a new table whenever its entries have changed so often, and each old table refers to the next one. Once one of
 * them has outlived a few scavenges, all that follow live until the whole heap is collected, and with them what they had held: most
 * connections of a program that makes many.
 */
export class IntMap<V> {
  #keys = NO_KEYS
  #values: (V | null)[] = NO_VALUES
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The value of that key, null = there is none. */
  get(key: number): V | null {
    return this.#values[this.#find(key)]!
  }

  /** Puts the value in place of any that the key has. */
  set(key: number, value: V): void {
    let at = this.#find(key)
    if (this.#keys[at] === NO_KEY) {
      if (2 * (this.#size + 1) > this.#keys.length) {
        this.#resize(Math.max(PLACES_LEAST, 2 * this.#keys.length))
        at = this.#find(key)
      }
      this.#size++
    }
    this.#keys[at] = key
    this.#values[at] = value
  }

  /** Removes the key if it has that value. */
  deleteIf(key: number, value: V): void {
    const at = this.#find(key)
    if (this.#keys[at] !== key || this.#values[at] !== value) return
    this.#clear(at)
    this.#size--
  }

  /** The place of the key, or the free one where it belongs. */
  #find(key: number): number {
    const keys = this.#keys
    const mask = keys.length - 1
    let at = homeOf(key, mask)
    for (let found = keys[at]!; found !== key && found !== NO_KEY; found = keys[at]!) at = (at + 1) & mask
    return at
  }

  /** Frees a place. Keys behind it that belong there, or before it, move up (Knuth's algorithm R, in the same section). */
  #clear(place: number): void {
    const keys = this.#keys
    const mask = keys.length - 1
    let free = place
    for (let at = (free + 1) & mask; keys[at] !== NO_KEY; at = (at + 1) & mask) {
      const key = keys[at]!
      const distance = (at - homeOf(key, mask)) & mask
      if (distance < ((at - free) & mask)) continue
      keys[free] = key
      this.#values[free] = this.#values[at]!
      free = at
    }
    keys[free] = NO_KEY
    this.#values[free] = null
  }

  #resize(places: number): void {
    const [keys, values] = [this.#keys, this.#values]
    this.#keys = new Float64Array(places).fill(NO_KEY)
    this.#values = new Array(places).fill(null)
    for (const [i, key] of keys.entries()) {
      if (key === NO_KEY) continue
      const at = this.#find(key)
      this.#keys[at] = key
      this.#values[at] = values[i]!
    }
  }
}

/** Where a key belongs. @param mask places less one */
function homeOf(key: number, mask: number): number {
  return (Math.imul(key, SPREAD) >>> 8) & mask
}

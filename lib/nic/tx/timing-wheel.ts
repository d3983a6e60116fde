import { type Nanos, NEVER } from '../../time/nanos.js'

const SLOTS = 4096
/** Length of a slot. Flows of one NIC that become due while its link is busy take turns by slots. */
export const SLOT_NS = 1024
/** So many entries need no slots: they are in one list. */
const FEW = 8
const NONE = -1
/** In place of the slots before there are entries. Nobody writes there. */
const NO_SLOTS = new Int32Array(0)
const NO_BITS = new Uint32Array(0)
// Numbers of a slot: its first entry and its last.
const FIRST = 0
const LAST = 1
const OF_SLOT = 2
// Numbers of an entry: its slot, and its neighbours there. Side by side, so that one part of the cache holds them.
const SLOT = 0
const NEXT = 1
const PREVIOUS = 2
const OF_ENTRY = 4

/**
 * When each flow may send next: a timing wheel of 4,096 slots of 1,024 ns. Inserting, removing and moving an entry
 * are O(1) for any number of flows, and due times stay exact: a slot says where to look, the entry says when.
 * An entry further ahead than the wheel's 4.2 ms waits in the last slot and is moved on when that comes round.
 *
 * While a wheel has had few entries at a time, it has no slots: its entries are in one list, by slots, and within a slot in the order in
 * which they came. Most hosts have a few flows, and slots take 33 KB, of which each entry would touch another part.
 */
export class TimingWheel {
  /** Due time by entry, NEVER when the entry is not in the wheel. */
  readonly #due: Float64Array
  readonly #entries: Int32Array
  /** Made when there are more than a few entries, as the next. */
  #slots = NO_SLOTS
  /** One bit a slot: has it entries? */
  #occupied = NO_BITS
  /** Without slots: the ends of the list. */
  #first = NONE
  #last = NONE
  /** Absolute number of the slot that the wheel has reached. */
  #cursor = 0
  #count = 0
  /** The earliest due time, if it is known; NEVER without entries. */
  #nextNs: Nanos = NEVER
  #isNextKnown = true

  /** @param capacity entries are numbered 0 to capacity - 1 */
  constructor(capacity: number) {
    this.#due = new Float64Array(capacity).fill(NEVER)
    this.#entries = new Int32Array(OF_ENTRY * capacity).fill(NONE)
  }

  get size(): number {
    return this.#count
  }

  /** The entry's due time, or NEVER when it is not in the wheel. */
  dueOf(entry: number): Nanos {
    return this.#due[entry]!
  }

  /** Puts the entry in at `due`, wherever it was before. */
  set(entry: number, due: Nanos): void {
    if (this.#entries[OF_ENTRY * entry + SLOT] !== NONE) this.remove(entry)
    if (this.#count === FEW && this.#slots.length === 0) this.#makeSlots()
    this.#due[entry] = due
    const wanted = Math.floor(due / SLOT_NS)
    const slot = Math.min(Math.max(wanted, this.#cursor), this.#cursor + SLOTS - 1)
    this.#append(entry, slot % SLOTS)
    this.#count++
    const waits = wanted > slot
    if (this.#count === 1) {
      this.#nextNs = due
      this.#isNextKnown = !waits
    } else if (due < this.#nextNs && !waits) this.#nextNs = due
  }

  /** Takes the entry out; harmless when it is not in. */
  remove(entry: number): void {
    const at = OF_ENTRY * entry
    if (this.#entries[at + SLOT] === NONE) return
    if (this.#slots.length === 0) this.#unlist(at)
    else this.#leaveSlot(at)
    this.#entries[at + SLOT] = NONE
    if (this.#due[entry]! <= this.#nextNs) this.#isNextKnown = false
    this.#due[entry] = NEVER
    this.#count--
    if (this.#count > 0) return
    this.#nextNs = NEVER
    this.#isNextKnown = true
  }

  /** Takes out an entry that is due at `now`, or returns -1. Call it until it does. */
  pollDue(now: Nanos): number {
    const target = Math.floor(now / SLOT_NS)
    if (this.#isNextKnown && this.#nextNs > now) {
      this.#cursor = Math.max(this.#cursor, target)
      return NONE
    }
    for (;;) {
      if (this.#count === 0) {
        this.#cursor = Math.max(this.#cursor, target)
        return NONE
      }
      let entry = this.#firstOf(this.#cursor)
      while (entry !== NONE) {
        const next = this.#nextOf(entry)
        const due = this.#due[entry]!
        if (due <= now) {
          this.remove(entry)
          return entry
        }
        // Parked here because it was beyond the horizon: it belongs further on.
        if (Math.floor(due / SLOT_NS) > this.#cursor) this.set(entry, due)
        entry = next
      }
      if (this.#cursor >= target) return NONE
      this.#cursor = Math.min(target, this.#nextOccupied())
    }
  }

  /** When the next entry is due: exact, or the time of the slot in which one waits to be moved on. */
  nextDue(): Nanos {
    if (this.#isNextKnown) return this.#nextNs
    const occupied = this.#firstOccupied()
    const slotEndNs = (occupied + 1) * SLOT_NS
    let earliest = NEVER
    for (let entry = this.#firstOf(occupied); entry !== NONE; entry = this.#nextOf(entry)) {
      if (this.#due[entry]! < earliest) earliest = this.#due[entry]!
    }
    if (earliest >= slotEndNs) return occupied * SLOT_NS
    this.#nextNs = earliest
    this.#isNextKnown = true
    return earliest
  }

  /** The first entry of a slot before which there are none, or NONE. @param slot its absolute number */
  #firstOf(slot: number): number {
    if (this.#slots.length > 0) return this.#slots[OF_SLOT * (slot % SLOTS) + FIRST]!
    const first = this.#first
    return first !== NONE && this.#slotOf(first) === slot % SLOTS ? first : NONE
  }

  /** The next entry of the same slot, or NONE. */
  #nextOf(entry: number): number {
    const next = this.#entries[OF_ENTRY * entry + NEXT]!
    if (next === NONE || this.#slots.length > 0) return next
    return this.#slotOf(next) === this.#slotOf(entry) ? next : NONE
  }

  #slotOf(entry: number): number {
    return this.#entries[OF_ENTRY * entry + SLOT]!
  }

  #append(entry: number, slot: number): void {
    if (this.#slots.length === 0) this.#list(entry, slot)
    else this.#joinSlot(entry, slot)
  }

  /** Adds an entry to the list, behind those of its slot. */
  #list(entry: number, slot: number): void {
    const entries = this.#entries
    const at = OF_ENTRY * entry
    const ahead = this.#ahead(slot)
    let previous = this.#last
    let next = NONE
    while (previous !== NONE && this.#ahead(this.#slotOf(previous)) > ahead) {
      next = previous
      previous = entries[OF_ENTRY * previous + PREVIOUS]!
    }
    entries[at + SLOT] = slot
    entries[at + NEXT] = next
    entries[at + PREVIOUS] = previous
    if (previous === NONE) this.#first = entry
    else entries[OF_ENTRY * previous + NEXT] = entry
    if (next === NONE) this.#last = entry
    else entries[OF_ENTRY * next + PREVIOUS] = entry
  }

  /** @param at where the entry's numbers are */
  #unlist(at: number): void {
    const entries = this.#entries
    const next = entries[at + NEXT]!
    const previous = entries[at + PREVIOUS]!
    if (previous === NONE) this.#first = next
    else entries[OF_ENTRY * previous + NEXT] = next
    if (next === NONE) this.#last = previous
    else entries[OF_ENTRY * next + PREVIOUS] = previous
  }

  /** How far a slot is ahead of the one that the wheel has reached. */
  #ahead(slot: number): number {
    const ahead = slot - (this.#cursor % SLOTS)
    return ahead < 0 ? ahead + SLOTS : ahead
  }

  /** Entries are in slots from now on. */
  #makeSlots(): void {
    this.#slots = new Int32Array(OF_SLOT * SLOTS).fill(NONE)
    this.#occupied = new Uint32Array(SLOTS / 32)
    for (let entry = this.#first; entry !== NONE; ) {
      const next = this.#entries[OF_ENTRY * entry + NEXT]!
      this.#joinSlot(entry, this.#slotOf(entry))
      entry = next
    }
    this.#first = NONE
    this.#last = NONE
  }

  /** @param at where the entry's numbers are */
  #leaveSlot(at: number): void {
    const entries = this.#entries
    const slots = this.#slots
    const slot = entries[at + SLOT]!
    const next = entries[at + NEXT]!
    const previous = entries[at + PREVIOUS]!
    if (previous === NONE) slots[OF_SLOT * slot + FIRST] = next
    else entries[OF_ENTRY * previous + NEXT] = next
    if (next === NONE) slots[OF_SLOT * slot + LAST] = previous
    else entries[OF_ENTRY * next + PREVIOUS] = previous
    if (slots[OF_SLOT * slot + FIRST] === NONE) this.#occupied[slot >> 5]! &= ~(1 << (slot & 31))
  }

  #joinSlot(entry: number, slot: number): void {
    const entries = this.#entries
    const slots = this.#slots
    const at = OF_ENTRY * entry
    const last = slots[OF_SLOT * slot + LAST]!
    entries[at + PREVIOUS] = last
    entries[at + NEXT] = NONE
    if (last === NONE) {
      slots[OF_SLOT * slot + FIRST] = entry
      this.#occupied[slot >> 5]! |= 1 << (slot & 31)
    } else {
      entries[OF_ENTRY * last + NEXT] = entry
    }
    slots[OF_SLOT * slot + LAST] = entry
    entries[at + SLOT] = slot
  }

  /** Absolute number of the first slot with entries, from the cursor on. */
  #firstOccupied(): number {
    return this.#slots.length > 0 ? this.#scan(this.#cursor) : this.#firstListed()
  }

  /** The same from the next one on: the wheel's own slot has been emptied. */
  #nextOccupied(): number {
    return this.#slots.length > 0 ? this.#scan(this.#cursor + 1) : this.#firstListed()
  }

  #firstListed(): number {
    return this.#cursor + (this.#first === NONE ? SLOTS : this.#ahead(this.#slotOf(this.#first)))
  }

  #scan(from: number): number {
    const start = from % SLOTS
    let word = start >> 5
    let bits = this.#occupied[word]! & (~0 << (start & 31))
    for (let n = 0; n <= SLOTS / 32; n++) {
      if (bits !== 0) {
        const slot = (word << 5) + (31 - Math.clz32(bits & -bits))
        return from + ((slot - start + SLOTS) % SLOTS)
      }
      word = (word + 1) % (SLOTS / 32)
      bits = this.#occupied[word]!
    }
    return from + SLOTS - 1
  }
}

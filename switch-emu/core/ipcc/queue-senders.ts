/**
 * The flows that have sent to each queue in the present interval, and how much: lists by place of a flow, linked both ways, so that a place which
 * another flow gets is taken out at once.
 */
const NONE = -1

export class QueueSenders {
  /** By place: bytes sent to its queue in this interval. */
  readonly bytes: Float64Array
  /** By place: the queue in whose list it is, or NONE, and its neighbours there. */
  readonly #queue: Int32Array
  readonly #next: Int32Array
  readonly #before: Int32Array
  /** By queue: the first of its list, and how many there are. */
  readonly #first: Int32Array
  readonly #count: Int32Array

  constructor(flows: number, queues: number) {
    this.bytes = new Float64Array(flows)
    this.#queue = new Int32Array(flows).fill(NONE)
    this.#next = new Int32Array(flows)
    this.#before = new Int32Array(flows)
    this.#first = new Int32Array(queues).fill(NONE)
    this.#count = new Int32Array(queues)
  }

  count(queue: number): number {
    return this.#count[queue]!
  }

  /** A packet of the flow has come to the queue. Returns true if it is the flow's first one in this interval. */
  add(row: number, queue: number, bytes: number): boolean {
    if (this.#queue[row] === queue) {
      this.bytes[row]! += bytes
      return false
    }
    this.remove(row)
    const first = this.#first[queue]!
    this.#queue[row] = queue
    this.#next[row] = first
    this.#before[row] = NONE
    if (first !== NONE) this.#before[first] = row
    this.#first[queue] = row
    this.#count[queue]! += 1
    this.bytes[row] = bytes
    return true
  }

  /** The flow is in no list. */
  remove(row: number): void {
    const queue = this.#queue[row]!
    if (queue === NONE) return
    const next = this.#next[row]!
    const before = this.#before[row]!
    if (before === NONE) this.#first[queue] = next
    else this.#next[before] = next
    if (next !== NONE) this.#before[next] = before
    this.#queue[row] = NONE
    this.#count[queue]! -= 1
  }

  /** Returns the flows of a queue, those first that have sent most. */
  largestFirst(queue: number): number[] {
    const rows: number[] = []
    for (let row = this.#first[queue]!; row !== NONE; row = this.#next[row]!) rows.push(row)
    return rows.sort((a, b) => this.bytes[b]! - this.bytes[a]! || a - b)
  }

  /** Begins a new interval of a queue. */
  clear(queue: number): void {
    for (let row = this.#first[queue]!; row !== NONE; row = this.#next[row]!) this.#queue[row] = NONE
    this.#first[queue] = NONE
    this.#count[queue] = 0
  }
}

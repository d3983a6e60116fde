/** How the files of a tree lie behind one another in the one file whose bytes a connection moves. */
import type { TreeList } from './tree-list.js'

/** Which entries of a list move. */
export class WantedFiles {
  readonly bits: Uint8Array
  /** Number of the file that goes first; 0 = none. */
  first = 0

  constructor(entries: number, bits: Uint8Array = new Uint8Array(Math.ceil(entries / 8))) {
    this.bits = bits
  }

  add(number: number): void {
    this.bits[(number - 1) >> 3]! |= 1 << ((number - 1) & 7)
  }

  has(number: number): boolean {
    return ((this.bits[(number - 1) >> 3] ?? 0) & (1 << ((number - 1) & 7))) !== 0
  }
}

/** A part of a file that lies in a range of bytes. */
export interface Piece {
  /** Number of the file. */
  number: number
  /** Where in the file it begins. */
  offset: number
  /** Where in the range it begins. */
  at: number
  length: number
}

export class TreeLayout {
  readonly list: TreeList
  /** Numbers of the files in their order. */
  readonly order: number[] = []
  /** Where each of them ends. */
  readonly #ends: number[] = []
  #bytes = 0

  constructor(list: TreeList, wanted: WantedFiles) {
    this.list = list
    if (wanted.first > 0) this.#append(wanted.first)
    for (let number = 1; number <= list.entries.length; number++) {
      const isFile = list.of(number).kind === 'FILE'
      if (isFile && number !== wanted.first && wanted.has(number)) this.#append(number)
    }
  }

  /** Bytes of all of them. */
  get bytes(): number {
    return this.#bytes
  }

  /** Where the file of that number begins. */
  beginOf(number: number): number {
    const i = this.order.indexOf(number)
    return this.#ends[i]! - this.list.of(number).size
  }

  /** How many files lie whole before a position. */
  filesBefore(position: number): number {
    let [low, high] = [0, this.#ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#ends[middle]! <= position) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The parts of files that lie from `position` on, in their order. Empty files have none. */
  piecesOf(position: number, length: number): Piece[] {
    const pieces: Piece[] = []
    const end = position + length
    for (let i = this.filesBefore(position); i < this.order.length; i++) {
      const number = this.order[i]!
      const { size } = this.list.of(number)
      const begin = this.#ends[i]! - size
      if (begin >= end) break
      if (size === 0) continue
      const from = Math.max(begin, position)
      const to = Math.min(begin + size, end)
      pieces.push({ number, offset: from - begin, at: from - position, length: to - from })
    }
    return pieces
  }

  #append(number: number): void {
    this.order.push(number)
    this.#bytes += this.list.of(number).size
    this.#ends.push(this.#bytes)
  }
}

/** Lies of a peer, by chance: what it changes of the messages and chunks that an honest end would have sent. */

import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import type { Random } from '../../lib/sim/random.js'
import { decodeMessage, encodeMessage, type TransferMessage } from '../../lib/transfer/protocol/messages.js'
import type { FakeVerbs, Hook } from '../support/fake-verbs.js'

const NUMBERS = [0, 1, 2, 3, 255, 4095, 4096, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 53 - 1, 2 ** 53]
const TEXTS = [
  '',
  '.',
  '..',
  '../precious',
  '../../outside/precious',
  '/tmp/weir-liar',
  'a\0b',
  'out',
  'out/precious',
  'in/out/precious',
  'x'.repeat(300),
  'd/'.repeat(40),
  '.weir-delivered',
  '.f.weir-partial-0123456789abcdef',
  '*',
  '[a-',
  '{a,b}',
  'tree',
  'f',
]
const KINDS = ['FOLDER', 'FILE', 'SYMBOLIC_LINK', 'HARD_LINK', 'KIND_UNSPECIFIED']
const REASONS = ['PROTOCOL', 'BUSY', 'EXISTS', 'PART_DIFFERS', 'CANCELLED', 'SHUTTING_DOWN']
const DIGESTS = ['XXH64', 'SHA256', 'DIGEST_UNSPECIFIED']

type Plain = Record<string, unknown>

/** What of each message names a file or a folder. */
const NAMING: Readonly<Record<string, readonly string[]>> = {
  offer: ['name', 'nameInFolder', 'directory'],
  request: ['path'],
  tree: ['directory'],
}

export class Liar {
  readonly #random: Random
  /** How often it lies, 0 to 1. */
  readonly #share: number
  /** Names that lead out of the folder, or null: it does not lie about names in particular. */
  readonly #outside: readonly string[] | null
  /** Whether it lies about names in a tree's list, or about the place of the whole. */
  readonly #inLists: boolean
  readonly #said: Uint8Array[] = []
  lies = 0

  constructor(random: Random, share: number, outside: readonly string[] | null) {
    this.#random = random
    this.#share = share
    this.#outside = outside
    this.#inLists = random.next() < 0.75
  }

  readonly hook: Hook = (_from: FakeVerbs, work: SendWork, bytes: Uint8Array) => {
    if (work.opcode === WorkOpcode.SEND) return this.#onMessage(bytes)
    if (work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM && this.#random.next() < this.#share)
      return this.#onChunk(work, bytes)
    return undefined
  }

  #onMessage(bytes: Uint8Array): readonly Uint8Array[] | undefined {
    this.#said.push(bytes.slice())
    const misnamed = this.#outside === null ? null : this.#misnamed(bytes, this.#outside)
    if (misnamed !== null) return [misnamed]
    if (this.#random.next() >= this.#share) return undefined
    this.lies++
    switch (this.#below(16)) {
      case 0:
        return []
      case 1:
        return [bytes, bytes]
      case 2:
        return [this.#one(this.#said), bytes]
      case 3:
        return [bytes, this.#invented()]
      case 4:
        return [this.#garbage(bytes)]
      default:
        return [this.#changed(bytes)]
    }
  }

  #onChunk(work: SendWork, bytes: Uint8Array): readonly Uint8Array[] | undefined {
    this.lies++
    switch (this.#below(5)) {
      case 0:
        work.immediate = this.#one(NUMBERS) % 2 ** 32
        return undefined
      case 1:
        return [bytes.subarray(0, this.#below(bytes.length + 1))]
      case 2:
        work.remoteAddress! += this.#one([-4096, -1, 1, 64, 4096])
        return undefined
      default:
        if (bytes.length > 0) bytes[this.#below(bytes.length)]! ^= 1 << this.#below(8)
        return undefined
    }
  }

  /** With a name that leads out; null if the message has none. The rest is true, so that the transfer comes as far as it can. */
  #misnamed(bytes: Uint8Array, outside: readonly string[]): Uint8Array | null {
    const message = decodeMessage(bytes) as unknown as Plain
    const said = message[message.body as string] as Plain
    if (message.body === 'wish') said.paths = [this.#one(outside)]
    else if (message.body === 'entries' && this.#inLists) this.#misnameEntry(said.entries as Plain[], outside)
    else {
      const names = NAMING[message.body as string]
      if (names === undefined || (message.body === 'tree' && this.#inLists)) return null
      said[this.#one(names)] = this.#one(outside)
    }
    this.lies++
    return encodeMessage(message as unknown as TransferMessage)
  }

  /** A folder that leads out, with what is in it; another entry; a link out; or a folder by the name of a link that came before. */
  #misnameEntry(entries: Plain[], outside: readonly string[]): void {
    const folders = entries.filter(({ kind }) => kind === 'FOLDER')
    const link = entries.find(({ kind }) => kind === 'SYMBOLIC_LINK')
    const way = this.#below(4)
    if (way < 2 && folders.length > 1)
      folders.at(-1)!.name = this.#one(outside.filter(name => name.startsWith('../..')))
    else if (way === 2 && entries.length > 0) this.#one(entries).name = this.#one(outside)
    else if (link !== undefined) {
      link.target = this.#one(outside)
      if (folders.length > 0 && this.#below(2) === 0) this.#one(folders).name = link.name
    }
  }

  /** With up to three fields that say something else. */
  #changed(bytes: Uint8Array): Uint8Array {
    try {
      const message = decodeMessage(bytes) as unknown as Plain
      for (let i = 0; i <= this.#below(3); i++) this.#change(message[message.body as string] as Plain)
      return encodeMessage(message as unknown as TransferMessage)
    } catch {
      return this.#garbage(bytes)
    }
  }

  #change(object: Plain): void {
    const names = Object.keys(object ?? {})
    if (names.length === 0) return
    const texts = names.filter(name => typeof object[name] === 'string' || Array.isArray(object[name]))
    // What names files is where most harm could be done.
    const name = this.#one(texts.length > 0 && this.#random.next() < 0.6 ? texts : names)
    object[name] = this.#other(name, object[name])
  }

  #other(name: string, value: unknown): unknown {
    if (name === 'kind') return this.#one(KINDS)
    if (name === 'reason') return this.#one(REASONS)
    if (name === 'digest' && typeof value === 'string') return this.#one(DIGESTS)
    if (typeof value === 'number')
      return this.#random.next() < 0.3 ? value + this.#below(5) - 2 : this.#one(NUMBERS)
    if (typeof value === 'string') return this.#one(TEXTS)
    if (typeof value === 'boolean') return !value
    if (value instanceof Uint8Array) return this.#garbage(value)
    if (Array.isArray(value)) return this.#otherList(value)
    if (value !== null && typeof value === 'object') this.#change(value as Plain)
    else if (name === 'deletion')
      return { inRoot: true, hasNamed: false, most: 1000, exclude: [], include: [] }
    return value
  }

  #otherList(list: unknown[]): unknown[] {
    if (list.length === 0) return list
    const at = this.#below(list.length)
    const one = list[at]
    switch (this.#below(8)) {
      case 0:
        return [...list, one]
      case 1:
        return list.filter((_, i) => i !== at)
      case 2:
        return [...list].reverse()
      default: {
        const copy = [...list]
        if (typeof one === 'string') copy[at] = this.#one(TEXTS)
        else if (typeof one === 'number') copy[at] = this.#one(NUMBERS)
        else for (let i = 0; i <= this.#below(3); i++) this.#change(copy[at] as Plain)
        return copy
      }
    }
  }

  /** A message that nobody expects. */
  #invented(): Uint8Array {
    const bodies: TransferMessage[] = [
      { body: 'credit', credit: { chunks: this.#one(NUMBERS) } },
      { body: 'commit', commit: { digest: new Uint8Array(this.#below(40)) } },
      { body: 'done', done: { path: this.#one(TEXTS) } },
      { body: 'again', again: { chunk: this.#one(NUMBERS) } },
      { body: 'held', held: {} },
      { body: 'fail', fail: { reason: 'PART_DIFFERS', text: '\x1b[2J' } },
      { body: 'filled', filled: { chunks: this.#one(NUMBERS), path: null, zeros: [this.#one(NUMBERS)] } },
      {
        body: 'wanted',
        wanted: { bits: new Uint8Array(this.#below(100)), first: this.#one(NUMBERS), last: true },
      },
      { body: 'entries', entries: { entries: [], last: true, skipped: 0 } },
      { body: 'ping', ping: {} },
    ]
    try {
      return encodeMessage(this.#one(bodies))
    } catch {
      return new Uint8Array()
    }
  }

  #garbage(bytes: Uint8Array): Uint8Array {
    const other = bytes.slice(0, this.#below(bytes.length + 1))
    for (let i = 0; i < other.length; i++) if (this.#random.next() < 0.05) other[i] = this.#below(256)
    return other
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!
  }

  #below(n: number): number {
    return Math.floor(this.#random.next() * n)
  }
}

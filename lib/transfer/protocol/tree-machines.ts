/**
 * How two ends agree which files of a tree move, as pure state machines: one for the end that has the tree and one for the end
 * that it goes to. What follows is a transfer of one file with its own machine. No I/O, no clock.
 */
import { bytesOf } from '../../byte-text.js'
import type { WeirError } from '../../errors.js'
import { unknownVersion } from './failure.js'
import type { TransferMachine } from './machine.js'
import { MendedChunks } from './mended.js'
import {
  CHECKSUM_VERSION,
  DELETION_VERSION,
  type Deletion,
  MESSAGE_BYTES_MAX,
  TRANSFER_VERSION,
  type TransferMessage,
  type Tree,
  type Wanted,
  type Wish,
} from './messages.js'
import { TransferState } from './transfer-state.js'
import { WantedFiles } from './tree-layout.js'
import { TreeList } from './tree-list.js'
import { addWish, versionOf, type Wishes } from './wishes.js'

const TREE_VERSIONS: readonly number[] = [TRANSFER_VERSION, CHECKSUM_VERSION, DELETION_VERSION]
/** Bytes of all paths that the other end says it deletes. */
const DELETED_BYTES_MAX = 8 * MESSAGE_BYTES_MAX

/** What the other end deletes of what this one does not have. */
export interface Deleted {
  files: number
  folders: number
  /** The first of them. */
  paths: string[]
}

type TellerState = 'connecting' | 'listing' | 'listed' | 'agreed'
type ChooserState = 'connecting' | 'asked' | 'waiting' | 'listing' | 'choosing' | 'agreed'
type WishState = 'waiting' | 'opening' | 'agreed'

/** Which messages of the other end are in turn in which state. */
const TELLER_IN_TURN: Record<TellerState, readonly string[]> = {
  connecting: [],
  listing: ['refuse', 'fail'],
  listed: ['wanted', 'refuse', 'fail'],
  agreed: [],
}
const CHOOSER_IN_TURN: Record<ChooserState, readonly string[]> = {
  connecting: [],
  asked: ['tree', 'refuse', 'fail'],
  waiting: ['tree'],
  listing: ['entries', 'refuse', 'fail'],
  choosing: ['refuse', 'fail'],
  agreed: [],
}
const WISH_IN_TURN: Record<WishState, readonly string[]> = {
  waiting: ['wish', 'fail'],
  opening: ['fail'],
  agreed: [],
}

export class TreeTellerMachine implements TransferMachine {
  /** No chunks move yet. */
  readonly chunks = { damaged: 0, mended: new MendedChunks() }
  readonly #turns: TransferState<TellerState>
  readonly #list: TreeList
  #wanted = new WantedFiles(0)
  readonly deleted: Deleted = { files: 0, folders: 0, paths: [] }
  #bytes = 0
  #deletedBytes = 0

  constructor(list: TreeList, peer: string) {
    this.#turns = new TransferState<TellerState>('connecting', TELLER_IN_TURN, peer)
    this.#list = list
  }

  get state(): string {
    return this.#turns.current
  }

  get failure(): WeirError | null {
    return this.#turns.failure
  }

  get ended(): boolean {
    return this.#turns.ended
  }

  fail(failure: WeirError): void {
    this.#turns.fail(failure)
  }

  /** What the other end wants; null before it has said all. */
  get wanted(): WantedFiles | null {
    return this.#turns.current === 'agreed' ? this.#wanted : null
  }

  /** No more than what would move was the question. */
  onAnswered(): void {
    this.#turns.expect('agreed')
    this.#turns.enter('done')
  }

  /** Tree has been handed over. */
  onBegun(): void {
    this.#turns.expect('connecting')
    this.#turns.enter('listing')
  }

  /** The last Entries have been handed over: the list is whole. */
  onListed(): void {
    this.#turns.expect('listing')
    this.#wanted = new WantedFiles(this.#list.entries.length)
    this.#turns.enter('listed')
  }

  onMessage(message: TransferMessage): void {
    if (!this.#turns.admits(message) || message.body !== 'wanted') return
    const { bits, first, last, deleted = [] } = message.wanted
    const total = this.#wanted.bits.length
    const isEmpty = bits.length === 0 && deleted.length === 0 && !last
    if (this.#bytes + bits.length > total || isEmpty || !this.#takeDeleted(message.wanted)) {
      this.#turns.violated('wanted more than was listed')
      return
    }
    this.#wanted.bits.set(bits, this.#bytes)
    this.#bytes += bits.length
    if (!last) return
    this.#wanted.first = first
    if (first === 0 || this.#list.entries[first - 1]?.kind === 'FILE') this.#turns.enter('agreed')
    else this.#turns.violated('a first file that was not listed')
  }

  /** Returns false for more paths than anybody reads. */
  #takeDeleted({ deleted = [], deletedFiles = 0, deletedFolders = 0, last }: Wanted): boolean {
    for (const path of deleted) this.#deletedBytes += bytesOf(path).length
    if (this.#deletedBytes > DELETED_BYTES_MAX) return false
    this.deleted.paths.push(...deleted)
    if (last) [this.deleted.files, this.deleted.folders] = [deletedFiles, deletedFolders]
    return true
  }
}

export class TreeChooserMachine implements TransferMachine {
  /** No chunks move yet. */
  readonly chunks = { damaged: 0, mended: new MendedChunks() }
  readonly #turns: TransferState<ChooserState>
  readonly list = new TreeList()
  #tree: Tree | null = null
  #skipped = 0

  /** @param first 'connecting' at an end that asks for the tree */
  constructor(peer: string, first: 'connecting' | 'waiting' = 'waiting') {
    this.#turns = new TransferState<ChooserState>(first, CHOOSER_IN_TURN, peer)
  }

  get state(): string {
    return this.#turns.current
  }

  get failure(): WeirError | null {
    return this.#turns.failure
  }

  get ended(): boolean {
    return this.#turns.ended
  }

  fail(failure: WeirError): void {
    this.#turns.fail(failure)
  }

  /** What the other end has said of the tree; null before. */
  get tree(): Tree | null {
    return this.#tree
  }

  /** What the other end wants to have deleted here; null: nothing. */
  get deletion(): Deletion | null {
    const { version, deletion = null } = this.#tree ?? {}
    return version === DELETION_VERSION ? deletion : null
  }

  /** What the other end has left out. */
  get skipped(): number {
    return this.#skipped
  }

  /** The last Wish has been handed over. */
  onAsked(): void {
    this.#turns.expect('connecting')
    this.#turns.enter('asked')
  }

  /** Wanted has been handed over. */
  onChosen(): void {
    this.#turns.expect('choosing')
    this.#turns.enter('agreed')
  }

  /** No more than what would move was the question. */
  onAnswered(): void {
    this.#turns.expect('choosing')
    this.#turns.enter('done')
  }

  /** Throws what is wrong with an entry. */
  onMessage(message: TransferMessage): void {
    if (!this.#turns.admits(message)) return
    if (message.body === 'tree') {
      this.#tree = message.tree
      const { version } = message.tree
      if (TREE_VERSIONS.includes(version)) this.#turns.enter('listing')
      else this.fail(unknownVersion(version))
    } else if (message.body === 'entries') {
      for (const entry of message.entries.entries) this.list.add(entry)
      if (!message.entries.last) {
        if (message.entries.entries.length === 0) this.#turns.violated('an empty part of the list')
        return
      }
      this.list.close()
      this.#skipped = message.entries.skipped
      this.#turns.enter('choosing')
    }
  }
}

/** At the end that a tree is asked of: what is wanted. A `TreeTellerMachine` follows. */
export class TreeWishMachine implements TransferMachine {
  /** No chunks move yet. */
  readonly chunks = { damaged: 0, mended: new MendedChunks() }
  readonly #turns: TransferState<WishState>
  readonly #wishes: Wishes = { paths: [], exclude: [], include: [], skipLinks: false, checksum: null }
  #last: Wish | null = null

  constructor(peer: string) {
    this.#turns = new TransferState<WishState>('waiting', WISH_IN_TURN, peer)
  }

  get state(): string {
    return this.#turns.current
  }

  get failure(): WeirError | null {
    return this.#turns.failure
  }

  get ended(): boolean {
    return this.#turns.ended
  }

  fail(failure: WeirError): void {
    this.#turns.fail(failure)
  }

  get wishes(): Wishes {
    const { skipLinks = false, checksum = 'DIGEST_UNSPECIFIED' } = this.#last ?? {}
    return { ...this.#wishes, skipLinks, checksum: checksum === 'DIGEST_UNSPECIFIED' ? null : checksum }
  }

  /** Name of the transfer; empty before all has been said. */
  get transfer(): Uint8Array {
    return this.#last?.transfer ?? new Uint8Array()
  }

  /** Throws what is wrong with a wish. */
  onMessage(message: TransferMessage): void {
    if (!this.#turns.admits(message) || message.body !== 'wish') return
    const { wish } = message
    if (wish.version !== versionOf(wish.checksum)) {
      this.fail(unknownVersion(wish.version))
      return
    }
    addWish(this.#wishes, wish)
    if (!wish.last) {
      const texts = wish.paths.length + wish.exclude.length + wish.include.length
      if (texts === 0) this.#turns.violated('an empty part of a wish')
      return
    }
    this.#last = wish
    this.#turns.enter('opening')
  }
}

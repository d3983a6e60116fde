/** The list of a tree in messages, each as full as can be, while the list still grows. */
import type { Nanos } from '../../time/nanos.js'
import type { ListedTree } from '../file/file.js'
import { MESSAGE_BYTES_MAX, type TreeEntry } from '../protocol/messages.js'
import { entryBytes } from '../protocol/tree-list.js'
import type { MessageChannel } from './channel.js'

/** What a message has beside its entries. */
const HEAD_BYTES = 24

type ToSay = Pick<ListedTree, 'list' | 'skipped' | 'isWhole'>

export class EntryMessages {
  readonly #tree: ToSay
  readonly #channel: MessageChannel
  /** Entries that have been handed over. */
  #said = 0

  constructor(tree: ToSay, channel: MessageChannel) {
    this.#tree = tree
    this.#channel = channel
  }

  /** Sends as many as may go now: of a list that grows only whole messages. Returns true with the last of them; call no more then. */
  send(now: Nanos): boolean {
    const { list, skipped, isWhole } = this.#tree
    const { entries } = list
    while (this.#channel.hasRoom) {
      const next: TreeEntry[] = []
      const first = this.#said
      let bytes = HEAD_BYTES
      for (let entry = entries[this.#said]; entry; entry = entries[this.#said]) {
        bytes += entryBytes(entry)
        if (bytes > MESSAGE_BYTES_MAX) break
        next.push(entry)
        this.#said++
      }
      const last = this.#said === entries.length
      if (last && !isWhole) {
        this.#said = first
        return false
      }
      const body = { entries: next, last, skipped: last ? skipped : 0 }
      this.#channel.send(now, { body: 'entries', entries: body })
      if (last) return true
    }
    return false
  }
}

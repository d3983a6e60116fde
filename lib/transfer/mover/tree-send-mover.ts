/** A tree on its way out: lists it, learns which files the receiver wants, and sends their contents as one file. */
import type { Completion } from '../../qp/queues/completion-queue.js'
import type { Nanos } from '../../time/nanos.js'
import { type LocalTree, listFailure } from '../file/local-tree.js'
import { TreeSource } from '../file/tree-source.js'
import type { Digest } from '../protocol/digest.js'
import type { TransferMachine } from '../protocol/machine.js'
import {
  CHECKSUM_VERSION,
  DELETION_VERSION,
  type Deletion,
  type SenderFigures,
  TRANSFER_VERSION,
  type TransferMessage,
} from '../protocol/messages.js'
import { TreeLayout } from '../protocol/tree-layout.js'
import { TreeTellerMachine } from '../protocol/tree-machines.js'
import type { TransferEndpoint } from './endpoint.js'
import { EntryMessages } from './entry-messages.js'
import type { Lane } from './lane.js'
import {
  type ActiveMover,
  countsOf,
  type DeliveredFile,
  type MoverHost,
  type Moving,
  movingOf,
  wouldDeliver,
} from './mover.js'
import { SendMover } from './send-mover.js'

export interface TreeSendMoverConfig {
  tree: LocalTree
  digest: Digest
  /** Name of the receiver for messages. */
  peer: string
  /** What the tree is called for people. */
  name: string
  directory: string
  overwrite: boolean
  /** Ends when it is known what would move. */
  dryRun?: boolean
  /** What the receiver deletes. Default: nothing. */
  deletion?: Deletion | null
  /** These are as of SendMoverConfig. */
  transfer?: Uint8Array
  streams?: number
}

export class TreeSendMover implements ActiveMover {
  readonly #config: TreeSendMoverConfig
  readonly #endpoint: TransferEndpoint
  readonly #host: MoverHost
  readonly #teller: TreeTellerMachine
  readonly #entries: EntryMessages
  #layout: TreeLayout | null = null
  #source: TreeSource | null = null
  /** Null before the receiver has said what it wants. */
  #body: SendMover | null = null

  constructor(config: TreeSendMoverConfig, endpoint: TransferEndpoint, host: MoverHost) {
    this.#config = config
    this.#endpoint = endpoint
    this.#host = host
    this.#teller = new TreeTellerMachine(config.tree.list, config.peer)
    this.#entries = new EntryMessages(config.tree, endpoint.channel)
  }

  get machine(): TransferMachine {
    return this.#body?.machine ?? this.#teller
  }

  get name(): string {
    return this.#config.name
  }

  get sizeBytes(): number {
    return this.#config.tree.list.fileBytes
  }

  get begun(): boolean {
    return this.#body?.begun ?? this.#layout !== null
  }

  get resumedBytes(): number {
    return this.#body ? this.#thereBytes + this.#body.resumedBytes : 0
  }

  get moving(): Moving | undefined {
    return this.#layout === null ? undefined : movingOf(this.#layout)
  }

  get deliveredBytes(): number {
    return this.#body ? this.#thereBytes + this.#body.deliveredBytes : 0
  }

  get fileCounts(): { done: number; total: number } {
    const { files: total } = this.#config.tree.list
    if (!this.#body || !this.#layout) return { done: 0, total }
    const moved = this.#layout.filesBefore(this.#body.deliveredBytes)
    return { done: total - this.#layout.order.length + moved, total }
  }

  get figures(): SenderFigures | null {
    return this.#endpoint.figures
  }

  get awaitsTransport(): boolean {
    return this.#body?.awaitsTransport ?? false
  }

  greet(now: Nanos): void {
    const { directory, overwrite, transfer = new Uint8Array(), deletion = null } = this.#config
    const hasDigests = this.#config.tree.list.entries.some(entry => entry.digest !== undefined)
    const plain = hasDigests ? CHECKSUM_VERSION : TRANSFER_VERSION
    const version = deletion === null ? plain : DELETION_VERSION
    const tree = { version, directory, overwrite, transfer, deletion }
    this.#endpoint.channel.send(now, { body: 'tree', tree })
    this.#teller.onBegun()
    this.#sayEntries(now)
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    if (this.#body) this.#body.onMessage(now, message)
    else this.#onListMessage(now, message)
  }

  onTransferred(now: Nanos, completion: Completion, lane: Lane): void {
    this.#body?.onTransferred(now, completion, lane)
  }

  onLaneLost(now: Nanos, lane: Lane): void {
    this.#body?.onLaneLost(now, lane)
  }

  advance(now: Nanos): void {
    if (this.#body) this.#body.advance(now)
    else this.#sayEntries(now)
  }

  nextStep(): (() => Promise<void>) | null {
    if (this.#body) return this.#body.nextStep()
    return this.#teller.state === 'listing' && !this.#config.tree.isWhole ? () => this.#listOn() : null
  }

  delivered(): DeliveredFile {
    const { tree: listed, digest } = this.#config
    const { deleted } = this.#teller
    if (!this.#body) return wouldDeliver(this.#layout!, listed.skipped, deleted, digest.kind)
    const tree = countsOf(this.#layout!, listed.skipped, deleted)
    return { ...this.#body.delivered(), bytes: this.sizeBytes, tree }
  }

  async close(): Promise<void> {
    await this.#source?.close()
  }

  #onListMessage(now: Nanos, message: TransferMessage): void {
    if (message.body !== 'ping') this.#host.onProgress(now)
    this.#teller.onMessage(message)
    if (this.#teller.wanted) this.#begin(now)
  }

  /** Bytes of files that the receiver has already. */
  get #thereBytes(): number {
    return this.sizeBytes - this.#layout!.bytes
  }

  #sayEntries(now: Nanos): void {
    if (this.#teller.state === 'listing' && this.#entries.send(now)) this.#teller.onListed()
  }

  async #listOn(): Promise<void> {
    try {
      await this.#config.tree.more()
    } catch (error) {
      throw listFailure(error)
    }
    this.#host.advance()
  }

  #begin(now: Nanos): void {
    const { tree, digest, peer, overwrite, dryRun = false, streams } = this.#config
    this.#layout = new TreeLayout(tree.list, this.#teller.wanted!)
    if (dryRun) {
      this.#teller.onAnswered()
      return
    }
    this.#source = new TreeSource(this.#layout, tree)
    const config = { source: this.#source, digest, peer, name: '', directory: '', overwrite, streams }
    this.#body = new SendMover(config, this.#endpoint, this.#host)
    this.#body.greet(now)
  }
}

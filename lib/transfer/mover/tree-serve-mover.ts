/** A tree on its way out, at the end that was asked for it: lists it, learns which files the getter wants, and serves their contents as one file. */
import type { Nanos } from '../../time/nanos.js'
import type { ListedTree, SharedFiles } from '../file/file.js'
import { listFailure } from '../file/local-tree.js'
import { TreeSource } from '../file/tree-source.js'
import type { TransferMachine } from '../protocol/machine.js'
import { type SenderFigures, TRANSFER_VERSION, type TransferMessage } from '../protocol/messages.js'
import { TreeLayout } from '../protocol/tree-layout.js'
import { TreeTellerMachine, TreeWishMachine } from '../protocol/tree-machines.js'
import type { TransferEndpoint } from './endpoint.js'
import { EntryMessages } from './entry-messages.js'
import type { PassiveMover, PassiveMoverHost } from './mover.js'
import { ServeMover } from './serve-mover.js'

export interface TreeServeMoverConfig {
  files: SharedFiles
}

export class TreeServeMover implements PassiveMover {
  readonly peerRole = 'getter'
  /** This end has nothing but messages in flight. */
  readonly awaitsTransport = false
  readonly #files: SharedFiles
  readonly #endpoint: TransferEndpoint
  readonly #host: PassiveMoverHost
  readonly #wish = new TreeWishMachine('the getter')
  #tree: ListedTree | null = null
  /** Null before the tree has been listed. */
  #teller: TreeTellerMachine | null = null
  #entries: EntryMessages | null = null
  #layout: TreeLayout | null = null
  /** Null before the getter has said which files it wants. */
  #body: ServeMover | null = null

  constructor({ files }: TreeServeMoverConfig, endpoint: TransferEndpoint, host: PassiveMoverHost) {
    this.#files = files
    this.#endpoint = endpoint
    this.#host = host
  }

  get machine(): TransferMachine {
    return this.#body?.machine ?? this.#teller ?? this.#wish
  }

  get name(): string {
    const { paths } = this.#wish.wishes
    return paths.length === 1 ? paths[0]! : `${paths.length} paths`
  }

  get sizeBytes(): number {
    return this.#tree?.list.fileBytes ?? 0
  }

  get deliveredBytes(): number {
    return this.#body ? this.#thereBytes + this.#body.deliveredBytes : 0
  }

  get resumedBytes(): number {
    return this.#body ? this.#thereBytes + this.#body.resumedBytes : 0
  }

  get figures(): SenderFigures | null {
    return this.#endpoint.figures
  }

  get isBusy(): boolean {
    return this.#body?.isBusy ?? (this.machine.state === 'opening' || this.#lists)
  }

  get granted(): boolean {
    return this.#body?.granted ?? false
  }

  get deliveredPath(): string {
    return this.#body?.machine.state === 'done' ? this.name : ''
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    if (this.#body) {
      this.#body.onMessage(now, message)
      return
    }
    if (this.#teller) this.#teller.onMessage(message)
    else this.#wish.onMessage(message)
    if (message.body !== 'ping' && !this.machine.ended) this.#host.onProgress(now)
    if (this.#teller?.wanted) this.#begin()
  }

  /** The getter moves the chunks. */
  onTransferred(): void {}

  onLaneLost(): void {}

  advance(now: Nanos): void {
    if (this.#body) this.#body.advance(now)
    else if (this.#teller?.state === 'listing' && this.#entries!.send(now)) this.#teller.onListed()
  }

  nextStep(): (() => Promise<void>) | null {
    if (this.#body) return this.#body.nextStep()
    if (this.#lists) return () => this.#listOn()
    return this.#wish.state === 'opening' && !this.#teller ? () => this.#list() : null
  }

  async close(): Promise<void> {
    this.#tree?.stop()
    await this.#body?.close()
  }

  /** Bytes of files that the getter has already. */
  get #thereBytes(): number {
    return this.sizeBytes - this.#layout!.bytes
  }

  /** The list grows, and the getter waits for more of it. */
  get #lists(): boolean {
    return this.#teller?.state === 'listing' && !this.#tree!.isWhole
  }

  async #listOn(): Promise<void> {
    try {
      await this.#tree!.more()
    } catch (error) {
      throw listFailure(error)
    }
    // The getter waits for this end: its time to answer begins when it has the whole list.
    this.#host.onProgress(this.#endpoint.now())
    this.#host.advance()
  }

  async #list(): Promise<void> {
    await this.#host.admit(this.#wish.transfer)
    if (this.#wish.ended) return
    const { wishes } = this.#wish
    const host = this.#host
    const signal = {
      get aborted() {
        return host.hasEnded
      },
    }
    const tree = await this.#files.list(wishes, signal)
    if (this.#wish.ended || host.hasEnded) return
    this.#tree = tree
    this.#teller = new TreeTellerMachine(tree.list, 'the getter')
    this.#entries = new EntryMessages(tree, this.#endpoint.channel)
    this.#host.onProgress(this.#endpoint.now())
    const none = { directory: '', overwrite: false, transfer: new Uint8Array() }
    this.#endpoint.say({ body: 'tree', tree: { version: TRANSFER_VERSION, ...none } })
    this.#teller.onBegun()
    this.#host.advance()
  }

  #begin(): void {
    const tree = this.#tree!
    this.#layout = new TreeLayout(tree.list, this.#teller!.wanted!)
    const source = new TreeSource(this.#layout, tree)
    const files = { open: async () => source }
    this.#body = new ServeMover({ files }, this.#endpoint, this.#host)
  }
}

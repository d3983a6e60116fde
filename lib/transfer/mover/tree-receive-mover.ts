/** A tree on its way in: takes its list, says which files are wanted, and receives their contents as one file. */
import type { Completion } from '../../qp/queues/completion-queue.js'
import type { Nanos } from '../../time/nanos.js'
import type { DeletionRules } from '../file/deletions.js'
import { foreignPathFilter } from '../file/path-filter.js'
import type { TreeFolders } from '../file/tree-place.js'
import { TreeStore } from '../file/tree-store.js'
import { TransferFailure } from '../protocol/failure.js'
import type { TransferMachine } from '../protocol/machine.js'
import type { Deletion, SenderFigures, TransferMessage } from '../protocol/messages.js'
import { TreeLayout } from '../protocol/tree-layout.js'
import { TreeChooserMachine } from '../protocol/tree-machines.js'
import type { TransferEndpoint } from './endpoint.js'
import type { PassiveMover, PassiveMoverHost } from './mover.js'
import { ReceiveMover } from './receive-mover.js'
import { sayWanted } from './wanted-messages.js'

export interface TreeReceiveMoverConfig {
  trees: TreeFolders
  /** Senders may have deleted what they do not have. */
  allowsDeletion: boolean
  /** As of ReceiveMoverConfig. */
  chunkBytes: number
  slots: number
}

export class TreeReceiveMover implements PassiveMover {
  readonly peerRole = 'sender'
  /** This end has nothing but messages in flight. */
  readonly awaitsTransport = false
  readonly #config: TreeReceiveMoverConfig
  readonly #endpoint: TransferEndpoint
  readonly #host: PassiveMoverHost
  readonly #chooser = new TreeChooserMachine('the sender')
  #layout: TreeLayout | null = null
  /** Null before this end has said what it wants. */
  #body: ReceiveMover | null = null

  constructor(config: TreeReceiveMoverConfig, endpoint: TransferEndpoint, host: PassiveMoverHost) {
    this.#config = config
    this.#endpoint = endpoint
    this.#host = host
  }

  get machine(): TransferMachine {
    return this.#body?.machine ?? this.#chooser
  }

  get name(): string {
    const { directory = '' } = this.#chooser.tree ?? {}
    return directory || '.'
  }

  get sizeBytes(): number {
    return this.#chooser.list.fileBytes
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
    return this.#body?.isBusy ?? this.#chooser.state === 'choosing'
  }

  get granted(): boolean {
    return this.#body?.granted ?? false
  }

  get deliveredPath(): string {
    return this.#body?.deliveredPath ?? ''
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    if (this.#body) this.#body.onMessage(now, message)
    else this.#onListMessage(now, message)
  }

  onTransferred(now: Nanos, completion: Completion): void {
    this.#body?.onTransferred(now, completion)
  }

  onLaneLost(): void {
    this.#body?.onLaneLost()
  }

  advance(now: Nanos): void {
    this.#body?.advance(now)
  }

  nextStep(): (() => Promise<void>) | null {
    if (this.#body) return this.#body.nextStep()
    return this.#chooser.state === 'choosing' ? () => this.#choose() : null
  }

  async close(): Promise<void> {
    await this.#body?.close()
  }

  #onListMessage(now: Nanos, message: TransferMessage): void {
    this.#chooser.onMessage(message)
    if (message.body !== 'ping' && !this.machine.ended) this.#host.onProgress(now)
  }

  /** Bytes of files that were here already. */
  get #thereBytes(): number {
    return this.sizeBytes - this.#layout!.bytes
  }

  #checkGoesOn(): void {
    if (this.#host.hasEnded) throw new TransferFailure('CANCELLED', 'cancelled while files were compared')
  }

  async #choose(): Promise<void> {
    const { trees, chunkBytes, slots } = this.#config
    const { directory, overwrite, transfer } = this.#chooser.tree!
    await this.#host.admit(transfer)
    if (this.#chooser.ended) return
    const { deletion, list } = this.#chooser
    const rules = deletion && this.#rulesOf(deletion)
    const store = new TreeStore(trees.treePlace(directory), list, overwrite, () => this.#checkGoesOn(), rules)
    await store.choose()
    if (this.#chooser.ended || this.#host.hasEnded) return
    this.#layout = new TreeLayout(list, store.wanted)
    this.#body = new ReceiveMover({ store, chunkBytes, slots }, this.#endpoint, this.#host)
    this.#chooser.onChosen()
    this.#host.onProgress(this.#endpoint.now())
    sayWanted(this.#endpoint, store.wanted, store.deletions)
  }

  /** Throws NOT_ALLOWED (WEIR_REJECTED). */
  #rulesOf({ inRoot, hasNamed, most, exclude, include }: Deletion): DeletionRules {
    if (!this.#config.allowsDeletion) {
      const text = 'nobody may delete there: its daemon runs without --allow-delete'
      throw new TransferFailure('NOT_ALLOWED', text)
    }
    return {
      inRoot,
      hasNamed,
      most,
      leftOut: this.#chooser.skipped,
      admits: foreignPathFilter(exclude, include),
    }
  }
}

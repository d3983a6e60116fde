/** A tree on its way in, at the end that asked for it: says what it wishes, takes the list, says which files it wants, and gets their contents as one file. */
import type { Completion } from '../../qp/queues/completion-queue.js'
import type { Nanos } from '../../time/nanos.js'
import { checkFilters } from '../file/check-filters.js'
import type { DeletionRules } from '../file/deletions.js'
import { foreignPathFilter } from '../file/path-filter.js'
import type { TreePlace } from '../file/tree-place.js'
import { TreeStore } from '../file/tree-store.js'
import { TransferFailure } from '../protocol/failure.js'
import type { TransferMachine } from '../protocol/machine.js'
import type { DigestKind, SenderFigures, TransferMessage, Wish } from '../protocol/messages.js'
import { TreeLayout } from '../protocol/tree-layout.js'
import { TreeChooserMachine } from '../protocol/tree-machines.js'
import { checkAsked, isContents, type Wishes, wishMessages } from '../protocol/wishes.js'
import type { TransferEndpoint } from './endpoint.js'
import { GetMover } from './get-mover.js'
import type { Lane } from './lane.js'
import {
  type ActiveMover,
  countsOf,
  type DeliveredFile,
  type MoverHost,
  type Moving,
  movingOf,
  NOTHING_DELETED,
  wouldDeliver,
} from './mover.js'
import { sayWanted } from './wanted-messages.js'

export interface TreeGetMoverConfig {
  /** Where the tree goes. */
  place: TreePlace
  wishes: Wishes
  /** Name of the server for messages. */
  peer: string
  /** What the tree is called for people. */
  name: string
  digestKind: DigestKind
  overwrite: boolean
  /** Ends when it is known what would move. */
  dryRun?: boolean
  /** Files and folders that may be deleted because the server does not have them; null: nothing is deleted. */
  deleteMost?: number | null
  /** As of GetMoverConfig. */
  chunkBytes: number
  slots: number
  transfer?: Uint8Array
  streams?: number
}

export class TreeGetMover implements ActiveMover {
  readonly #config: TreeGetMoverConfig
  readonly #endpoint: TransferEndpoint
  readonly #host: MoverHost
  readonly #chooser: TreeChooserMachine
  /** Messages that have not been handed over. */
  readonly #toSay: Wish[] = []
  #layout: TreeLayout | null = null
  /** What is here; null before it has been compared. */
  store: TreeStore | null = null
  /** Null before this end has said which files it wants. */
  #body: GetMover | null = null

  constructor(config: TreeGetMoverConfig, endpoint: TransferEndpoint, host: MoverHost) {
    this.#config = config
    this.#endpoint = endpoint
    this.#host = host
    this.#chooser = new TreeChooserMachine(config.peer, 'connecting')
  }

  get machine(): TransferMachine {
    return this.#body?.machine ?? this.#chooser
  }

  get name(): string {
    return this.#config.name
  }

  get sizeBytes(): number {
    return this.#chooser.list.fileBytes
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
    const { files: total } = this.#chooser.list
    if (!this.#body || !this.#layout) return { done: 0, total }
    const moved = this.#layout.filesBefore(this.#body.deliveredBytes)
    return { done: total - this.#layout.order.length + moved, total }
  }

  get figures(): SenderFigures | null {
    return this.#body ? this.#body.figures : this.#endpoint.figures
  }

  get awaitsTransport(): boolean {
    return this.#body?.awaitsTransport ?? false
  }

  greet(now: Nanos): void {
    const { wishes, transfer = new Uint8Array() } = this.#config
    this.#toSay.push(...wishMessages(wishes, transfer))
    this.#sayWishes(now)
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    if (this.#body) {
      this.#body.onMessage(now, message)
      return
    }
    if (message.body !== 'ping') this.#host.onProgress(now)
    this.#chooser.onMessage(message)
  }

  onTransferred(now: Nanos, completion: Completion, lane: Lane): void {
    this.#body?.onTransferred(now, completion, lane)
  }

  onLaneLost(now: Nanos, lane: Lane): void {
    this.#body?.onLaneLost(now, lane)
  }

  advance(now: Nanos): void {
    if (this.#body) this.#body.advance(now)
    else this.#sayWishes(now)
  }

  nextStep(): (() => Promise<void>) | null {
    if (this.#body) return this.#body.nextStep()
    return this.#chooser.state === 'choosing' ? () => this.#choose() : null
  }

  delivered(): DeliveredFile {
    const { skipped } = this.#chooser
    const deleted = this.store?.deletions ?? NOTHING_DELETED
    if (!this.#body) return wouldDeliver(this.#layout!, skipped, deleted, this.#config.digestKind)
    const tree = countsOf(this.#layout!, skipped, deleted)
    return { ...this.#body.delivered(), bytes: this.sizeBytes, tree }
  }

  async close(): Promise<void> {
    await this.#body?.close()
  }

  #deletionRules(): DeletionRules | null {
    const { deleteMost: most = null, wishes } = this.#config
    if (most === null) return null
    const { paths, exclude, include } = wishes
    const inRoot = paths.some(isContents)
    const hasNamed = !paths.every(isContents)
    const admits = foreignPathFilter(exclude, include)
    return { inRoot, hasNamed, most, leftOut: this.#chooser.skipped, admits }
  }

  #sayWishes(now: Nanos): void {
    const { channel } = this.#endpoint
    while (this.#toSay.length > 0 && channel.hasRoom) {
      channel.send(now, { body: 'wish', wish: this.#toSay.shift()! })
      if (this.#toSay.length === 0) this.#chooser.onAsked()
    }
  }

  /** Bytes of files that are here already. */
  get #thereBytes(): number {
    return this.sizeBytes - this.#layout!.bytes
  }

  #checkGoesOn(): void {
    if (this.#host.hasEnded) throw new TransferFailure('CANCELLED', 'cancelled while files were compared')
  }

  async #choose(): Promise<void> {
    const {
      place,
      wishes,
      overwrite,
      dryRun = false,
      peer,
      digestKind,
      chunkBytes,
      slots,
      streams,
    } = this.#config
    const { list } = this.#chooser
    checkAsked(wishes.paths, list)
    await checkFilters(wishes, list)
    const store = new TreeStore(place, list, overwrite, () => this.#checkGoesOn(), this.#deletionRules())
    await store.choose()
    this.store = store
    if (this.#chooser.ended || this.#host.hasEnded) return
    this.#layout = new TreeLayout(list, store.wanted)
    if (dryRun) {
      this.#chooser.onAnswered()
      // The other end learns nothing by it. The connection ends when it has come.
      this.#host.finish({ body: 'ping', ping: {} })
      return
    }
    const how = { peer, digestKind, overwrite, chunkBytes, slots, streams }
    const config = { ...how, store, path: '', name: '' }
    const body = new GetMover(config, this.#endpoint, this.#host)
    this.#chooser.onChosen()
    this.#body = body
    sayWanted(this.#endpoint, store.wanted)
    body.greet(this.#endpoint.now())
    this.#endpoint.wake()
  }
}

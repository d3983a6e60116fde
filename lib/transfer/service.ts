/**
 * All transfers of one daemon: accepts incoming ones, starts outgoing ones, bounds how many run, lists and
 * cancels them.
 */
import { randomBytes } from 'node:crypto'
import { WeirError } from '../errors.js'
import type { Logger } from '../log.js'
import type { ConnectionHandler, ConnectionRequest, Listener, Verbs } from '../nic/types.js'
import { printable } from '../printable.js'
import { MILLISECOND, type Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import { Arrivals } from './file/arrivals.js'
import type { FileStore, SharedFiles } from './file/file.js'
import { NOTHING_SHARED } from './file/share.js'
import { NO_TREES, type TreeFolders } from './file/tree-place.js'
import { LaneKeys } from './mover/lane-keys.js'
import type { RealTime } from './mover/real-time.js'
import { RingPool } from './mover/ring-pool.js'
import { checkRing, ringBytesOf } from './protocol/chunk-plan.js'
import { briefly } from './protocol/failure.js'
import {
  FETCH_PRIVATE_DATA,
  GET_PRIVATE_DATA,
  TRANSFER_PORT,
  TREE_PRIVATE_DATA,
} from './protocol/messages.js'
import { Attempts } from './session/attempts.js'
import {
  newReceiveSession,
  newServeSession,
  newTreeReceiveSession,
  newTreeServeSession,
} from './session/new-session.js'
import type { PassiveOutcome, PassiveSession } from './session/passive-session.js'
import { Places } from './session/places.js'
import { ActiveTransfer } from './task/active-transfer.js'
import { withAdvice } from './task/advice.js'
import { Gauges } from './task/gauges.js'
import { type GetOptions, GetTask } from './task/get-task.js'
import { type GetTreeOptions, GetTreeTask } from './task/get-tree-task.js'
import { peerName } from './task/resolve.js'
import { type SendOptions, SendTask } from './task/send-task.js'
import { type SendTreeOptions, SendTreeTask } from './task/send-tree-task.js'
import type { Common, TaskOptions } from './task/task-options.js'
import {
  PassiveTransfer,
  type Transfer,
  type TransferDirection,
  type TransferResult,
} from './task/transfer.js'

const CHUNK_BYTES_DEFAULT = 1 << 20
/** However short this end's chunks are, a peer's of the default size have room. */
const RING_BYTES_LEAST = ringBytesOf(CHUNK_BYTES_DEFAULT, 1)

/** Bytes of a transfer's name in Offer and Request: too many to hit one by chance. */
const TRANSFER_NAME_BYTES = 16
const SHUTTING_DOWN = 'the daemon is shutting down'
/** How often sessions look after their deadlines. */
const TICK_MS = 500

interface TransferServiceConfig {
  verbs: Verbs
  time: RealTime
  /** Where files go that are sent to this host. */
  store: FileStore
  /** Where trees go that are sent to this host. Default: none is received. */
  trees?: TreeFolders
  /** Their senders may have deleted what they do not have. Default false. */
  allowsDeletion?: boolean
  /** What other hosts may get. Default: nothing. */
  share?: SharedFiles
  /** Shared with `store`, when both write to one folder. */
  arrivals?: Arrivals
  log: Logger
  /** Bytes of a chunk. Default 1 MiB. */
  chunkBytes?: number
  /** Chunks of a transfer in memory at each end, at most: 8 on short paths, up to so many on long ones. Default 40. */
  slots?: number
  /** Files of each direction at a time. Default 8. */
  transfersMax?: number
  /** How long a transfer whose connection was lost waits for its next attempt; then twice as long each time. Default 1000 ms. */
  retryAfterMs?: number
}

type OnStarted = (transfer: Transfer) => void

/** How the log speaks of what has ended. */
const DONE: Readonly<Record<TransferDirection, string>> = {
  send: 'sent',
  receive: 'received',
  get: 'fetched',
  serve: 'served',
}

export class TransferService implements Listener {
  readonly #config: Required<TransferServiceConfig>
  readonly #rings: Readonly<Record<TransferDirection, RingPool>>
  readonly #attempts = new Attempts()
  readonly #laneKeys = new LaneKeys()
  readonly #places: Readonly<Record<'receive' | 'serve', Places>>
  readonly #transfers = new Map<string, Transfer>()
  readonly #gauges = new Gauges()
  #timer: NodeJS.Timeout | null = null
  #lastId = 0
  #closing = false
  /** Bytes of files that were delivered since the start, in each direction. */
  sentBytes = 0
  receivedBytes = 0
  /** Chunks of transfers that have ended. */
  #damagedChunks = 0

  constructor(config: TransferServiceConfig) {
    const defaults = {
      chunkBytes: CHUNK_BYTES_DEFAULT,
      slots: 40,
      transfersMax: 8,
      retryAfterMs: 1000,
      share: NOTHING_SHARED,
      trees: NO_TREES,
      allowsDeletion: false,
    }
    this.#config = { ...defaults, arrivals: new Arrivals(config.chunkBytes), ...config }
    const { chunkBytes, slots, transfersMax } = this.#config
    try {
      checkRing(chunkBytes, slots)
    } catch (error) {
      throw new WeirError('WEIR_BAD_ARGUMENT', (error as Error).message)
    }
    const ringBytes = Math.max(ringBytesOf(chunkBytes, slots), RING_BYTES_LEAST)
    const pool = () => new RingPool(ringBytes, transfersMax)
    this.#rings = { send: pool(), receive: pool(), get: pool(), serve: pool() }
    this.#places = { receive: new Places(this.#rings.receive), serve: new Places(this.#rings.serve) }
  }

  /** Transfers under way, oldest first. */
  get transfers(): Iterable<Transfer> {
    return this.#transfers.values()
  }

  get count(): number {
    return this.#transfers.size
  }

  /** Chunks that did not have their digest since the start, in either direction. */
  get damagedChunks(): number {
    let chunks = this.#damagedChunks
    for (const transfer of this.#transfers.values()) chunks += transfer.damagedChunks
    return chunks
  }

  /** Begins to accept. */
  start(): void {
    this.#config.verbs.listen(TRANSFER_PORT, this)
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  /**
   * Sends a file; resolves when it is delivered and everything has been given back. `onStarted` hears of the
   * transfer as it begins. Throws what stopped it; WEIR_CANCELLED after `signal`.
   */
  async send(options: SendOptions, signal: AbortSignal, onStarted: OnStarted): Promise<TransferResult> {
    const task = await SendTask.open(options, this.#common('send'), signal)
    return await this.#run('send', task, options, signal, onStarted)
  }

  /** Sends files and folders over one connection, in the same manner. */
  async sendTree(
    options: SendTreeOptions,
    signal: AbortSignal,
    onStarted: OnStarted,
  ): Promise<TransferResult> {
    const task = await SendTreeTask.open(options, this.#common('send'), signal)
    return await this.#run('send', task, options, signal, onStarted)
  }

  /** Gets a file of another host, in the same manner. */
  async get(options: GetOptions, signal: AbortSignal, onStarted: OnStarted): Promise<TransferResult> {
    const { arrivals, chunkBytes, slots } = this.#config
    const here = { arrivals, chunkBytes, slots }
    const task = await GetTask.open(options, this.#common('get'), here, signal)
    return await this.#run('get', task, options, signal, onStarted)
  }

  /** Gets files and folders of another host over one connection, in the same manner. */
  async getTree(options: GetTreeOptions, signal: AbortSignal, onStarted: OnStarted): Promise<TransferResult> {
    const { arrivals, chunkBytes, slots } = this.#config
    const task = await GetTreeTask.open(options, this.#common('get'), { arrivals, chunkBytes, slots })
    return await this.#run('get', task, options, signal, onStarted)
  }

  /** A connection that may come to nothing, or a further one of a transfer. Else it is a transfer once it is established, and only then takes a place. */
  accept(_now: Nanos, request: ConnectionRequest): ConnectionHandler {
    if (this.#closing) throw new WeirError('WEIR_REJECTED', SHUTTING_DOWN)
    const lane = this.#laneKeys.join(request)
    if (lane !== null) return lane
    const wish = wishOf(request)
    const { direction } = wish
    const session = this.#passive(wish)
    const peer = request.remote.toString()
    void session.begun.then(established => {
      if (established) this.#onPassiveBegun(direction, peer, session)
    })
    return session
  }

  #onPassiveBegun(direction: 'receive' | 'serve', peer: string, session: PassiveSession): void {
    const transfer = new PassiveTransfer(this.#newId(direction), direction, peer, session)
    this.#transfers.set(transfer.id, transfer)
    this.#config.log.debug({ transfer: transfer.id, from: transfer.peer }, 'connection accepted')
    if (this.#closing) transfer.interrupt(SHUTTING_DOWN)
    void session.outcome.then(outcome => this.#onPassiveEnded(transfer, outcome))
  }

  /** Ends a transfer of any direction; null if there is none of that id. */
  cancel(id: string): Transfer | null {
    const transfer = this.#transfers.get(id) ?? null
    transfer?.cancel('the transfer was cancelled')
    this.#config.time.wake()
    return transfer
  }

  /** A host has arrived in the network: transfers that wait for it go on. */
  onArrival(host: HostAddress): void {
    for (const transfer of this.#transfers.values())
      if (transfer instanceof ActiveTransfer) transfer.onArrival(host)
  }

  /** What has arrived of the transfer per second, lately; 0 in its first moments. */
  goodputBps(transfer: Transfer): number {
    return this.#gauges.goodputBps(transfer)
  }

  /**
   * Interrupts all transfers at both ends, and accepts no more. Resolves when all have ended, or after `withinMs`.
   */
  async close(withinMs: number): Promise<void> {
    this.#closing = true
    this.#config.verbs.unlisten(TRANSFER_PORT)
    const ends = [...this.#transfers.values()].map(transfer => {
      transfer.interrupt(SHUTTING_DOWN)
      return transfer.ended
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, withinMs)
    })
    await Promise.race([Promise.all(ends), late])
    clearTimeout(timer)
    if (this.#timer) clearInterval(this.#timer)
  }

  /** What all sessions of a transfer that is begun here have. */
  #common(direction: 'send' | 'get'): Common {
    const { verbs, time } = this.#config
    return { verbs, time, rings: this.#rings[direction], transfer: randomBytes(TRANSFER_NAME_BYTES) }
  }

  /** Throws WEIR_CANCELLED, or WEIR_BAD_STATE once the daemon shuts down. */
  #checkOpen(signal: AbortSignal): void {
    if (signal.aborted) throw new WeirError('WEIR_CANCELLED', 'cancelled')
    if (this.#closing) throw new WeirError('WEIR_BAD_STATE', SHUTTING_DOWN)
  }

  async #run(
    direction: 'send' | 'get',
    task: SendTask | SendTreeTask | GetTask | GetTreeTask,
    { host, port = 0, retries = 0, pipe = '' }: TaskOptions & { pipe?: string },
    signal: AbortSignal,
    onStarted: OnStarted,
  ): Promise<TransferResult> {
    const { log, time, retryAfterMs } = this.#config
    let transfer: ActiveTransfer
    try {
      this.#checkOpen(signal)
      const session = await task.attempt(null)
      const retryAfterNs = retryAfterMs * MILLISECOND
      const about = { id: this.#newId(direction), direction, peer: peerName(host, port) }
      transfer = new ActiveTransfer({ ...about, task, session, time, log, retries, retryAfterNs })
    } catch (error) {
      await task.close()
      throw error
    }
    const { id } = transfer
    this.#transfers.set(id, transfer)
    const onAbort = () => transfer.cancel(`the transfer of ${transfer.session.name} was cancelled`)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    if (this.#closing) transfer.interrupt(SHUTTING_DOWN)
    const about = { transfer: id, file: printable(transfer.session.name), peer: transfer.peer }
    try {
      const ended = transfer.run()
      onStarted(transfer)
      const result = await ended
      const { bytes, attempts, damagedChunks } = result
      this.#count(direction, bytes)
      log.info({ ...about, bytes, attempts, damagedChunks }, DONE[direction])
      return result
    } catch (error) {
      const { attempts, damagedChunks } = transfer
      log.warn({ ...about, attempts, damagedChunks, error: briefly(error) }, `${direction} failed`)
      const mayGoOn = transfer.deliveredBytes > 0 && pipe === ''
      throw withAdvice(error, this.#config.verbs.address, task.remote, mayGoOn)
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#remove(transfer)
    }
  }

  #passive({ direction, isTree }: PassiveWish): PassiveSession {
    const { verbs, time, store, share, trees, allowsDeletion, chunkBytes, slots } = this.#config
    const places = this.#places[direction]
    const whose = { attempts: this.#attempts, laneKeys: this.#laneKeys, places }
    const common = { verbs, time, rings: this.#rings[direction], ...whose }
    if (direction === 'serve') {
      const config = { ...common, files: share }
      return isTree ? newTreeServeSession(config) : newServeSession(config)
    }
    if (isTree) return newTreeReceiveSession({ ...common, trees, allowsDeletion, chunkBytes, slots })
    return newReceiveSession({ ...common, store, chunkBytes, slots })
  }

  #remove(transfer: Transfer): void {
    this.#transfers.delete(transfer.id)
    this.#damagedChunks += transfer.damagedChunks
  }

  #newId(direction: TransferDirection): string {
    return `${direction}-${++this.#lastId}`
  }

  #onPassiveEnded(transfer: PassiveTransfer, { path, bytes, failure }: PassiveOutcome): void {
    const { id, direction, peer, session, damagedChunks } = transfer
    this.#remove(transfer)
    const about = { transfer: id, file: printable(path || session.name), peer, bytes, damagedChunks }
    if (path) this.#count(direction, bytes)
    if (failure) this.#config.log.warn({ ...about, error: briefly(failure) }, `${direction} failed`)
    else this.#config.log.info(about, DONE[direction])
  }

  #count(direction: TransferDirection, bytes: number): void {
    if (direction === 'send' || direction === 'serve') this.sentBytes += bytes
    else this.receivedBytes += bytes
  }

  #tick(): void {
    const now = this.#config.time.now()
    for (const transfer of this.#transfers.values()) {
      transfer.tick(now)
      this.#gauges.tick(now, transfer)
    }
    if (this.#transfers.size > 0) this.#config.time.wake()
  }
}

interface PassiveWish {
  direction: 'receive' | 'serve'
  isTree: boolean
}

/** What the connecting end wants, from its private data. Throws WEIR_REJECTED for what is not known here. */
function wishOf({ privateData }: ConnectionRequest): PassiveWish {
  const [first, ...more] = privateData
  if (first === undefined) return { direction: 'receive', isTree: false }
  if (more.length === 0 && first === GET_PRIVATE_DATA[0]) return { direction: 'serve', isTree: false }
  if (more.length === 0 && first === TREE_PRIVATE_DATA[0]) return { direction: 'receive', isTree: true }
  if (more.length === 0 && first === FETCH_PRIVATE_DATA[0]) return { direction: 'serve', isTree: true }
  throw new WeirError('WEIR_REJECTED', 'this daemon does not know such transfers')
}

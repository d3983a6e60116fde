/**
 * All transfers of one daemon: accepts incoming ones, starts outgoing ones, bounds how many run, lists and
 * cancels them.
 */
import { basename } from 'node:path'
import { WeirError } from '../errors.js'
import type { Logger } from '../log.js'
import type { ConnectionHandler, ConnectionRequest, Listener, Verbs } from '../nic/types.js'
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/address.js'
import type { ActiveSession, TransferOutcome } from './active-session.js'
import { Arrivals } from './arrivals.js'
import { checkRing } from './chunk-plan.js'
import { createDigest, type Digest } from './digest.js'
import { DownloadFolder } from './download-folder.js'
import type { FileStore, SharedFiles } from './file.js'
import { openSource } from './file-source.js'
import { GetSession } from './get-session.js'
import { GET_PRIVATE_DATA, TRANSFER_PORT } from './messages.js'
import { checkName } from './names.js'
import type { PassiveOutcome, PassiveSession } from './passive-session.js'
import type { RealTime } from './real-time.js'
import { ReceiveSession } from './receive-session.js'
import { isLoopback, resolveHost } from './resolve.js'
import { RingPool } from './ring-pool.js'
import { SendSession } from './send-session.js'
import { ServeSession } from './serve-session.js'
import { NOTHING_SHARED } from './share.js'

/** How often sessions look after their deadlines. */
const TICK_MS = 500

export interface TransferServiceConfig {
  verbs: Verbs
  time: RealTime
  /** Where files go that are sent to this host. */
  store: FileStore
  /** What other hosts may get. Default: nothing. */
  share?: SharedFiles
  /** Shared with `store`, when both write to one folder. */
  arrivals?: Arrivals
  log: Logger
  /** Bytes of a chunk. Default 1 MiB. */
  chunkBytes?: number
  /** Chunks of a transfer in memory at each end. Default 8. */
  slots?: number
  /** Files of each direction at a time. Default 8. */
  transfersMax?: number
}

interface ActiveOptions {
  /** Name or address of the other end. */
  host: string
  overwrite?: boolean
  /** 'xxh64' or 'sha256'. Default xxh64. */
  digest?: string
}

export interface SendOptions extends ActiveOptions {
  /** Absolute path. */
  path: string
  /** Folder in the receiver's inbox. Default '': the inbox itself. */
  directory?: string
  /** Name there. Default: the file's. */
  name?: string
}

export interface GetOptions extends ActiveOptions {
  /** Relative to what the host shares. */
  path: string
  /** Absolute path of the folder that the file goes to. */
  directory: string
  /** Name there. Default: the file's. */
  name?: string
}

export type Direction = 'send' | 'receive' | 'get' | 'serve'

/** One transfer that is under way. */
export interface Transfer {
  readonly id: string
  readonly direction: Direction
  readonly peer: string
  readonly session: ActiveSession | PassiveSession
}

/** How the log speaks of what has ended. */
const DONE: Readonly<Record<Direction, string>> = {
  send: 'sent',
  receive: 'received',
  get: 'fetched',
  serve: 'served',
}

export class TransferService implements Listener {
  readonly #config: Required<TransferServiceConfig>
  readonly #rings: Readonly<Record<Direction, RingPool>>
  readonly #transfers = new Map<string, Transfer>()
  #timer: NodeJS.Timeout | null = null
  #lastId = 0
  #closing = false
  /** Bytes of files that were delivered since the start, in each direction. */
  sentBytes = 0
  receivedBytes = 0

  constructor(config: TransferServiceConfig) {
    const defaults = { chunkBytes: 1 << 20, slots: 8, transfersMax: 8, share: NOTHING_SHARED }
    this.#config = { ...defaults, arrivals: new Arrivals(), ...config }
    const { chunkBytes, slots, transfersMax } = this.#config
    try {
      checkRing(chunkBytes, slots)
    } catch (error) {
      throw new WeirError('WEIR_BAD_ARGUMENT', (error as Error).message)
    }
    const pool = () => new RingPool(chunkBytes * slots, transfersMax)
    this.#rings = { send: pool(), receive: pool(), get: pool(), serve: pool() }
  }

  /** Transfers under way, oldest first. */
  get transfers(): Iterable<Transfer> {
    return this.#transfers.values()
  }

  get count(): number {
    return this.#transfers.size
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
  async send(
    options: SendOptions,
    signal: AbortSignal,
    onStarted: (t: Transfer) => void,
  ): Promise<TransferOutcome> {
    const { host, path, name = '', directory = '', overwrite = false } = options
    const digest = await digestFor(options)
    const remote = await resolveHost(host, this.#config.verbs.address)
    const source = await openSource(path)
    let session: SendSession
    try {
      this.#checkOpen(signal)
      const file = { source, digest, name: name || basename(path), directory, overwrite }
      session = new SendSession({ ...this.#common('send'), remote, peer: host, ...file })
    } catch (error) {
      await source.close()
      throw error
    }
    return await this.#run('send', session, remote, host, signal, onStarted)
  }

  /** Gets a file of another host, in the same manner. */
  async get(
    options: GetOptions,
    signal: AbortSignal,
    onStarted: (t: Transfer) => void,
  ): Promise<TransferOutcome> {
    const { host, path, directory, overwrite = false } = options
    const { verbs, arrivals, chunkBytes } = this.#config
    const name = options.name || basename(path)
    checkName(name)
    const { kind: digestKind } = await digestFor(options)
    const remote = await resolveHost(host, verbs.address)
    const store = await DownloadFolder.at(directory, arrivals)
    this.#checkOpen(signal)
    const file = { store, path, name, digestKind, overwrite, chunkBytes }
    const session = new GetSession({ ...this.#common('get'), remote, peer: host, ...file })
    return await this.#run('get', session, remote, host, signal, onStarted)
  }

  accept(_now: Nanos, request: ConnectionRequest): ConnectionHandler {
    if (this.#closing) throw new WeirError('WEIR_REJECTED', 'the daemon is shutting down')
    const direction = wantsToGet(request) ? 'serve' : 'receive'
    // A few more than can run: those are told why, by a Refuse.
    let running = 0
    for (const transfer of this.#transfers.values()) if (transfer.direction === direction) running++
    if (running >= 2 * this.#config.transfersMax)
      throw new WeirError('WEIR_FULL', 'too many transfers run here')
    const session = this.#passive(direction)
    const transfer = this.#add(direction, request.remote.toString(), session)
    this.#config.log.debug({ transfer: transfer.id, from: transfer.peer }, 'connection accepted')
    void session.outcome.then(outcome => this.#onPassiveEnded(transfer, outcome))
    return session
  }

  /** Ends a transfer of any direction; false if there is none of that id. */
  cancel(id: string): boolean {
    const transfer = this.#transfers.get(id)
    if (!transfer) return false
    transfer.session.cancel('the transfer was cancelled')
    return true
  }

  /**
   * Interrupts all transfers at both ends, and accepts no more. Resolves when all have ended, or after `withinMs`.
   */
  async close(withinMs: number): Promise<void> {
    this.#closing = true
    this.#config.verbs.unlisten(TRANSFER_PORT)
    const ends = [...this.#transfers.values()].map(transfer => {
      transfer.session.interrupt('the daemon is shutting down')
      const ended: Promise<unknown> = transfer.session.outcome
      return ended.catch(() => {})
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, withinMs)
    })
    await Promise.race([Promise.all(ends), late])
    clearTimeout(timer)
    if (this.#timer) clearInterval(this.#timer)
  }

  #common(direction: Direction) {
    const { verbs, time } = this.#config
    return { verbs, time, rings: this.#rings[direction] }
  }

  #checkOpen(signal: AbortSignal): void {
    if (signal.aborted) throw new WeirError('WEIR_CANCELLED', 'cancelled')
    if (this.#closing) throw new WeirError('WEIR_BAD_STATE', 'the daemon is shutting down')
  }

  async #run(
    direction: 'send' | 'get',
    session: ActiveSession,
    remote: HostAddress,
    host: string,
    signal: AbortSignal,
    onStarted: (t: Transfer) => void,
  ): Promise<TransferOutcome> {
    const { log } = this.#config
    const transfer = this.#add(direction, host, session)
    const { id } = transfer
    const onAbort = () => session.cancel(`the transfer of ${session.name} was cancelled`)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      session.start()
      onStarted(transfer)
      const outcome = await session.outcome
      this.#count(direction, outcome.bytes)
      log.info({ transfer: id, file: session.name, peer: host, bytes: outcome.bytes }, DONE[direction])
      return outcome
    } catch (error) {
      const about = { transfer: id, file: session.name, peer: host, error: briefly(error) }
      log.warn(about, `${direction} failed`)
      throw this.#explain(error, remote, session.deliveredBytes > 0)
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#transfers.delete(id)
    }
  }

  #passive(direction: 'receive' | 'serve'): PassiveSession {
    const { store, share, chunkBytes, slots } = this.#config
    const common = this.#common(direction)
    if (direction === 'serve') return new ServeSession({ ...common, files: share })
    return new ReceiveSession({ ...common, store, chunkBytes, slots })
  }

  #add(direction: Direction, peer: string, session: ActiveSession | PassiveSession): Transfer {
    const transfer: Transfer = { id: `${direction}-${++this.#lastId}`, direction, peer, session }
    this.#transfers.set(transfer.id, transfer)
    return transfer
  }

  #onPassiveEnded(transfer: Transfer, { path, bytes, failure }: PassiveOutcome): void {
    const { id, direction, peer, session } = transfer
    this.#transfers.delete(id)
    const about = { transfer: id, file: path || session.name, peer, bytes }
    if (path) this.#count(direction, bytes)
    if (failure) this.#config.log.warn({ ...about, error: briefly(failure) }, `${direction} failed`)
    else this.#config.log.info(about, DONE[direction])
  }

  #count(direction: Direction, bytes: number): void {
    if (direction === 'send' || direction === 'serve') this.sentBytes += bytes
    else this.receivedBytes += bytes
  }

  #tick(): void {
    const now = this.#config.time.now()
    for (const { session } of this.#transfers.values()) session.tick(now)
    if (this.#transfers.size > 0) this.#config.time.wake()
  }

  /** Says how to mend what a user can. */
  #explain(error: unknown, remote: HostAddress, someArrived: boolean): unknown {
    if (!(error instanceof WeirError)) return error
    const local = this.#config.verbs.address
    let advice = ''
    // A daemon on loopback reaches nobody else: the most likely reason deserves a word.
    if (error.code === 'WEIR_UNREACHABLE' && isLoopback(local) && !isLoopback(remote))
      advice = `this daemon has the address ${local} only; start it with --address of an interface`
    else if (error.code === 'WEIR_CONNECTION_LOST' && someArrived)
      advice = 'start the transfer again, it goes on where it stopped'
    return advice === '' ? error : new WeirError(error.code, `${error.message}: ${advice}`, { cause: error })
  }
}

/** What the connecting end wants, from its private data. Throws WEIR_REJECTED for what is not known here. */
function wantsToGet({ privateData }: ConnectionRequest): boolean {
  if (privateData.length === 0) return false
  if (privateData.length === 1 && privateData[0] === GET_PRIVATE_DATA[0]) return true
  throw new WeirError('WEIR_REJECTED', 'this daemon does not know such transfers')
}

/** The digest of a request. Throws WEIR_BAD_ARGUMENT for one that is not known. */
async function digestFor({ digest = '' }: ActiveOptions): Promise<Digest> {
  return await createDigest((digest || 'xxh64').toUpperCase()).catch(error => {
    throw new WeirError('WEIR_BAD_ARGUMENT', (error as Error).message)
  })
}

function briefly(error: unknown): object {
  const { code, message } = error as WeirError
  return { code, message }
}

/**
 * A client of perftest, from its first message to its last. The listening end follows: it answers each message of keys by its own, each figure
 * by a zero, and does with the data what its test is about. So it need not know how often this version's client exchanges what.
 */
import { WeirError } from '../../errors.js'
import type { Host } from '../../host/host.js'
import type { HostConnection } from '../../host/host-connection.js'
import type { HostQueuePair } from '../../host/host-queue-pair.js'
import type { HostSharedReceiveQueue } from '../../host/host-shared-receive-queue.js'
import type { HostUnreliable } from '../../host/host-unreliable.js'
import type { DomainId } from '../../qp/memory/memory.js'
import type { Client } from '../client-places.js'
import { type Agreed, shakeHands } from './hand-shake.js'
import type { MessageExchange } from './message-exchange.js'
import { FIGURE_BYTES, figuresOf, type Keys, type Report, readFigures } from './messages.js'
import {
  hostOf,
  keysOf,
  makePair,
  packetsInVain,
  shareReceives,
  type TestEnd,
  TestMemory,
} from './queue-pairs.js'
import { type Measured, reportOf, stream } from './requester.js'
import { answerWrites, takeSends } from './responder.js'
import { type PerftestOp, type PerftestService, ROUNDS_THROUGH, TESTS, type TestName } from './tests.js'
import { UnknownTest } from './unknown-test.js'

/** Queue pairs of one client. */
const QUEUE_PAIRS_MAX = 16
/** A client that has had its last keys begins after this time at the latest. */
const SETTLED_MS = 20
/** A connection is heard of by another way than its client's keys, so it may come after them by so much. */
const CONNECTION_LATE_MS = 10_000
const FIGURES = 5
/** Messages of this end in flight on each queue pair, as perftest's. */
const DEPTH = 128
/** SENDs that may arrive before this end has looked: as many as its queue of receives has places. */
const RECEIVES = 128
/** Messages that a client may send after its first: no test has as many. */
const MESSAGES_MAX = 1000

/** What the listening end measures: as the client's program. */
export interface Listens {
  /** `'any'`: all tests and operations, as the client turns out to run them, one way. */
  test: TestName | 'any'
  op: PerftestOp
  /** Bytes of a message: of ib_write_lat exactly, else the most. */
  size: number
  /** Service of the queue pairs that a client makes without the connection manager (-c). */
  service?: PerftestService
  /**
   * The queue pairs of a client take their receives from one queue (--use-srq). With the connection manager each has its own: a listener's
   * connections are of several clients.
   */
  sharesReceives?: boolean
  /** This end sends as well (-b): so many messages on each queue pair, of that size. */
  sends?: { iterations: number; size: number }
}

/** How a client has left. */
export interface Left {
  remote: string
  /** Null: it left before. */
  version: string | null
  /** There was no place for it. */
  isTurnedAway: boolean
  /** What it has said of its bandwidth. */
  report: Report | null
  /** Null: its test is through, as far as a client shows that. */
  error: Error | null
}

/** What a session needs of the server. */
interface SessionOptions extends Listens {
  host: Host
  exchange: MessageExchange
  /** The connection manager carries its messages (-R, -z). */
  byManager: boolean
  domain: DomainId
}

export class Session implements Client {
  readonly remote: string
  heardMs = performance.now()
  readonly #options: SessionOptions
  readonly #pairs = new Map<number, HostQueuePair | HostQueuePair<HostUnreliable>>()
  readonly #connections: TestEnd[] = []
  /** What the client has said of its queue pairs, by their numbers. */
  readonly #theirs = new Map<number, Keys>()
  /** What this end has measured, where it sends as well. */
  #measured: Promise<Measured> | null = null
  #memory: TestMemory | null = null
  #shared: HostSharedReceiveQueue | null = null
  #agreed: Agreed | null = null
  #keys: Keys | null = null
  /** Keys have come a second time: those of all queue pairs are here. */
  #hasAllKeys = false
  /** Rounds of keys of the first queue pair, and what its client does where nobody knows it. */
  #rounds = 0
  #unknown: UnknownTest | null = null
  /** Runs out once the client has had its last keys: this end of ib_write_lat begins then. */
  #settling: NodeJS.Timeout | undefined
  #writes = false
  #writesAnswered = 0
  /** The connection manager makes its queue pairs (-R): null until its first keys, which are zeros then. With -z it carries the messages alone. */
  #hasConnections: boolean | null = null
  /** Why a queue pair of the client has ended by itself. */
  #broken: Error | null = null
  /** Called with each connection that is taken. */
  #onTaken = (): void => {}
  #isOver = false
  #whyEnded: WeirError | null = null
  readonly #ended = new AbortController()

  constructor(options: SessionOptions) {
    this.#options = options
    this.remote = options.exchange.remote
  }

  /** A connection of the connection manager is for a client's data between its first messages and the last one that it has keys for. */
  get awaitsConnection(): boolean {
    if (!this.#options.byManager || this.#agreed === null || this.#isOver) return false
    if (this.#hasConnections === false) return false
    return this.#keys === null || this.#lacksConnections
  }

  /** Takes a connection for the data. */
  take(connection: HostConnection): void {
    if (this.#connections.length === QUEUE_PAIRS_MAX) void connection.disconnect()
    else this.#begin(connection)
    this.#onTaken()
  }

  /** Ends the session: its client has been silent, and another one comes. */
  giveUp(why: WeirError): void {
    this.#whyEnded = why
    void this.#options.exchange.close()
  }

  /** Serves the client until it has left. Never throws: what was wrong is in what it returns. */
  async serve(): Promise<Left> {
    const left: Left = { remote: this.remote, version: null, isTurnedAway: false, report: null, error: null }
    let hasSaidDone = false
    try {
      const { exchange, host, domain, size, sharesReceives = false, byManager } = this.#options
      this.#memory = await TestMemory.open(host, size, domain)
      if (sharesReceives && !byManager)
        this.#shared = await shareReceives(host, RECEIVES * QUEUE_PAIRS_MAX, domain)
      this.#agreed = await shakeHands(exchange, false, host.about.plainPathMtu)
      left.version = this.#agreed.version
      hasSaidDone = await this.#follow(left)
    } catch (error) {
      left.error = error as Error
    }
    left.error = this.#whyEnded ?? (await this.#misfit()) ?? this.#outcome(left.error, hasSaidDone)
    await this.#end()
    return left
  }

  /** Until the client leaves. Returns whether it has said that it is done. */
  async #follow(left: Left): Promise<boolean> {
    const { exchange } = this.#options
    const figures: Uint8Array[] = []
    for (let count = 0; count < MESSAGES_MAX; count++) {
      this.heardMs = performance.now()
      const next = await exchange.readNext()
      if (next === null || next === 'done') return next === 'done'
      if ('figure' in next) {
        const mine = await this.#figures()
        await exchange.write(mine[figures.length]!)
        figures.push(next.figure)
        if (figures.length === FIGURES) left.report = readFigures(figures.splice(0))
        continue
      }
      // No answer to a client whose data have not arrived: its program fails with the exchange.
      const misfit = await this.#misfit()
      if (misfit !== null) throw misfit
      await exchange.writeKeys(await this.#answerTo(next.keys))
    }
    throw new WeirError(
      'WEIR_PROTOCOL',
      `${this.remote} has sent ${MESSAGES_MAX} messages, more than any test has`,
    )
  }

  /**
   * A client whose test has failed, or that was ended, leaves as one that is through. One that is through has exchanged keys after its data, and by
   * TCP it has said that it is done. ib_write_lat does neither: that it has answered at all is what shows of it.
   */
  #isThrough(hasSaidDone: boolean): boolean {
    if (this.#writesAnswered + (this.#unknown?.writesAnswered ?? 0) > 0) return this.#broken === null
    return this.#rounds >= ROUNDS_THROUGH && (hasSaidDone || this.#options.byManager)
  }

  /** @param error what ended the session. One that is through may be gone before this end's last packets arrive. */
  #outcome(error: Error | null, hasSaidDone: boolean): Error | null {
    if (this.#isThrough(hasSaidDone)) return isLoss(error) ? null : error
    const text = `${this.remote} has left before its test was through`
    return error ?? this.#broken ?? new WeirError('WEIR_CONNECTION_LOST', text)
  }

  /**
   * Its queue pairs are of another service than this end's: no client says its service, and a queue pair drops what is of another one (IBA 9.6.1)
   * in silence. Null: as far as is known they fit.
   */
  async #misfit(): Promise<WeirError | null> {
    const packets = await packetsInVain(this.#connections)
    if (packets === 0) return null
    const { service = 'RC' } = this.#options
    const what = packets === 1 ? '1 packet' : `${packets} packets`
    return new WeirError(
      'WEIR_PROTOCOL',
      `${this.remote} has sent ${what} of another service than ${service}, which this end dropped: both ends need the same (perftest -c, weir perf --connection)`,
    )
  }

  /** Zeros of an end that sends nothing. */
  async #figures(): Promise<Uint8Array[]> {
    const { sends } = this.#options
    // The client may be done before this end has begun.
    this.#stream()
    if (this.#measured === null || sends === undefined)
      return Array.from({ length: FIGURES }, () => new Uint8Array(FIGURE_BYTES))
    return figuresOf(reportOf(await this.#measured, sends.size))
  }

  /** New keys are of a new queue pair, except with -R; known ones mean that the client waits for this end. */
  async #answerTo(keys: Keys): Promise<Keys> {
    const { host, byManager } = this.#options
    this.#hasConnections ??= byManager && keys.qpn === 0
    const pair = this.#hasConnections ? { qpn: 0, psn: 0 } : await this.#pairFor(keys)
    if (keys.qpn !== 0) {
      this.#keys = keys
      if (this.#theirs.has(keys.qpn)) this.#hasAllKeys = true
      this.#theirs.set(keys.qpn, keys)
      if (this.#hasConnections) await this.#allConnections()
    }
    if (keys.qpn !== 0 && keys.qpn === [...this.#theirs.keys()][0]) {
      this.#rounds++
      this.#unknown?.onKeys(this.#rounds, keys)
    }
    this.#settle()
    return keysOf(host, this.#memory!, pair)
  }

  get #lacksConnections(): boolean {
    return this.#connections.length < Math.min(this.#theirs.size, QUEUE_PAIRS_MAX)
  }

  /** Waits until there is a connection for each queue pair that the client has sent keys of. */
  async #allConnections(): Promise<void> {
    if (!this.#lacksConnections) return
    let timer: NodeJS.Timeout | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        this.#onTaken = () => {
          if (!this.#lacksConnections) resolve()
        }
        const why = `${this.remote} has sent keys of ${this.#theirs.size} queue pairs and has made ${this.#connections.length} connections`
        timer = setTimeout(() => reject(new WeirError('WEIR_PROTOCOL', why)), CONNECTION_LATE_MS)
      })
    } finally {
      clearTimeout(timer)
      this.#onTaken = () => {}
    }
  }

  async #pairFor(keys: Keys): Promise<{ qpn: number; psn: number }> {
    const known = this.#pairs.get(keys.qpn)
    if (known !== undefined) return known
    if (this.#pairs.size === QUEUE_PAIRS_MAX)
      throw new WeirError(
        'WEIR_FULL',
        `${this.remote} wants more than ${QUEUE_PAIRS_MAX} queue pairs: perftest -q`,
      )
    const { host, domain, service = 'RC' } = this.#options
    const { pathMtu } = this.#agreed!
    const shares = this.#shared === null ? {} : { sharedReceiveQueue: this.#shared }
    const pair = await makePair(host, hostOf(host, keys), service, { ...shares, domain, pathMtu })
    this.#pairs.set(keys.qpn, pair)
    this.#begin(await pair.connect({ qpn: keys.qpn, psn: keys.psn }))
    return pair
  }

  #begin(connection: TestEnd): void {
    const { test, op, sends } = this.#options
    const memory = this.#memory!
    this.#connections.push(connection)
    void connection.closed.then(error => {
      this.#broken ??= error
    })
    const receives = this.#shared ?? connection
    for (const receive of memory.receives(RECEIVES)) receives.postReceive(receive)
    if (test === 'any') {
      const unknown = new UnknownTest(connection, memory)
      this.#unknown ??= unknown
      void unknown.serve(() => this.#connections.length === 1)
    } else if ((test !== 'lat' || op !== 'write') && sends === undefined)
      void takeSends(connection, receives, memory, test === 'lat')
  }

  /** What this end does by itself begins once the client has had its last keys. */
  #settle(): void {
    const { test, op, sends } = this.#options
    const begins = test === 'lat' && op === 'write' ? () => this.#answerWrites() : () => this.#stream()
    if ((test !== 'lat' || op !== 'write') && sends === undefined) return
    clearTimeout(this.#settling)
    this.#settling = setTimeout(begins, SETTLED_MS)
  }

  #answerWrites(): void {
    const [connection] = this.#connections
    const keys = this.#keys
    if (this.#writes || connection === undefined || keys === null) return
    this.#writes = true
    const ended = () => this.#isOver
    const onAnswer = () => {
      this.#writesAnswered++
    }
    void answerWrites(connection, this.#memory!, keys, this.#options.size, ended, onAnswer)
  }

  /** The other way of -b. The client's numbers are in the order of its connections. */
  #stream(): void {
    const { test, op, sends } = this.#options
    const theirs = [...this.#theirs.values()]
    if (test === 'any' || sends === undefined || this.#measured !== null || !this.#hasAllKeys) return
    if (theirs.length !== this.#connections.length) return
    this.#measured = stream({
      ...sends,
      opcode: TESTS[test][op].opcode,
      pairs: this.#connections.map((connection, i) => {
        const { address, rkey, outReads } = theirs[i]!
        return { connection, receives: this.#shared ?? connection, remoteAddress: address, rkey, outReads }
      }),
      memory: this.#memory!,
      durationNs: 0,
      depth: DEPTH,
      takes: op === 'send',
      signal: this.#ended.signal,
    })
    // It is awaited with the client's report, which may never come.
    this.#measured.catch(() => {})
  }

  async #end(): Promise<void> {
    this.#isOver = true
    this.#ended.abort()
    clearTimeout(this.#settling)
    const { exchange, host } = this.#options
    try {
      await exchange.close()
      await Promise.all(this.#connections.map(connection => connection.disconnect()))
      await this.#shared?.close()
      if (this.#memory !== null) await host.deregister(this.#memory.region)
    } catch {
      // The host is closed, and with it everything that this end had.
    }
  }
}

function isLoss(error: Error | null): boolean {
  return error instanceof WeirError && error.code === 'WEIR_CONNECTION_LOST'
}

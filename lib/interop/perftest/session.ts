/**
 * A client of perftest, from its first message to its last. The listening end follows: it answers each message of keys by its own, each figure
 * by a zero, and does with the data what its test is about. So it need not know how often this version's client exchanges what.
 */
import { WeirError } from '../../errors.js'
import type { Host } from '../../host/host.js'
import type { HostConnection } from '../../host/host-connection.js'
import type { HostQueuePair } from '../../host/host-queue-pair.js'
import type { HostUnreliable } from '../../host/host-unreliable.js'
import type { DomainId } from '../../qp/memory/memory.js'
import type { Client } from '../client-places.js'
import { type Agreed, shakeHands } from './hand-shake.js'
import type { MessageExchange } from './message-exchange.js'
import { FIGURE_BYTES, figuresOf, type Keys, type Report, readFigures } from './messages.js'
import { hostOf, keysOf, makePair, type TestEnd, TestMemory } from './queue-pairs.js'
import { type Measured, reportOf, stream } from './requester.js'
import { answerWrites, takeSends } from './responder.js'
import { type PerftestOp, type PerftestService, TESTS, type TestName } from './tests.js'

/** Queue pairs of one client. */
const QUEUE_PAIRS_MAX = 16
/** A client that has had its last keys begins after this time at the latest. */
const SETTLED_MS = 20
const FIGURES = 5
/** Messages of this end in flight on each queue pair, as perftest's. */
const DEPTH = 128
/** SENDs that may arrive before this end has looked: as many as its queue of receives has places. */
const RECEIVES = 128
/** Messages that a client may send after its first: no test has as many. */
const MESSAGES_MAX = 1000

/** What the listening end measures: as the client's program. */
export interface Listens {
  test: TestName
  op: PerftestOp
  /** Bytes of a message: of ib_write_lat exactly, else the most. */
  size: number
  /** Service of the queue pairs that a client makes without the connection manager (-c). */
  service?: PerftestService
  /** This end sends as well (-b): so many messages on each queue pair, of that size. */
  sends?: { iterations: number; size: number }
}

/** How a client has left. */
export interface Left {
  remote: string
  /** Null: it left before. */
  version: string | null
  /** What it has said of its bandwidth. */
  report: Report | null
  error: Error | null
}

/** What a session needs of the server. */
interface SessionOptions extends Listens {
  host: Host
  exchange: MessageExchange
  /** The client has its queue pairs from the connection manager (-R). */
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
  #agreed: Agreed | null = null
  #keys: Keys | null = null
  /** Runs out once the client has had its last keys: this end of ib_write_lat begins then. */
  #settling: NodeJS.Timeout | undefined
  #writes = false
  #isOver = false
  #whyEnded: WeirError | null = null
  readonly #ended = new AbortController()

  constructor(options: SessionOptions) {
    this.#options = options
    this.remote = options.exchange.remote
  }

  /** A connection of the connection manager is for a client's data between its first messages and its first keys. */
  get awaitsConnection(): boolean {
    return this.#options.byManager && this.#agreed !== null && this.#keys === null && !this.#isOver
  }

  /** Takes a connection for the data. */
  take(connection: HostConnection): void {
    if (this.#connections.length === QUEUE_PAIRS_MAX) void connection.disconnect()
    else this.#begin(connection)
  }

  /** Ends the session: its client has been silent, and another one comes. */
  giveUp(why: WeirError): void {
    this.#whyEnded = why
    void this.#options.exchange.close()
  }

  /** Serves the client until it has left. Never throws: what was wrong is in what it returns. */
  async serve(): Promise<Left> {
    const left: Left = { remote: this.remote, version: null, report: null, error: null }
    try {
      const { exchange, host, domain, size } = this.#options
      this.#memory = await TestMemory.open(host, size, domain)
      this.#agreed = await shakeHands(exchange, false, host.about.pathMtu)
      left.version = this.#agreed.version
      await this.#follow(left)
    } catch (error) {
      left.error = error as Error
    }
    left.error = this.#whyEnded ?? left.error
    await this.#end()
    return left
  }

  async #follow(left: Left): Promise<void> {
    const { exchange } = this.#options
    const figures: Uint8Array[] = []
    for (let count = 0; count < MESSAGES_MAX; count++) {
      this.heardMs = performance.now()
      const next = await exchange.readNext()
      if (next === null) return
      if ('figure' in next) {
        const mine = await this.#figures()
        await exchange.write(mine[figures.length]!)
        figures.push(next.figure)
        if (figures.length === FIGURES) left.report = readFigures(figures.splice(0))
      } else await exchange.writeKeys(await this.#answerTo(next.keys))
    }
    throw new WeirError(
      'WEIR_PROTOCOL',
      `${this.remote} has sent ${MESSAGES_MAX} messages, more than any test has`,
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

  /** New keys are of a new queue pair, except with the connection manager; known ones mean that the client waits for this end. */
  async #answerTo(keys: Keys): Promise<Keys> {
    const { host, byManager } = this.#options
    const pair = byManager ? { qpn: 0, psn: 0 } : await this.#pairFor(keys)
    if (keys.qpn !== 0) {
      this.#keys = keys
      this.#theirs.set(keys.qpn, keys)
    }
    this.#settle()
    return keysOf(host, this.#memory!, pair)
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
    const pair = await makePair(host, hostOf(host, keys), service, { domain, pathMtu })
    this.#pairs.set(keys.qpn, pair)
    this.#begin(await pair.connect({ qpn: keys.qpn, psn: keys.psn }))
    return pair
  }

  #begin(connection: TestEnd): void {
    const { test, op, sends } = this.#options
    const memory = this.#memory!
    this.#connections.push(connection)
    for (const receive of memory.receives(RECEIVES)) connection.postReceive(receive)
    if ((test !== 'lat' || op !== 'write') && sends === undefined)
      void takeSends(connection, memory, test === 'lat')
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
    void answerWrites(connection, this.#memory!, keys, this.#options.size, () => this.#isOver)
  }

  /** The other way of -b. The client's numbers are in the order of its connections. */
  #stream(): void {
    const { test, op, sends } = this.#options
    const theirs = [...this.#theirs.values()]
    if (sends === undefined || this.#measured !== null || theirs.length === 0) return
    if (theirs.length !== this.#connections.length) return
    this.#measured = stream({
      ...sends,
      opcode: TESTS[test][op].opcode,
      pairs: this.#connections.map((connection, i) => {
        const { address, rkey, outReads } = theirs[i]!
        return { connection, remoteAddress: address, rkey, outReads }
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
      if (this.#memory !== null) await host.deregister(this.#memory.region)
    } catch {
      // The host is closed, and with it everything that this end had.
    }
  }
}

/** The connecting end of perftest's programs: agrees with a server of the same test, moves the data, tells what it has measured. */
import { connect as connectTcp, type Socket } from 'node:net'
import { WeirError } from '../../errors.js'
import type { Host } from '../../host/host.js'
import { HostConnection } from '../../host/host-connection.js'
import type { HostSharedReceiveQueue } from '../../host/host-shared-receive-queue.js'
import type { Nanos } from '../../time/nanos.js'
import { Conversation, MessageMemory } from '../conversation.js'
import { shakeHands } from './hand-shake.js'
import type { MessageExchange } from './message-exchange.js'
import { CYCLE_BUFFER, FIGURE_BYTES, figuresOf, type Keys, type Report, readFigures } from './messages.js'
import {
  connectPatiently,
  hostOf,
  keysOf,
  makePair,
  OUT_READS,
  shareReceives,
  type TestEnd,
  TestMemory,
} from './queue-pairs.js'
import { type Measured, pingPong, type Run, reportOf, roundTrips, stream } from './requester.js'
import { TcpExchange } from './tcp-exchange.js'
import {
  bothWays,
  type PerftestOp,
  type PerftestService,
  type PerftestTest,
  TESTS,
  type TestName,
} from './tests.js'
import { VerbsExchange } from './verbs-exchange.js'

export interface ClientOptions {
  test: TestName
  op: PerftestOp
  /** Port of TCP and of the connection manager. */
  port: number
  /** The connection manager makes the queue pairs and carries the messages (-R). */
  byManager: boolean
  /** Service of the queue pairs (-c). The connection manager makes reliable ones. */
  service?: PerftestService
  /** The server sends as well (-b). `iterations` counts for both. */
  bidirectional?: boolean
  /** The queue pairs take their receives from one queue (--use-srq). */
  sharesReceives?: boolean
  size: number
  /** Messages of each queue pair; 0: until `durationNs` is over. */
  iterations: number
  durationNs: Nanos
  qps: number
  /** Messages in flight on each queue pair. */
  depth: number
  pathMtu?: number
  signal: AbortSignal
  onMeasuring?: () => void
}

/** What was measured, over what. */
export interface ClientResult extends Measured {
  version: string
  pathMtu: number
  /** The first queue pair's, before it was ended. Null: it is no reliable connection. */
  stats: Awaited<ReturnType<HostConnection['stats']>> | null
  /** What the server has measured, where both send. */
  remote: Report | null
}

/** A queue pair of the test, and what the server has said of it. */
interface Pair {
  connection: TestEnd
  mine: Keys
  theirs: Keys
}

/**
 * Throws WEIR_UNREACHABLE, WEIR_REJECTED, WEIR_PROTOCOL, WEIR_CONNECTION_LOST, and WEIR_CANCELLED after `signal`.
 *
 * @param remote a literal address
 */
export async function runClient(host: Host, remote: string, options: ClientOptions): Promise<ClientResult> {
  const { signal, byManager, port } = options
  const exchange = byManager
    ? await talkTo(host, remote, port, signal)
    : new TcpExchange(await dial(host.about.address, remote, port, signal), remote)
  const client = new Client(host, remote, exchange, options)
  const cancel = () => {
    void exchange.close()
    // The server ends its queue pairs without a word: these would go on until their retries or their keep-alive fail.
    client.end().catch(() => {})
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await client.run()
  } catch (error) {
    if (!signal.aborted) throw error
    throw cancelled(signal)
  } finally {
    signal.removeEventListener('abort', cancel)
    await exchange.close()
  }
}

class Client {
  readonly #host: Host
  readonly #remote: string
  readonly #exchange: MessageExchange
  readonly #options: ClientOptions
  readonly #test: PerftestTest
  readonly #pairs: Pair[] = []
  #shared: HostSharedReceiveQueue | null = null

  constructor(host: Host, remote: string, exchange: MessageExchange, options: ClientOptions) {
    this.#host = host
    this.#remote = remote
    this.#exchange = exchange
    this.#options = options
    const test = TESTS[options.test][options.op]
    this.#test = options.bidirectional ? bothWays(test) : test
  }

  async run(): Promise<ClientResult> {
    const { size, byManager, pathMtu, onMeasuring, qps, sharesReceives = false } = this.#options
    const domain = this.#host.newDomain()
    const memory = await TestMemory.open(this.#host, Math.max(size, CYCLE_BUFFER), domain)
    try {
      if (sharesReceives) this.#shared = await shareReceives(this.#host, qps * STREAM_RECEIVES, domain)
      const { plainPathMtu } = this.#host.about
      if (pathMtu !== undefined && pathMtu > plainPathMtu)
        throw new WeirError(
          'WEIR_BAD_ARGUMENT',
          `path MTU ${pathMtu}: packets of this host take ${plainPathMtu} at most`,
        )
      const wanted = pathMtu ?? plainPathMtu
      const agreed = await shakeHands(this.#exchange, true, wanted)
      if (byManager) await this.#connectPairs(memory, domain)
      else await this.#makePairs(memory, domain, agreed.pathMtu)
      onMeasuring?.()
      const measured = await this.#measure(memory)
      const { connection } = this.#pairs[0]!
      const stats = connection instanceof HostConnection ? await connection.stats() : null
      const remote = await this.#tell(measured)
      return { ...measured, ...agreed, pathMtu: connection.pathMtu, stats, remote }
    } finally {
      await this.end()
      await this.#shared?.close()
      await this.#host.deregister(memory.region)
    }
  }

  /** Ends the queue pairs, and so what waits for their work. */
  async end(): Promise<void> {
    await Promise.all(this.#pairs.map(({ connection }) => connection.disconnect()))
  }

  /** Without the connection manager: the keys are what the ends need to connect. */
  async #makePairs(memory: TestMemory, domain: number, pathMtu: number): Promise<void> {
    const { qps, service = 'RC' } = this.#options
    for (let i = 0; i < qps; i++) {
      const pair = await makePair(this.#host, this.#remote, service, { ...this.#shares(), domain, pathMtu })
      this.#postReceives(pair.connection, memory)
      const mine = this.#keysOf(memory, pair)
      this.#pairs.push({ connection: pair.connection, mine, theirs: mine })
      const theirs = await this.#swap(mine)
      this.#pairs[i]!.theirs = theirs
      if (hostOf(this.#host, theirs) !== this.#remote)
        throw new WeirError(
          'WEIR_PROTOCOL',
          `the queue pair of ${this.#remote} is at ${hostOf(this.#host, theirs)}: name that address, or let perftest use another GID (-x)`,
        )
      await pair.connect({ qpn: theirs.qpn, psn: theirs.psn })
    }
    await this.#synchronize()
  }

  /** With it: before and after they connect, the ends wait for each other by keys of zeros. */
  async #connectPairs(memory: TestMemory, domain: number): Promise<void> {
    const { qps, port, pathMtu, signal } = this.#options
    const none = { outReads: 0, qpn: 0, psn: 0, rkey: 0, address: 0, gid: new Uint8Array(16) }
    await this.#swap(none)
    const options = { ...this.#shares(), domain, signal, ...(pathMtu && { pathMtu }) }
    for (let i = 0; i < qps; i++) {
      const connection = await connectPatiently(() => this.#host.connect(this.#remote, port, options))
      // The server sends only after this end's keys.
      this.#postReceives(connection, memory)
      // Only key and address count; the number has to differ from 0 and from the others'.
      const mine = this.#keysOf(memory, { qpn: i + 1, psn: 0 })
      this.#pairs.push({ connection, mine, theirs: mine })
    }
    await this.#swap(none)
    for (const pair of this.#pairs) pair.theirs = await this.#swap(pair.mine)
    await this.#synchronize()
  }

  /** The rounds after the first, in which the ends have learned what they need: they wait for each other. */
  async #synchronize(): Promise<void> {
    for (const whose of this.#test.keysBefore.slice(1))
      for (const { mine } of whose === 'all' ? this.#pairs : this.#pairs.slice(0, 1)) await this.#swap(mine)
  }

  /** As perftest: a client that neither READs nor does atomics says that it has one outstanding. One that SENDs has no key for the server. */
  #keysOf(memory: TestMemory, pair: { qpn: number; psn: number }): Keys {
    const { op } = this.#options
    const keys = keysOf(this.#host, memory, pair, op === 'read' || op === 'atomic' ? OUT_READS : 1)
    return op === 'send' ? { ...keys, rkey: 0 } : keys
  }

  #shares(): { sharedReceiveQueue?: HostSharedReceiveQueue } {
    return this.#shared === null ? {} : { sharedReceiveQueue: this.#shared }
  }

  #postReceives(connection: TestEnd, memory: TestMemory): void {
    const { test, op, bidirectional } = this.#options
    if (op !== 'send' || (test === 'bw' && !bidirectional)) return
    const count = bidirectional ? STREAM_RECEIVES : RECEIVES
    for (const receive of memory.receives(count)) (this.#shared ?? connection).postReceive(receive)
  }

  async #swap(mine: Keys): Promise<Keys> {
    await this.#exchange.writeKeys(mine)
    return await this.#exchange.readKeys()
  }

  async #measure(memory: TestMemory): Promise<Measured> {
    const { test, op, signal, bidirectional = false, ...settings } = this.#options
    const run: Run = {
      ...settings,
      memory,
      signal,
      takes: bidirectional && op === 'send',
      opcode: this.#test.opcode,
      pairs: this.#pairs.map(({ connection, theirs }) => ({
        connection,
        receives: this.#shared ?? connection,
        remoteAddress: theirs.address,
        rkey: theirs.rkey,
        outReads: theirs.outReads,
      })),
    }
    if (test === 'bw') return await stream(run)
    return op === 'read' || op === 'atomic' ? await roundTrips(run) : await pingPong(run)
  }

  async #tell(measured: Measured): Promise<Report | null> {
    const { keysAfter, reports } = this.#test
    let theirs: Report | null = null
    for (let i = 0; i < keysAfter; i++) {
      // The report is between the first and the last.
      if (reports && i === keysAfter - 1) theirs = await this.#report(measured)
      await this.#swap(this.#pairs[0]!.mine)
    }
    return this.#options.bidirectional ? theirs : null
  }

  async #report(measured: Measured): Promise<Report> {
    const theirs: Uint8Array[] = []
    for (const figure of figuresOf(reportOf(measured, this.#options.size))) {
      await this.#exchange.write(figure)
      theirs.push(await this.#exchange.read(FIGURE_BYTES))
    }
    return readFigures(theirs)
  }
}

/** Answers that may arrive before this end has looked. */
const RECEIVES = 16
/** SENDs that may, where both ends send. */
const STREAM_RECEIVES = 128

async function talkTo(host: Host, remote: string, port: number, signal: AbortSignal): Promise<VerbsExchange> {
  const memory = await MessageMemory.open(host)
  const { receives } = memory
  const connection = await host.connect(remote, port, { receives, signal })
  return new VerbsExchange(new Conversation(connection, memory))
}

async function dial(
  localAddress: string,
  remote: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  // A socket whose signal is aborted already would connect all the same, and keep the process.
  if (signal.aborted) throw cancelled(signal)
  const socket = connectTcp({ host: remote, port, localAddress, signal })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', cause => {
      const { code } = cause as NodeJS.ErrnoException
      const text = `${remote} does not answer at TCP port ${port} (${code}): is a server of perftest running there? With -R it needs --rdma-cm here`
      reject(signal.aborted ? cancelled(signal) : new WeirError('WEIR_UNREACHABLE', text, { cause }))
    })
  })
  socket.removeAllListeners('error')
  return socket
}

function cancelled(signal: AbortSignal): WeirError {
  return new WeirError('WEIR_CANCELLED', 'the measurement was cancelled', { cause: signal.reason })
}

import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler } from '../nic/types.js'
import type { DomainId, MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { type Nanos, SECOND } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import { ControlChannel } from './control-channel.js'
import { DataQp, type DataQpOwner } from './data-qp.js'
import { namesOf, registerMemory } from './memory.js'
import { type Figures, type Open, PERF_VERSION, type PerfMessage, type RemoteMemory } from './messages.js'
import { Pong } from './ping-pong.js'
import { retransmissionsOf } from './retransmissions.js'
import type { PerfServerOptions } from './server-options.js'
import { checkSettings, depthWithin, isMode, isOp, type PerfSettings } from './settings.js'
import { Stream } from './stream.js'
import { Tally } from './tally.js'

/** A client that sends nothing for this long counts as gone. */
const SILENCE_MAX_NS: Nanos = 30 * SECOND
/** Characters of a refusal that fit its message. */
const REFUSAL_CHARACTERS_MAX = 120

interface ServedSessionOptions extends PerfServerOptions {
  /** Reserves bytes of memory. Throws WEIR_FULL when there are not as many. */
  reserve: (bytes: number) => void
  onChanged: () => void
  /** Called once, when all connections of the session are closed and its memory has been released. */
  onEnded: (session: ServedSession) => void
}

/** One run of another host at the host that is measured. It is the handler of the control connection. */
export class ServedSession implements ConnectionHandler, DataQpOwner {
  /** The protection domain of all its connections. */
  readonly domain: DomainId
  readonly #options: ServedSessionOptions
  readonly #channel: ControlChannel
  readonly #token: Buffer
  readonly #openedNs: Nanos
  readonly #qps: DataQp[] = []
  readonly #tally = new Tally()
  #settings: PerfSettings | null = null
  /** The client's memory. */
  #target: RemoteMemory | null = null
  #region: MemoryRegion | null = null
  #control: Connection | null = null
  /** True once the client has confirmed the connection. */
  established = false
  /** Why this end closes the session. Undefined: the peer ended it. */
  #why: WeirError | undefined
  #controlClosed = false
  #started = false
  #stopped = false
  #ended = false
  #lastHeardNs: Nanos

  constructor(now: Nanos, options: ServedSessionOptions) {
    this.#options = options
    this.domain = options.verbs.memory.newDomain()
    this.#channel = new ControlChannel(options.verbs, this.domain)
    this.#openedNs = now
    this.#lastHeardNs = now
    this.#token = Buffer.alloc(8)
    this.#token.writeUInt32BE(options.random(), 0)
    this.#token.writeUInt32BE(options.random(), 4)
  }

  get memoryBytes(): number {
    return this.#region?.length ?? 0
  }

  get busyPoll(): boolean {
    return this.#settings?.busyPoll ?? false
  }

  /** Messages and bytes that its data connections received by SEND and WRITE with immediate. */
  get received(): { messages: number; bytes: number } {
    let messages = 0
    let bytes = 0
    for (const qp of this.#qps) {
      messages += qp.receivedMessages
      bytes += qp.receivedBytes
    }
    return { messages, bytes }
  }

  /** Returns true if `token` and address are those of this session's data connections. */
  isOf(token: string, remote: HostAddress): boolean {
    return this.#token.toString('hex') === token && this.#control?.remote.toString() === remote.toString()
  }

  /** Returns the handler of one more data connection. Throws WEIR_FULL, WEIR_BAD_STATE. */
  join(): ConnectionHandler {
    const settings = this.#settings
    const region = this.#region
    if (settings === null || region === null || this.#controlClosed) {
      throw new WeirError('WEIR_BAD_STATE', 'perf: this session is not open')
    }
    const { op, mode, qps } = settings
    if (this.#qps.length >= qps) {
      throw new WeirError('WEIR_FULL', `perf: this session has its ${qps} data connections already`)
    }
    const answers = mode === 'PING_PONG' && op !== 'READ'
    const receives = op === 'SEND' || answers ? this.#options.limits.queueDepth : 0
    const qp = new DataQp({ region, receives, owner: this })
    if (answers) qp.sender = new Pong(op, region, this.#target!)
    this.#qps.push(qp)
    return qp
  }

  /**
   * Closes everything.
   *
   * @param why what the peer learns. Default: nothing has failed
   */
  end(now: Nanos, why?: WeirError): void {
    this.#why = why
    if (this.#control === null) this.onClosed(now)
    else this.#control.disconnect(now, why)
    for (const qp of this.#qps) qp.connection?.disconnect(now, why)
  }

  onTick(now: Nanos): void {
    if (now - this.#lastHeardNs > SILENCE_MAX_NS) this.end(now)
  }

  // ---- The control connection

  onCreated(_now: Nanos, connection: Connection): void {
    this.#control = connection
    this.#channel.attach(connection)
  }

  onEstablished(): void {
    this.established = true
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    try {
      const message = this.#channel.onCompletion(now, completion)
      if (message === null) return
      this.#lastHeardNs = now
      this.#channel.send(now, this.#answer(now, message))
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      this.end(now)
    }
  }

  onClosed(now: Nanos): void {
    this.#controlClosed = true
    this.#channel.close()
    for (const qp of this.#qps) qp.connection?.disconnect(now, this.#why)
    this.#endWhenClosed()
  }

  #answer(now: Nanos, message: PerfMessage): PerfMessage {
    if (message.body === 'open') return this.#onOpen(message.open)
    if (message.body !== 'ask') throw new WeirError('WEIR_PROTOCOL', 'perf: out of turn')
    const { what } = message.ask
    if (what === 'START') this.#start(now)
    if (what === 'STOP') this.#stop()
    return { body: 'figures', figures: this.#figures(now) }
  }

  #onOpen(open: Open): PerfMessage {
    try {
      if (this.#settings !== null) throw new WeirError('WEIR_PROTOCOL', 'perf: this session is open already')
      const settings = settingsOf(open)
      if (open.memory === null) throw new WeirError('WEIR_PROTOCOL', 'perf: the client names no memory')
      this.#options.reserve(settings.size)
      const { verbs, storage } = this.#options
      this.#region = registerMemory(verbs, settings.size, storage, this.domain)
      this.#settings = settings
      this.#target = open.memory
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      return { body: 'refuse', refuse: { text: error.message.slice(0, REFUSAL_CHARACTERS_MAX) } }
    }
    this.#options.onChanged()
    return { body: 'opened', opened: { session: this.#token, memory: namesOf(this.#region) } }
  }

  #start(now: Nanos): void {
    if (this.#started || !this.#settings?.bidirectional) return
    this.#started = true
    this.#tally.begin(now)
    for (const qp of this.#qps) this.#startStream(now, qp)
  }

  /**
   * The client's START may arrive before the message that establishes a connection. START comes by another
   * connection, and the other message may be lost.
   */
  onQpReady(now: Nanos, qp: DataQp): void {
    if (this.#started && !this.#stopped) this.#startStream(now, qp)
  }

  #startStream(now: Nanos, qp: DataQp): void {
    const settings = this.#settings
    if (settings === null || qp.connection === null || !qp.established) return
    const stream = new Stream({
      ...settings,
      iterations: undefined,
      depth: depthWithin(settings, this.#options.limits),
      region: this.#region!,
      remote: this.#target!,
      tally: this.#tally,
    })
    qp.sender = stream
    stream.fill(now, qp.connection)
  }

  #stop(): void {
    this.#stopped = true
    for (const qp of this.#qps) if (qp.sender instanceof Stream) qp.sender.stop()
  }

  #figures(now: Nanos): Figures {
    const { retransmittedBytes, spuriousRetransmissions } = retransmissionsOf(this.#qps)
    return {
      elapsedNs: now - this.#openedNs,
      cpuUs: this.#options.cpuUs(),
      messages: this.#tally.messages,
      bytes: this.#tally.bytes,
      retransmittedBytes,
      spuriousRetransmissions,
      peakBps: this.#tally.peakBps,
    }
  }

  // ---- The data connections

  onQpClosed(): void {
    this.#endWhenClosed()
  }

  #endWhenClosed(): void {
    if (this.#ended || !this.#controlClosed) return
    // A queue pair without a connection gets no event of its end.
    if (this.#qps.some(qp => qp.connection !== null && !qp.closed)) return
    this.#ended = true
    if (this.#region !== null) this.#options.verbs.memory.deregister(this.#region)
    this.#options.onEnded(this)
  }
}

/** Throws WEIR_PROTOCOL, WEIR_BAD_ARGUMENT. */
function settingsOf(open: Open): PerfSettings {
  const { version, op, mode, size, qps, depth, bidirectional, busyPoll } = open
  if (version !== PERF_VERSION) {
    throw new WeirError('WEIR_PROTOCOL', `perf: version ${PERF_VERSION} is spoken here, not ${version}`)
  }
  if (!isOp(op) || !isMode(mode)) throw new WeirError('WEIR_PROTOCOL', 'perf: an operation that is not known')
  const own = { iterations: 0, durationNs: 1, warmupNs: 0, pathMtu: 0 }
  const settings = { op, mode, size, qps, depth, bidirectional, busyPoll, ...own }
  checkSettings(settings)
  return settings
}

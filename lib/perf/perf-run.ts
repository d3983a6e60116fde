/**
 * A run, at the end that measures. It is driven by what its connections hear and by `onTick`; it holds no timer.
 *
 *     opening ─▶ joining ─▶ starting ─▶ warming ─▶ measuring ─▶ draining ─▶ closing ─▶ closed
 *     the control  the data    Ask START              Ask FIGURES at       Ask STOP
 *     connection   connections                        its begin
 */
import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler, ConnectOptions, Verbs } from '../nic/types.js'
import { printable } from '../printable.js'
import type { DomainId, MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { type Nanos, NEVER, SECOND } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import { ControlChannel } from './control-channel.js'
import { DataQp, type DataQpOwner } from './data-qp.js'
import { namesOf, registerMemory } from './memory.js'
import {
  CONTROL_MARK,
  DATA_MARK,
  type Figures,
  PERF_PORT,
  PERF_VERSION,
  type PerfMessage,
  type RemoteMemory,
  SESSION_BYTES,
  type What,
} from './messages.js'
import { Ping } from './ping-pong.js'
import { type Retransmissions, retransmissionsOf } from './retransmissions.js'
import { checkSettings, depthWithin, type HostLimits, type PerfSettings } from './settings.js'
import { Stream } from './stream.js'
import { Tally } from './tally.js'

/** After a run, messages in flight have this time to complete. */
const DRAIN_NS: Nanos = 2 * SECOND
/** The client sends a request at least this often, because the other end takes silence for the end. */
const ASK_EVERY_NS: Nanos = SECOND
/** If an answer takes longer than this on a live connection, the run fails. */
const ANSWER_MAX_NS: Nanos = 20 * SECOND
/** Data connections that are made at a time. A connection manager drops answers beyond some hundreds, which are asked for again late. */
const JOINING_MAX = 64

type RunState =
  | 'opening'
  | 'joining'
  | 'starting'
  | 'warming'
  | 'measuring'
  | 'draining'
  | 'closing'
  | 'closed'

interface PerfRunOptions {
  verbs: Verbs
  limits: HostLimits
  remote: HostAddress
  settings: PerfSettings
  /**
   * UDP port of the remote end, and congestion control, telemetry and paths of the data connections. Default:
   * the NIC's.
   */
  connect?: Pick<ConnectOptions, 'peerName' | 'udpPort' | 'cc' | 'telemetry' | 'paths'>
  /** The clock that `now` comes from. */
  clock: () => Nanos
  /** User and system time of this process, microseconds. */
  cpuUs: () => number
  /** False: the memory has no storage, as in virtual time. */
  storage: boolean
  /**
   * Called once when the run is over, successful or not. Its outcome is final, and its connections are being
   * closed.
   */
  onDone?: (now: Nanos, run: PerfRun) => void
}

/** The result of a run. */
interface PerfOutcome {
  /** This end's messages in the measured time. */
  tally: Tally
  /** Messages in flight on each connection. */
  depth: number
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  cpuUs: number
  remoteCpuUs: number
  /** The messages of the other end, if it sent any. */
  remote: { messages: number; bytes: number; seconds: number; peakBps: number }
}

export class PerfRun implements ConnectionHandler, DataQpOwner {
  /** The protection domain of all its connections. */
  readonly domain: DomainId
  readonly settings: PerfSettings
  readonly tally = new Tally()
  state: RunState = 'opening'
  /** Why it failed. */
  error: WeirError | null = null
  readonly #options: PerfRunOptions
  readonly #depth: number
  readonly #channel: ControlChannel
  readonly #region: MemoryRegion
  #control: Connection | null = null
  readonly #qps: DataQp[] = []
  /** Data connections that have been established. */
  #joined = 0
  /** What a data connection says of itself: the session that it is of. */
  #session = new Uint8Array()
  readonly #senders: (Stream | Ping)[] = []
  #controlClosed = false
  #target: RemoteMemory | null = null
  #askedNs: Nanos = NEVER
  #lastAskNs: Nanos = 0
  #measureFromNs: Nanos = NEVER
  #drainUntilNs: Nanos = NEVER
  /** True once the other end was asked for its figures after counting ended. */
  #askedLast = false
  /** Figures of both ends when counting began. */
  #first: Figures | null = null
  #last: Figures | null = null
  #firstOwn = { cpuUs: 0, retransmittedBytes: 0, spuriousRetransmissions: 0 }
  #lastOwn = { cpuUs: 0, retransmittedBytes: 0, spuriousRetransmissions: 0 }

  /** Throws WEIR_BAD_ARGUMENT, WEIR_FULL. */
  constructor(now: Nanos, options: PerfRunOptions) {
    checkSettings(options.settings)
    this.#options = options
    this.settings = options.settings
    const { verbs, remote, settings, connect } = options
    this.#depth = depthWithin(settings, options.limits)
    this.domain = verbs.memory.newDomain()
    this.#region = registerMemory(verbs, settings.size, options.storage, this.domain)
    this.#channel = new ControlChannel(verbs, this.domain)
    const privateData = Uint8Array.of(CONTROL_MARK)
    try {
      const { udpPort, peerName } = connect ?? {}
      this.#control = verbs.connect(now, remote, PERF_PORT, this, { privateData, udpPort, peerName })
    } catch (error) {
      this.#channel.close()
      verbs.memory.deregister(this.#region)
      throw error
    }
  }

  /** Figures up to now, or the final ones. */
  get outcome(): PerfOutcome {
    const first = this.#first
    const last = this.#last ?? first
    const own = this.state === 'closed' || this.state === 'closing' ? this.#lastOwn : this.#ownFigures()
    const since = (key: keyof Figures) => (first === null || last === null ? 0 : last[key] - first[key])
    return {
      tally: this.tally,
      depth: this.#depth,
      retransmittedBytes:
        own.retransmittedBytes - this.#firstOwn.retransmittedBytes + since('retransmittedBytes'),
      spuriousRetransmissions:
        own.spuriousRetransmissions -
        this.#firstOwn.spuriousRetransmissions +
        since('spuriousRetransmissions'),
      cpuUs: own.cpuUs - this.#firstOwn.cpuUs,
      remoteCpuUs: since('cpuUs'),
      remote: {
        messages: since('messages'),
        bytes: since('bytes'),
        seconds: since('elapsedNs') / SECOND,
        peakBps: last?.peakBps ?? 0,
      },
    }
  }

  /** Figures of the first data connection. Times and window are 0 while not known. */
  get path() {
    const connection = this.#qps[0]?.connection
    const { baseRttNs = 0, rttNs = 0, rateBps = 0, windowBytes = 0 } = connection?.stats ?? {}
    const { controller = '', controllerReason = '' } = connection?.stats ?? {}
    const pathMtu = connection?.pathMtu ?? 0
    const seal = connection?.seal
    const sealedWith = seal ? seal.peer.name || 'shared secret' : ''
    return { pathMtu, baseRttNs, rttNs, rateBps, windowBytes, controller, controllerReason, sealedWith }
  }

  /** Ends the run at once. The counts up to now remain. */
  cancel(now: Nanos, error: WeirError): void {
    this.#fail(now, error)
  }

  /** Checks the deadlines. Call it several times a second, ideally every 10 ms. */
  onTick(now: Nanos): void {
    if (this.state === 'closing' || this.state === 'closed') return
    if (now - this.#askedNs > ANSWER_MAX_NS) {
      this.#fail(now, new WeirError('WEIR_UNREACHABLE', `perf: ${this.#options.remote} does not answer`))
    }
    if (this.state === 'joining') this.#startWhenReady(now)
    else if (this.state === 'warming' || this.state === 'measuring') {
      this.#refill(now)
      this.#advance(now)
      if (this.#askedNs === NEVER && now - this.#lastAskNs > ASK_EVERY_NS) this.#ask(now, 'FIGURES')
    } else if (this.state === 'draining') this.#stopWhenDrained(now)
  }

  // ---- The control connection

  onCreated(_now: Nanos, connection: Connection): void {
    this.#control = connection
    this.#channel.attach(connection)
  }

  onEstablished(now: Nanos): void {
    const { op, mode, size, qps, depth, bidirectional, busyPoll } = this.settings
    const open = { version: PERF_VERSION, op, mode, size, qps, depth, bidirectional, busyPoll }
    this.#askedNs = now
    this.#channel.send(now, { body: 'open', open: { ...open, memory: namesOf(this.#region) } })
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    try {
      const message = this.#channel.onCompletion(now, completion)
      if (message !== null) this.#onMessage(now, message)
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      this.#fail(now, error)
    }
  }

  onClosed(now: Nanos, _connection: Connection, error: WeirError | null): void {
    this.#controlClosed = true
    const early = () => new WeirError('WEIR_CONNECTION_LOST', `perf: ${this.#options.remote} ended the run`)
    if (this.state !== 'closing') this.#fail(now, error ?? early())
    this.#channel.close()
    this.#endWhenClosed()
  }

  #onMessage(now: Nanos, message: PerfMessage): void {
    if (this.state === 'closing') return
    this.#askedNs = NEVER
    if (message.body === 'refuse') throw new WeirError('WEIR_REJECTED', printable(message.refuse.text))
    if (this.state === 'opening' && message.body === 'opened') this.#join(now, message.opened)
    else if (message.body === 'figures') this.#onFigures(now, message.figures)
    else throw new WeirError('WEIR_PROTOCOL', `perf: ${this.#options.remote} spoke out of turn`)
  }

  #ask(now: Nanos, what: What): void {
    this.#askedNs = now
    this.#lastAskNs = now
    this.#channel.send(now, { body: 'ask', ask: { what } })
  }

  #onFigures(now: Nanos, figures: Figures): void {
    if (this.state === 'draining' && this.#drainUntilNs === NEVER) {
      this.#close(now)
      return
    }
    this.#last = figures
    if (this.state === 'starting') this.#begin(now, figures)
    else if (this.state === 'measuring') this.#first ??= figures
    else this.#stopWhenDrained(now)
  }

  // ---- The data connections

  #join(now: Nanos, { session, memory }: { session: Uint8Array; memory: RemoteMemory | null }): void {
    const { settings } = this
    if (session.length !== SESSION_BYTES || memory === null || memory.bytes < settings.size) {
      throw new WeirError('WEIR_PROTOCOL', `perf: ${this.#options.remote} names no session or memory`)
    }
    this.#target = memory
    this.state = 'joining'
    this.#session = Uint8Array.of(DATA_MARK, ...session)
    this.#joinMore(now)
  }

  /** Asks for further connections, as far as not too many are being made. */
  #joinMore(now: Nanos): void {
    const { settings } = this
    const privateData = this.#session
    const { verbs, remote, limits, connect } = this.#options
    const isPingPong = settings.mode === 'PING_PONG'
    const takes = isPingPong ? settings.op !== 'READ' : settings.op === 'SEND' && settings.bidirectional
    const receives = takes ? limits.queueDepth : 0
    while (this.#qps.length < Math.min(settings.qps, this.#joined + JOINING_MAX)) {
      const qp = new DataQp({ region: this.#region, receives, owner: this })
      this.#qps.push(qp)
      const pathMtu = settings.pathMtu === 0 ? {} : { pathMtu: settings.pathMtu }
      qp.connection = verbs.connect(now, remote, PERF_PORT, qp, { ...connect, privateData, ...pathMtu })
    }
  }

  onQpReady(now: Nanos): void {
    this.#joined++
    if (this.state === 'joining') this.#joinMore(now)
    this.#startWhenReady(now)
  }

  onQpFailed(now: Nanos, _qp: DataQp, error: WeirError): void {
    this.#fail(now, error)
  }

  onQpClosed(now: Nanos): void {
    const early = () =>
      new WeirError('WEIR_CONNECTION_LOST', `perf: ${this.#options.remote} closed a connection`)
    if (this.state !== 'closing') this.#fail(now, early())
    this.#endWhenClosed()
  }

  /** Waits until T has been measured on every connection, so that the run does not include it. */
  #startWhenReady(now: Nanos): void {
    if (this.state !== 'joining' || this.#joined < this.settings.qps) return
    if (!this.#qps.every(qp => qp.established && qp.connection!.stats.baseRttNs > 0)) return
    this.state = 'starting'
    this.#ask(now, 'START')
  }

  #begin(now: Nanos, figures: Figures): void {
    const { iterations, warmupNs } = this.settings
    for (const qp of this.#qps) {
      const sender = this.#makeSender()
      qp.sender = sender
      this.#senders.push(sender)
    }
    this.state = 'warming'
    this.tally.begin(now)
    this.#measureFromNs = iterations > 0 ? now : now + warmupNs
    if (this.#measureFromNs <= now) {
      this.#measure(now)
      this.#first = figures
    }
    this.#refill(now)
  }

  #makeSender(): Stream | Ping {
    const { op, mode, size, iterations } = this.settings
    const shared = { op, size, region: this.#region, remote: this.#target!, tally: this.tally }
    const limit = iterations > 0 ? { iterations } : {}
    if (mode === 'STREAM') return new Stream({ ...shared, ...limit, depth: this.#depth })
    return new Ping({ ...shared, ...limit, clock: this.#options.clock })
  }

  /** Begins to count. */
  #measure(now: Nanos): void {
    this.state = 'measuring'
    this.tally.begin(now)
    if (this.settings.iterations === 0) this.tally.endNs = now + this.settings.durationNs
    this.#firstOwn = this.#ownFigures()
    if (this.#askedNs === NEVER) this.#ask(now, 'FIGURES')
  }

  /** Posts messages where the send queue was full before. */
  #refill(now: Nanos): void {
    for (const [i, sender] of this.#senders.entries()) sender.fill(now, this.#qps[i]!.connection!)
  }

  /** Changes to measuring, and later to draining, when it is time. */
  #advance(now: Nanos): void {
    if (this.state === 'warming' && now >= this.#measureFromNs) this.#measure(now)
    if (this.state !== 'measuring') return
    const over =
      this.settings.iterations > 0 ? this.#senders.every(sender => sender.done) : now >= this.tally.endNs
    if (!over) return
    this.state = 'draining'
    this.#drainUntilNs = now + DRAIN_NS
    this.#lastOwn = this.#ownFigures()
    for (const sender of this.#senders) sender.stop()
    this.#stopWhenDrained(now)
  }

  /**
   * Asks for the last figures at once. With many connections a lot is still in flight whose cost would
   * otherwise be added to the measured messages. Ends the run when nothing is in flight and no answer is
   * outstanding.
   */
  #stopWhenDrained(now: Nanos): void {
    if (this.#drainUntilNs === NEVER || this.#askedNs !== NEVER) return
    if (!this.#askedLast) {
      this.#askedLast = true
      this.#ask(now, 'FIGURES')
      return
    }
    const drained = this.#senders.every(sender => sender.done)
    if (!drained && now < this.#drainUntilNs) return
    this.#drainUntilNs = NEVER
    this.#ask(now, 'STOP')
  }

  #ownFigures(): Retransmissions & { cpuUs: number } {
    return { cpuUs: this.#options.cpuUs(), ...retransmissionsOf(this.#qps) }
  }

  // ---- The end

  #fail(now: Nanos, error: WeirError): void {
    if (this.state === 'closing' || this.state === 'closed') return
    this.error = error
    this.#lastOwn = this.#ownFigures()
    this.#close(now)
  }

  #close(now: Nanos): void {
    this.state = 'closing'
    this.#askedNs = NEVER
    for (const sender of this.#senders) sender.stop()
    for (const qp of this.#qps) qp.connection?.disconnect(now)
    this.#control?.disconnect(now)
    this.#options.onDone?.(now, this)
  }

  #endWhenClosed(): void {
    if (this.state !== 'closing' || !this.#controlClosed) return
    // A queue pair without a connection gets no event of its end.
    if (this.#qps.some(qp => qp.connection !== null && !qp.closed)) return
    this.state = 'closed'
    this.#options.verbs.memory.deregister(this.#region)
  }
}

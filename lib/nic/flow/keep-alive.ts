import { type Nanos, NEVER } from '../../time/nanos.js'

/** Questions that a silent peer is asked before it counts as gone. */
const QUESTIONS = 10
/** With so many of them the connection that asks for all doubts its peer: the others ask too. */
const DOUBT_QUESTIONS = 3
/** Where another one asks for all, a connection asks by itself after so many keep-alive times. */
const OWN_TIMES = 10
/** Time between the first questions of two connections that doubt their peer. */
const DOUBT_GAP_NS: Nanos = 100_000

/**
 * Whether the peer of an idle connection is still there. A peer that loses its power says nothing more, and a connection without
 * work waits for nothing: after half of the keep-alive time without a packet of the peer it is asked, and asked again, until the time is
 * over.
 *
 * The oldest connection to a Weir process asks for all that are to it (PeerProcess). The others ask when no answer comes to it, and by themselves
 * after a long silence: the peer's end of one connection may have been lost alone.
 *
 * First questions leave at whole intervals, together with those of other connections: a thread that wakes for one packet and goes to
 * sleep again takes more time than the packet.
 */
export class KeepAlive {
  /** Place of the connection in the NIC's table. */
  readonly index: number
  /** Time between two questions. */
  readonly everyNs: Nanos
  readonly #withinNs: Nanos
  /** NEVER: the connection is not established, or nobody asks. */
  #heardNs: Nanos = NEVER
  #asked = 0
  /** When the next question is due, or the peer is gone. It counts where answers are owed. */
  #nextNs: Nanos = NEVER
  /** Null: each connection to the peer asks for itself alone. */
  #process: PeerProcess | null = null

  /** @param withinNs a peer that has been silent for so long is gone; NEVER: none is */
  constructor(index: number, withinNs: Nanos) {
    this.index = index
    this.#withinNs = withinNs
    this.everyNs = Math.ceil(withinNs / 2 / QUESTIONS)
  }

  /** True if silent peers are asked. */
  get isOn(): boolean {
    return this.#withinNs !== NEVER
  }

  /** The connections of a process, which this one is among; null: it asks for itself alone. */
  get process(): PeerProcess | null {
    return this.#process
  }

  /** The oldest connection of the process asks for this one too. */
  joined(process: PeerProcess): void {
    this.#process = process
  }

  /** The peer has sent something. The first time: the connection is established. */
  onHeard(now: Nanos): void {
    this.#heardNs = now
    this.#asked = 0
  }

  /** When the peer's last packet came. */
  get heardNs(): Nanos {
    return this.#heardNs
  }

  nextTimeout(): Nanos {
    if (this.#heardNs === NEVER || this.#withinNs === NEVER) return NEVER
    if (this.#asked > 0) return this.#nextNs
    const silentNs = this.#asksForAll ? this.#withinNs / 2 : OWN_TIMES * this.#withinNs
    return Math.floor((this.#sinceNs + silentNs) / this.everyNs) * this.everyNs
  }

  get #asksForAll(): boolean {
    return this.#process === null || this.#process.oldest === this
  }

  /** Since when nothing has shown that the peer is there. */
  get #sinceNs(): Nanos {
    if (this.#process === null || !this.#asksForAll) return this.#heardNs
    return Math.max(this.#heardNs, this.#process.shownNs)
  }

  /** What is to be done now. `doubt`: the others of the process are to be asked as well. */
  onTimeout(now: Nanos): 'nothing' | 'ask' | 'doubt' | 'gone' {
    if (this.nextTimeout() > now) return 'nothing'
    if (this.#asked === QUESTIONS) return 'gone'
    // Counted from now: a host that did not run for a while has asked nobody meanwhile.
    this.#nextNs = now + this.everyNs
    this.#asked++
    if (this.#asked === QUESTIONS) this.#nextNs = Math.max(this.#nextNs, this.#sinceNs + this.#withinNs)
    return this.#asked === DOUBT_QUESTIONS && this.#process?.oldest === this ? 'doubt' : 'ask'
  }

  /**
   * The one that asks for all gets no answer. Where this one has not heard of the peer either since it was asked, it asks from `atNs` on, and as
   * if it had asked as often. Returns whether it does.
   */
  doubt(now: Nanos, atNs: Nanos): boolean {
    const askedNs = now - (DOUBT_QUESTIONS - 1) * this.everyNs
    if (this.#asked > 0 || this.#heardNs >= askedNs) return false
    this.#asked = DOUBT_QUESTIONS
    this.#nextNs = atNs
    return true
  }
}

/**
 * The connections to one Weir process, which keeps all of its connections in one place: what holds one of them holds those made later. So a
 * packet on the oldest one shows that the process knows them all. One on any other connection may be of a process that was started again, and
 * says nothing of older ones.
 */
export class PeerProcess {
  readonly name: string
  readonly #connections = new Set<KeepAlive>()
  #oldest: KeepAlive | null = null
  #shownNs: Nanos = Number.NEGATIVE_INFINITY

  constructor(name: string) {
    this.name = name
  }

  /** The one that asks for all; null: there is none. */
  get oldest(): KeepAlive | null {
    return this.#oldest
  }

  /** When connections older than the oldest one have shown that the process is there. */
  get shownNs(): Nanos {
    return this.#shownNs
  }

  add(connection: KeepAlive): void {
    this.#connections.add(connection)
    this.#oldest ??= connection
  }

  /** That connection is over. True if another one asks for all from now on. */
  remove(connection: KeepAlive): boolean {
    this.#connections.delete(connection)
    if (connection !== this.#oldest) return false
    this.#shownNs = Math.max(this.#shownNs, connection.heardNs)
    this.#oldest = this.#connections.values().next().value ?? null
    return this.#oldest !== null
  }

  /** The oldest connection gets no answer: the others ask, one after the other within an interval of questions. Returns those that do. */
  doubt(now: Nanos): KeepAlive[] {
    const everyNs = this.#oldest?.everyNs ?? 0
    const gapNs = Math.max(DOUBT_GAP_NS, Math.floor(everyNs / this.#connections.size))
    const asking: KeepAlive[] = []
    for (const connection of this.#connections)
      if (connection.doubt(now, now + asking.length * gapNs)) asking.push(connection)
    return asking
  }
}

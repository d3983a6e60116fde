/** One end of an rsocket stream: what a TCP socket does, over a reliable connection. */
import { checkInstance } from '../../arguments.js'
import { WeirError } from '../../errors.js'
import { Host, type HostRegion } from '../../host/host.js'
import type { HostConnection } from '../../host/host-connection.js'
import { Access, type DomainId } from '../../qp/memory/memory.js'
import { Completion } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import { WorkStatus, workStatusName } from '../../qp/queues/work-status.js'
import {
  Control,
  connectBytes,
  immediateOf,
  numberIn,
  type PeerMemory,
  readConnect,
  readPeerMemory,
  TARGET_BYTES,
  TARGETS,
  Word,
  wordOf,
  writePeerMemory,
} from './words.js'

/** rstream's own port. */
export const RSTREAM_PORT = 7471
/** Each half of the ring that the other end writes to. */
const HALF_BYTES = 1 << 16
const RING_BYTES = 2 * HALF_BYTES
const RING_AT = 64
/** Messages of the other end that may be on their way, and receives for them. */
const RECEIVES = 64
/** What is sent is copied to one of so many places. */
const PIECE_BYTES = 1 << 14
const PIECES = 16
/** Messages of credits and control that may be on their way. */
const CONTROLS = 4
const CONTROL_ID = PIECES

/** Memory of one end, and what it says of it. */
class StreamMemory {
  /** The list of targets, which the other end fills, and the ring. */
  readonly inbox: HostRegion
  readonly outbox: HostRegion

  private constructor(inbox: HostRegion, outbox: HostRegion) {
    this.inbox = inbox
    this.outbox = outbox
  }

  static async open(host: Host, domain: DomainId): Promise<StreamMemory> {
    const bytes = (count: number) => new SharedArrayBuffer(count)
    const access = Access.LOCAL_WRITE | Access.REMOTE_WRITE
    return new StreamMemory(
      await host.register(bytes(RING_AT + RING_BYTES), access, domain),
      await host.register(bytes(CONTROLS * TARGET_BYTES + PIECES * PIECE_BYTES), 0, domain),
    )
  }

  get words(): Uint8Array {
    const { address, key } = this.inbox
    return connectBytes({
      credits: RECEIVES,
      list: { address, key, length: TARGETS },
      buffer: this.half(0),
    })
  }

  half(n: number): PeerMemory {
    const { address, key } = this.inbox
    return { address: address + RING_AT + n * HALF_BYTES, key, length: HALF_BYTES }
  }

  get receives() {
    return Array.from({ length: RECEIVES }, (_, id) => ({ id, region: this.inbox, offset: 0, length: 0 }))
  }

  async close(host: Host): Promise<void> {
    for (const region of [this.inbox, this.outbox]) await host.deregister(region).catch(() => {})
  }
}

/**
 * A stream of bytes both ways. One call of `write` and one of `read` at a time. What the other end sends waits in a ring of 128 KiB, and
 * the other end waits when that is full.
 */
export class StreamSocket {
  readonly connection: HostConnection
  readonly #host: Host
  readonly #memory: StreamMemory
  readonly #list: DataView
  readonly #control: DataView
  readonly #peer: ReturnType<typeof readConnect>
  readonly #completion = new Completion()
  /** Sent: messages, how many may be (both modulo 2^16), the entry of the list in use, places that are taken. */
  #sent = 0
  #sentMost: number
  #target = 0
  #pieces = 0
  #pieceAt = 0
  #controls = 0
  #controlAt = 0
  /** Received: lengths of messages that nobody has read, messages read, and where the reader is in the ring. */
  readonly #messages: number[] = []
  #unreadBytes = 0
  #read = 0
  #readAt = 0
  /** When to give credits again; bytes of the ring that are free and not given, the next half, the entry that takes it. */
  #creditsAt = RECEIVES / 2
  #freeBytes = HALF_BYTES
  #freeHalf = 1
  #peerEntry = 1
  /** No more comes; nothing more may be sent; why it has broken. */
  #isRead = false
  #isWritten = false
  #failure: Error | null = null
  #wakers: (() => void)[] = []
  readonly #pumped: Promise<void>

  private constructor(host: Host, connection: HostConnection, memory: StreamMemory) {
    this.#host = host
    this.connection = connection
    this.#memory = memory
    this.#list = viewOf(memory.inbox)
    this.#control = viewOf(memory.outbox)
    this.#peer = readConnect(connection.peerPrivateData)
    this.#sentMost = this.#peer.credits
    writePeerMemory(this.#list, 0, this.#peer.buffer, true)
    this.#pumped = this.#pump()
    this.#giveCredits()
  }

  /** Throws as `Host.connect`, and WEIR_PROTOCOL when the other end is no rsocket. */
  static async connect(host: Host, remote: string, port = RSTREAM_PORT): Promise<StreamSocket> {
    checkHost('StreamSocket.connect', host)
    const domain = host.newDomain()
    const memory = await StreamMemory.open(host, domain)
    const { words: privateData, receives } = memory
    try {
      const connection = await host.connect(remote, port, { domain, privateData, receives })
      return await StreamSocket.#over(host, connection, memory)
    } catch (error) {
      await memory.close(host)
      throw error
    }
  }

  /**
   * Waits for one client. While none is waited for, nobody listens: clients are refused then. Throws as `Host.listen`, and WEIR_PROTOCOL when
   * a client is no rsocket.
   */
  static async accept(host: Host, port = RSTREAM_PORT, onListening = () => {}): Promise<StreamSocket> {
    checkHost('StreamSocket.accept', host)
    checkInstance('StreamSocket.accept', 'onListening', Function, onListening)
    const domain = host.newDomain()
    const memory = await StreamMemory.open(host, domain)
    try {
      // The answer to a request names the memory, so a listener is for one client.
      const listener = await host.listen(port, { domain, privateData: memory.words, backlog: 1 })
      onListening()
      const connection = await listener.accept()
      await listener.close()
      for (const receive of memory.receives) connection.postReceive(receive)
      return await StreamSocket.#over(host, connection, memory)
    } catch (error) {
      await memory.close(host)
      throw error
    }
  }

  static async #over(host: Host, connection: HostConnection, memory: StreamMemory): Promise<StreamSocket> {
    try {
      return new StreamSocket(host, connection, memory)
    } catch (error) {
      await connection.disconnect()
      throw error
    }
  }

  /** Resolves when all bytes have been handed over. Throws WEIR_CONNECTION_LOST when they cannot be, and WEIR_BAD_ARGUMENT for what has no bytes. */
  async write(bytes: Uint8Array): Promise<void> {
    if (!(bytes instanceof Uint8Array))
      throw new WeirError('WEIR_BAD_ARGUMENT', 'a stream takes bytes as a Uint8Array or a Buffer')
    for (let at = 0; at < bytes.length; ) {
      while (!this.#maySend()) await this.#news()
      at += this.#send(bytes.subarray(at, at + PIECE_BYTES))
    }
  }

  /** The next bytes, as many as have come together; null: the other end has ended its stream. Throws WEIR_CONNECTION_LOST. */
  async read(): Promise<Uint8Array | null> {
    while (this.#messages.length === 0) {
      if (this.#failure !== null) throw this.#failure
      if (this.#isRead) return null
      await this.#news()
    }
    const length = this.#messages.shift()!
    const from = RING_AT + this.#readAt
    const bytes = this.#memory.inbox.bytes.slice(from, from + length)
    this.#readAt = (this.#readAt + length) % RING_BYTES
    this.#unreadBytes -= length
    this.#freeBytes += length
    this.#read = (this.#read + 1) & 0xffff
    this.#giveCredits()
    return bytes
  }

  /** Ends the own stream: the other end reads what has been written, and then its end. */
  async end(): Promise<void> {
    await this.#say(this.#isRead ? Control.DISCONNECT : Control.SHUTDOWN)
  }

  /** Ends both ways, after what has been written. */
  async close(): Promise<void> {
    await this.#say(Control.DISCONNECT)
    await this.connection.disconnect().catch(() => {})
    await this.#pumped
    await this.#memory.close(this.#host)
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #say(what: number): Promise<void> {
    if (this.#isWritten && what !== Control.DISCONNECT) return
    this.#isWritten = true
    while (this.#failure === null && !this.connection.isClosed && this.#controls === CONTROLS)
      await this.#change()
    if (this.#failure !== null || this.connection.isClosed) return
    this.#post(CONTROL_ID, immediateOf(Word.CONTROL, what), 0, 0, null)
    this.#controls++
    while (this.#failure === null && !this.connection.isClosed && this.#controls + this.#pieces > 0)
      await this.#change()
  }

  /** Throws when nothing more may be sent. */
  #maySend(): boolean {
    if (this.#failure !== null) throw this.#failure
    if (this.#isWritten) throw this.#lost('has ended its stream')
    if (this.#pieces === PIECES || this.#sent === this.#sentMost) return false
    return readPeerMemory(this.#list, this.#target * TARGET_BYTES, true).length > 0
  }

  /** Returns how many bytes of a piece have found room. */
  #send(bytes: Uint8Array): number {
    const at = this.#target * TARGET_BYTES
    const { address, key, length } = readPeerMemory(this.#list, at, true)
    const count = Math.min(bytes.length, length)
    // Before the message leaves: its answer may fill the entry anew.
    writePeerMemory(this.#list, at, { address: address + count, key, length: length - count }, true)
    if (count === length) this.#target = (this.#target + 1) % TARGETS
    const offset = CONTROLS * TARGET_BYTES + this.#pieceAt * PIECE_BYTES
    this.#memory.outbox.bytes.set(bytes.subarray(0, count), offset)
    this.#post(this.#pieceAt, immediateOf(Word.DATA, count), offset, count, { address, key })
    this.#pieceAt = (this.#pieceAt + 1) % PIECES
    this.#pieces++
    this.#sent = (this.#sent + 1) & 0xffff
    return count
  }

  #post(
    id: number,
    immediate: number,
    offset: number,
    length: number,
    to: Omit<PeerMemory, 'length'> | null,
  ): void {
    const { outbox: region } = this.#memory
    const { RDMA_WRITE_WITH_IMM: opcode } = WorkOpcode
    const target = { remoteAddress: to?.address ?? 0, rkey: to?.key ?? 0 }
    const posted = this.connection.postSend({ id, opcode, region, offset, length, immediate, ...target })
    if (!posted) this.#fail(this.#lost('has ended the connection'))
  }

  /** More credits once half of the messages have been read, and the next half of the ring once it is free. */
  #giveCredits(): void {
    const read = this.#read
    const isFree = this.#freeBytes >= HALF_BYTES
    const isDue = isFree || ((read - this.#creditsAt) << 16) >> 16 >= 0
    if (!isDue || this.#controls === CONTROLS || this.#isRead || this.#failure !== null) return
    this.#creditsAt = (read + RECEIVES / 2) & 0xffff
    const immediate = immediateOf(Word.CREDITS, (read + RECEIVES) & 0xffff)
    this.#controls++
    if (!isFree) {
      this.#post(CONTROL_ID, immediate, 0, 0, null)
      return
    }
    const { list, isBigEndian } = this.#peer
    const at = this.#controlAt * TARGET_BYTES
    writePeerMemory(this.#control, at, this.#memory.half(this.#freeHalf), !isBigEndian)
    const address = list.address + this.#peerEntry * TARGET_BYTES
    this.#post(CONTROL_ID, immediate, at, TARGET_BYTES, { address, key: list.key })
    this.#controlAt = (this.#controlAt + 1) % CONTROLS
    this.#freeBytes -= HALF_BYTES
    this.#freeHalf = 1 - this.#freeHalf
    this.#peerEntry = (this.#peerEntry + 1) % list.length
  }

  /** Takes completions until the connection has ended. */
  async #pump(): Promise<void> {
    const completion = this.#completion
    while (await this.connection.next(completion)) {
      if (completion.status === WorkStatus.WR_FLUSH_ERR) continue
      if (completion.status !== WorkStatus.SUCCESS)
        this.#fail(this.#lost(`work failed with ${workStatusName(completion.status)}`))
      else if (!completion.isReceive) this.#onSent(completion.id)
      else this.#onMessage(completion.id, completion.immediate)
      this.#wake()
    }
    this.#isRead = true
    this.#isWritten = true
    this.#failure ??= await this.connection.closed
    this.#wake()
  }

  #onSent(id: number): void {
    if (id === CONTROL_ID) this.#controls--
    else this.#pieces--
    this.#giveCredits()
  }

  #onMessage(id: number, immediate: number): void {
    const value = numberIn(immediate)
    const word = wordOf(immediate)
    if (word === Word.DATA) {
      const isInRing = value > 0 && this.#unreadBytes + value <= RING_BYTES
      if (!isInRing || ((this.#readAt + this.#unreadBytes) % HALF_BYTES) + value > HALF_BYTES) {
        this.#fail(
          new WeirError(
            'WEIR_PROTOCOL',
            `${this.connection.remote} says that it has written ${value} bytes, more than there is room for`,
          ),
        )
        return
      }
      this.#unreadBytes += value
      this.#messages.push(value)
    } else if (word === Word.CREDITS) this.#sentMost = value & 0xffff
    else if (word === Word.CONTROL && value !== Control.KEEP_ALIVE) {
      this.#isRead = true
      if (value === Control.DISCONNECT) this.#isWritten = true
    }
    this.connection.postReceive({ id, region: this.#memory.inbox, offset: 0, length: 0 })
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#isRead = true
    this.#isWritten = true
    void this.connection.disconnect().catch(() => {})
    this.#wake()
  }

  #lost(what: string): WeirError {
    return new WeirError('WEIR_CONNECTION_LOST', `${this.connection.remote} ${what}`)
  }

  /** Something has come or gone. */
  async #change(): Promise<void> {
    await new Promise<void>(resolve => this.#wakers.push(resolve))
  }

  /** The same; throws when the stream has broken. */
  async #news(): Promise<void> {
    await this.#change()
    if (this.#failure !== null && this.#messages.length === 0) throw this.#failure
  }

  #wake(): void {
    const wakers = this.#wakers
    this.#wakers = []
    for (const wake of wakers) wake()
  }
}

function viewOf({ bytes }: HostRegion): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function checkHost(what: string, host: unknown): void {
  if (host instanceof Host) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: host is a Host, from Host.open`)
}

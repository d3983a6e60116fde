/** A stream of bytes whose NIC is on this thread. */
import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler, Verbs } from '../nic/types.js'
import { Access, type DomainId, type MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { Nanos } from '../time/nanos.js'
import { memoryBytesOf, receivesOf, StreamMachine, type StreamShape } from './stream-machine.js'
import { WeirStream, type WeirStreamOptions } from './weir-stream.js'
import { readWords, STREAM_VERSION, type StreamWords, writeWords } from './words.js'

/** The NIC of this thread. */
export interface StreamNic {
  verbs: Verbs
  /** The time on the NIC's scale. */
  now(): Nanos
  /** Makes the NIC look for work soon. */
  wake(): void
}

interface NicStreamOptions extends WeirStreamOptions {
  shape: StreamShape
  /** Words of the peer that this end has accepted. Absent: this end connects. */
  accepted?: StreamWords
  onOpen(stream: WeirStream): void
  /** Once, at the end of the connection. `error` of a connection that was never established: why. */
  onEnded(error: Error | null): void
}

/** Private data of an end of this shape. */
export function wordsOf({ segmentBytes, receives }: StreamShape): Uint8Array {
  return writeWords({ version: STREAM_VERSION, kind: 'bytes', segmentBytes, receives, messageBytesMax: 0 })
}

export class NicStream implements ConnectionHandler {
  readonly domain: DomainId
  stream: WeirStream | null = null
  readonly #nic: StreamNic
  readonly #options: NicStreamOptions
  #connection: Connection | null = null
  #region: MemoryRegion | null = null
  #machine: StreamMachine | null = null

  constructor(nic: StreamNic, options: NicStreamOptions) {
    this.#nic = nic
    this.#options = options
    this.domain = nic.verbs.memory.newDomain()
  }

  /** The connection, from its request on. */
  get connection(): Connection | null {
    return this.#connection
  }

  acceptData(): Uint8Array {
    return wordsOf(this.#options.shape)
  }

  /** Ends it, whatever it does. */
  disconnect(error?: WeirError): void {
    this.#connection?.disconnect(this.#nic.now(), error)
    this.#nic.wake()
  }

  onCreated(_now: Nanos, connection: Connection): void {
    this.#connection = connection
    // A request that is never confirmed costs the passive end no memory.
    if (this.#options.accepted === undefined) this.#takeMemory(connection)
  }

  onEstablished(now: Nanos, connection: Connection): void {
    const { accepted, onOpen } = this.#options
    try {
      const peer = accepted ?? readWords(connection.peerPrivateData)
      if (accepted !== undefined) this.#takeMemory(connection)
      this.#machine!.start(peer, accepted !== undefined)
    } catch (error) {
      connection.disconnect(now, error instanceof WeirError ? error : undefined)
      if (!(error instanceof WeirError)) throw error
      return
    }
    this.stream = new WeirStream(
      this.#machine!,
      {
        remote: connection.remote.toString(),
        disconnect: () => this.disconnect(),
        wake: () => this.#nic.wake(),
      },
      this.#options,
    )
    onOpen(this.stream)
  }

  onCompletion(_now: Nanos, _connection: Connection, completion: Completion): void {
    this.stream?.onCompletion(completion)
  }

  onClosed(_now: Nanos, _connection: Connection, error: WeirError | null): void {
    if (this.#region !== null) this.#nic.verbs.memory.deregister(this.#region)
    this.stream?.onClosed(error)
    this.#options.onEnded(error)
  }

  #takeMemory(connection: Connection): void {
    const { shape } = this.#options
    const bytes = memoryBytesOf(shape)
    const { memory } = this.#nic.verbs
    this.#region = memory.register(Buffer.alloc(bytes), bytes, Access.LOCAL_WRITE, this.domain)
    const link = {
      postSend: (work: Parameters<Connection['postSend']>[1]) => connection.postSend(this.#nic.now(), work),
      postReceive: (work: Parameters<Connection['postReceive']>[0]) => connection.postReceive(work),
    }
    this.#machine = new StreamMachine(shape, link, this.#region)
    for (const receive of receivesOf(shape, this.#region)) connection.postReceive(receive)
  }
}

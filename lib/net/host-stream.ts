/** Joins the machine of a stream to a connection of a `Host`. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { WeirError } from '../errors.js'
import type { Host, HostRegion } from '../host/host.js'
import type { HostConnection } from '../host/host-connection.js'
import { Access, type DomainId } from '../qp/memory/memory.js'
import { Completion } from '../qp/queues/completion-queue.js'
import type { ReceiveWork } from '../qp/queues/work.js'
import { MessageStream } from '../stream/message-stream.js'
import { memoryBytesOf, receivesOf, StreamMachine, type StreamShape } from '../stream/stream-machine.js'
import { type StreamConnection, WeirStream, type WeirStreamOptions } from '../stream/weir-stream.js'
import { readWords, STREAM_VERSION, type StreamKind, type StreamWords, writeWords } from '../stream/words.js'

/** Completions that are taken before the event loop runs. */
const COMPLETIONS_A_TURN = 64

/** What an end of a stream takes part in. */
interface End {
  onCompletion(completion: Completion): void
  onClosed(error: Error | null): void
}

/** Makes the stream of an end. */
type MakeEnd<E> = (machine: StreamMachine, connection: StreamConnection, peer: StreamWords) => E

/** What both ends of all streams of a kind have: memory, words, and the class of the stream. */
export interface HostStreamKind<E extends End> {
  kind: StreamKind
  shape: StreamShape
  messageBytesMax: number
  make: MakeEnd<E>
}

export function bytesKind(
  shape: StreamShape,
  { allowHalfOpen, highWaterMark }: WeirStreamOptions,
): HostStreamKind<WeirStream> {
  return {
    kind: 'bytes',
    shape,
    messageBytesMax: 0,
    make: (machine, connection) => new WeirStream(machine, connection, { allowHalfOpen, highWaterMark }),
  }
}

export function messagesKind(shape: StreamShape, messageBytesMax: number): HostStreamKind<MessageStream> {
  return {
    kind: 'messages',
    shape,
    messageBytesMax,
    make: (machine, connection, peer) =>
      new MessageStream(machine, connection, {
        sendBytesMax: peer.messageBytesMax,
        receiveBytesMax: messageBytesMax,
      }),
  }
}

/** The private data of an end. */
export function privateDataOf({
  kind,
  shape,
  messageBytesMax,
}: Omit<HostStreamKind<End>, 'make'>): Uint8Array {
  const { segmentBytes, receives } = shape
  return writeWords({ version: STREAM_VERSION, kind, segmentBytes, receives, messageBytesMax })
}

/** Memory of one stream at a host. */
export class HostStreamMemory {
  readonly region: HostRegion
  readonly #host: Host

  static async take(host: Host, shape: StreamShape, domain: DomainId): Promise<HostStreamMemory> {
    const memory = new SharedArrayBuffer(memoryBytesOf(shape))
    return new HostStreamMemory(host, await host.register(memory, Access.LOCAL_WRITE, domain))
  }

  /** Receives of an end of this shape. */
  receives(shape: StreamShape): ReceiveWork[] {
    return receivesOf(shape, this.region)
  }

  private constructor(host: Host, region: HostRegion) {
    this.#host = host
    this.region = region
  }

  /** Call it when the connection has ended. */
  release(): void {
    // A host that is closed has given its memory up already.
    this.#host.deregister(this.region).catch(() => {})
  }
}

/**
 * Makes the stream of an established connection, and serves it until the connection has ended. Throws WEIR_PROTOCOL when the peer speaks of no
 * such stream; the connection ends then.
 *
 * @param onEnded called when the connection of the stream has ended
 */
export function serveStream<E extends End>(
  connection: HostConnection,
  memory: HostStreamMemory,
  { kind, shape, make }: HostStreamKind<E>,
  isPassive: boolean,
  onEnded: () => void,
): E {
  try {
    const peer = readWords(connection.peerPrivateData)
    if (peer.kind !== kind) {
      const text = `${connection.remote} has a stream of ${peer.kind} there, and this end one of ${kind}`
      throw new WeirError('WEIR_PROTOCOL', text)
    }
    const machine = new StreamMachine(shape, connection, memory.region)
    if (isPassive) for (const receive of memory.receives(shape)) connection.postReceive(receive)
    machine.start(peer, isPassive)
    const end = make(
      machine,
      {
        remote: connection.remote,
        // Its host may be closed at the same time, which ends the connection as well.
        disconnect: () => void connection.disconnect().catch(() => {}),
        wake: () => {},
      },
      peer,
    )
    void serve(connection, end).finally(() => {
      memory.release()
      onEnded()
    })
    return end
  } catch (error) {
    void connection.disconnect().finally(() => memory.release())
    throw error
  }
}

async function serve(connection: HostConnection, end: End): Promise<void> {
  const completion = new Completion()
  for (let taken = 1; await connection.next(completion); taken++) {
    end.onCompletion(completion)
    if (taken % COMPLETIONS_A_TURN === 0) await nextTurn()
  }
  end.onClosed(await connection.closed)
}

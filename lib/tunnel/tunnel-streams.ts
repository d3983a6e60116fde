/** The streams of a daemon that carry TCP connections, in both directions: their bounds, and what `weir status` says of them. */
import type { Socket } from 'node:net'
import type { StreamShape } from '../stream/stream-machine.js'
import type { WeirStream } from '../stream/weir-stream.js'
import { join } from './join.js'

/** Streams of one direction at a time. */
export const STREAMS_MAX = 256
/** The first streams have more memory, so that few connections fill a long path and many do not fill the host's memory. */
const LONG_STREAMS = 16

const LONG: StreamShape = { segmentBytes: 65_536, receives: 64, sends: 32 }
const SHORT: StreamShape = { segmentBytes: 32_768, receives: 16, sends: 8 }

/** One TCP connection over a stream. */
export interface TunnelStream {
  /** in: another host has asked for it; out: this one has. */
  readonly direction: 'in' | 'out'
  readonly peer: string
  readonly target: string
  /** Address and port of the TCP client (out), or of this end's socket to the target (in). */
  readonly client: string
  readonly sinceMs: number
  readonly stream: WeirStream
  /** Bytes of the stream that were none of the TCP connection. */
  readonly sentBefore: number
  readonly receivedBefore: number
}

/** Bytes of the TCP connection so far. */
export function bytesOf({ stream, sentBefore, receivedBefore }: TunnelStream): {
  sent: number
  received: number
} {
  return { sent: stream.bytesWritten - sentBefore, received: stream.bytesRead - receivedBefore }
}

export class TunnelStreams {
  readonly #live = new Set<TunnelStream>()
  readonly #sockets = new Set<Socket>()
  /** Since the start. */
  readonly counters = { refused: 0, reset: 0 }
  readonly #onReset: (stream: TunnelStream, cause: Error) => void
  #taken = 0

  /** @param onReset is called for each TCP connection that is reset */
  constructor(onReset: (stream: TunnelStream, cause: Error) => void) {
    this.#onReset = onReset
  }

  get live(): ReadonlySet<TunnelStream> {
    return this.#live
  }

  /** Takes a place for a stream: its memory, or null if there is none. Who does not `add` the stream gives it back by `unreserve`. */
  reserve(): StreamShape | null {
    if (this.#taken === 2 * STREAMS_MAX) return null
    return this.#taken++ < LONG_STREAMS ? LONG : SHORT
  }

  unreserve(): void {
    this.#taken--
  }

  /** Carries a TCP connection until both are over. */
  add(
    socket: Socket,
    about: Pick<TunnelStream, 'direction' | 'peer' | 'target' | 'client' | 'stream'>,
  ): void {
    const { stream } = about
    const { bytesWritten: sentBefore, bytesRead: receivedBefore } = stream
    const entry: TunnelStream = { ...about, sinceMs: Date.now(), sentBefore, receivedBefore }
    const leave = (cause: Error | null) => {
      this.#live.delete(entry)
      this.#sockets.delete(socket)
      this.unreserve()
      if (cause === null) return
      this.counters.reset++
      this.#onReset(entry, cause)
    }
    if (socket.destroyed || stream.destroyed) {
      // One of them has ended since it was made, and may still say why.
      for (const one of [socket, stream]) one.on('error', () => {})
      socket.resetAndDestroy()
      stream.destroy()
      leave(stream.errored ?? socket.errored ?? new Error('it ended before it was carried'))
      return
    }
    this.#live.add(entry)
    this.#sockets.add(socket)
    join(socket, stream, leave)
  }

  /** Resets all. */
  close(): void {
    for (const { stream } of [...this.#live]) stream.destroy()
    for (const socket of [...this.#sockets]) socket.resetAndDestroy()
  }
}

/**
 * Connections of speakers to routers outside: another thread has the sockets. Commands go there, events come back. It holds no socket and
 * no clock.
 */
import { type Nanos, NEVER } from '../time/nanos.js'
import type { ByteStream } from './byte-stream.js'
import type { BgpSession } from './session.js'
import type { Speaker } from './speaker.js'

/** What the sockets are to do. `id` is of one connection. */
export type StreamCommand =
  | { op: 'connect'; id: number; from: string; to: string }
  | { op: 'write'; id: number; bytes: Uint8Array }
  /** So many bytes that came have been used: more may come. */
  | { op: 'used'; id: number; bytes: number }
  | { op: 'close'; id: number }

/** What became of it. The last event of a connection is `failed` or `closed`. */
export type StreamEvent =
  | { op: 'connected' | 'failed' | 'closed'; id: number }
  | { op: 'bytes'; id: number; bytes: Uint8Array }
  /** The system has taken so many bytes of those written. */
  | { op: 'taken'; id: number; bytes: number }

/** Bytes of one connection that the system has not taken yet. */
const WINDOW_BYTES = 1 << 16

export class OutsideNetwork {
  readonly #send: (command: StreamCommand) => void
  readonly #speakers = new Map<string, Speaker>()
  readonly #ends = new Map<number, OutsideEnd>()
  #next = 0

  constructor(send: (command: StreamCommand) => void) {
    this.#send = send
  }

  add(address: string, speaker: Speaker): void {
    this.#speakers.set(address, speaker)
  }

  /** What a speaker's owner does in `connect`. */
  connect(_now: Nanos, from: string, neighbour: number): void {
    const speaker = this.#speakers.get(from)!
    const id = this.#next++
    this.#ends.set(id, new OutsideEnd(id, speaker, neighbour, this.#send))
    this.#send({ op: 'connect', id, from, to: speaker.neighbours[neighbour]!.options.address })
  }

  /** A speaker ends without a word. Its connections are closed. */
  kill(_now: Nanos, address: string): void {
    const speaker = this.#speakers.get(address)
    this.#speakers.delete(address)
    for (const [id, end] of this.#ends) {
      if (end.speaker !== speaker) continue
      end.close()
      this.#ends.delete(id)
    }
  }

  nextTimeout(): Nanos {
    let first = NEVER
    for (const speaker of this.#speakers.values()) first = Math.min(first, speaker.nextTimeout())
    return first
  }

  onTimeout(now: Nanos): void {
    for (const speaker of this.#speakers.values()) if (speaker.nextTimeout() <= now) speaker.onTimeout(now)
  }

  /** As `BgpSession.onHeldUp`, for all speakers. */
  onHeldUp(now: Nanos): void {
    for (const speaker of this.#speakers.values()) speaker.onHeldUp(now)
  }

  onEvent(now: Nanos, event: StreamEvent): void {
    const end = this.#ends.get(event.id)
    if (end === undefined) return
    const { speaker, session } = end
    switch (event.op) {
      case 'connected':
        end.session = speaker.onConnected(now, end.neighbour, end)
        return
      case 'failed':
        this.#ends.delete(event.id)
        speaker.onConnectFailed(now, end.neighbour)
        return
      case 'closed':
        this.#ends.delete(event.id)
        if (session !== null && !end.closed) speaker.onClosed(now, session)
        return
      case 'bytes':
        this.#send({ op: 'used', id: event.id, bytes: event.bytes.length })
        if (session !== null && !end.closed) speaker.onBytes(now, session, event.bytes)
        return
      case 'taken':
        end.waiting -= event.bytes
        if (session !== null && !end.closed) speaker.onWritable(now, session)
    }
  }
}

/** This end of one connection. */
class OutsideEnd implements ByteStream {
  readonly speaker: Speaker
  readonly neighbour: number
  readonly #id: number
  readonly #send: (command: StreamCommand) => void
  session: BgpSession | null = null
  closed = false
  waiting = 0

  constructor(id: number, speaker: Speaker, neighbour: number, send: (command: StreamCommand) => void) {
    this.#id = id
    this.speaker = speaker
    this.neighbour = neighbour
    this.#send = send
  }

  room(): number {
    return this.closed ? 0 : WINDOW_BYTES - this.waiting
  }

  write(_now: Nanos, bytes: Uint8Array): void {
    if (this.closed) return
    this.waiting += bytes.length
    // The caller may use its buffer again.
    this.#send({ op: 'write', id: this.#id, bytes: bytes.slice() })
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.#send({ op: 'close', id: this.#id })
  }
}

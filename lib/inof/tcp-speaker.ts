/** A BGP speaker on TCP: `node:net`, and sockets of the system where a session needs options that Node.js does not have. */
import { createServer, type Server, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { ByteStream } from '../bgp/byte-stream.js'
import type { BgpSession } from '../bgp/session.js'
import { Speaker, type SpeakerOptions } from '../bgp/speaker.js'
import { WeirError } from '../errors.js'
import type { Nanos } from '../time/nanos.js'
import type { PathAttributes } from '../wire/bgp/attributes.js'
import type { PrefixKey } from '../wire/bgp/prefix.js'
import { checkProtection, closeSoon, connectTcp, protectSocket, type TcpProtection } from './tcp-socket.js'

const BGP_PORT = 179
/** Bytes that wait in Node.js for one neighbour. */
const WAITING_BYTES_MAX = 1 << 16
const TIMER_MS_MAX = 60_000

/** Options of a speaker on TCP. */
interface TcpSpeakerOptions {
  speaker: SpeakerOptions
  /** Its own address: it listens there, and its connections come from there. */
  address: string
  /** Default 179. */
  port?: number
  /** False: it only connects. Default true. */
  listens?: boolean
  /** How sessions are protected. Default: not at all. */
  protection?: TcpProtection
  routeChanged: (now: Nanos, prefix: PrefixKey, attributes: PathAttributes | null) => void
  /** A neighbour has sent all routes that it has. */
  synchronised?: (now: Nanos) => void
}

export class TcpSpeaker {
  readonly speaker: Speaker
  readonly #options: Required<Pick<TcpSpeakerOptions, 'address' | 'port' | 'protection'>>
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null
  #timer: NodeJS.Timeout | null = null
  #closed = false

  private constructor(options: TcpSpeakerOptions) {
    const { address, port = BGP_PORT, protection = {} } = options
    this.#options = { address, port, protection }
    this.speaker = new Speaker(options.speaker, {
      connect: (_now, neighbour) => this.#connect(neighbour),
      routeChanged: options.routeChanged,
      synchronised: options.synchronised,
    })
  }

  /** Throws WEIR_UNSUPPORTED where the machine cannot protect sessions as asked. */
  static async start(options: TcpSpeakerOptions): Promise<TcpSpeaker> {
    checkProtection(options.protection ?? {})
    const one = new TcpSpeaker(options)
    if (options.listens ?? true) await one.#listen()
    one.do((now, speaker) => speaker.start(now))
    return one
  }

  /** Runs a command of the speaker, and sets its timer. */
  do(command: (now: Nanos, speaker: Speaker) => void): void {
    command(nanos(), this.speaker)
    this.#setTimer()
  }

  /** Ends all sessions. */
  close(): void {
    this.do((now, speaker) => speaker.stop(now))
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#server?.close()
    // One that is not connected yet, because the neighbour drops what has another password, would wait for the kernel to give up.
    for (const socket of this.#sockets) closeSoon(socket)
  }

  async #listen(): Promise<void> {
    const { address, port, protection } = this.#options
    const server = createServer(socket => {
      const from = socket.remoteAddress ?? ''
      this.#attach(socket, (now, stream) => this.speaker.onAccepted(now, from, stream))
    })
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', error =>
        reject(
          new WeirError(
            'WEIR_BAD_ARGUMENT',
            `cannot listen for BGP on ${address}, port ${port}: ${error.message}`,
          ),
        ),
      )
      server.listen({ host: address, port }, resolve)
    })
    const neighbours = this.speaker.neighbours.map(neighbour => neighbour.options.address)
    try {
      protectSocket(fdOf(server), protection, neighbours)
    } catch (error) {
      server.close()
      throw error
    }
  }

  #connect(neighbour: number): void {
    const { address, port, protection } = this.#options
    const to = this.speaker.neighbours[neighbour]!.options.address
    const connected = (socket: Socket) => {
      if (this.#closed) socket.destroy()
      else this.#attach(socket, (at, stream) => this.speaker.onConnected(at, neighbour, stream))
    }
    const failed = () => this.do(at => this.speaker.onConnectFailed(at, neighbour))
    const socket = connectTcp({ from: address, to, port }, protection, connected, failed)
    if (socket === null) return
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Joins a socket with the session that `begin` makes of it; null: the socket is closed. */
  #attach(socket: Socket, begin: (now: Nanos, stream: ByteStream) => BgpSession | null): void {
    socket.setNoDelay(true)
    this.#sockets.add(socket)
    let session: BgpSession | null = null
    socket.on('data', bytes => {
      if (session !== null) this.do((now, speaker) => speaker.onBytes(now, session!, bytes))
    })
    socket.on('drain', () => {
      if (session !== null) this.do((now, speaker) => speaker.onWritable(now, session!))
    })
    // An error is followed by `close`.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (session !== null && !this.#closed) this.do((now, speaker) => speaker.onClosed(now, session!))
    })
    this.do(now => {
      session = begin(now, new SocketStream(socket))
    })
  }

  #setTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#closed) return
    const waitMs = Math.min(TIMER_MS_MAX, Math.max(0, (this.speaker.nextTimeout() - nanos()) / 1e6))
    this.#timer = setTimeout(() => this.do((now, speaker) => speaker.onTimeout(now)), Math.ceil(waitMs))
  }
}

class SocketStream implements ByteStream {
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
  }

  room(): number {
    return this.#socket.writable ? WAITING_BYTES_MAX - this.#socket.writableLength : 0
  }

  write(_now: Nanos, bytes: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(bytes)
  }

  close(): void {
    closeSoon(this.#socket)
  }
}

function nanos(): Nanos {
  return Math.floor(performance.now() * 1e6)
}

/** The descriptor of a listening socket, as far as Node.js shows it: -1 where it does not. */
function fdOf(server: Server): number {
  return (server as unknown as { _handle: { fd?: number } | null })._handle?.fd ?? -1
}

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIP, isIPv6 } from 'node:net'
import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import type { PortCounters } from '../port.js'
import { SOCKET_BUFFER_BYTES } from './socket-buffers.js'

/**
 * One node:dgram socket that sends pooled frames. It avoids three costs of plain use: a name lookup and a
 * closure per packet, and a view per packet (for frames of equal size). The kernel usually takes a datagram
 * within `send`. If it cannot, libuv holds the buffer. So a frame returns to its pool only after its
 * callback.
 */
interface DatagramSocketOptions {
  pool: FramePool
  counters: PortCounters
  /** Literal IPv4 or IPv6 address to bind to. */
  address: string
  /** UDP port to bind to; 0 = any free one. */
  port: number
  /** Other sockets of this user may bind the same address and port if they set this too. Default false. */
  shared?: boolean
  /** Frames that may be in the socket without a callback. Default 256. */
  maxInFlight?: number
  /** Requested SO_RCVBUF and SO_SNDBUF. The kernel applies its limit. Default 8 MiB. */
  socketBufferBytes?: number
  /** `bytes` is valid only during the call. */
  onDatagram: (bytes: Buffer, address: string, port: number) => void
  onWritable?: () => void
}

/**
 * Kernel memory per payload byte of waiting 4 KiB datagrams. Linux charges the 8 KiB allocation of each
 * datagram and its own bookkeeping, 2.25 in all. It releases memory that was read only when this is a quarter
 * of the buffer (udp_rmem_release).
 */
export const KERNEL_OVERHEAD = 2.25 / 0.75

type SendDone = (error: Error | null) => void

export class DatagramSocket {
  readonly address: string
  readonly family: 4 | 6
  readonly counters: PortCounters
  readonly #socket: Socket
  readonly #pool: FramePool
  readonly #maxInFlight: number
  readonly #onWritable: () => void
  /** Frame slot → its frame, view and callback, which are made when the slot is first sent. */
  readonly #frames: (Frame | null)[] = []
  readonly #views: Buffer[] = []
  readonly #done: SendDone[] = []
  #inFlight = 0
  #blocked = false
  #closed = false

  /** Binds a socket. Throws WEIR_BAD_ARGUMENT when the address cannot be bound. */
  static async open(options: DatagramSocketOptions): Promise<DatagramSocket> {
    const { address, port } = options
    if (isIP(address) === 0) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `UDP socket: '${address}' is no literal IPv4 or IPv6 address`)
    }
    const socket = createSocket({
      type: isIPv6(address) ? 'udp6' : 'udp4',
      reuseAddr: options.shared ?? false,
      lookup: answerAtOnce,
    })
    try {
      // The lookup answers within the call, so `listening` may be emitted within it.
      const listening = once(socket, 'listening')
      socket.bind({ address, port, exclusive: true })
      await listening
    } catch (cause) {
      socket.close()
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `UDP socket: cannot bind ${address} port ${port} (${reason}); choose a local address and a free port`,
        { cause },
      )
    }
    const bufferBytes = options.socketBufferBytes ?? SOCKET_BUFFER_BYTES
    growBuffer(socket.setRecvBufferSize.bind(socket), bufferBytes)
    growSendBuffer(socket, bufferBytes)
    return new DatagramSocket(socket, options)
  }

  private constructor(socket: Socket, options: DatagramSocketOptions) {
    this.#socket = socket
    this.#pool = options.pool
    this.#maxInFlight = options.maxInFlight ?? IN_FLIGHT_MAX
    this.#onWritable = options.onWritable ?? (() => {})
    this.counters = options.counters
    this.address = options.address
    this.family = isIPv6(options.address) ? 6 : 4
    const onDatagram = options.onDatagram
    socket.on('message', (bytes, from) => onDatagram(bytes, from.address, from.port))
    socket.on('error', () => this.counters.rxErrors++)
  }

  /** The port to which the socket is bound. */
  get port(): number {
    return this.#socket.address().port
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** The effective SO_RCVBUF, in the kernel's own count. */
  get receiveBufferBytes(): number {
    return this.#socket.getRecvBufferSize()
  }

  /** Payload bytes, in 4 KiB datagrams, that can wait in the kernel before it drops any. */
  get receiveBudgetBytes(): number {
    return Math.floor(this.receiveBufferBytes / KERNEL_OVERHEAD)
  }

  /** Returns whether the socket takes another frame. After false it calls `onWritable` once. */
  canSend(): boolean {
    if (this.#inFlight < this.#maxInFlight) return true
    this.#blocked = true
    return false
  }

  /**
   * Sends the frame's bytes from offset `start` on, after `prefix` if there is one, and owns the frame.
   * `prefix` must never change afterwards.
   */
  send(frame: Frame, start: number, prefix: Buffer | null, port: number, address: string): void {
    if (this.#closed || this.#inFlight >= this.#maxInFlight) {
      this.counters.drops[this.#closed ? 'closed' : 'txFull']++
      this.#pool.give(frame)
      return
    }
    const slot = frame.slot
    const done = this.#done[slot] ?? this.#prepare(slot)
    const view = this.#viewOf(frame, start)
    this.#frames[slot] = frame
    this.#inFlight++
    if (prefix === null) this.#socket.send(view, port, address, done)
    else this.#socket.send([prefix, view], port, address, done)
  }

  /** Closes the socket. Resolves when no frame is in flight. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#socket.close()
    await once(this.#socket, 'close')
  }

  /** Lets the process exit while the socket is open, as Node's `unref`. */
  unref(): void {
    this.#socket.unref()
  }

  #viewOf(frame: Frame, start: number): Buffer {
    const cached = this.#views[frame.slot]!
    const bytes = frame.bytes
    if (cached.length === frame.length - start && cached.byteOffset === bytes.byteOffset + start)
      return cached
    const view = bytes.subarray(start, frame.length)
    this.#views[frame.slot] = view
    return view
  }

  #prepare(slot: number): SendDone {
    const done: SendDone = error => this.#onSent(slot, error)
    while (this.#frames.length <= slot) {
      this.#frames.push(null)
      this.#views.push(NO_BYTES)
    }
    this.#done[slot] = done
    return done
  }

  #onSent(slot: number, error: Error | null): void {
    const frame = this.#frames[slot]!
    this.#frames[slot] = null
    this.#inFlight--
    if (error === null) {
      this.counters.txFrames++
      this.counters.txBytes += frame.length
    } else {
      this.counters.drops[this.#closed ? 'closed' : 'txError']++
    }
    this.#pool.give(frame)
    if (this.#blocked && this.#inFlight <= this.#maxInFlight >> 1) {
      this.#blocked = false
      this.#onWritable()
    }
  }
}

export const IN_FLIGHT_MAX = 256

export const NO_BYTES = Buffer.alloc(0)

/** A lookup for dgram that returns its input, because every address passed to `send` is a literal one. */
export function answerAtOnce(
  address: string,
  _options: unknown,
  callback: (error: NodeJS.ErrnoException | null, address: string, family: number) => void,
): void {
  callback(null, address, 0)
}

/** Requests an SO_SNDBUF of `bytes`, or as much as the kernel allows. */
export function growSendBuffer(socket: Socket, bytes: number): void {
  growBuffer(socket.setSendBufferSize.bind(socket), bytes)
}

/** Requests ever smaller sizes until the kernel accepts one. Linux clamps silently, others refuse. */
function growBuffer(set: (bytes: number) => void, bytes: number): void {
  for (let ask = bytes; ask >= 65_536; ask >>= 1) {
    try {
      set(ask)
      return
    } catch {
      // The size exceeds the kernel's limit. Try half of it.
    }
  }
}

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import type { PortCounters } from '../port.js'
import { answerAtOnce, growSendBuffer, NO_BYTES } from './datagram-socket.js'

export interface PeerSocketOptions {
  pool: FramePool
  counters: PortCounters
  /** Bound with reuse of the address, because the port's own sending socket has the same one. */
  localAddress: string
  localPort: number
  address: string
  port: number
  socketBufferBytes: number
  /** Reports a change in the number of frames that the kernel has not taken yet. */
  onHeld: (frames: number) => void
}

const LOOK_EVERY_MS = 1

/**
 * A socket that is connected to one peer and only sends. The kernel caches the route, and dgram parses no
 * address. A frame needs no callback, which would cost a request object and a tick each: when dgram reports
 * an empty queue, the kernel has copied the datagram within `send`. A datagram that the kernel refuses is
 * lost silently, as on the wire. docs/measured/system-calls.md has the cost of both kinds.
 */
export class PeerSocket {
  readonly #options: PeerSocketOptions
  readonly #socket: Socket
  /** Frames from which libuv may still read. Nearly always empty. */
  readonly #held: Frame[] = []
  /** Frame slot → view of the bytes that were last sent from it. */
  readonly #views: Buffer[] = []
  #timer: NodeJS.Timeout | null = null
  #ready = false
  #closed = false
  /** True if something was sent since the last call of `idle`. */
  #used = true

  constructor(options: PeerSocketOptions) {
    this.#options = options
    const { localAddress, localPort, address, port, socketBufferBytes } = options
    const type = address.includes(':') ? 'udp6' : 'udp4'
    this.#socket = createSocket({ type, reuseAddr: true, lookup: answerAtOnce })
    this.#socket.on('error', () => {
      // An error before the socket is ready means that binding or connecting failed, and it never will be
      // ready. A later one is an ICMP error, which changes nothing.
      if (this.#ready) options.counters.rxErrors++
    })
    this.#socket.bind({ address: localAddress, port: localPort, exclusive: true }, () => {
      if (this.#closed) return
      growSendBuffer(this.#socket, socketBufferBytes)
      this.#socket.connect(port, address, () => {
        this.#ready = !this.#closed
      })
    })
  }

  /** True once the socket is connected. */
  get ready(): boolean {
    return this.#ready
  }

  /** Returns true if nothing has been sent since the last call. */
  idle(): boolean {
    const idle = !this.#used && this.#held.length === 0
    this.#used = false
    return idle
  }

  /** Sends the frame's bytes from offset `start` on, and owns the frame. Call it only when `ready`. */
  send(frame: Frame, start: number): void {
    const { counters, pool } = this.#options
    this.#used = true
    counters.txFrames++
    counters.txBytes += frame.length
    this.#socket.send(this.#viewOf(frame, start))
    if (this.#socket.getSendQueueCount() > 0) this.#hold(frame)
    else {
      if (this.#held.length > 0) this.#giveBack()
      pool.give(frame)
    }
  }

  /** Resolves when the socket is closed and every frame has returned to its pool. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#ready = false
    this.#socket.close()
    await once(this.#socket, 'close')
    this.#giveBack()
  }

  #hold(frame: Frame): void {
    this.#held.push(frame)
    this.#options.onHeld(1)
    if (!this.#timer) this.#timer = setTimeout(this.#look, LOOK_EVERY_MS)
  }

  /** No event reports that the socket's queue is empty, so a timer checks it. */
  readonly #look = (): void => {
    this.#timer = null
    if (this.#closed || this.#held.length === 0) return
    if (this.#socket.getSendQueueCount() === 0) this.#giveBack()
    else this.#timer = setTimeout(this.#look, LOOK_EVERY_MS)
  }

  #giveBack(): void {
    const frames = this.#held.length
    for (const frame of this.#held) this.#options.pool.give(frame)
    this.#held.length = 0
    this.#options.onHeld(-frames)
  }

  #viewOf(frame: Frame, start: number): Buffer {
    const slot = frame.slot
    while (this.#views.length <= slot) this.#views.push(NO_BYTES)
    const cached = this.#views[slot]!
    const bytes = frame.bytes
    if (cached.length === frame.length - start && cached.byteOffset === bytes.byteOffset + start)
      return cached
    const view = bytes.subarray(start, frame.length)
    this.#views[slot] = view
    return view
  }
}

import type { Frame } from '../../frame/frame.js'
import * as udp from '../../wire/net/udp.js'
import { SourcePortIndex } from '../source-port.js'
import { BatchSender, type BatchSenderOptions } from './batch-sender.js'
import type { UdpSocket } from './udp-socket.js'

interface SenderPoolOptions extends Omit<BatchSenderOptions, 'fd' | 'family'> {
  /** Each with a port of its own, 1 to 64 sockets. The caller closes them. */
  sockets: readonly UdpSocket[]
}

/**
 * Sockets to send from, each with its own source port, so that a network with several paths sees several
 * flows. Frames of one source port are collected and leave in runs, also when frames of other source ports
 * come between them. Each socket has a descriptor, a send buffer that the kernel allocates as far as it is
 * used, and 26 KiB of arguments.
 */
export class SenderPool {
  readonly ports: readonly number[]
  readonly #senders: readonly BatchSender[]
  readonly #indexOf: SourcePortIndex
  /** Indices of the senders that keep frames, the first so many. Most rounds use one of many. */
  readonly #keeping: Uint8Array
  #keepingCount = 0

  constructor(options: SenderPoolOptions) {
    const { sockets } = options
    this.ports = sockets.map(({ port }) => port)
    this.#indexOf = new SourcePortIndex(this.ports)
    this.#senders = sockets.map(({ fd, family }) => new BatchSender({ ...options, fd, family }))
    this.#keeping = new Uint8Array(sockets.length)
  }

  /** False: the kernel cannot split runs, so no frame may have others behind it. */
  get joins(): boolean {
    return this.#senders.every(({ joins }) => joins)
  }

  /**
   * Keeps a frame for the next `flush`, and owns it. Returns false if it took the last room for its source
   * port.
   */
  add(frame: Frame): boolean {
    const index = this.#indexOf.of(udp.sourcePort(frame.view, frame.l4))
    const sender = this.#senders[index]!
    if (sender.isEmpty) this.#keeping[this.#keepingCount++] = index
    sender.add(frame)
    return sender.hasRoom
  }

  /** Sends the added frames. Returns false if a socket is full. Call it again later then. */
  flush(): boolean {
    const keeping = this.#keeping
    let left = 0
    for (let i = 0; i < this.#keepingCount; i++) {
      const index = keeping[i]!
      if (!this.#senders[index]!.flush()) keeping[left++] = index
    }
    this.#keepingCount = left
    return left === 0
  }

  /** Returns unsent frames to the pool. */
  close(): void {
    for (const sender of this.#senders) sender.close()
    this.#keepingCount = 0
  }
}

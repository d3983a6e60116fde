import type { Frame } from '../../frame/frame.js'
import * as udp from '../../wire/net/udp.js'
import { SourcePortIndex } from '../source-port.js'
import { BatchSender, type BatchSenderOptions } from './batch-sender.js'
import type { UdpSocket } from './udp-socket.js'

interface SenderPoolOptions extends Omit<BatchSenderOptions, 'fd' | 'family'> {
  /** Each with a port of its own; 1 to 64. The caller closes them. */
  sockets: readonly UdpSocket[]
}

/**
 * Sockets to send from, each with a source port of its own, so that a network with many paths sees many flows. Frames
 * of one source port are kept together: they leave in runs, whatever is sent from others in between. Each socket
 * costs a descriptor, a send buffer that the kernel fills only as far as it is used, and 24 KiB of arguments.
 */
export class SenderPool {
  readonly ports: readonly number[]
  readonly #senders: readonly BatchSender[]
  readonly #indexOf: SourcePortIndex

  constructor(options: SenderPoolOptions) {
    const { sockets } = options
    this.ports = sockets.map(({ port }) => port)
    this.#indexOf = new SourcePortIndex(this.ports)
    this.#senders = sockets.map(({ fd, family }) => new BatchSender({ ...options, fd, family }))
  }

  /** Keeps a frame for the next `flush`, and owns it. Returns false if it took the last room for its source port. */
  add(frame: Frame): boolean {
    const sender = this.#senders[this.#indexOf.of(udp.sourcePort(frame.view, frame.l4))]!
    sender.add(frame)
    return sender.hasRoom
  }

  /** Sends what has been added. Returns false if a socket is full: call again later. */
  flush(): boolean {
    let done = true
    // By number: this runs in every round of the loop, and an iterator makes objects.
    for (let i = 0; i < this.#senders.length; i++) if (!this.#senders[i]!.flush()) done = false
    return done
  }

  /** Gives back what has not been sent. */
  close(): void {
    for (const sender of this.#senders) sender.close()
  }
}

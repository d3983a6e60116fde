import { PeerSocket, type PeerSocketOptions } from './peer-socket.js'

/** After this many packets to peers without a socket, unused sockets are closed to make room. */
const SWEEP_PACKETS = 4096

interface PeerSocketsOptions extends Omit<PeerSocketOptions, 'address' | 'port' | 'onHeld'> {
  /** Frames of all peers together that may wait for the kernel. */
  maxInFlight: number
  /** Peers that may have a socket of their own. */
  peersMax: number
  /** Called when `canSend` has become true after it was false. */
  onWritable: () => void
}

/** The connected sockets of a port. The first packet to a peer makes one. */
export class PeerSockets {
  readonly #options: PeerSocketsOptions
  /** Sockets by UDP port and address. Nearly all peers have the same port. */
  readonly #byPort = new Map<number, Map<string, PeerSocket>>()
  #size = 0
  #closing: Promise<void>[] = []
  #missed = 0
  #held = 0
  #blocked = false

  constructor(options: PeerSocketsOptions) {
    this.#options = options
  }

  /** Peers that have a socket now. */
  get size(): number {
    return this.#size
  }

  /** Returns the peer's socket, or null while there is none. */
  find(address: string, port: number): PeerSocket | null {
    const socket = this.#byPort.get(port)?.get(address)
    if (socket === undefined) return this.#miss(address, port)
    return socket.ready ? socket : null
  }

  /** Returns whether a socket takes another frame. After false it calls `onWritable` once. */
  canSend(): boolean {
    if (this.#held < this.#options.maxInFlight) return true
    this.#blocked = true
    return false
  }

  async close(): Promise<void> {
    this.#dropWhere(() => true)
    await Promise.all(this.#closing)
  }

  readonly #onHeld = (frames: number): void => {
    this.#held += frames
    if (!this.#blocked || this.#held > this.#options.maxInFlight >> 1) return
    this.#blocked = false
    this.#options.onWritable()
  }

  #miss(address: string, port: number): null {
    const { peersMax } = this.#options
    if (this.#size === peersMax && ++this.#missed >= SWEEP_PACKETS) this.#sweep()
    if (this.#size === peersMax) return null
    const there = this.#byPort.get(port) ?? new Map<string, PeerSocket>()
    this.#byPort.set(port, there)
    there.set(address, new PeerSocket({ ...this.#options, address, port, onHeld: this.#onHeld }))
    this.#size++
    return null
  }

  #sweep(): void {
    this.#missed = 0
    this.#dropWhere(socket => socket.idle())
  }

  #dropWhere(isOver: (socket: PeerSocket) => boolean): void {
    for (const [port, sockets] of this.#byPort) {
      for (const [address, socket] of sockets) {
        if (!isOver(socket)) continue
        sockets.delete(address)
        this.#size--
        this.#close(socket)
      }
      if (sockets.size === 0) this.#byPort.delete(port)
    }
  }

  #close(socket: PeerSocket): void {
    const closing = socket.close()
    this.#closing.push(closing)
    void closing.then(() => {
      this.#closing = this.#closing.filter(other => other !== closing)
    })
  }
}

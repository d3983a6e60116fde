import { PeerSocket, type PeerSocketOptions } from './peer-socket.js'

/** After so many packets to peers without a socket, sockets that are no longer used make room. */
const SWEEP_PACKETS = 4096

export interface PeerSocketsOptions extends Omit<PeerSocketOptions, 'address' | 'onHeld'> {
  /** Most frames, of all peers together, that may wait for the kernel. */
  maxInFlight: number
  /** Most peers that have a socket of their own. */
  peersMax: number
  /** `canSend` has become true after it was false. */
  onWritable: () => void
}

/** The connected sockets of a port, made when a peer is first sent to. */
export class PeerSockets {
  readonly #options: PeerSocketsOptions
  readonly #byAddress = new Map<string, PeerSocket>()
  #closing: Promise<void>[] = []
  #missed = 0
  #held = 0
  #blocked = false

  constructor(options: PeerSocketsOptions) {
    this.#options = options
  }

  /** Peers with a socket now. */
  get size(): number {
    return this.#byAddress.size
  }

  /** The peer's socket, or null as long as there is none. */
  find(address: string): PeerSocket | null {
    const socket = this.#byAddress.get(address)
    if (socket === undefined) return this.#miss(address)
    return socket.ready ? socket : null
  }

  /** False, once, promises a call of `onWritable`. */
  canSend(): boolean {
    if (this.#held < this.#options.maxInFlight) return true
    this.#blocked = true
    return false
  }

  async close(): Promise<void> {
    for (const address of [...this.#byAddress.keys()]) this.#drop(address)
    await Promise.all(this.#closing)
  }

  readonly #onHeld = (frames: number): void => {
    this.#held += frames
    if (!this.#blocked || this.#held > this.#options.maxInFlight >> 1) return
    this.#blocked = false
    this.#options.onWritable()
  }

  #miss(address: string): null {
    if (this.#byAddress.size === this.#options.peersMax && ++this.#missed >= SWEEP_PACKETS) this.#sweep()
    if (this.#byAddress.size < this.#options.peersMax) {
      this.#byAddress.set(address, new PeerSocket({ ...this.#options, address, onHeld: this.#onHeld }))
    }
    return null
  }

  #sweep(): void {
    this.#missed = 0
    for (const [address, socket] of this.#byAddress) if (socket.idle()) this.#drop(address)
  }

  #drop(address: string): void {
    const closing = this.#byAddress.get(address)!.close()
    this.#byAddress.delete(address)
    this.#closing.push(closing)
    void closing.then(() => {
      this.#closing = this.#closing.filter(other => other !== closing)
    })
  }
}

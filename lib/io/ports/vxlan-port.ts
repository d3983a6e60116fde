import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import type { Port, PortCounters } from '../port.js'
import { FrameRing } from './frame-ring.js'
import { type Endpoint, VxlanSocket } from './vxlan-socket.js'

interface VxlanPortOptions {
  pool: FramePool
  /** The number of the emulated link. */
  vni: number
  /** The address to which this end is bound. */
  local: Endpoint
  /** The address of the emulated switch's end. */
  peer: Endpoint
  /** Received frames that may wait for `receive`, a power of two. Default 1024. */
  ringFrames?: number
  maxInFlight?: number
  socketBufferBytes?: number
}

/** A host's end of one emulated link. Whole frames travel in VXLAN, so every header and mark arrives. */
export class VxlanPort implements Port {
  readonly sourcePorts = null
  readonly #ring: FrameRing
  readonly gathers = false
  readonly sendsRuns = false
  readonly takesRuns = true
  readonly seesMarks = true
  readonly seesHops = true
  readonly seesIds = true
  readonly choosesIds = true
  readonly waiter = null
  readonly #pool: FramePool
  #vxlan!: VxlanSocket
  #readable = () => {}
  #writable = () => {}

  /** Binds the socket. Throws WEIR_BAD_ARGUMENT when that fails. */
  static async open(options: VxlanPortOptions): Promise<VxlanPort> {
    const port = new VxlanPort(options)
    port.#vxlan = await VxlanSocket.open({
      pool: options.pool,
      local: options.local,
      links: [{ vni: options.vni, peer: options.peer }],
      maxInFlight: options.maxInFlight,
      socketBufferBytes: options.socketBufferBytes,
      onFrame: (_link, frame) => port.#onFrame(frame),
      onWritable: () => port.#writable(),
    })
    return port
  }

  private constructor(options: VxlanPortOptions) {
    this.#pool = options.pool
    this.#ring = new FrameRing(options.ringFrames ?? 1024)
  }

  get mtu(): number {
    return this.#vxlan.mtu
  }

  get counters(): PortCounters {
    return this.#vxlan.countDrops()
  }

  get receiveBudgetBytes(): number {
    return this.#vxlan.receiveBudgetBytes
  }

  /** The UDP port to which the outer socket is bound. */
  get localPort(): number {
    return this.#vxlan.port
  }

  waitingBytes(): number {
    return Number.NaN
  }

  receive(): Frame | null {
    return this.#ring.shift()
  }

  canTransmit(): boolean {
    return this.#vxlan.canTransmit()
  }

  transmit(frame: Frame): void {
    this.#vxlan.transmit(0, frame)
  }

  /** The port keeps no frames back. */
  flush(): void {}

  onReadable(callback: () => void): void {
    this.#readable = callback
  }

  onWritable(callback: () => void): void {
    this.#writable = callback
  }

  async close(): Promise<void> {
    await this.#vxlan.close()
    this.#ring.giveAll(this.#pool)
  }

  #onFrame(frame: Frame): void {
    if (!this.#ring.push(frame)) {
      this.#vxlan.counters.drops.ringFull++
      this.#pool.give(frame)
      return
    }
    if (this.#ring.size === 1) this.#readable()
  }
}

import { PacketDirection } from '../../lib/capture/pcapng-writer.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { Node } from '../../lib/frame/node.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { PortCapture } from './port-capture.js'

/**
 * Wraps a switch or another node, and writes every frame that passes one of its ports to that port's capture,
 * in both directions, in the order of their times. It writes an incoming frame when its last bit has arrived,
 * and an outgoing one when its first bit leaves, with the telemetry and marks that it leaves with. A node
 * without captures has no wrapper, which costs nothing.
 */
export class CaptureTap implements Node {
  readonly #inner: Node
  readonly #captures: readonly PortCapture[]
  readonly #onWritten: (now: Nanos) => void

  /** @param captures one for every port, by number; the caller closes them */
  constructor(inner: Node, captures: readonly PortCapture[], onWritten: (now: Nanos) => void) {
    this.#inner = inner
    this.#captures = captures
    this.#onWritten = onWritten
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    // Written before the node gets it, because the node may drop the frame or count a hop in it.
    this.#write(now, port, frame, PacketDirection.RECEIVED)
    this.#inner.onFrame(now, port, frame)
  }

  onTimeout(now: Nanos): void {
    this.#inner.onTimeout(now)
  }

  nextTimeout(): Nanos {
    return this.#inner.nextTimeout()
  }

  pollTransmit(now: Nanos): Frame | null {
    const frame = this.#inner.pollTransmit(now)
    if (frame !== null) this.#write(now, frame.port, frame, PacketDirection.SENT)
    return frame
  }

  #write(now: Nanos, port: number, frame: Frame, direction: PacketDirection): void {
    this.#captures[port]!.write(now, frame, direction)
    this.#onWritten(now)
  }
}

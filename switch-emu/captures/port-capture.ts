import type { CaptureAmount, PacketDirection, PcapngWriter } from '../../lib/capture/pcapng-writer.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { Nanos } from '../../lib/time/nanos.js'

/** The capture of one port: a writer, which may have stopped. */
export class PortCapture {
  readonly port: string
  readonly path: string
  /** Why it has stopped. Empty: it has not. */
  fault = ''
  readonly #writer: PcapngWriter
  readonly #mayStop: boolean

  /** @param mayStop true: a file that cannot be written ends the capture, but not the captured network */
  constructor(port: string, path: string, writer: PcapngWriter, mayStop: boolean) {
    this.port = port
    this.path = path
    this.#writer = writer
    this.#mayStop = mayStop
  }

  get amount(): CaptureAmount {
    return this.#writer.amount
  }

  write(now: Nanos, frame: Frame, direction: PacketDirection): void {
    if (this.fault !== '') return
    try {
      this.#writer.write(now, frame, direction)
    } catch (error) {
      this.#stop(error)
    }
  }

  flush(): void {
    if (this.fault !== '') return
    try {
      this.#writer.flush()
    } catch (error) {
      this.#stop(error)
    }
  }

  close(): void {
    try {
      this.#writer.close()
    } catch (error) {
      this.#stop(error)
    }
  }

  #stop(error: unknown): void {
    if (!this.#mayStop) throw error
    this.fault = (error as Error).message
    try {
      this.#writer.close()
    } catch {
      // The file failed before, and is closed in any case.
    }
  }
}

import { PATHS_MAX } from '../../cc/path-settings.js'
import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'

/** Telemetry of the peer's path probes that waits to be sent back: of each path the last one. Never mixed with that of data. */
export class PathAnswers {
  /** Bit p: path p's. */
  #waiting = 0
  readonly #sequence = new Int32Array(PATHS_MAX)
  readonly #sourcePort = new Int32Array(PATHS_MAX)
  readonly #length = new Int32Array(PATHS_MAX)
  readonly #buffer = Buffer.alloc(PATHS_MAX * telemetry.ECHO_BYTES_MAX)
  readonly #view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, this.#buffer.length)

  get waits(): boolean {
    return this.#waiting !== 0
  }

  /**
   * A path probe has arrived.
   * @param sourcePort from which its answer is to leave, 0 = the flow's
   */
  keep(frame: Frame, sourcePort: number): void {
    const sequence = bth.psn(frame.view, frame.bth)
    const path = sequence % PATHS_MAX
    this.#sequence[path] = sequence
    this.#sourcePort[path] = sourcePort
    this.#length[path] =
      frame.shim < 0 ? 0 : telemetry.writeEcho(this.#view, path * telemetry.ECHO_BYTES_MAX, frame)
    this.#waiting |= 1 << path
  }

  /** Sequence number of the answer that `write` writes. */
  get sequence(): number {
    return this.#sequence[this.#next]!
  }

  /** The source port of that answer, 0 = the flow's. */
  get sourcePort(): number {
    return this.#sourcePort[this.#next]!
  }

  /** Writes the telemetry of one probe from `at` on; returns its bytes. */
  write(into: Frame, at: number): number {
    const path = this.#next
    const from = path * telemetry.ECHO_BYTES_MAX
    this.#buffer.copy(into.bytes, at, from, from + this.#length[path]!)
    return this.#length[path]!
  }

  /** What `write` wrote has been sent. */
  sent(): void {
    this.#waiting &= this.#waiting - 1
  }

  /** The lowest path that waits. */
  get #next(): number {
    return 31 - Math.clz32(this.#waiting & -this.#waiting)
  }
}

import { WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import * as udp from '../wire/net/udp.js'
import { parseFrame, type WireError } from '../wire/parse.js'

/** Ports that may be added to the well-known ones. */
const PORTS_MAX = 64

/**
 * UDP ports that carry RoCEv2 beside 4791. The next port of each carries telemetry, as with `weir daemon
 * --port`.
 */
export class RocePorts {
  /** Port → the well-known port for which it stands. */
  readonly #wellKnown = new Map<number, number>()

  /** Throws WEIR_BAD_ARGUMENT. */
  constructor(ports: readonly number[] = []) {
    if (ports.length > PORTS_MAX) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `${ports.length} ports are too many; ${PORTS_MAX} are possible`,
      )
    }
    for (const port of ports) this.#wellKnown.set(port + 1, udp.PORT_INT)
    for (const port of ports) this.#wellKnown.set(port, udp.PORT_ROCE)
  }

  /**
   * Parses a frame as `parseFrame` does, but also accepts these ports. It writes the well-known port into the
   * header of such packets.
   *
   * @returns the fault, and the port of the original header
   */
  parse(frame: Frame): { error: WireError; port: number } {
    const error = parseFrame(frame)
    if (frame.l4 < 0) return { error, port: 0 }
    const port = udp.destinationPort(frame.view, frame.l4)
    const wellKnown = this.#wellKnown.get(port)
    if (wellKnown === undefined) return { error, port }
    udp.setDestinationPort(frame.view, frame.l4, wellKnown)
    return { error: parseFrame(frame), port }
  }
}

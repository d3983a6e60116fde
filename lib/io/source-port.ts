/**
 * The source ports of ports on ordinary sockets. The UDP source port is a flow's entropy for ECMP. RoCEv2's
 * source ports are 0xc000 to 0xffff. These are above the range that Linux assigns by itself. All hosts have
 * the same ones, whatever ports they receive by, so that both directions of a connection use one source port,
 * and a symmetric hash takes them by one path. Two hosts on one address share them. A receiving port is never
 * among them.
 */

import { WeirError } from '../errors.js'

const SOURCE_PORTS_MAX = 64
const FIRST = 0xf000

/**
 * Returns the source ports. Throws WEIR_BAD_ARGUMENT.
 *
 * @param rocePort the first receiving port; the next one is the second
 * @param count 1 to 64
 */
export function sourcePortsFor(rocePort: number, count: number): number[] {
  if (!Number.isInteger(count) || count < 1 || count > SOURCE_PORTS_MAX) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `source ports: choose 1 to ${SOURCE_PORTS_MAX}, not ${count}`)
  }
  const ports = Array.from({ length: count + 2 }, (_, i) => FIRST + i)
  return ports.filter(port => port !== rocePort && port !== rocePort + 1).slice(0, count)
}

/**
 * Opens a socket for each port that no other process has. If all are in use, it opens one with any port, and
 * throws what that throws.
 */
export function openEach<Socket>(ports: readonly number[], open: (port: number) => Socket): Socket[] {
  const sockets: Socket[] = []
  for (const port of ports) {
    try {
      sockets.push(open(port))
    } catch {
      // The remaining ports suffice.
    }
  }
  return sockets.length > 0 ? sockets : [open(0)]
}

/**
 * Finds the place of a frame's source port in a list of at most 64, by a table instead of a search for each
 * packet.
 */
export class SourcePortIndex {
  readonly #ports: readonly number[]
  readonly #indices = new Uint8Array(0x4000)

  constructor(ports: readonly number[]) {
    this.#ports = ports
    for (const [i, port] of ports.entries()) this.#indices[port & 0x3fff] = i
  }

  /** Returns the place in the list, or 0 for a port that is not in it. */
  of(sourcePort: number): number {
    const index = this.#indices[sourcePort & 0x3fff]!
    return this.#ports[index] === sourcePort ? index : 0
  }
}

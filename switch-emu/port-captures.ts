import { join } from 'node:path'
import { PcapngWriter } from '../lib/capture/pcapng-writer.js'
import { WeirError } from '../lib/errors.js'
import type { Node } from '../lib/frame/node.js'
import { makeFolder } from '../lib/make-folder.js'
import type { Scenario } from '../lib/scenario/scenario.js'
import { portName, Topology } from '../lib/scenario/topology.js'
import { CaptureTap } from './capture-tap.js'
import { linksOf } from './fabric.js'

/** Open files at a time: what systems allow a process by default. */
const PORTS_MAX = 900

/** Where captures go, and how much of each frame. */
export interface CapturePlace {
  /** Folder of the captures; made if it is not there. */
  folder: string
  /** Bytes kept of each frame, 64 to 65,535. Default: all. */
  snapBytes?: number
}

export interface CaptureOptions extends CapturePlace {
  /** Nanoseconds since 1970 that time 0 of the run's clock stands for. Default 0. */
  epochNs?: bigint
  /** False: there are no ICRCs to capture, as in virtual time. Default true. */
  icrc?: boolean
}

/**
 * The captures of a run: one pcapng file for every port of every switch, `s1--s2.pcapng` for the port of s1 towards
 * s2 (`s1--s2.0.pcapng`, `s1--s2.1.pcapng` where links are parallel). Files of those names are replaced.
 *
 * A run that is interrupted leaves valid files; of a process that was killed they lack up to 72 KiB.
 */
export class PortCaptures {
  readonly #writers = new Map<string, PcapngWriter[]>()

  /** Throws WEIR_NO_FILE when a file cannot be made, WEIR_BAD_ARGUMENT for more ports than files can be open. */
  constructor(scenario: Scenario, options: CaptureOptions) {
    const topology = new Topology(scenario)
    const ports = scenario.switches.flatMap(({ name }) =>
      linksOf(scenario, name).map(({ port, rateBps }) => ({ name, port, rateBps })),
    )
    if (ports.length > PORTS_MAX) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `captures: ${scenario.file} has ${ports.length} switch ports, and ${PORTS_MAX} can be captured at most`,
      )
    }
    makeFolder(options.folder, { use: 'captures', mend: 'choose another with --pcap' })
    try {
      for (const { name, port, rateBps } of ports) {
        const interfaceName = portName(topology, name, port)
        const path = join(options.folder, captureFile(interfaceName))
        const { snapBytes, epochNs, icrc } = options
        const writers = this.#writers.get(name) ?? []
        writers.push(new PcapngWriter(path, { interfaceName, rateBps, snapBytes, epochNs, icrc }))
        this.#writers.set(name, writers)
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** The switch of that name with its captures around it. */
  tap(name: string, node: Node): Node {
    return new CaptureTap(node, this.#writers.get(name) ?? [])
  }

  /** Writes what is buffered, and closes all files; may be called again. */
  close(): void {
    for (const writers of this.#writers.values()) for (const writer of writers) writer.close()
  }
}

/** File name of the capture of a port: `s1:s2#1` is in `s1--s2.1.pcapng`. No two ports share one. */
export function captureFile(port: string): string {
  return `${port.replace(':', '--').replace('#', '.')}.pcapng`
}

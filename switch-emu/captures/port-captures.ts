import { join } from 'node:path'
import { type CaptureAmount, PcapngWriter } from '../../lib/capture/pcapng-writer.js'
import { WeirError } from '../../lib/errors.js'
import type { Node } from '../../lib/frame/node.js'
import { makeFolder } from '../../lib/make-folder.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { portName, Topology } from '../../lib/scenario/model/topology.js'
import { MILLISECOND, type Nanos, NEVER } from '../../lib/time/nanos.js'
import { linksOf } from '../node-links.js'
import { CaptureTap } from './capture-tap.js'
import { PortCapture } from './port-capture.js'

/** Files that may be open at a time, which is the usual limit of a process. */
const PORTS_MAX = 900
/** How long a packet may wait in memory in real time. */
const FLUSH_NS: Nanos = 500 * MILLISECOND

/** Where captures are written, and how much of each frame. */
export interface CapturePlace {
  /** Folder of the captures. It is made if it does not exist. */
  folder: string
  /** Bytes kept of each frame, 64 to 65,535. Default: all. */
  snapBytes?: number
  /**
   * Bytes on disk for each port. The oldest packets are removed beyond that: see PcapngWriterOptions.
   * Default: no bound.
   */
  bytesMax?: number
  /**
   * True: when a file cannot be written, only its capture stops, and `files` says so. Default false: it is an
   * error.
   */
  mayStop?: boolean
}

interface PortCaptureOptions extends CapturePlace {
  /** Nanoseconds since 1970 at time 0 of the run's clock. Default 0. */
  epochNs?: bigint
  /** True: the frames have neither payload nor ICRC: see PcapngWriterOptions. Default false. */
  virtual?: boolean
}

/** The capture of one port. */
export interface CaptureFile extends CaptureAmount {
  /** "s1:s2" */
  port: string
  path: string
  /** Why it has stopped. Empty: it has not. */
  fault: string
}

/**
 * The captures of a run or a lab: one pcapng file for every port of every switch. `s1--s2.pcapng` is for the
 * port of s1 towards s2 (`s1--s2.0.pcapng`, `s1--s2.1.pcapng` for parallel links). Existing files are
 * replaced.
 *
 * A run that is interrupted leaves valid files. After a kill they lack up to 72 KiB; in real time, the
 * packets of the last half second.
 */
export class PortCaptures {
  readonly #ports = new Map<string, PortCapture[]>()
  /** When the buffers are written to the files, or NEVER. */
  #flushNs: Nanos = NEVER

  /**
   * Throws WEIR_NO_FILE when a file cannot be made, WEIR_BAD_ARGUMENT for more ports than files can be open.
   */
  constructor(scenario: Scenario, options: PortCaptureOptions) {
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
    const { folder, mayStop = false, ...each } = options
    try {
      for (const { name, port, rateBps } of ports) {
        const interfaceName = portName(topology, name, port)
        const path = join(folder, captureFile(interfaceName))
        const writer = new PcapngWriter(path, { ...each, interfaceName, rateBps })
        const captures = this.#ports.get(name) ?? []
        captures.push(new PortCapture(interfaceName, path, writer, mayStop))
        this.#ports.set(name, captures)
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Returns the node of that name, wrapped in its captures. */
  tap(name: string, node: Node): Node {
    return new CaptureTap(node, this.#ports.get(name) ?? [], now => this.#onWritten(now))
  }

  /** In the scenario's order. */
  files(): CaptureFile[] {
    return this.#all().map(({ port, path, fault, amount }) => ({ port, path, fault, ...amount }))
  }

  /** For real time: writes what has been in the buffers for half a second. */
  onTimeout(now: Nanos): void {
    if (now < this.#flushNs) return
    this.#flushNs = NEVER
    for (const capture of this.#all()) capture.flush()
  }

  nextTimeout(): Nanos {
    return this.#flushNs
  }

  /** Writes the buffers and closes all files. May be called again. */
  close(): void {
    for (const capture of this.#all()) capture.close()
  }

  #onWritten(now: Nanos): void {
    if (this.#flushNs === NEVER) this.#flushNs = now + FLUSH_NS
  }

  #all(): PortCapture[] {
    return [...this.#ports.values()].flat()
  }
}

/** Returns the file name of a port's capture: `s1:s2#1` is in `s1--s2.1.pcapng`. No two ports share one. */
export function captureFile(port: string): string {
  return `${port.replace(':', '--').replace('#', '.')}.pcapng`
}

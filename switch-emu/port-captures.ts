import { join } from 'node:path'
import { type CaptureAmount, PcapngWriter } from '../lib/capture/pcapng-writer.js'
import { WeirError } from '../lib/errors.js'
import type { Node } from '../lib/frame/node.js'
import { makeFolder } from '../lib/make-folder.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { portName, Topology } from '../lib/scenario/model/topology.js'
import { MILLISECOND, type Nanos, NEVER } from '../lib/time/nanos.js'
import { CaptureTap } from './capture-tap.js'
import { linksOf } from './node-links.js'
import { PortCapture } from './port-capture.js'

/** Open files at a time: what systems allow a process by default. */
const PORTS_MAX = 900
/** How long a packet may wait in memory in real time. */
const FLUSH_NS: Nanos = 500 * MILLISECOND

/** Where captures go, and how much of each frame. */
export interface CapturePlace {
  /** Folder of the captures; made if it is not there. */
  folder: string
  /** Bytes kept of each frame, 64 to 65,535. Default: all. */
  snapBytes?: number
  /** Bytes on disk for each port, beyond which the oldest packets go: see PcapngWriterOptions. Default: no bound. */
  bytesMax?: number
  /** When a file cannot be written, its capture alone stops, and `files` says so. Default: that is an error. */
  mayStop?: boolean
}

interface PortCaptureOptions extends CapturePlace {
  /** Nanoseconds since 1970 that time 0 of the run's clock stands for. Default 0. */
  epochNs?: bigint
  /** The frames have neither payload nor ICRC: see PcapngWriterOptions. Default false. */
  virtual?: boolean
}

/** The capture of one port. */
export interface CaptureFile extends CaptureAmount {
  /** "s1:s2" */
  port: string
  path: string
  /** Why it has stopped; empty: it has not. */
  fault: string
}

/**
 * The captures of a run or a lab: one pcapng file for every port of every switch, `s1--s2.pcapng` for the port of s1
 * towards s2 (`s1--s2.0.pcapng`, `s1--s2.1.pcapng` where links are parallel). Files of those names are replaced.
 *
 * A run that is interrupted leaves valid files. Of a process that was killed they lack up to 72 KiB, in real time what
 * came within the last half second.
 */
export class PortCaptures {
  readonly #ports = new Map<string, PortCapture[]>()
  /** When what is buffered goes to the files, or NEVER. */
  #flushNs: Nanos = NEVER

  /** Throws WEIR_NO_FILE when a file cannot be made, WEIR_BAD_ARGUMENT for more ports than files can be open. */
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

  /** The switch of that name with its captures around it. */
  tap(name: string, node: Node): Node {
    return new CaptureTap(node, this.#ports.get(name) ?? [], now => this.#onWritten(now))
  }

  /** In the scenario's order. */
  files(): CaptureFile[] {
    return this.#all().map(({ port, path, fault, amount }) => ({ port, path, fault, ...amount }))
  }

  /** For real time: hands to the operating system what has waited for half a second. */
  onTimeout(now: Nanos): void {
    if (now < this.#flushNs) return
    this.#flushNs = NEVER
    for (const capture of this.#all()) capture.flush()
  }

  nextTimeout(): Nanos {
    return this.#flushNs
  }

  /** Writes what is buffered, and closes all files; may be called again. */
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

/** File name of the capture of a port: `s1:s2#1` is in `s1--s2.1.pcapng`. No two ports share one. */
export function captureFile(port: string): string {
  return `${port.replace(':', '--').replace('#', '.')}.pcapng`
}

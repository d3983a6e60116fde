import { DOUBLE_0 } from '../double.js'
import type { Node } from '../frame/node.js'
import { DeadlineHeap } from '../time/deadline-heap.js'
import type { Nanos } from '../time/nanos.js'
import type { LinkFaults } from './faults.js'
import type { Pipe } from './pipe.js'

/** The source of a node's deadline among a station's events. */
export const OWN = 0

/** Looks at a node between its events, at times of its own. It changes nothing. */
export interface Observer {
  /** When it looks next, after the events of that time, or NEVER. */
  readonly dueNs: Nanos
  /** Takes the looks that are due before `endNs`. The node has not changed since they were. */
  lookBefore(endNs: Nanos): void
}

type PassingNode = Node & Required<Pick<Node, 'pass'>>

/** A node of a network with the sources of its events: its deadline, and the next arrival by each link that leads to it. */
export class Station {
  /** Its place in the network. */
  readonly id: number
  readonly node: Node
  /** The same if it passes frames on at once, or null. */
  readonly passing: PassingNode | null
  /** Who looks at it, or null. */
  watch: Observer | null = null
  /** When each source is due: OWN, then links in the order in which they were plugged in. */
  readonly events = new DeadlineHeap()
  /** The link that is source 1, and so on. */
  readonly into: Pipe[] = []
  /** By port: the link that leaves by it, null = nothing plugged in. */
  readonly out: (Pipe | null)[] = []
  /** By port: what happens to frames that leave by it, null = nothing. */
  readonly faults: (LinkFaults | null)[] = []
  /** Time of the last event here. */
  nowNs: Nanos = DOUBLE_0

  constructor(id: number, node: Node) {
    this.id = id
    this.node = node
    this.passing = node.pass === undefined ? null : (node as PassingNode)
    this.events.add()
  }

  /** A link leaves by that port. */
  plugOut(port: number, pipe: Pipe, faults: LinkFaults | null): void {
    while (this.out.length <= port) {
      this.out.push(null)
      this.faults.push(null)
    }
    this.out[port] = pipe
    this.faults[port] = faults
  }

  /** A link leads here. */
  plugIn(pipe: Pipe): void {
    this.into.push(pipe)
    pipe.source = this.events.add()
  }
}

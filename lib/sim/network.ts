import { assert, WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import type { Node } from '../frame/node.js'
import { DeadlineHeap } from '../time/deadline-heap.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { LinkFaults } from './faults.js'
import { Pipe } from './pipe.js'

/**
 * A discrete-event network: nodes joined by links, moved forward in time by whoever drives it. In virtual time
 * the driver runs it as fast as it goes; in the overlay the driver runs it up to the real clock, so that
 * departures fall on the emulated link's exact timeline however late the process wakes.
 *
 * The sources of events are the nodes (their deadlines) and the pipes (their next arrival): one heap entry
 * each. Events at the same time run in the order in which their sources were added. Times are whole nanoseconds: a source that
 * names another one is a defect (WEIR_INTERNAL).
 */
export class Network {
  readonly #pool: FramePool
  readonly #heap = new DeadlineHeap()
  /** Source id → node, or null when the source is a pipe. */
  readonly #nodes: (Node | null)[] = []
  readonly #pipes: (Pipe | null)[] = []
  readonly #faults: (LinkFaults | null)[] = []
  /** Node id → port → the pipe that leaves by it, null = nothing plugged in. */
  readonly #out: (Pipe | null)[][] = []
  #now: Nanos = 0
  #events = 0
  #unplugged = 0
  /** `run` is to return after the event that runs now. */
  #halted = false

  constructor(options: { pool: FramePool; startNs?: Nanos }) {
    this.#pool = options.pool
    this.#now = options.startNs ?? 0
  }

  /** Time of the last event, or the time that `runUntil` reached. */
  get now(): Nanos {
    return this.#now
  }

  /** Events run so far. */
  get events(): number {
    return this.#events
  }

  /** Frames that a node sent out of a port with no link. */
  get unplugged(): number {
    return this.#unplugged
  }

  /** Frames on links now. */
  get inFlight(): number {
    let count = 0
    for (const pipe of this.#pipes) if (pipe !== null) count += pipe.inFlight
    return count
  }

  /** Adds a node; returns its id for the other calls. */
  addNode(node: Node): number {
    const id = this.#addSource(node, null, null)
    this.#out[id] = []
    return id
  }

  /**
   * Joins two ports by a link of `delayNs` in each direction. Throws WEIR_BAD_ARGUMENT when a port is taken.
   * `faults`, if given, holds one for each direction: it decides about every frame there.
   */
  connect(
    nodeA: number,
    portA: number,
    nodeB: number,
    portB: number,
    delayNs: Nanos,
    faults?: { ab?: LinkFaults | null; ba?: LinkFaults | null },
  ): void {
    this.#plug(nodeA, portA, new Pipe(delayNs, nodeB, portB), faults?.ab ?? null)
    this.#plug(nodeB, portB, new Pipe(delayNs, nodeA, portA), faults?.ba ?? null)
  }

  /** The faults of the direction that leaves by a port, or null. */
  faultsAt(node: number, port: number): LinkFaults | null {
    return this.#faults[this.#pipeAt(node, port).source]!
  }

  /** Sets what decides about frames that leave by a port from now on. */
  setFaults(node: number, port: number, faults: LinkFaults): void {
    this.#faults[this.#pipeAt(node, port).source] = faults
  }

  /** Sets the delay of frames that leave by a port from now on. Without faults, a shorter one lets them overtake others. */
  setDelay(node: number, port: number, delayNs: Nanos): void {
    this.#pipeAt(node, port).delayNs = delayNs
  }

  /** Loses the frames that are on their way from a port. Returns their number. */
  cut(node: number, port: number): number {
    const pipe = this.#pipeAt(node, port)
    const lost = pipe.inFlight
    for (let left = lost; left > 0; left--) this.#pool.give(pipe.pop())
    this.#heap.set(pipe.source, NEVER)
    return lost
  }

  /** Must be called after a command given to a node from outside the network: sends what it has to send. */
  kick(nodeId: number, now: Nanos = this.#now): void {
    this.#now = Math.max(this.#now, now)
    this.#drain(nodeId, this.#nodes[nodeId]!, this.#now)
  }

  /** When the next event is due, or NEVER. */
  nextEventNs(): Nanos {
    return this.#heap.firstTime()
  }

  /**
   * Runs events that are due up to and including `until`: at most `events` of them, and none after the one that calls `halt`. `now` is
   * that of the last one.
   */
  run(until: Nanos, events: number): void {
    const heap = this.#heap
    this.#halted = false
    for (let left = events; left > 0 && !this.#halted; left--) {
      const at = heap.firstTime()
      if (at > until || at === NEVER) return
      this.#step(at)
    }
  }

  /** Called from within an event: `run` returns after it. */
  halt(): void {
    this.#halted = true
  }

  /** Runs every event that is due up to and including `until`; afterwards `now` is `until`. */
  runUntil(until: Nanos): void {
    for (let at = this.#heap.firstTime(); at <= until; at = this.#heap.firstTime()) this.#step(at)
    if (until > this.#now && until !== Number.POSITIVE_INFINITY) this.#now = until
  }

  /** Runs the next event; false when there is none. */
  step(): boolean {
    const at = this.#heap.firstTime()
    if (at === NEVER) return false
    this.#step(at)
    return true
  }

  /** @param at time of the first source */
  #step(at: Nanos): void {
    const source = this.#heap.first()
    // A source may name a time that has passed (a command given late): time never runs backwards.
    const now = at > this.#now ? at : this.#now
    assert(Number.isInteger(now), 'network: a node or a link has named a time that is no whole nanosecond')
    this.#now = now
    this.#events++
    const pipe = this.#pipes[source]!
    if (pipe !== null) {
      const frame = pipe.pop()
      this.#heap.set(source, pipe.nextArrival())
      const node = this.#nodes[pipe.toNode]!
      node.onFrame(now, pipe.toPort, frame)
      this.#drain(pipe.toNode, node, now)
      return
    }
    const node = this.#nodes[source]!
    node.onTimeout(now)
    this.#drain(source, node, now)
  }

  #drain(id: number, node: Node, now: Nanos): void {
    for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) {
      this.#transmit(id, frame)
    }
    this.#heap.set(id, node.nextTimeout())
  }

  #transmit(from: number, frame: Frame): void {
    assert(frame.taken, 'network: a node has sent a frame that it does not own')
    const pipes = this.#out[from]!
    const pipe = frame.port < pipes.length ? pipes[frame.port]! : null
    if (pipe === null) {
      this.#unplugged++
      this.#pool.give(frame)
      return
    }
    const { source } = pipe
    const faults = this.#faults[source]!
    const arrivalNs = frame.departNs + pipe.delayNs
    // Without faults the frame arrives behind those that are in flight, if there are any.
    if (faults === null) {
      if (pipe.push(frame, arrivalNs)) this.#heap.set(source, arrivalNs)
      return
    }
    faults.apply(frame, arrivalNs, pipe, this.#pool)
    this.#heap.set(source, pipe.nextArrival())
  }

  #plug(node: number, port: number, pipe: Pipe, faults: LinkFaults | null): void {
    const ports = this.#out[node]
    if (ports === undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `network: ${node} is no node`)
    if ((ports[port] ?? null) !== null) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `network: port ${port} of node ${node} has a link already`)
    }
    while (ports.length < port) ports.push(null)
    ports[port] = pipe
    pipe.source = this.#addSource(null, pipe, faults)
  }

  #pipeAt(node: number, port: number): Pipe {
    const pipe = this.#out[node]?.[port] ?? null
    if (pipe === null)
      throw new WeirError('WEIR_BAD_ARGUMENT', `network: port ${port} of node ${node} has no link`)
    return pipe
  }

  #addSource(node: Node | null, pipe: Pipe | null, faults: LinkFaults | null): number {
    this.#nodes.push(node)
    this.#pipes.push(pipe)
    this.#faults.push(faults)
    return this.#heap.add()
  }
}

import { DOUBLE_0 } from '../double.js'
import { assert, WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import type { Node } from '../frame/node.js'
import { DeadlineHeap } from '../time/deadline-heap.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { LinkFaults } from './faults.js'
import { Pipe } from './pipe.js'
import { type Observer, OWN, Station } from './station.js'

/**
 * A discrete-event network: nodes joined by links, moved forward in time by whoever drives it. In virtual time
 * the driver runs it as fast as it goes; in the overlay the driver runs it up to the real clock, so that
 * departures fall on the emulated link's exact timeline however late the process wakes.
 *
 * The sources of events are the nodes (their deadlines) and the pipes (their next arrival). Events of one node at the same time run in
 * the order in which its sources were added: its deadline first. Times are whole nanoseconds: a source that names another one is a
 * defect (WEIR_INTERNAL).
 *
 * `run`, `runUntil` and `step` run all events in the order of their times, and nodes at the same time in the order in which they were
 * added. `runAhead` runs those of one node together as far as no frame of another one can reach it, so that its code and its memory stay
 * in the processor's caches. Each node sees the same events at the same times, in the same order.
 */
export class Network {
  readonly #pool: FramePool
  readonly #stations: Station[] = []
  /** Stations without links: see `runAhead`. */
  readonly #apart: Station[] = []
  readonly #watches: Observer[] = []
  /** A time before which no look is due. */
  #looksNs: Nanos = NEVER
  /** When something happens next at each station. */
  readonly #order = new DeadlineHeap()
  /** The shortest delay of a link. */
  #lookaheadNs: Nanos = NEVER
  #now: Nanos = DOUBLE_0
  #events = 0
  #unplugged = 0
  /** Nodes may be ahead of others now. */
  #isAhead = false
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

  /** Some nodes may be further on than the one whose event runs now. */
  get isAhead(): boolean {
    return this.#isAhead
  }

  /** Frames that a node sent out of a port with no link. */
  get unplugged(): number {
    return this.#unplugged
  }

  /** Frames on links now. */
  get inFlight(): number {
    let count = 0
    for (const { into } of this.#stations) for (const pipe of into) count += pipe.inFlight
    return count
  }

  /** Adds a node; returns its id for the other calls. */
  addNode(node: Node): number {
    const id = this.#order.add()
    const station = new Station(id, node)
    this.#stations.push(station)
    this.#apart.push(station)
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

  /**
   * Looks at a node from now on, one for each. A look that is due is taken before the first event that may change the node, and so it
   * finds what it would have found in time. The last ones are the caller's to take.
   */
  watch(nodeId: number, watch: Observer): void {
    this.#stations[nodeId]!.watch = watch
    this.#watches.push(watch)
    this.#looksNs = Math.min(this.#looksNs, watch.dueNs)
  }

  /** The faults of the direction that leaves by a port, or null. */
  faultsAt(node: number, port: number): LinkFaults | null {
    this.#pipeAt(node, port)
    return this.#stations[node]!.faults[port]!
  }

  /** Sets what decides about frames that leave by a port from now on. */
  setFaults(node: number, port: number, faults: LinkFaults): void {
    this.#pipeAt(node, port)
    this.#stations[node]!.faults[port] = faults
  }

  /** Sets the delay of frames that leave by a port from now on. Without faults, a shorter one lets them overtake others. */
  setDelay(node: number, port: number, delayNs: Nanos): void {
    const pipe = this.#pipeAt(node, port)
    pipe.delayNs = delayNs
    this.#bound(pipe)
  }

  /** Loses the frames that are on their way from a port. Returns their number. */
  cut(node: number, port: number): number {
    const pipe = this.#pipeAt(node, port)
    const lost = pipe.inFlight
    for (let left = lost; left > 0; left--) this.#pool.give(pipe.pop())
    const to = this.#stations[pipe.toNode]!
    to.events.set(pipe.source, NEVER)
    this.#order.set(to.id, to.events.firstTime())
    return lost
  }

  /** Must be called after a command given to a node from outside the network: sends what it has to send. */
  kick(nodeId: number, now: Nanos = this.#now): void {
    this.#now = Math.max(this.#now, now)
    const station = this.#stations[nodeId]!
    station.nowNs = this.#now
    if (station.into.length === 0) this.#drainApart(station, this.#now)
    else this.#drain(station, station.node, this.#now)
    this.#order.set(nodeId, station.events.firstTime())
  }

  /** When the next event is due, or NEVER. */
  nextEventNs(): Nanos {
    return this.#order.firstTime()
  }

  /**
   * Runs events that are due up to and including `until`: at most `events` of them, and none after the one that calls `halt`. `now` is
   * that of the last one.
   */
  run(until: Nanos, events: number): void {
    const order = this.#order
    this.#halted = false
    const last = this.#events + events
    while (this.#events < last && !this.#halted) {
      const at = order.firstTime()
      if (at > until || at === NEVER) return
      this.#step(at)
    }
  }

  /**
   * As `run`, but a node may be ahead of others by less than the shortest delay of a link, except of one without links: such a node acts
   * in ways that the network does not see, so the others have reached its time, and not passed it. `events` may be exceeded. An event
   * that calls `halt` finds some nodes further on than it is.
   */
  runAhead(until: Nanos, events: number): void {
    const order = this.#order
    const apart = this.#apart
    this.#halted = false
    const last = this.#events + events
    while (this.#events < last && !this.#halted) {
      const at = order.firstTime()
      if (at > until || at === NEVER) return
      let end = Math.min(until + 1, at + this.#lookaheadNs)
      for (let i = 0; i < apart.length; i++) end = Math.min(end, apart[i]!.events.firstTime())
      if (end <= at) this.#step(at)
      else this.#runStations(end)
    }
  }

  /** Runs what is due before `end`, one station after the other. Their frames arrive at that time or later. */
  #runStations(end: Nanos): void {
    const order = this.#order
    this.#isAhead = true
    while (order.firstTime() < end && !this.#halted) {
      const id = order.first()
      const station = this.#stations[id]!
      const { events, watch } = station
      for (let at = events.firstTime(); at < end && !this.#halted; at = events.firstTime()) {
        const now = at > station.nowNs ? at : station.nowNs
        if (watch !== null && watch.dueNs < now) watch.lookBefore(now)
        this.#run(station, now)
      }
      order.set(id, events.firstTime())
    }
    this.#isAhead = false
  }

  /** Called from within an event: `run` returns after it. */
  halt(): void {
    this.#halted = true
  }

  /** Runs every event that is due up to and including `until`; afterwards `now` is `until`. */
  runUntil(until: Nanos): void {
    for (let at = this.#order.firstTime(); at <= until; at = this.#order.firstTime()) this.#step(at)
    if (until > this.#now && until !== Number.POSITIVE_INFINITY) this.#now = until
  }

  /** Runs the next event; false when there is none. */
  step(): boolean {
    const at = this.#order.firstTime()
    if (at === NEVER) return false
    this.#step(at)
    return true
  }

  /** Runs the next event. @param at of the first station */
  #step(at: Nanos): void {
    const id = this.#order.first()
    const station = this.#stations[id]!
    // A source may name a time that has passed (a command given late): time never runs backwards.
    const now = at > this.#now ? at : this.#now
    if (this.#looksNs < now) this.#lookBefore(now)
    this.#run(station, now)
    this.#order.set(id, station.events.firstTime())
  }

  /** What happens at one node may act on others: all are looked at. */
  #lookBefore(now: Nanos): void {
    this.#looksNs = NEVER
    for (const watch of this.#watches) {
      if (watch.dueNs < now) watch.lookBefore(now)
      this.#looksNs = Math.min(this.#looksNs, watch.dueNs)
    }
  }

  #run(station: Station, now: Nanos): void {
    assert(Number.isInteger(now), 'network: a node or a link has named a time that is no whole nanosecond')
    this.#now = now
    station.nowNs = now
    this.#events++
    const { events, node, passing } = station
    const source = events.first()
    if (source === OWN) {
      if (station.into.length === 0) this.#actApart(station, now)
      else {
        node.onTimeout(now)
        this.#drain(station, node, now)
      }
      return
    }
    const pipe = station.into[source - 1]!
    const frame = pipe.pop()
    events.set(source, pipe.nextArrival())
    if (passing === null) {
      node.onFrame(now, pipe.toPort, frame)
      this.#drain(station, node, now)
      return
    }
    const passed = passing.pass(now, pipe.toPort, frame)
    if (passed !== null) this.#transmit(station, passed)
    const dueNs = passing.nextTimeout()
    if (dueNs > now) events.set(OWN, dueNs)
    else this.#drain(station, passing, now)
  }

  #drain(station: Station, node: Node, now: Nanos): void {
    for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) {
      this.#transmit(station, frame)
    }
    station.events.set(OWN, node.nextTimeout())
  }

  /**
   * The deadline of a station without links. Those are of several classes. Calls of their own keep V8 from searching for the method at
   * each call of a host or of a switch, as it does where it has met more than four classes.
   */
  #actApart(station: Station, now: Nanos): void {
    station.node.onTimeout(now)
    this.#drainApart(station, now)
  }

  /** As `#drain`, for such a station. */
  #drainApart(station: Station, now: Nanos): void {
    const { events, node } = station
    for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) {
      this.#transmit(station, frame)
    }
    events.set(OWN, node.nextTimeout())
  }

  #transmit(from: Station, frame: Frame): void {
    assert(frame.taken, 'network: a node has sent a frame that it does not own')
    const pipes = from.out
    const pipe = frame.port < pipes.length ? pipes[frame.port]! : null
    if (pipe === null) {
      this.#unplugged++
      this.#pool.give(frame)
      return
    }
    const arrivalNs = frame.departNs + pipe.delayNs
    // Without faults the frame arrives behind those that are in flight, if there are any.
    const faults = from.faults[frame.port]!
    if (faults === null) {
      if (pipe.push(frame, arrivalNs)) this.#expect(pipe, arrivalNs)
      return
    }
    faults.apply(frame, arrivalNs, pipe, this.#pool)
    this.#expect(pipe, pipe.nextArrival())
  }

  /** The next frame of a link arrives at that time. */
  #expect(pipe: Pipe, at: Nanos): void {
    const to = this.#stations[pipe.toNode]!
    to.events.set(pipe.source, at)
    if (at < this.#order.timeOf(to.id)) this.#order.set(to.id, at)
  }

  #plug(node: number, port: number, pipe: Pipe, faults: LinkFaults | null): void {
    const from = this.#stations[node]
    if (from === undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `network: ${node} is no node`)
    if ((from.out[port] ?? null) !== null) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `network: port ${port} of node ${node} has a link already`)
    }
    from.plugOut(port, pipe, faults)
    this.#bound(pipe)
    const to = this.#stations[pipe.toNode]!
    to.plugIn(pipe)
    const at = this.#apart.indexOf(to)
    if (at >= 0) this.#apart.splice(at, 1)
  }

  /** No node may be ahead by as much as a frame takes on this link. */
  #bound({ delayNs }: Pipe): void {
    if (delayNs < this.#lookaheadNs) this.#lookaheadNs = delayNs
  }

  #pipeAt(node: number, port: number): Pipe {
    const pipe = this.#stations[node]?.out[port] ?? null
    if (pipe === null)
      throw new WeirError('WEIR_BAD_ARGUMENT', `network: port ${port} of node ${node} has no link`)
    return pipe
  }
}

import { DOUBLE_0 } from '../double.js'
import { assert, WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import type { Node } from '../frame/node.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { LinkFaults } from './faults.js'
import { Pipe } from './pipe.js'
import { type Observer, OWN, Side, Station } from './station.js'
import { inTwoParts } from './two-parts.js'

/** So many frames stay in a processor's caches: each takes about ten of their lines, of 64 bytes. */
const FRAMES_IN_CACHE = 4096

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
 *
 * Where each link leads from one half of the nodes to the other, the halves take turns. Nothing reaches a half before the time that the
 * other half has reached, and the shortest delay of a link. So each passes the other by that delay, and runs for twice as long a time. More
 * frames are on their way then, so it does so only while there are few.
 */
export class Network {
  readonly #pool: FramePool
  readonly #stations: Station[] = []
  /** All stations in one, or as `runAhead` wants them: two halves, and those without links. */
  #sides = [new Side()]
  readonly #watches: Observer[] = []
  /** A time before which no look is due. */
  #looksNs: Nanos = NEVER
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
    this.#join()
    const station = new Station(this.#stations.length, node)
    this.#stations.push(station)
    this.#sides[0]!.add(station)
    return station.id
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
    to.side.update(to)
    return lost
  }

  /** Must be called after a command given to a node from outside the network: sends what it has to send. */
  kick(nodeId: number, now: Nanos = this.#now): void {
    this.#now = Math.max(this.#now, now)
    const station = this.#stations[nodeId]!
    station.nowNs = this.#now
    this.#drain(station, station.node, this.#now)
    station.side.update(station)
  }

  /** When the next event is due, or NEVER. */
  nextEventNs(): Nanos {
    return this.#next().nextNs
  }

  /** The side where something happens next. */
  #next(): Side {
    const sides = this.#sides
    let next = sides[0]!
    for (let i = 1; i < sides.length; i++) if (sides[i]!.precedes(next)) next = sides[i]!
    return next
  }

  /**
   * Runs events that are due up to and including `until`: at most `events` of them, and none after the one that calls `halt`. `now` is
   * that of the last one.
   */
  run(until: Nanos, events: number): void {
    this.#halted = false
    const last = this.#events + events
    while (this.#events < last && !this.#halted) {
      const at = this.nextEventNs()
      if (at > until || at === NEVER) return
      this.#step()
    }
  }

  /**
   * As `run`, but a node may be ahead of others by less than twice the shortest delay of a link, except of one without links: such a node
   * acts in ways that the network does not see, so the others have reached its time, and not passed it. `events` may be exceeded: all
   * nodes are equally far on in the end. But an event that calls `halt` finds some nodes further on than it is, and leaves them there.
   */
  runAhead(until: Nanos, events: number): void {
    if (this.#sides.length === 1) this.#divide()
    const [one, other, apart] = this.#sides as [Side, Side, Side]
    one.reachedNs = other.reachedNs = this.nextEventNs()
    this.#halted = false
    const last = this.#events + events
    while (!this.#halted) {
      const at = this.nextEventNs()
      if (one.reachedNs < at) one.reachedNs = at
      if (other.reachedNs < at) other.reachedNs = at
      const isOneBehind = one.reachedNs <= other.reachedNs
      const behind = isOneBehind ? one : other
      const ahead = isOneBehind ? other : one
      const isLevel = behind.reachedNs === ahead.reachedNs
      const isEnough = this.#events >= last
      if (at > until || at === NEVER || (isEnough && isLevel)) return
      const mayPass = isLevel || (!isEnough && this.#pool.inUse < FRAMES_IN_CACHE)
      const end = Math.min(until + 1, ahead.reachedNs + (mayPass ? this.#lookaheadNs : 0), apart.nextNs)
      if (end <= behind.reachedNs) this.#step()
      else this.#runSide(behind, end)
    }
  }

  /** Puts all stations into one side. */
  #join(): void {
    if (this.#sides.length === 1) return
    this.#sides = [new Side()]
    for (const station of this.#stations) this.#sides[0]!.add(station)
  }

  #divide(): void {
    const { parts, apart } = inTwoParts(this.#stations)
    this.#sides = [...parts, apart].map(stations => {
      const side = new Side()
      for (const station of stations) side.add(station)
      return side
    })
  }

  /** Runs what is due before `end`, one station after the other. Their frames arrive at the other side when that has been reached, or later. */
  #runSide(side: Side, end: Nanos): void {
    this.#isAhead = true
    while (side.nextNs < end && !this.#halted) {
      const station = side.next
      const { events, watch } = station
      for (let at = events.firstTime(); at < end && !this.#halted; at = events.firstTime()) {
        const now = at > station.nowNs ? at : station.nowNs
        if (watch !== null && watch.dueNs < now) watch.lookBefore(now)
        this.#run(station, now)
      }
      side.update(station)
    }
    side.reachedNs = end
    this.#isAhead = false
  }

  /** Called from within an event: `run` returns after it. */
  halt(): void {
    this.#halted = true
  }

  /** Runs every event that is due up to and including `until`; afterwards `now` is `until`. */
  runUntil(until: Nanos): void {
    while (this.nextEventNs() <= until) this.#step()
    if (until > this.#now && until !== Number.POSITIVE_INFINITY) this.#now = until
  }

  /** Runs the next event; false when there is none. */
  step(): boolean {
    if (this.nextEventNs() === NEVER) return false
    this.#step()
    return true
  }

  /** Runs the next event. */
  #step(): void {
    const side = this.#next()
    const station = side.next
    const at = side.nextNs
    // A source may name a time that has passed (a command given late): time never runs backwards.
    const now = at > this.#now ? at : this.#now
    if (this.#looksNs < now) this.#lookBefore(now)
    this.#run(station, now)
    side.update(station)
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
      node.onTimeout(now)
      this.#drain(station, node, now)
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
    to.side.expect(to, at)
  }

  #plug(node: number, port: number, pipe: Pipe, faults: LinkFaults | null): void {
    const from = this.#stations[node]
    if (from === undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `network: ${node} is no node`)
    if ((from.out[port] ?? null) !== null) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `network: port ${port} of node ${node} has a link already`)
    }
    from.plugOut(port, pipe, faults)
    this.#bound(pipe)
    this.#stations[pipe.toNode]!.plugIn(pipe)
    this.#join()
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

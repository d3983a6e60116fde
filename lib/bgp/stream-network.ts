/** TCP connections between speakers in virtual time: bytes arrive in order, after a delay, or not at all. */
import type { Frame } from '../frame/frame.js'
import type { Node } from '../frame/node.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { ByteStream } from './byte-stream.js'
import type { BgpSession } from './session.js'
import type { Speaker } from './speaker.js'

/** Bytes that may be on their way on one stream. */
const WINDOW_BYTES = 1 << 16

interface StreamEvent {
  atNs: Nanos
  /** Events at one time are in the order in which they were made. */
  order: number
  run: (now: Nanos) => void
}

interface Member {
  speaker: Speaker
  ends: Set<StreamEnd>
}

/** How long bytes take from one speaker to another; null: they do not arrive. */
type StreamDelay = (from: string, to: string) => Nanos | null

/** Joins speakers by their addresses. It is a node without links: it only waits for the times of its events. */
export class StreamNetwork implements Node {
  readonly #delay: StreamDelay
  readonly #members = new Map<string, Member>()
  /** A binary heap by time and order. */
  readonly #events: StreamEvent[] = []
  #order = 0

  constructor(delay: StreamDelay) {
    this.#delay = delay
  }

  add(address: string, speaker: Speaker): void {
    this.#members.set(address, { speaker, ends: new Set() })
  }

  /** Makes a connection: what a speaker's owner does in `connect`. */
  connect(now: Nanos, from: string, neighbour: number): void {
    const { speaker } = this.#members.get(from)!
    const to = speaker.neighbours[neighbour]!.options.address
    const forthNs = this.#delay(from, to)
    const backNs = this.#delay(to, from)
    if (forthNs === null || backNs === null || !this.#members.has(to)) {
      // A refusal, or a timeout of the connection: either way the speaker tries later.
      this.#at(now + (forthNs ?? 0), at => this.#members.get(from)?.speaker.onConnectFailed(at, neighbour))
      return
    }
    this.#at(now + forthNs, at => {
      const target = this.#members.get(to)
      if (target === undefined) {
        this.#at(at + backNs, then => this.#members.get(from)?.speaker.onConnectFailed(then, neighbour))
        return
      }
      const near = new StreamEnd(this, from, to)
      const far = new StreamEnd(this, to, from)
      near.peer = far
      far.peer = near
      // Before the other end's first bytes, which take as long.
      this.#at(at + backNs, then => this.#open(then, from, near, neighbour))
      target.ends.add(far)
      far.session = target.speaker.onAccepted(at, from, far)
    })
  }

  /** A speaker ends without a word, as a process that is killed: its kernel closes its connections. */
  kill(now: Nanos, address: string): void {
    const member = this.#members.get(address)
    this.#members.delete(address)
    for (const end of member?.ends ?? []) end.close(now)
  }

  nextTimeout(): Nanos {
    let first = this.#events[0]?.atNs ?? NEVER
    for (const { speaker } of this.#members.values()) first = Math.min(first, speaker.nextTimeout())
    return first
  }

  onTimeout(now: Nanos): void {
    for (let event = this.#events[0]; event !== undefined && event.atNs <= now; event = this.#events[0]) {
      this.#pop()
      event.run(event.atNs)
    }
    for (const { speaker } of this.#members.values()) if (speaker.nextTimeout() <= now) speaker.onTimeout(now)
  }

  onFrame(): void {}

  pollTransmit(): Frame | null {
    return null
  }

  /** Bytes of one end are on their way to the other. */
  deliver(now: Nanos, from: StreamEnd, bytes: Uint8Array): void {
    const delayNs = this.#delay(from.address, from.to)
    // Bytes that are lost stay unacknowledged: the hold timers find out.
    if (delayNs === null) return
    this.#at(now + delayNs, at => {
      from.inFlight -= bytes.length
      const { peer } = from
      const speaker = this.#members.get(peer.address)?.speaker
      if (speaker !== undefined && peer.session !== null && !peer.closed)
        speaker.onBytes(at, peer.session, bytes)
      const sender = this.#members.get(from.address)?.speaker
      if (sender !== undefined && from.session !== null && !from.closed) sender.onWritable(at, from.session)
    })
  }

  /** One end has closed. */
  closed(now: Nanos, end: StreamEnd): void {
    this.#members.get(end.address)?.ends.delete(end)
    const delayNs = this.#delay(end.address, end.to)
    if (delayNs === null) return
    this.#at(now + delayNs, at => {
      const { peer } = end
      if (peer.closed) return
      peer.closed = true
      const member = this.#members.get(peer.address)
      member?.ends.delete(peer)
      if (peer.session !== null) member?.speaker.onClosed(at, peer.session)
    })
  }

  #open(now: Nanos, from: string, near: StreamEnd, neighbour: number): void {
    const member = this.#members.get(from)
    if (member === undefined || near.closed) {
      near.close(now)
      member?.speaker.onConnectFailed(now, neighbour)
      return
    }
    member.ends.add(near)
    near.session = member.speaker.onConnected(now, neighbour, near)
  }

  #at(atNs: Nanos, run: (now: Nanos) => void): void {
    const events = this.#events
    const event = { atNs, order: this.#order++, run }
    let i = events.length
    for (; i > 0; ) {
      const parent = (i - 1) >> 1
      if (!precedes(event, events[parent]!)) break
      events[i] = events[parent]!
      i = parent
    }
    events[i] = event
  }

  #pop(): void {
    const events = this.#events
    const last = events.pop()!
    if (events.length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= events.length) break
      if (child + 1 < events.length && precedes(events[child + 1]!, events[child]!)) child++
      if (!precedes(events[child]!, last)) break
      events[i] = events[child]!
      i = child
    }
    events[i] = last
  }
}

function precedes(a: StreamEvent, b: StreamEvent): boolean {
  return a.atNs < b.atNs || (a.atNs === b.atNs && a.order < b.order)
}

/** One end of a connection. */
class StreamEnd implements ByteStream {
  readonly address: string
  readonly to: string
  readonly #network: StreamNetwork
  peer!: StreamEnd
  session: BgpSession | null = null
  closed = false
  /** Bytes on their way from here. */
  inFlight = 0

  constructor(network: StreamNetwork, address: string, to: string) {
    this.#network = network
    this.address = address
    this.to = to
  }

  room(): number {
    return this.closed ? 0 : WINDOW_BYTES - this.inFlight
  }

  write(now: Nanos, bytes: Uint8Array): void {
    if (this.closed) return
    this.inFlight += bytes.length
    this.#network.deliver(now, this, bytes)
  }

  close(now: Nanos): void {
    if (this.closed) return
    this.closed = true
    this.#network.closed(now, this)
  }
}

/** `events` of a scenario: what happens to the network while the traffic runs. */
import { assert } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { Node } from '../../../lib/frame/node.js'
import type { NetworkEvent, Spacing } from '../../../lib/scenario/model/scenario.js'
import { TIMELINE_MAX, type TimelineEntry } from '../../../lib/scenario/result/result.js'
import type { Random } from '../../../lib/sim/random.js'
import { DeadlineHeap } from '../../../lib/time/deadline-heap.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import type { EventKind, EventTarget } from './event-kind.js'
import { LINK } from './link.js'
import { PFC_ON } from './pfc-on.js'
import { RESTART } from './restart.js'

/** What each kind of events does. */
const KINDS = [PFC_ON, LINK, RESTART] as const

/** One event of the scenario and its next time. */
class Occurrences {
  readonly event: NetworkEvent
  /** It has begun, and lasts. */
  isOn = false
  readonly #random: Random
  #left: number
  #beganNs: Nanos = 0

  constructor(event: NetworkEvent, random: Random) {
    this.event = event
    this.#random = random
    this.#left = event.repeat ?? (event.every === undefined ? 1 : Number.POSITIVE_INFINITY)
  }

  /** When it first begins, from the start of the traffic. */
  first(): Nanos {
    const { atNs, every } = this.event
    return every?.random ? atNs + this.#draw(every) : atNs
  }

  /** It begins now. Returns when it ends, or begins again. */
  begin(at: Nanos): Nanos {
    this.#left--
    this.#beganNs = at
    const { for: lasts } = this.event
    if (lasts === undefined) return this.#next(at)
    this.isOn = true
    return at + this.#draw(lasts)
  }

  /** It ends now. Returns when it begins again. */
  end(at: Nanos): Nanos {
    this.isOn = false
    return this.#next(at)
  }

  #next(at: Nanos): Nanos {
    const { every } = this.event
    if (every === undefined || this.#left === 0) return NEVER
    return every.random ? at + this.#draw(every) : Math.max(at, this.#beganNs + every.ns)
  }

  /** Whole nanoseconds, 1 at least. */
  #draw({ ns, random }: Spacing): Nanos {
    return random ? Math.max(1, Math.round(this.#random.exponential(ns))) : ns
  }
}

/** A node of the network without links, which only waits for the times of the events. */
export class NetworkEvents implements Node {
  /** What took place, in order. */
  readonly timeline: TimelineEntry[] = []
  readonly #network: EventTarget
  readonly #events: readonly NetworkEvent[]
  readonly #random: Random
  readonly #deadlines = new DeadlineHeap()
  #occurrences: Occurrences[] = []
  #startNs: Nanos = NEVER

  constructor(network: EventTarget, events: readonly NetworkEvent[], random: Random) {
    this.#network = network
    this.#events = events
    this.#random = random
    for (const _ of events) this.#deadlines.add()
  }

  /** The traffic starts at `now`: the times of events count from there. */
  start(now: Nanos): void {
    this.timeline.length = 0
    for (const [i, { event, isOn }] of this.#occurrences.entries()) {
      if (isOn) kindOf(event).end?.(now, this.#network, event, i)
    }
    this.#startNs = now
    this.#occurrences = this.#events.map((event, i) => new Occurrences(event, this.#random.fork(String(i))))
    for (const [i, one] of this.#occurrences.entries()) this.#deadlines.set(i, now + one.first())
  }

  nextTimeout(): Nanos {
    return this.#deadlines.firstTime()
  }

  onTimeout(now: Nanos): void {
    const deadlines = this.#deadlines
    for (let at = deadlines.firstTime(); at <= now; at = deadlines.firstTime()) {
      const i = deadlines.first()
      const one = this.#occurrences[i]!
      const kind = kindOf(one.event)
      if (one.isOn) {
        deadlines.set(i, one.end(at))
        kind.end?.(now, this.#network, one.event, i)
        this.#note(at, `${kind.text(one.event, this.#network)} ends`)
      } else {
        deadlines.set(i, one.begin(at))
        kind.begin(now, this.#network, one.event, i)
        this.#note(at, kind.text(one.event, this.#network))
      }
    }
  }

  onFrame(_now: Nanos, _port: number, _frame: Frame): void {
    assert(false, 'a frame came to the events')
  }

  pollTransmit(_now: Nanos): Frame | null {
    return null
  }

  #note(at: Nanos, event: string): void {
    if (this.timeline.length < TIMELINE_MAX) this.timeline.push({ atNs: at - this.#startNs, event })
  }
}

function kindOf(event: NetworkEvent): EventKind<NetworkEvent['kind']> {
  const kind = KINDS.find(one => one.kind === event.kind)
  assert(kind !== undefined, `no events are of the kind ${event.kind}`)
  return kind as unknown as EventKind<NetworkEvent['kind']>
}

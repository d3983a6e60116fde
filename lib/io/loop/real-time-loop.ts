import { type Nanos, NEVER } from '../../time/nanos.js'
import type { Waiter } from '../waiter.js'
import { monotonicNs } from './clock.js'

/** What a RealTimeLoop drives. */
export interface Driven {
  /** Does what is due at `now`, a bounded amount of it. True: there is more to do at once. */
  round(now: Nanos): boolean
  /** When the next round is due if nothing happens before, or NEVER. */
  nextDeadline(): Nanos
}

interface RealTimeLoopOptions {
  clock?: () => Nanos
  /** Keeps looking and never sleeps: lowest latency, for one whole core. Default false. */
  busyPoll?: boolean
  /**
   * How long the loop goes on looking at the sockets after it was last woken, before it sleeps. While packets keep
   * coming, neither end then pays for putting this process to sleep and waking it, which costs several
   * packets' worth. With a waiter it does not while another thread waits for the core. Default 0.
   */
  spinNs?: Nanos
  /** Sees what comes in, when the event loop does not. Default null. */
  waiter?: Waiter | null
  /** Called once if a round throws: a defect. The loop has stopped. */
  onError: (error: unknown) => void
}

/** A timer of n ms ends up to 0.2 ms late and never under 1.1 ms: nearer deadlines are napped for. */
const TIMER_LEAST_NS: Nanos = 1_200_000
const TIMER_LATE_NS: Nanos = 200_000
/**
 * The longest nap, which is also the longest that an arriving packet waits. Sleeping and waking costs so
 * much CPU on a virtual machine that much shorter naps would use up the time that they are to leave to others.
 */
const NAP_MOST_NS: Nanos = 350_000

/**
 * The same for a host that has a core to spend: that a file has been read or written is noticed only between naps, as
 * it comes by the event loop.
 */
const SHORT_NAP_NS: Nanos = 30_000
/**
 * After spinning, a thread with a waiter sleeps in that for so long, in naps, before it leaves the waiting to another
 * thread: to be woken by that one takes ten times as long, which an exchange of single messages would pay at every
 * turn.
 */
const LINGER_NS: Nanos = 2_000_000
/**
 * To yield a core that nobody else wants takes some microseconds. If it takes this long, another thread was waiting for the core, and the loop
 * sleeps for a while where it would spin: the other thread may be the very peer that it waits for. A loop without a waiter
 * never yields while it spins, as it goes through Node's event loop at each look, and so cannot know.
 */
const CONTENDED_NS: Nanos = 30_000
const CONCEDE_NS: Nanos = 20_000_000
/** So many times in a row: a single time may have been an interrupt or a collection of garbage. */
const CONTENDED_LOOKS = 2

/**
 * Runs rounds in real time on Node's event loop: when woken, when I/O wakes it, and at the deadline. Idle, it
 * costs nothing. A far deadline is a timer; a near one, which timers cannot meet, is approached by short naps
 * between looks at the sockets, so that several processes share a core.
 */
export class RealTimeLoop {
  readonly #driven: Driven
  readonly #clock: () => Nanos
  /** How many callers want it never to sleep. */
  #pollers: number
  readonly #spinNs: Nanos
  readonly #onError: (error: unknown) => void
  readonly #waiter: Waiter | null
  readonly #nap = new Int32Array(new SharedArrayBuffer(4))
  #running = false
  #woken = false
  #immediate: NodeJS.Immediate | null = null
  #timer: NodeJS.Timeout | null = null
  /** When the armed timer fires. */
  #timerNs: Nanos = NEVER
  /** Until when the loop looks at the sockets without sleeping. */
  #spinUntil: Nanos = 0
  /** Looks in a row that took long. */
  #slowLooks = 0
  /** Until when it does not spin, since others want the core. */
  #concedeUntil: Nanos = 0
  /** Until when it sleeps in the waiter on its own thread. */
  #lingerUntil: Nanos = 0
  /** Rounds run so far. */
  rounds = 0

  constructor(driven: Driven, options: RealTimeLoopOptions) {
    this.#driven = driven
    this.#clock = options.clock ?? monotonicNs
    this.#pollers = options.busyPoll ? 1 : 0
    this.#spinNs = options.spinNs ?? 0
    this.#waiter = options.waiter ?? null
    this.#onError = options.onError
  }

  now(): Nanos {
    return this.#clock()
  }

  start(): void {
    this.#running = true
    this.wake()
  }

  /** Has a round run after the I/O events that are at hand. Cheap to call often. */
  wake(): void {
    this.#woken = true
    this.#schedule()
  }

  /** From now on the loop never sleeps, until `endPolling` has been called as often. */
  beginPolling(): void {
    this.#pollers++
    this.wake()
  }

  endPolling(): void {
    this.#pollers--
  }

  close(): void {
    this.#running = false
    if (this.#immediate !== null) clearImmediate(this.#immediate)
    this.#immediate = null
    this.#disarm()
  }

  #schedule(): void {
    if (this.#running && this.#immediate === null) this.#immediate = setImmediate(this.#onImmediate)
  }

  readonly #onImmediate = (): void => {
    this.#immediate = null
    if (!this.#woken && this.#waiter !== null && this.#hasCome(this.#waiter)) this.#woken = true
    let deadline = this.#woken ? 0 : this.#driven.nextDeadline()
    let now = this.#clock()
    if (deadline > now && !this.#spins(now) && (deadline - now < TIMER_LEAST_NS || now < this.#lingerUntil)) {
      now = this.#napUntil(deadline, now)
      if (this.#woken) deadline = 0
    }
    if (this.#woken) this.#stayAwake(now)
    try {
      if (deadline <= now) this.#runRound(now)
    } catch (error) {
      this.close()
      this.#onError(error)
      return
    }
    this.#wait()
  }

  /**
   * True if the waiter has seen something. A polling thread yields the core only when nothing has come for as long as
   * others spin.
   */
  #hasCome(waiter: Waiter): boolean {
    const now = this.#clock()
    if (now >= this.#spinUntil) return waiter.wait(0)
    if (this.#pollers > 0) return waiter.look()
    const come = waiter.wait(0)
    const after = this.#clock()
    this.#slowLooks = after - now > CONTENDED_NS ? this.#slowLooks + 1 : 0
    if (this.#slowLooks >= CONTENDED_LOOKS) this.#concede(after)
    return come
  }

  #concede(now: Nanos): void {
    this.#slowLooks = 0
    this.#concedeUntil = now + CONCEDE_NS
    this.#spinUntil = 0
  }

  #runRound(now: Nanos): void {
    this.#woken = false
    this.rounds++
    if (this.#driven.round(now)) this.#woken = true
  }

  /** Decides how to reach the next round. */
  #wait(): void {
    if (!this.#running) return
    if (this.#woken) {
      this.#schedule()
      return
    }
    const now = this.#clock()
    const deadline = this.#driven.nextDeadline()
    const isFar = deadline - now >= TIMER_LEAST_NS
    if (isFar && deadline !== NEVER && this.#pollers === 0) this.#arm(deadline)
    if (!isFar || this.#spins(now) || now < this.#lingerUntil) this.#schedule()
    else this.#waiter?.arm(this.#onArrival)
  }

  #stayAwake(now: Nanos): void {
    const concedes = now < this.#concedeUntil && this.#pollers === 0
    this.#spinUntil = concedes ? 0 : now + this.#spinNs
    if (this.#waiter !== null) this.#lingerUntil = now + this.#spinNs + LINGER_NS
  }

  #spins(now: Nanos): boolean {
    return now < this.#spinUntil || this.#pollers > 0
  }

  /** Sleeps for part of the time to the deadline; the next turn of the event loop then looks at the sockets. */
  #napUntil(deadline: Nanos, now: Nanos): Nanos {
    const hasCore = this.#spinNs > 0 && now >= this.#concedeUntil
    const ns = Math.min(deadline - now, hasCore ? SHORT_NAP_NS : NAP_MOST_NS)
    // Without a waiter the thread wakes some 60 us late (Linux: its timer slack). To spin for that long would cost another nap.
    if (this.#waiter === null) Atomics.wait(this.#nap, 0, 0, ns / 1e6)
    else if (this.#waiter.wait(ns)) this.#woken = true
    return this.#clock()
  }

  #arm(deadline: Nanos): void {
    // An armed timer that fires earlier does no harm: it looks, and arms the next one.
    if (this.#timer !== null && this.#timerNs <= deadline) return
    this.#disarm()
    const now = this.#clock()
    const delayMs = Math.max(1, Math.floor((deadline - now - TIMER_LATE_NS) / 1e6))
    this.#timerNs = deadline
    this.#timer = setTimeout(this.#onTimer, Math.min(delayMs, 0x7fffffff))
  }

  #disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#timerNs = NEVER
  }

  readonly #onArrival = (): void => this.wake()

  readonly #onTimer = (): void => {
    this.#timer = null
    this.#timerNs = NEVER
    this.#wait()
  }
}

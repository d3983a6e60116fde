import { type Nanos, NEVER } from '../../time/nanos.js'
import { monotonicNs } from '../clock.js'
import type { Waiter } from '../waiter.js'

/** What a RealTimeLoop drives. */
export interface Driven {
  /** Does what is due at `now`, a bounded amount of it. Returns true if there is more to do at once. */
  round(now: Nanos): boolean
  /** When the next round is due if nothing happens before, or NEVER. */
  nextDeadline(): Nanos
}

interface RealTimeLoopOptions {
  clock?: () => Nanos
  /** Polls without sleeping. This gives the lowest latency and uses one core. Default false. */
  busyPoll?: boolean
  /**
   * How long the loop polls the sockets after it was last woken, before it sleeps. While packets keep coming,
   * neither end then puts the process to sleep and wakes it, which takes as long as several packets. A loop
   * with a waiter stops polling while another thread waits for the core. Default 0.
   */
  spinNs?: Nanos
  /** Reports arrivals where the event loop does not watch the sockets. Default null. */
  waiter?: Waiter | null
  /** Called once if a round throws, which is a defect. The loop has stopped then. */
  onError: (error: unknown) => void
}

/**
 * A timer of n ms fires up to 0.2 ms late and never in under 1.1 ms. The loop naps until nearer deadlines.
 */
const TIMER_LEAST_NS: Nanos = 1_200_000
const TIMER_LATE_NS: Nanos = 200_000
/**
 * The longest nap. An arriving packet may wait as long. To sleep and wake takes so much CPU time on a virtual
 * machine that much shorter naps would leave none to other processes.
 */
const NAP_MOST_NS: Nanos = 350_000

/**
 * The same for a host with a core to spare. Completed reads and writes of files arrive by the event loop, so
 * they are noticed only between naps.
 */
const SHORT_NAP_NS: Nanos = 30_000
/**
 * After spinning, a thread with a waiter sleeps in the waiter for this long, in naps, before another thread
 * takes over the waiting. To be woken by that thread takes ten times as long, which an exchange of single
 * messages would pay at every turn.
 */
const LINGER_NS: Nanos = 2_000_000
/**
 * Yielding a core that no other thread wants takes some microseconds. If it takes this long, another thread
 * waited for the core. Then the loop sleeps for a while where it would spin, because the other thread may be
 * the peer for which it waits. A loop without a waiter never yields while it spins, because it runs Node's
 * event loop between polls. So it cannot know.
 */
const CONTENDED_NS: Nanos = 30_000
const CONCEDE_NS: Nanos = 20_000_000
/** Slow yields in a row that count. A single one may be due to an interrupt or garbage collection. */
const CONTENDED_LOOKS = 2
/**
 * How long a turn of Node's event loop looks for arrivals where the loop does not sleep. A turn takes as long as many looks. What
 * comes by the event loop (files, messages of other threads) may wait as long.
 */
const LOOKS_NS: Nanos = 30_000
/** How long the loop goes on in a turn, rounds included, while somebody polls. Promises and ticks wait as long. */
const POLLING_TURN_NS: Nanos = 100_000

/**
 * Runs rounds in real time on Node's event loop: when woken, after I/O, and at the deadline. An idle loop
 * uses no CPU. A timer waits for a far deadline. Timers are too inexact for a near one, so the loop naps
 * briefly between polls of the sockets, which also lets several processes share a core.
 */
export class RealTimeLoop {
  readonly #driven: Driven
  readonly #clock: () => Nanos
  /** Number of callers that want the loop never to sleep. */
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
  /** Until when the loop polls the sockets without sleeping. */
  #spinUntil: Nanos = 0
  /** Slow yields in a row. */
  #slowLooks = 0
  /** Until when the loop does not spin, because other threads want the core. */
  #concedeUntil: Nanos = 0
  /** Until when the loop sleeps in the waiter on its own thread. */
  #lingerUntil: Nanos = 0
  /** Number of rounds so far. */
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

  /** Runs a round after the pending I/O events. It is cheap to call often. */
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

  /** True while the loop never sleeps. */
  get polls(): boolean {
    return this.#pollers > 0
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
    let now = this.#clock()
    const turnEnds = now + POLLING_TURN_NS
    do {
      this.#pass(now)
      now = this.#clock()
    } while (this.#running && this.#pollers > 0 && this.#waiter !== null && now < turnEnds)
    this.#wait(now)
  }

  /** Looks for arrivals, sleeps if it may, and runs a round if one is due. */
  #pass(begun: Nanos): void {
    let deadline = this.#woken ? 0 : this.#driven.nextDeadline()
    let now = begun
    if (!this.#woken && this.#waiter !== null) {
      now = this.#look(this.#waiter, deadline, now)
      if (this.#woken) deadline = 0
    }
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
    }
  }

  /** Looks for arrivals: once, and where the loop does not sleep until the deadline is near. Returns the time. */
  #look(waiter: Waiter, deadline: Nanos, begun: Nanos): Nanos {
    const until = Math.min(deadline, begun + LOOKS_NS)
    let now = begun
    do {
      if (this.#hasCome(waiter, now)) this.#woken = true
      now = this.#clock()
    } while (!this.#woken && now < until && this.#spins(now))
    return now
  }

  /**
   * Returns true if the waiter has seen an arrival. A polling thread yields the core only when nothing has
   * come for as long as other threads spin.
   */
  #hasCome(waiter: Waiter, now: Nanos): boolean {
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

  /** Decides how to wait for the next round. */
  #wait(now: Nanos): void {
    if (!this.#running) return
    if (this.#woken) {
      this.#schedule()
      return
    }
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

  /**
   * Sleeps for a part of the time to the deadline. Then the next turn of the event loop polls the sockets.
   */
  #napUntil(deadline: Nanos, now: Nanos): Nanos {
    const hasCore = this.#spinNs > 0 && now >= this.#concedeUntil
    const ns = Math.min(deadline - now, hasCore ? SHORT_NAP_NS : NAP_MOST_NS)
    // Without a waiter the thread wakes some 60 us late, by Linux's timer slack. To spin for that long would
    // cost as much as another nap.
    if (this.#waiter === null) Atomics.wait(this.#nap, 0, 0, ns / 1e6)
    else if (this.#waiter.wait(ns)) this.#woken = true
    return this.#clock()
  }

  #arm(deadline: Nanos): void {
    // A timer that is armed for an earlier time does no harm: it checks, and arms the next one.
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
    this.#wait(this.#clock())
  }
}

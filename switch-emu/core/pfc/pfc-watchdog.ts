/**
 * Detection and clearance of PFC deadlocks, for the queues (egress port and lossless priority) of one switch.
 *
 * **Detection.** A queue whose peer keeps it paused without a gap for `detectionTimeNs` is deadlocked. Every
 * end of a pause, by XON or by expiry, restarts the time. So congestion that moves is no deadlock, however
 * long it lasts. Whether the queue holds frames makes no difference.
 *
 * **Clearance.** For `restorationTimeNs` after that, the queue ignores pauses, and nothing is detected. Its
 * frames are sent (`forward`) or discarded (`drop`: those that wait and those that arrive). `alert` only
 * reports, and its deadlock ends with the pause.
 *
 * **Restoration.** After that time the queue obeys pauses again, whatever its peer sent meanwhile. The time
 * is fixed, as in the white paper. If a pause still holds, the queue obeys it, and its detection begins at
 * that moment. (SONiC waits for a restoration time without pauses. There a peer that never stops keeps a
 * queue lossy for ever, and an upper limit would have nothing to count.)
 *
 * **Upper limit.** The `limit.deadlocks`-th deadlock of a queue within `limit.windowNs` turns PFC off for
 * this port and priority, until `turnOn`.
 *
 * Times are exact: a detection is at the nanosecond at which the pause has lasted long enough. Source: white
 * paper on lossless networks, "PFC deadlock detection" and "PFC deadlock clearance". Names of settings are
 * those of SONiC's `pfcwd` (table PFC_WD).
 */
import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import { MOST } from '../../../lib/options/option.js'
import { MILLISECOND, type Nanos, NEVER } from '../../../lib/time/nanos.js'
import type { FeatureReport, FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import type { QueueTimers } from '../feature/queue-timers.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { PauseAction } from '../queueing/pause-state.js'
import type { PortFigures } from '../queueing/port-report.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'
import { Pfc } from './pfc.js'
import { type WatchdogEventKind, WatchdogLog } from './watchdog-log.js'

/** The action for the frames of a deadlocked queue. */
export type WatchdogAction = 'drop' | 'forward' | 'alert'

/** The most deadlocks of one queue that a limit can count. */
const LIMIT_MAX = 500

/** How many deadlocks of one queue turn PFC off for it, and within what time. */
interface WatchdogLimit {
  /** Deadlocks of one queue, 1 to 500. */
  deadlocks: number
  /** The time within which they occur. */
  windowNs: Nanos
}

/** Options of a watchdog. */
export interface WatchdogOptions {
  /** A pause that lasts this long is a deadlock; above 0. */
  detectionTimeNs: Nanos
  /** The queue ignores pauses for this time after the detection; above 0. */
  restorationTimeNs: Nanos
  action: WatchdogAction
  /** Absent: PFC is never turned off. */
  limit?: WatchdogLimit
  /** The lossless priorities, 0 to 7. */
  priorities: readonly number[]
}

/** The queues of a switch, which the watchdog observes and acts on. */
interface WatchedQueues {
  /** Since when its peer has paused a queue without a gap, obeyed or not. NEVER if it is not paused. */
  pausedSinceNs(now: Nanos, port: number, priority: number): Nanos
  /** When the pause that a queue obeys expires unless it is renewed. NEVER if it obeys none. */
  pausedUntilNs(port: number, priority: number): Nanos
  /** Sets how a queue reacts to pauses from now on. */
  setPauseAction(now: Nanos, port: number, priority: number, action: PauseAction): void
  /** Sets whether the port sends pauses for a priority. */
  setPauseSending(now: Nanos, port: number, priority: number, on: boolean): void
}

/*
 * State       | a PFC frame came         | time is up
 * UNWATCHED   |                          |                            PFC is off, or off for this priority
 * NORMAL      | PAUSED if it pauses      |
 * PAUSED      |                          | NORMAL if there was a gap, else CLEARING, ALERTED or OFF
 * CLEARING    |                          | NORMAL or PAUSED
 * ALERTED     | NORMAL if it resumes     | NORMAL if the pause has run out
 * OFF         |                          |                            until turnOn
 */
const UNWATCHED = 0
const NORMAL = 1
const PAUSED = 2
const CLEARING = 3
const ALERTED = 4
const OFF = 5

/** What a watchdog did at one port since the window began, all priorities together. */
export interface WatchdogReport {
  /** Deadlocks that were detected. */
  detected: number
  /** Deadlocks that ended. */
  restored: number
  /** How often the limit turned PFC off for a priority. */
  turnedOff: number
  /** Frames that the action `drop` discarded. */
  droppedFrames: number
  /** Frames that were sent although the peer had paused them. */
  forwardedFrames: number
  /** In the order of their times, which count from the window's start. */
  events: { atNs: Nanos; priority: number; event: WatchdogEventKind }[]
}

/** The watchdog of one switch. */
export class PfcWatchdog implements SwitchFeature {
  readonly log: WatchdogLog
  readonly #options: WatchdogOptions
  readonly #queues: WatchedQueues
  /** By queue: port * PRIORITIES + priority. */
  readonly #states: Uint8Array
  readonly #timers: QueueTimers
  /** Pauses before this time have been handled. */
  readonly #restoredNs: Float64Array
  /** Times of each queue's last deadlocks, in a ring. The first deadlock creates it. */
  readonly #deadlocks: (Float64Array | null)[]
  readonly #deadlockCounts: Uint32Array
  /** By port. */
  readonly #forwardedFrames: Float64Array

  constructor(ports: number, options: WatchdogOptions, queues: WatchedQueues, timers: QueueTimers) {
    checkOptions(options)
    this.#options = options
    this.#queues = queues
    this.#timers = timers
    this.log = new WatchdogLog(ports)
    const count = ports * PRIORITIES
    this.#states = new Uint8Array(count).fill(UNWATCHED)
    this.#restoredNs = new Float64Array(count)
    this.#deadlocks = new Array<Float64Array | null>(count).fill(null)
    this.#deadlockCounts = new Uint32Array(count)
    this.#forwardedFrames = new Float64Array(ports)
    for (let queue = 0; queue < count; queue++) {
      if (options.priorities.includes(queue % PRIORITIES)) this.#states[queue] = NORMAL
    }
  }

  /** True from a deadlock of this queue until its restoration. */
  deadlocked(port: number, priority: number): boolean {
    const state = this.#states[port * PRIORITIES + priority]!
    return state === CLEARING || state === ALERTED
  }

  /** True once the limit has turned PFC off for this port and priority. */
  turnedOff(port: number, priority: number): boolean {
    return this.#states[port * PRIORITIES + priority] === OFF
  }

  /** A PFC frame from the peer has paused or resumed a queue. */
  pause(now: Nanos, port: number, priority: number): void {
    const queue = port * PRIORITIES + priority
    const state = this.#states[queue]!
    if (state === NORMAL) this.#watch(now, queue)
    else if (state === ALERTED && this.#pausedSinceNs(now, queue) === NEVER) this.#restore(now, queue)
  }

  /** Counts frames that are sent in spite of a pause. */
  start(startNs: Nanos, _frame: Frame, { index, sentPriority }: EgressPort): void {
    const queue = index * PRIORITIES + sentPriority
    const state = this.#states[queue]!
    if (state !== CLEARING && state !== OFF) return
    if (this.#pausedSinceNs(startNs, queue) !== NEVER) this.#forwardedFrames[index]! += 1
  }

  report(now: Nanos, port: number, { windowNs, dropsByReason }: PortFigures): FeatureReport {
    const { log } = this
    const startNs = now - windowNs
    const watchdog: WatchdogReport = {
      detected: log.count('detected', port),
      restored: log.count('restored', port),
      turnedOff: log.count('turnedOff', port),
      droppedFrames: dropsByReason.pfcWatchdog!,
      forwardedFrames: this.#forwardedFrames[port]!,
      events: log.events
        .filter(event => event.port === port)
        .map(({ atNs, priority, event }) => ({ atNs: atNs - startNs, priority, event })),
    }
    return { watchdog }
  }

  /** Starts a new window of reports. The state of every queue remains. */
  reset(): void {
    this.log.reset()
    this.#forwardedFrames.fill(0)
  }

  /** Every queue obeys pauses, and nothing is known of earlier deadlocks. */
  restart(now: Nanos): void {
    for (const [queue, state] of this.#states.entries()) {
      if (state === UNWATCHED) continue
      const priority = queue % PRIORITIES
      const port = (queue - priority) / PRIORITIES
      this.turnOn(now, port, priority)
      if (state === CLEARING) this.#endClearance(now, queue)
      else if (state === ALERTED) this.#restore(now, queue)
      this.#deadlockCounts[queue] = 0
    }
  }

  /**
   * Turns PFC of a port on again where the limit has turned it off. Returns the affected priorities.
   *
   * @param only this priority. Default: all
   */
  turnPortOn(now: Nanos, port: number, only?: number): number[] {
    const off = [...Array(PRIORITIES).keys()].filter(
      priority => (only === undefined || only === priority) && this.turnedOff(port, priority),
    )
    for (const priority of off) this.turnOn(now, port, priority)
    return off
  }

  /** Turns PFC of a port and priority on again if the limit has turned it off. Otherwise it has no effect. */
  turnOn(now: Nanos, port: number, priority: number): void {
    const queue = port * PRIORITIES + priority
    if (this.#states[queue] !== OFF) return
    this.#deadlockCounts[queue] = 0
    this.log.add(now, port, priority, 'turnedOn')
    this.#queues.setPauseAction(now, port, priority, PauseAction.OBEY)
    this.#queues.setPauseSending(now, port, priority, true)
    this.#resume(now, queue)
  }

  /** A detection or restoration time has ended. */
  timeout(at: Nanos, port: number, priority: number): void {
    const queue = port * PRIORITIES + priority
    const state = this.#states[queue]!
    if (state === PAUSED) this.#judge(at, queue)
    else if (state === CLEARING) this.#endClearance(at, queue)
    else if (state === ALERTED) this.#lookAgain(at, queue)
  }

  #setTimer(queue: number, atNs: Nanos): void {
    const priority = queue % PRIORITIES
    this.#timers.set((queue - priority) / PRIORITIES, priority, atNs)
  }

  /** Watches a queue from its pause on, if it is paused. */
  #watch(now: Nanos, queue: number): void {
    const sinceNs = this.#pausedSinceNs(now, queue)
    this.#states[queue] = sinceNs === NEVER ? NORMAL : PAUSED
    if (sinceNs === NEVER) return
    this.#setTimer(queue, Math.max(sinceNs, this.#restoredNs[queue]!) + this.#options.detectionTimeNs)
  }

  /** A detection time has passed since the pause. Decides whether there was a gap. */
  #judge(at: Nanos, queue: number): void {
    const sinceNs = Math.max(this.#pausedSinceNs(at, queue), this.#restoredNs[queue]!)
    if (sinceNs + this.#options.detectionTimeNs > at) this.#watch(at, queue)
    else this.#onDeadlock(at, queue)
  }

  #onDeadlock(at: Nanos, queue: number): void {
    const { action, restorationTimeNs } = this.#options
    const priority = queue % PRIORITIES
    const port = (queue - priority) / PRIORITIES
    this.log.add(at, port, priority, 'detected')
    if (action === 'alert') {
      this.#states[queue] = ALERTED
      this.#setTimer(queue, this.#queues.pausedUntilNs(port, priority))
    } else if (this.#limitReached(at, queue)) {
      this.#states[queue] = OFF
      this.log.add(at, port, priority, 'turnedOff')
      this.#queues.setPauseAction(at, port, priority, PauseAction.FORWARD)
      this.#queues.setPauseSending(at, port, priority, false)
    } else {
      this.#states[queue] = CLEARING
      this.#setTimer(queue, at + restorationTimeNs)
      const pauseAction = action === 'drop' ? PauseAction.DROP : PauseAction.FORWARD
      this.#queues.setPauseAction(at, port, priority, pauseAction)
    }
  }

  #endClearance(at: Nanos, queue: number): void {
    const priority = queue % PRIORITIES
    const port = (queue - priority) / PRIORITIES
    this.#queues.setPauseAction(at, port, priority, PauseAction.OBEY)
    this.#restore(at, queue)
  }

  /** An alert lasts as long as its pause, which may have been renewed. */
  #lookAgain(at: Nanos, queue: number): void {
    const priority = queue % PRIORITIES
    const port = (queue - priority) / PRIORITIES
    if (this.#pausedSinceNs(at, queue) === NEVER) this.#restore(at, queue)
    else this.#setTimer(queue, this.#queues.pausedUntilNs(port, priority))
  }

  #restore(at: Nanos, queue: number): void {
    const priority = queue % PRIORITIES
    this.log.add(at, (queue - priority) / PRIORITIES, priority, 'restored')
    this.#resume(at, queue)
  }

  /** Restarts detection. */
  #resume(now: Nanos, queue: number): void {
    this.#restoredNs[queue] = now
    this.#setTimer(queue, NEVER)
    this.#watch(now, queue)
  }

  #pausedSinceNs(now: Nanos, queue: number): Nanos {
    const priority = queue % PRIORITIES
    return this.#queues.pausedSinceNs(now, (queue - priority) / PRIORITIES, priority)
  }

  /** Records a deadlock. Returns true if it reaches the limit. */
  #limitReached(at: Nanos, queue: number): boolean {
    const { limit } = this.#options
    if (limit === undefined) return false
    this.#deadlocks[queue] ??= new Float64Array(limit.deadlocks)
    const times = this.#deadlocks[queue]
    const count = this.#deadlockCounts[queue]! + 1
    this.#deadlockCounts[queue] = count
    times[count % times.length] = at
    // The entry that is overwritten next is the oldest one.
    return count >= times.length && at - times[(count + 1) % times.length]! <= limit.windowNs
  }
}

function checkOptions(options: WatchdogOptions): void {
  const { detectionTimeNs, restorationTimeNs, limit, priorities } = options
  const bad = (what: string) => new WeirError('WEIR_BAD_ARGUMENT', `PFC watchdog: ${what}`)
  if (!(detectionTimeNs > 0)) throw bad(`detectionTimeNs is above 0, not ${detectionTimeNs}`)
  if (!(restorationTimeNs > 0)) throw bad(`restorationTimeNs is above 0, not ${restorationTimeNs}`)
  if (priorities.some(p => !Number.isInteger(p) || p < 0 || p >= PRIORITIES)) {
    throw bad(`priorities are 0 to ${PRIORITIES - 1}, not [${priorities.join(', ')}]`)
  }
  if (limit === undefined) return
  if (!Number.isInteger(limit.deadlocks) || limit.deadlocks < 1 || limit.deadlocks > LIMIT_MAX) {
    throw bad(`limit.deadlocks is a whole number from 1 to ${LIMIT_MAX}, not ${limit.deadlocks}`)
  }
  if (!(limit.windowNs > 0)) throw bad(`limit.windowNs is above 0, not ${limit.windowNs}`)
}

/** Adapts a switch to the watchdog. */
function queuesOf(sw: FeatureSwitch): WatchedQueues {
  return {
    pausedSinceNs: (now, port, priority) => sw.ports[port]!.pause.sinceNs(now, priority),
    pausedUntilNs: (port, priority) => sw.ports[port]!.pause.firstExpiry(1 << priority),
    setPauseAction: (now, port, priority, action) => sw.setPauseAction(now, port, priority, action),
    setPauseSending: (now, port, priority, on) => sw.find(Pfc)?.setPauseSending(now, port, priority, on),
  }
}

export const WATCHDOG: FeatureEntry = {
  name: 'watchdog',
  within: 'pfc',
  doc: 'Detection of deadlocks.',
  usual: 'nothing is detected',
  example: { detectionTime: '200ms', action: 'drop' },
  with: { xoff: '500KB' },
  title: 'a watchdog',
  about: "Detection and clearance of PFC deadlocks. The names are those of SONiC's `pfcwd`.",
  options: [
    {
      name: 'detectionTime',
      kind: 'time',
      min: 1,
      max: MOST,
      doc: 'A queue that its peer keeps paused for so long without a gap is deadlocked.',
      default: 200 * MILLISECOND,
      example: '100ms',
    },
    {
      name: 'restorationTime',
      kind: 'time',
      min: 1,
      max: MOST,
      doc: 'For how long the queue then ignores pauses.',
      default: 200 * MILLISECOND,
      example: '400ms',
    },
    {
      name: 'action',
      kind: 'choice',
      choices: ['drop', 'forward', 'alert'],
      doc: 'What happens to a deadlocked queue: its packets are dropped, or sent as if nothing were paused, or nothing is done.',
      default: 'drop',
      example: 'forward',
    },
    {
      name: 'limit',
      kind: 'mapping',
      doc: 'When the watchdog turns PFC off, until an event (`pfcOn`) or `weir lab pfc` restores it. Not with `action: alert`.',
      usual: 'never',
      example: { deadlocks: 3, window: '10s' },
      options: [
        {
          name: 'deadlocks',
          kind: 'count',
          min: 1,
          max: LIMIT_MAX,
          doc: 'So many deadlocks of one queue within the window turn PFC off for its port and priority.',
          example: 3,
        },
        { name: 'window', kind: 'time', min: 1, max: MOST, doc: 'The window.', example: '10s' },
      ],
    },
  ],
  check: ({ action, limit }: Partial<WatchdogOptions>) =>
    limit !== undefined && action === 'alert'
      ? [
          {
            option: 'limit',
            wrong: 'action alert changes nothing: it has no limit at which to turn PFC off',
          },
        ]
      : [],
  create: (options: WatchdogOptions, sw, timers) =>
    new PfcWatchdog(sw.ports.length, options, queuesOf(sw), timers),
}

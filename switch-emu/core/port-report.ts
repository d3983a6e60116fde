import type { Nanos } from '../../lib/time/nanos.js'
import type { WindowCounts } from './counters.js'
import type { EgressPort } from './egress-port.js'
import type { IngressAccounting } from './ingress-accounting.js'
import type { WatchdogReport } from './pfc-watchdog.js'
import { PRIORITIES } from './shared-buffer.js'

/** What one port did in a window of time. Of the last three, absent means that the switch does no such thing. */
export interface PortReport extends WindowCounts, PfcReport {
  switch: string
  port: number
  rateBps: number
  windowNs: Nanos
  busyNs: Nanos
  /** Busy part of the window, 0 to 1. */
  utilization: number
  maxQueueBytes: number
  /** Weighted by time. */
  meanQueueBytes: number
  watchdog?: WatchdogReport
  /** Frames for this port that deadlock prevention has moved to another priority. */
  movedFrames?: number
  /** Responses that the switch has sent by itself about congestion of this port. */
  directResponses?: number
}

/** Priority flow control of one port in a window of time. */
export interface PfcReport {
  /** PFC frames by which this port paused its peer, repeated ones too; resumes do not count. */
  pausesSent: number
  /** Pauses that the peer sent, counted by each priority that they named. */
  pausesReceived: number
  /** Time for which the peer had at least one priority of this port paused. */
  pausedNs: Nanos
  /** The same of each priority, 0 to 7. */
  pausedNsByPriority: Nanos[]
  /** Most bytes in the switch that came in by this port with one lossless priority; headroom included. */
  maxIngressBytes: number
  /** Most bytes of headroom that one lossless priority of this port took. */
  maxHeadroomBytes: number
}

const PAUSES_SENT = 0
const PAUSES_RECEIVED = 1
const BUSY_NS = 2
const PAUSED_NS = 3
const BY_PRIORITY = 4
const COLUMNS = BY_PRIORITY + PRIORITIES

/** Reports of one port: what it and its accounting have counted since the window began. */
export class PortReporter {
  readonly #switch: string
  readonly #port: EgressPort
  readonly #accounting: IngressAccounting | null
  readonly #before = new Float64Array(COLUMNS)
  readonly #now = new Float64Array(COLUMNS)
  #windowNs: Nanos = 0

  constructor(switchName: string, port: EgressPort, accounting: IngressAccounting | null) {
    this.#switch = switchName
    this.#port = port
    this.#accounting = accounting
  }

  /** Starts a new window; the accounting's own begins elsewhere. */
  resetWindow(now: Nanos): void {
    this.#windowNs = now
    this.#port.counters.resetWindow()
    this.#port.gauge.resetWindow(now)
    this.#read(now, this.#before)
  }

  /** What the port did from the start of the window until `now`. */
  report(now: Nanos): PortReport {
    const { counters, gauge, index, rateBps } = this.#port
    this.#read(now, this.#now)
    const since = (column: number) => this.#now[column]! - this.#before[column]!
    const windowNs = now - this.#windowNs
    const busyNs = since(BUSY_NS)
    return {
      switch: this.#switch,
      port: index,
      rateBps,
      windowNs,
      busyNs,
      utilization: windowNs > 0 ? busyNs / windowNs : 0,
      maxQueueBytes: gauge.peakBytes(now),
      meanQueueBytes: gauge.meanBytes(now),
      pausesSent: since(PAUSES_SENT),
      pausesReceived: since(PAUSES_RECEIVED),
      pausedNs: since(PAUSED_NS),
      pausedNsByPriority: Array.from({ length: PRIORITIES }, (_, p) => since(BY_PRIORITY + p)),
      maxIngressBytes: this.#accounting?.maxBytesOf(index) ?? 0,
      maxHeadroomBytes: this.#accounting?.maxHeadroomOf(index) ?? 0,
      ...counters.window(),
    }
  }

  #read(now: Nanos, into: Float64Array): void {
    const { pause, pfcSender, serializer } = this.#port
    into[BUSY_NS] = serializer.busyNs(now)
    into[PAUSES_SENT] = pfcSender?.counters.pauses ?? 0
    into[PAUSES_RECEIVED] = 0
    into[PAUSED_NS] = pause.anyPausedNs(now)
    for (let p = 0; p < PRIORITIES; p++) {
      into[PAUSES_RECEIVED]! += pause.pausesReceived(p)
      into[BY_PRIORITY + p] = pause.pausedNs(now, p)
    }
  }
}

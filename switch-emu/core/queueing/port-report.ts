import { DOUBLE_0 } from '../../../lib/double.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import type { WindowCounts } from './counters.js'
import type { EgressPort } from './egress-port.js'
import { PRIORITIES } from './shared-buffer.js'

/** Figures of one port in a window of time, from its own counters. */
export interface PortFigures extends WindowCounts {
  switch: string
  port: number
  rateBps: number
  windowNs: Nanos
  /** Bytes that the line could have carried in the window. */
  capacityBytes: number
  busyNs: Nanos
  /** Busy part of the window, 0 to 1. */
  utilization: number
  maxQueueBytes: number
  /** Weighted by time. */
  meanQueueBytes: number
  /** Pauses that the peer sent, counted for each priority in them. */
  pausesReceived: number
  /** Time for which the peer paused at least one priority of this port. */
  pausedNs: Nanos
  /** The same for each priority, 0 to 7. */
  pausedNsByPriority: Nanos[]
}

const PAUSES_RECEIVED = 0
const BUSY_NS = 1
const PAUSED_NS = 2
const BY_PRIORITY = 3
const COLUMNS = BY_PRIORITY + PRIORITIES

/** Reports of one port: what it has counted since the window began. */
export class PortReporter {
  readonly #switch: string
  readonly #port: EgressPort
  readonly #before = new Float64Array(COLUMNS)
  readonly #now = new Float64Array(COLUMNS)
  #windowNs: Nanos = DOUBLE_0

  constructor(switchName: string, port: EgressPort) {
    this.#switch = switchName
    this.#port = port
  }

  /** Starts a new window. */
  resetWindow(now: Nanos): void {
    this.#windowNs = now
    this.#port.counters.resetWindow()
    this.#port.gauge.resetWindow(now)
    this.#port.resetCapacity(now)
    this.#read(now, this.#before)
  }

  /** Returns the figures from the start of the window until `now`. */
  report(now: Nanos): PortFigures {
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
      capacityBytes: this.#port.capacityBytes(now),
      busyNs,
      utilization: windowNs > 0 ? busyNs / windowNs : 0,
      maxQueueBytes: gauge.peakBytes(now),
      meanQueueBytes: gauge.meanBytes(now),
      pausesReceived: since(PAUSES_RECEIVED),
      pausedNs: since(PAUSED_NS),
      pausedNsByPriority: Array.from({ length: PRIORITIES }, (_, p) => since(BY_PRIORITY + p)),
      ...counters.window(),
    }
  }

  #read(now: Nanos, into: Float64Array): void {
    const { pause, serializer } = this.#port
    into[BUSY_NS] = serializer.busyNs(now)
    into[PAUSES_RECEIVED] = 0
    into[PAUSED_NS] = pause.anyPausedNs(now)
    for (let p = 0; p < PRIORITIES; p++) {
      into[PAUSES_RECEIVED]! += pause.pausesReceived(p)
      into[BY_PRIORITY + p] = pause.pausedNs(now, p)
    }
  }
}

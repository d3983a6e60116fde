import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Progress, TrafficReply } from '../../lib/client/daemon-client.js'
import type { PathFigures, StatusReply } from '../../lib/control/messages.js'
import { type ErrorCode, WeirError } from '../../lib/errors.js'
import type { PortDropReason } from '../../lib/io/port.js'
import { choosesPaths } from '../../lib/scenario/model/chooses-paths.js'
import { type Scenario, type ScenarioFlow, withSeed } from '../../lib/scenario/model/scenario.js'
import { expandTraffic } from '../../lib/scenario/read/expand-traffic.js'
import { scenarioError } from '../../lib/scenario/read/places.js'
import type { CapacityResult, FeedbackResult, RunResult } from '../../lib/scenario/result/result.js'
import { MILLISECOND, type Nanos } from '../../lib/time/nanos.js'
import type { CapturePlace } from '../captures/port-captures.js'
import { type FlowOutcome, failureOf, makeResult } from '../results/report.js'
import type { RunView } from '../results/run-view.js'
import { capacityOf } from './capacity.js'
import { FlowSeries } from './flow-series.js'
import { type BringUp, type Lab, withLab } from './lab.js'
import { realTimeResult } from './real-time-result.js'

/** Options of a run in real time. */
export interface RealTimeOptions {
  /** Seed of the workloads and of marking. Default: the scenario's. */
  seed?: number
  /** Captures every switch port, by the time of day. */
  captures?: CapturePlace
  /** Called before the network comes up with what this machine can carry, if that could be measured. */
  onCapacity?: (capacity: CapacityResult) => void
  /** Called several times a second. */
  onProgress?: (view: RunView) => void
}

/** Flows of one run. Each is a connection of a daemon and a request of this process. */
const FLOWS_MAX = 256
/**
 * Time from the requests to the traffic's start, in which connections are made and base RTTs measured on an
 * idle network.
 */
const SETUP_MS = 1000
const SETUP_MS_A_FLOW = 50
/** Interval of the samples of flows' series. */
const PROGRESS_EVERY_MS = 500
/** Errors that end only their flow. Any other error ends the run. */
const FAILURES_OF_A_FLOW: readonly ErrorCode[] = ['WEIR_NOT_ADMITTED', 'WEIR_CONNECTION_LOST']

/**
 * Runs a scenario in real time: a process for the switches, one for each host. The report is like that of a
 * virtual run. Its times are those of the machine's clock.
 *
 * @param up brings the network up
 * @param on the kind of links
 */
export async function runTraffic(
  up: BringUp,
  on: 'overlay' | 'veth',
  given: Scenario,
  options: RealTimeOptions = {},
): Promise<RunResult> {
  const scenario = options.seed === undefined ? given : withSeed(given, options.seed)
  const flows = expandTraffic(scenario)
  if (flows.length > FLOWS_MAX) {
    const what = `${flows.length} flows are too many for real time, which takes ${FLOWS_MAX}`
    throw scenarioError(scenario, ['traffic'], `${what}; list fewer, or use --on virtual`)
  }
  const capacity = await capacityOf(scenario, on)
  if (capacity !== null) options.onCapacity?.(capacity)
  const began = performance.now()
  const work = async (lab: Lab, signal: AbortSignal) => {
    const run = new TrafficRun(lab, flows, signal, options.onProgress ?? (() => {}))
    const { durationNs, outcomes } = await run.traffic()
    const report = await lab.report()
    const { ports, links, timeline, inof, series, events } = report
    const hosts = await Promise.all(scenario.hosts.map(({ name }) => lab.host(name).client.status()))
    const lostFrames = report.lostFrames + sum(hosts.map(lostFramesOf))
    return makeResult(scenario, {
      on: lab.on,
      durationNs,
      flows,
      outcomes,
      ports,
      links,
      timeline,
      inof,
      series: { ...series, ...run.series.all() },
      feedback: feedbackOf(hosts),
      realTime: realTimeResult({ ...report, lostFrames }, capacity),
      events,
      wallSeconds: (performance.now() - began) / 1000,
    })
  }
  return await withLab(up, scenario, work, { captures: options.captures })
}

/** Feedback that hosts rejected, all hosts together. */
function feedbackOf(hosts: readonly StatusReply[]): FeedbackResult {
  return {
    refused: sum(hosts.map(({ refusedFeedback }) => refusedFeedback)),
    implausible: sum(hosts.map(({ implausibleTelemetry }) => implausibleTelemetry)),
  }
}

/** Frames that a host's process did not take from its link in time, or could not send on it. */
function lostFramesOf({ drops }: StatusReply): number {
  return sum(LOSSES.map(reason => drops[`port.${reason}`] ?? 0))
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0)
}

/** Drops for want of time or room, and not for what a frame is. */
const LOSSES: readonly PortDropReason[] = ['poolEmpty', 'ringFull', 'kernelFull', 'txFull', 'txError']

class TrafficRun {
  readonly series: FlowSeries
  readonly #lab: Lab
  readonly #flows: readonly ScenarioFlow[]
  readonly #signal: AbortSignal
  readonly #onProgress: NonNullable<RealTimeOptions['onProgress']>
  /** The traffic's start on the wall clock, which all daemons share. */
  readonly #startUnixMs: number
  #done = 0
  /** By flow. */
  readonly #ackedBytes: number[]
  #lastFailureNs = 0

  constructor(
    lab: Lab,
    flows: readonly ScenarioFlow[],
    signal: AbortSignal,
    onProgress: NonNullable<RealTimeOptions['onProgress']>,
  ) {
    this.#lab = lab
    this.#flows = flows
    this.#signal = signal
    this.#onProgress = onProgress
    this.#ackedBytes = flows.map(() => 0)
    this.series = new FlowSeries(lab.scenario.watch.flows ? flows.map(flow => flow.name) : [])
    this.#startUnixMs = Date.now() + SETUP_MS + SETUP_MS_A_FLOW * flows.length
  }

  /** Runs all flows, until the last one has ended or the scenario's time is up. */
  async traffic(): Promise<{ durationNs: Nanos; outcomes: FlowOutcome[] }> {
    const { durationNs } = this.#lab.scenario
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, this.#signal])
    // Each flow adds a listener. Node.js warns of a leak beyond ten.
    setMaxListeners(FLOWS_MAX, signal)
    const outcomes = this.#flows.map((flow, i) => this.#run(flow, i, signal))
    // If a flow fails before this awaits it, the others report it.
    for (const outcome of outcomes) outcome.catch(() => {})
    await this.#lab.begin(this.#startUnixMs)
    await sleep(this.#startUnixMs - Date.now(), undefined, { signal: this.#signal })
    const ticker = setInterval(() => this.#tick(), PROGRESS_EVERY_MS)
    const alarm =
      durationNs === undefined ? undefined : setTimeout(() => stop.abort(), durationNs / MILLISECOND)
    try {
      const ended = await Promise.all(outcomes)
      return {
        durationNs: durationNs ?? Math.max(this.#lastFailureNs, lastEnd(this.#flows, ended)),
        outcomes: ended,
      }
    } finally {
      clearInterval(ticker)
      clearTimeout(alarm)
    }
  }

  async #run(flow: ScenarioFlow, index: number, signal: AbortSignal): Promise<FlowOutcome> {
    const cc = flow.cc ?? this.#lab.scenario.cc
    let last: Progress | null = null
    try {
      const reply = await this.#lab.host(flow.from).client.traffic(
        {
          name: flow.name,
          host: this.#lab.host(flow.to).address,
          bytes: flow.bytes,
          startUnixMs: this.#startUnixMs + flow.startNs / MILLISECOND,
          congestionControl: cc.name,
          options: numbersOf(cc.options),
          priorityPlusOne: flow.priority + 1,
          sourcePort: flow.sourcePort ?? 0,
        },
        {
          signal,
          onProgress: progress => {
            last = progress
            this.#ackedBytes[index] = progress.bytes
            this.series.sample(index, this.#nowNs(), progress)
          },
        },
      )
      this.#ackedBytes[index] = reply.bytes
      return { ...finished(reply), ...this.#paths(reply.paths) }
    } catch (error) {
      if (signal.aborted && !this.#signal.aborted)
        return { ...unfinished(last), ...this.#paths((last as Progress | null)?.paths) }
      if (error instanceof WeirError && FAILURES_OF_A_FLOW.includes(error.code) && !this.#signal.aborted) {
        this.#lastFailureNs = this.#nowNs()
        return { ...unfinished(last), ...failureOf(error) }
      }
      if (error instanceof WeirError) {
        throw new WeirError(error.code, `flow ${flow.name} (${flow.from} to ${flow.to}): ${error.message}`)
      }
      throw error
    } finally {
      this.#done++
    }
  }

  /** For a scenario whose flows choose paths. */
  #paths(paths: PathFigures | null | undefined): Pick<FlowOutcome, 'paths'> {
    return choosesPaths(this.#lab.scenario) && paths ? { paths } : {}
  }

  #nowNs(): Nanos {
    return Math.round((Date.now() - this.#startUnixMs) * MILLISECOND)
  }

  #tick(): void {
    const { durationNs } = this.#lab.scenario
    this.#onProgress({
      on: this.#lab.on,
      timeNs: this.#nowNs(),
      ...(durationNs !== undefined && { durationNs }),
      done: this.#done,
      flows: this.#flows.length,
      ackedBytes: sum(this.#ackedBytes),
      bytes: sum(this.#flows.map(flow => flow.bytes)),
    })
  }
}

function finished(reply: TrafficReply): FlowOutcome {
  return {
    fctNs: Math.round(reply.fctNs),
    ackedBytes: reply.bytes,
    retransmittedBytes: reply.retransmittedBytes,
    spuriousRetransmissions: reply.spuriousRetransmissions,
    timeouts: reply.timeouts,
  }
}

/** The scenario's time was up before the flow ended. */
function unfinished(last: Progress | null): FlowOutcome {
  return {
    fctNs: null,
    ackedBytes: last?.bytes ?? 0,
    retransmittedBytes: last?.retransmittedBytes ?? 0,
    spuriousRetransmissions: last?.spuriousRetransmissions ?? 0,
    timeouts: last?.timeouts ?? 0,
  }
}

function lastEnd(flows: readonly ScenarioFlow[], outcomes: readonly FlowOutcome[]): Nanos {
  return Math.max(0, ...flows.map((flow, i) => flow.startNs + (outcomes[i]!.fctNs ?? 0)))
}

/** Options are sent as numbers; true is 1. */
function numbersOf(options: Record<string, number | string | boolean>): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const [name, value] of Object.entries(options)) {
    const number = Number(value)
    if (!Number.isFinite(number)) {
      throw new WeirError('WEIR_BAD_SCENARIO', `cc option ${name}: real time takes numbers, not "${value}"`)
    }
    numbers[name] = number
  }
  return numbers
}

import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import { MOST } from '../../../lib/options/option.js'
import { MICROSECOND, MILLISECOND, type Nanos } from '../../../lib/time/nanos.js'
import { formatBytes, formatRate } from '../../../lib/units/units.js'
import type { FeatureReport, FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import { FlowKey, type NamedFlow } from '../flows/flow-key.js'
import { SwitchFlows, type SwitchFlowsOwner } from '../flows/switch-flows.js'
import type { DrainBarrier } from '../queueing/drain-barrier.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { FlowMeter, type LargeFlowLimits } from './flow-meter.js'

/** Separate scheduling of large and small flows. */
export interface LargeFlowsOptions extends LargeFlowLimits {
  /** The queue of large flows, 0 to 7. Absent: they stay in theirs. */
  priority?: number
  /** Priorities whose flows are measured, and whose large flows move. All are lossless if `priority` is, and none if it is not. */
  from: readonly number[]
  /** Flows that the table has room for. */
  flows: number
  /** A flow that is silent for so long may lose its place in the table. */
  ageNs: Nanos
}

/** A large flow, in the result of the port that it leaves by. */
interface LargeFlow extends NamedFlow {
  rateBps: number
  bytes: number
}

export interface LargeFlowsReport {
  /** Flows that have become large, and large ones that have become small again. */
  grown: number
  shrunk: number
  /** Packets of flows that had become small, and stayed in the large queue because others of theirs waited there. */
  stayed: number
  /** Packets of flows for which the table had no place. They are scheduled as those of small flows. */
  missed: number
  /** Large flows now. */
  now: number
  /** The fastest of them. */
  list: LargeFlow[]
}

/** Large flows that a report lists. */
const LISTED_MAX = 16
/** Drop precedence of packets of large flows. */
const LARGE_PRECEDENCE = 1
/** Packets after which a flow is live: an address that was forged once has one. */
const LIVE_PACKETS = 2

/**
 * Separate scheduling of large and small flows: a flow above a size or rate takes another queue, and its packets have a drop precedence by
 * which that queue marks or drops them sooner (`ecn.large`). Source: white paper on lossless networks, "Separate scheduling of large and
 * small flows".
 *
 * **Order.** The queue that a flow leaves drains of it before the new one sends any of it. Queues are first in, first out, so a count tells:
 * the flow's last packet is the n-th that entered the queue, and n packets have left.
 *
 *     small → large    it takes the new queue at once, which is held until then (`DrainBarrier`). A large flow may never leave a gap
 *     large → small    it stays in the old queue until then, because small flows must not wait for it. A slow flow leaves gaps
 *
 * **Losslessness.** The next switch and the pauses that it sends know packets by their DSCP, which stays. So where the classes are lossless, a
 * pause of a priority also holds the queue that its large flows take, as several queues may belong to one priority of PFC in
 * switches (`PauseState.holdAlso`), and memory is accounted to the priority that the sender knows. A flow never moves between a lossless and
 * a lossy class.
 */
class LargeFlows implements SwitchFeature, SwitchFlowsOwner {
  readonly #to: number
  readonly #fromMask: number
  readonly #ports: readonly EgressPort[]
  /** By port: holds the queue of large flows. */
  readonly #barriers: readonly (DrainBarrier | null)[]
  readonly #meter: FlowMeter
  readonly #table: SwitchFlows
  readonly #key: FlowKey
  // By place in the table.
  readonly #packets: Uint8Array
  /** The priority of its packets, and that of the queue which they take. */
  readonly #own: Uint8Array
  readonly #queue: Uint8Array
  /** Where its last packet went: the port, and how many had entered the queue with it. */
  readonly #port: Uint8Array
  readonly #position: Float64Array
  // By egress port, since the window began.
  readonly #grown: Float64Array
  readonly #shrunk: Float64Array
  readonly #stayed: Float64Array
  readonly #missed: Float64Array

  constructor(options: LargeFlowsOptions, sw: FeatureSwitch) {
    const { priority = -1, from, flows, ageNs } = options
    const wrong = ownConflict(options) ?? losslessConflict(options, sw.losslessMask)
    if (wrong !== null) throw new WeirError('WEIR_BAD_ARGUMENT', `large flows: ${wrong.wrong}`)
    const ports = sw.ports.length
    this.#to = priority
    this.#fromMask = maskOf(from)
    this.#ports = sw.ports
    this.#meter = new FlowMeter(options, flows)
    this.#table = new SwitchFlows({ flows, ageNs, ports }, this)
    this.#key = new FlowKey(Math.floor(sw.random() * 2 ** 32))
    this.#packets = new Uint8Array(flows)
    this.#own = new Uint8Array(flows)
    this.#queue = new Uint8Array(flows)
    this.#port = new Uint8Array(flows)
    this.#position = new Float64Array(flows)
    this.#grown = new Float64Array(ports)
    this.#shrunk = new Float64Array(ports)
    this.#stayed = new Float64Array(ports)
    this.#missed = new Float64Array(ports)
    this.#barriers = sw.ports.map(port => (priority < 0 ? null : port.addBarrier(priority)))
    if (priority >= 0) for (const { pause } of sw.ports) pause.holdAlso(priority, this.#fromMask)
  }

  arrive(now: Nanos, frame: Frame, ingress: number, egress: number, priority: number): number {
    frame.dropPrecedence = 0
    if (((this.#fromMask >>> priority) & 1) === 0 || !this.#key.read(frame, priority)) return priority
    const row = this.#table.touch(now, this.#key, ingress)
    if (row < 0) {
      this.#missed[egress]! += 1
      return priority
    }
    if (this.#table.isNew) this.#begin(row, now, priority, egress)
    this.#measure(row, now, frame, egress)
    const isLarge = this.#meter.isLarge[row]!
    if (isLarge === 1) frame.dropPrecedence = LARGE_PRECEDENCE
    const wanted = isLarge === 1 && this.#to >= 0 ? this.#to : priority
    if (this.#queue[row] !== wanted) this.#move(row, egress, wanted)
    const queue = this.#queue[row]!
    this.#port[row] = egress
    this.#position[row] = this.#ports[egress]!.queues[queue]!.entered + 1
    return queue
  }

  /** A flow whose packets wait in another queue than its own must not come back as one that is small and begins. */
  mayLeave(row: number): boolean {
    return this.#queue[row] === this.#own[row] || this.#hasDrained(row, this.#port[row]!)
  }

  restart(): void {
    this.#table.clear()
    for (const barrier of this.#barriers) barrier?.release()
  }

  reset(): void {
    for (const counts of [this.#grown, this.#shrunk, this.#stayed, this.#missed]) counts.fill(0)
  }

  report(now: Nanos, port: number): FeatureReport {
    const rows: number[] = []
    const { isLarge, rateBps, bytes, holdNs } = this.#meter
    const { seenNs } = this.#table
    this.#table.forEach(row => {
      if (isLarge[row] === 1 && this.#port[row] === port && now - seenNs[row]! <= holdNs) rows.push(row)
    })
    rows.sort((a, b) => rateBps[b]! - rateBps[a]! || bytes[b]! - bytes[a]! || a - b)
    const largeFlows: LargeFlowsReport = {
      grown: this.#grown[port]!,
      shrunk: this.#shrunk[port]!,
      stayed: this.#stayed[port]!,
      missed: this.#missed[port]!,
      now: rows.length,
      list: rows.slice(0, LISTED_MAX).map(row => ({
        ...this.#table.name(row),
        rateBps: Math.round(rateBps[row]!),
        bytes: bytes[row]!,
      })),
    }
    return { largeFlows }
  }

  #begin(row: number, now: Nanos, priority: number, egress: number): void {
    this.#meter.begin(row, now)
    this.#packets[row] = 0
    this.#own[row] = priority
    this.#queue[row] = priority
    this.#port[row] = egress
    this.#position[row] = 0
  }

  /** Packets of RoCEv2 without payload, such as acknowledgements, count as nothing: no flow is large by them alone. */
  #measure(row: number, now: Nanos, frame: Frame, egress: number): void {
    if (this.#packets[row]! < LIVE_PACKETS) {
      this.#packets[row]! += 1
      if (this.#packets[row] === LIVE_PACKETS) this.#table.keep(row)
    }
    const before = this.#meter.isLarge[row]!
    this.#meter.count(row, now, frame.bth < 0 || frame.payloadLength > 0 ? frame.wireLength : 0)
    const after = this.#meter.isLarge[row]!
    if (after > before) this.#grown[egress]! += 1
    else if (after < before) this.#shrunk[egress]! += 1
  }

  #move(row: number, egress: number, wanted: number): void {
    const from = this.#queue[row]!
    if (this.#hasDrained(row, egress)) {
      this.#queue[row] = wanted
    } else if (wanted === this.#to) {
      this.#barriers[egress]!.holdUntil(from, this.#position[row]!)
      this.#queue[row] = wanted
    } else {
      this.#stayed[egress]! += 1
    }
  }

  /** No packet of the flow waits in the queue that it took last. A flow that leaves by another port has another path, and no order to keep. */
  #hasDrained(row: number, egress: number): boolean {
    const port = this.#port[row]!
    if (port !== egress) return true
    const queue = this.#ports[port]!.queues[this.#queue[row]!]!
    // A packet that was dropped has entered no queue: an empty one has none of the flow.
    return queue.count === 0 || queue.left >= this.#position[row]!
  }
}

function maskOf(priorities: readonly number[]): number {
  return priorities.reduce((mask, p) => mask | (1 << p), 0)
}

/** Says what is wrong beside the lossless priorities of the switch: the option, and a sentence. */
export function losslessConflict(
  { priority, from }: Pick<LargeFlowsOptions, 'priority' | 'from'>,
  losslessMask: number,
): { option: string; wrong: string } | null {
  if (priority === undefined) return null
  const isLossless = (p: number) => ((losslessMask >>> p) & 1) === 1
  const other = from.find(p => isLossless(p) !== isLossless(priority))
  if (other === undefined) return null
  const [lossless, lossy] = isLossless(priority) ? [priority, other] : [other, priority]
  return {
    option: 'priority',
    wrong: `priority ${lossless} is lossless and ${lossy} is not: a flow keeps its class when it moves; make both lossless (pfc.priorities: [${lossy}, ${lossless}]), or leave one out`,
  }
}

function ownConflict(options: LargeFlowsOptions): { option: string; wrong: string } | null {
  const { priority, from, sizeBytes, rate, smallRate, intervalNs, holdNs, ageNs } = options
  if (sizeBytes === undefined && rate === undefined)
    return { option: 'size', wrong: 'size is missing, or rate: what is a large flow' }
  if (priority !== undefined && from.includes(priority))
    return {
      option: 'priority',
      wrong: `flows of priority ${priority} are there already; leave it out of from`,
    }
  if (from.length === 0) return { option: 'from', wrong: 'from names no priority, so no flow is measured' }
  if (rate !== undefined && smallRate !== undefined && smallRate >= rate)
    return { option: 'smallRate', wrong: 'smallRate is below rate, so that flows do not go to and fro' }
  if (holdNs < intervalNs)
    return { option: 'hold', wrong: 'hold is at least interval, over which rates are measured' }
  if (ageNs < holdNs) return { option: 'age', wrong: 'age is at least hold' }
  return null
}

/** A line for each port that has large flows, for tables. */
function linesOf({ largeFlows }: { largeFlows?: LargeFlowsReport }): string[] {
  if (largeFlows === undefined || largeFlows.now === 0) return []
  const { now, list } = largeFlows
  const flows = list.map(flow => `${nameOf(flow)} ${formatRate(flow.rateBps)} ${formatBytes(flow.bytes)}`)
  const more = now > list.length ? ` and ${now - list.length} more` : ''
  return [`${now} large ${now === 1 ? 'flow' : 'flows'}: ${flows.join(', ')}${more}`]
}

function nameOf({ from, to, qpn, protocol, fromPort, toPort }: NamedFlow): string {
  if (qpn !== undefined) return `${from} to ${to} QP 0x${qpn.toString(16)}`
  const kind = protocol === 6 ? 'TCP' : protocol === 17 ? 'UDP' : `protocol ${protocol}`
  return fromPort === undefined
    ? `${from} to ${to} ${kind}`
    : `${from} to ${to} ${kind} ${fromPort} to ${toPort}`
}

const EXAMPLE = { size: '1MB', priority: 2 }

export const LARGE_FLOWS: FeatureEntry = {
  name: 'largeFlows',
  doc: 'Separate scheduling of large and small flows: flows above a size or rate take a queue and thresholds of their own.',
  usual: 'all flows are scheduled alike',
  example: EXAMPLE,
  about:
    'Separate scheduling of large and small flows (white paper on lossless networks). Give `size`, `rate` or both. A flow is named by addresses, protocol and ports; one of RoCEv2 by addresses and destination QP. It keeps its order when it moves: the old queue drains first.',
  options: [
    {
      name: 'size',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'A flow that has sent so much, and has not been slow for `hold` since, is large.',
      usual: '`rate` alone decides',
      example: '1MB',
    },
    {
      name: 'rate',
      kind: 'rate',
      min: 1,
      max: 4e12,
      doc: 'A flow that sends so fast over `interval` is large.',
      usual: '`size` alone decides',
      example: '1Gbps',
    },
    {
      name: 'smallRate',
      kind: 'rate',
      min: 1,
      max: 4e12,
      doc: 'A flow that has been slower for `hold` is small again; below `rate`.',
      usual: 'half of `rate`; without it half of `size` in each `hold`',
      example: '100Mbps',
      with: EXAMPLE,
    },
    {
      name: 'interval',
      kind: 'time',
      min: 1000,
      max: MOST,
      doc: 'Over which rates are measured.',
      default: 100 * MICROSECOND,
      example: '1ms',
      with: EXAMPLE,
    },
    {
      name: 'hold',
      kind: 'time',
      min: 1000,
      max: MOST,
      doc: 'A flow is small again after so much time below `smallRate`; at least `interval`.',
      default: 10 * MILLISECOND,
      example: '20ms',
      with: EXAMPLE,
    },
    {
      name: 'priority',
      kind: 'count',
      min: 0,
      max: 7,
      doc: 'The queue of large flows: their local priority. DSCP and PCP stay.',
      usual: 'they stay in their queue',
      example: 2,
      with: { size: '1MB' },
    },
    {
      name: 'from',
      kind: 'priorities',
      doc: 'Priorities whose flows are measured, and whose large flows move. All are lossless if `priority` is, and none if it is not.',
      default: [3],
      example: [0, 3],
      with: EXAMPLE,
    },
    {
      name: 'flows',
      kind: 'count',
      min: 1,
      max: 1 << 20,
      doc: 'Flows that the table has room for. Flows behind one port have half of it at most. Flows without a place count as small.',
      default: 4096,
      example: 65_536,
      with: EXAMPLE,
    },
    {
      name: 'age',
      kind: 'time',
      min: 1000,
      max: MOST,
      doc: 'A flow that is silent for so long may lose its place; at least `hold`.',
      default: 100 * MILLISECOND,
      example: '1s',
      with: EXAMPLE,
    },
  ],
  check: (options: LargeFlowsOptions) => {
    const wrong = ownConflict(options)
    return wrong === null ? [] : [wrong]
  },
  figures: [
    { name: 'largeFlows.grown', column: 'grown' },
    { name: 'largeFlows.now', column: 'large' },
    { name: 'largeFlows.missed', column: 'unmeasured' },
  ],
  lines: linesOf as never,
  create: (options: LargeFlowsOptions, sw) => new LargeFlows(options, sw),
}

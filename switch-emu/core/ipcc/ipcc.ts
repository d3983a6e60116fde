import type { Frame } from '../../../lib/frame/frame.js'
import { MOST } from '../../../lib/options/option.js'
import { MICROSECOND, type Nanos, NEVER, SECOND } from '../../../lib/time/nanos.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import * as cnp from '../../../lib/wire/ib/cnp.js'
import * as udp from '../../../lib/wire/net/udp.js'
import type { FeatureReport, FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import type { QueueTimers } from '../feature/queue-timers.js'
import type { NamedFlow } from '../flows/flow-key.js'
import { setDscp } from '../forwarding/ip-header.js'
import { Pfc } from '../pfc/pfc.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { scaleBps } from '../queueing/line-scale.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'
import { beginHeaders, endHeaders } from '../telemetry/notice.js'
import { CASES, type CnpCase, type CnpCountOptions, caseOf, cnpCount } from './cnp-count.js'
import { QueueSenders } from './queue-senders.js'
import { FlowCount, RoceFlows } from './roce-flows.js'

/** Intelligent proactive congestion control. */
export interface IpccOptions extends CnpCountOptions {
  /** The queue that uses its buffer fully, bytes. Default: what the line (`scaleBps`) sends in 80 us, or the room of the queue if that is less. */
  fullBytes?: number
  /** How often a queue is looked at. Default: the time in which its line sends an eighth of `fullBytes`, but 10 to 50 us. */
  intervalNs?: Nanos
  /** Between two CNPs for one flow at least. */
  flowIntervalNs: Nanos
  /** CNPs about one queue in an interval at most. */
  most: number
  dscp: number
  priorities: readonly number[]
  flows: number
  ageNs: Nanos
}

/** A flow that has got CNPs about the port. */
interface NotifiedFlow extends Omit<NamedFlow, 'priority'> {
  /** The QPN to which its CNPs go. */
  senderQpn: number
  cnps: number
}

export interface IpccReport {
  /** CNPs in all, and by the case of their queue. */
  sent: number
  cases: Record<CnpCase, number>
  /** Flows that were to get a CNP, and got none: nobody has shown their sender's QPN; they had one a short time ago; no frame was free. */
  unknownSender: number
  spaced: number
  noFrame: number
  /** Packets for the port whose flows found no place in the table. */
  missed: number
  /** Packets that came in by the port and whose source is not behind it. */
  forged: number
  /** Flows that come in by the port whose sender's QPN was learned from the connection manager, and from answers. */
  byCm: number
  byAnswers: number
  /** Flows of the whole switch now, and those that had to go for others. */
  flows: number
  replaced: number
  /** The flows that leave by the port and have got most CNPs since they are known. */
  list: NotifiedFlow[]
}

const FULL_NS = 80 * MICROSECOND
const INTERVAL_MIN_NS = 10 * MICROSECOND
/** Rates of DCQCN rise each 55 us: CNPs that come less often than that have no lasting effect. */
const INTERVAL_MAX_NS = 50 * MICROSECOND
const INTERVALS_OF_FULL = 8
/** Flows that a report lists. */
const LISTED_MAX = 16
const NONE = -1
/** Columns of counts: CNPs by case, then these. */
const UNKNOWN_SENDER = CASES.length
const SPACED = UNKNOWN_SENDER + 1
const NO_FRAME = UNKNOWN_SENDER + 2
const COLUMNS = UNKNOWN_SENDER + 3

/**
 * IPCC: the switch looks at each queue in intervals, works out how many CNPs its state is worth (`cnp-count.ts`), and sends them to
 * the sources of the flows that have sent most to it, in the name of their receivers. Source: white paper on lossless networks, "IPCC".
 */
class Ipcc implements SwitchFeature {
  readonly #options: IpccOptions
  readonly #switch: FeatureSwitch
  readonly #timers: QueueTimers
  readonly #pfc: Pfc | null
  readonly #mask: number
  readonly #flows: RoceFlows
  readonly #senders: QueueSenders
  /** By place of a flow: when it got its last CNP, how many it has got, and the port that it leaves by. */
  readonly #cnpNs: Float64Array
  readonly #cnps: Float64Array
  readonly #port: Int16Array
  /** By queue: its length when the interval began, or NONE: it rests. */
  readonly #before: Float64Array
  /** By port x COLUMNS. */
  readonly #counts: Float64Array
  #replacedBefore = 0

  constructor(options: IpccOptions, sw: FeatureSwitch, timers: QueueTimers) {
    const { flows, ageNs, priorities } = options
    const queues = sw.ports.length * PRIORITIES
    this.#options = options
    this.#switch = sw
    this.#timers = timers
    this.#pfc = sw.find(Pfc)
    this.#mask = priorities.reduce((mask, p) => mask | (1 << p), 0)
    this.#flows = new RoceFlows(flows, ageNs, sw, this)
    this.#senders = new QueueSenders(flows, queues)
    this.#cnpNs = new Float64Array(flows)
    this.#cnps = new Float64Array(flows)
    this.#port = new Int16Array(flows)
    this.#before = new Float64Array(queues).fill(NONE)
    this.#counts = new Float64Array(sw.ports.length * COLUMNS)
  }

  offered(now: Nanos, frame: Frame, ingress: number, { index, queues }: EgressPort, priority: number): void {
    const row = this.#flows.pass(now, frame, ingress, index)
    if (row === NONE || ((this.#mask >>> priority) & 1) === 0 || frame.payloadLength === 0) return
    const queue = index * PRIORITIES + priority
    if (this.#senders.add(row, queue, frame.wireLength)) {
      this.#port[row] = index
      this.#flows.keepHeaders(row, frame)
    }
    if (this.#before[queue] !== NONE) return
    this.#before[queue] = queues[priority]!.bytes
    this.#timers.set(index, priority, now + this.#intervalNs(index, priority))
  }

  /** Another flow has got the place. */
  begin(row: number): void {
    this.#senders.remove(row)
    this.#cnpNs[row] = Number.NEGATIVE_INFINITY
    this.#cnps[row] = 0
    this.#port[row] = NONE
  }

  timeout(at: Nanos, port: number, priority: number): void {
    const queue = port * PRIORITIES + priority
    const { bytes } = this.#switch.ports[port]!.queues[priority]!
    const senders = this.#senders.count(queue)
    const fullBytes = this.#fullBytes(port, priority)
    if (bytes >= this.#options.least * fullBytes) {
      const of = caseOf(bytes, this.#before[queue]!, fullBytes, this.#options.high)
      const number = Math.min(this.#options.most, cnpCount(of, senders, this.#options))
      if (number > 0) this.#notify(at, queue, number, of)
    }
    this.#senders.clear(queue)
    // A queue that is empty and got nothing rests. What comes next has no trend yet.
    this.#before[queue] = bytes > 0 || senders > 0 ? bytes : NONE
    if (this.#before[queue] !== NONE) this.#timers.set(port, priority, at + this.#intervalNs(port, priority))
  }

  /** No flow is known, and all queues rest. */
  restart(): void {
    this.#flows.clear()
    for (let queue = 0; queue < this.#before.length; queue++) {
      this.#senders.clear(queue)
      this.#before[queue] = NONE
      const priority = queue % PRIORITIES
      this.#timers.set((queue - priority) / PRIORITIES, priority, NEVER)
    }
  }

  reset(): void {
    this.#counts.fill(0)
    this.#flows.resetCounts()
    this.#replacedBefore = this.#flows.table.replaced
  }

  report(_now: Nanos, port: number): FeatureReport {
    const at = port * COLUMNS
    const counts = this.#counts
    const { table } = this.#flows
    const cases = Object.fromEntries(CASES.map((name, i) => [name, counts[at + i]!])) as IpccReport['cases']
    const ipcc: IpccReport = {
      sent: CASES.reduce((sum, name) => sum + cases[name], 0),
      cases,
      unknownSender: counts[at + UNKNOWN_SENDER]!,
      spaced: counts[at + SPACED]!,
      noFrame: counts[at + NO_FRAME]!,
      missed: this.#flows.count(port, FlowCount.MISSED),
      forged: this.#flows.count(port, FlowCount.FORGED),
      byCm: this.#flows.count(port, FlowCount.BY_CM),
      byAnswers: this.#flows.count(port, FlowCount.BY_ANSWERS),
      flows: table.count,
      replaced: table.replaced - this.#replacedBefore,
      list: this.#notified(port),
    }
    return { ipcc }
  }

  #notified(port: number): NotifiedFlow[] {
    const rows: number[] = []
    const { table, senderQpn } = this.#flows
    table.forEach(row => {
      if (this.#port[row] === port && this.#cnps[row]! > 0) rows.push(row)
    })
    rows.sort((a, b) => this.#cnps[b]! - this.#cnps[a]! || a - b)
    return rows.slice(0, LISTED_MAX).map(row => {
      const { priority: _, ...name } = table.name(row)
      return { ...name, senderQpn: senderQpn[row]!, cnps: this.#cnps[row]! }
    })
  }

  /** Bytes at which the queue uses its buffer fully. */
  #fullBytes(port: number, priority: number): number {
    const { fullBytes } = this.#options
    if (fullBytes !== undefined) return fullBytes
    const { rateBps, queues } = this.#switch.ports[port]!
    const isLossless = ((this.#switch.losslessMask >>> priority) & 1) === 1
    const room =
      isLossless && this.#pfc !== null ? this.#pfc.accounting.thresholdBytes() : queues[priority]!.bytesMax
    return Math.min((scaleBps(rateBps) * FULL_NS) / 8e9, room)
  }

  #intervalNs(port: number, priority: number): Nanos {
    const { intervalNs } = this.#options
    if (intervalNs !== undefined) return intervalNs
    const { rateBps } = this.#switch.ports[port]!
    const bytes = this.#fullBytes(port, priority) / INTERVALS_OF_FULL
    return Math.min(INTERVAL_MAX_NS, Math.max(INTERVAL_MIN_NS, Math.round((bytes * 8e9) / rateBps)))
  }

  /** Sends so many CNPs, to the flows that have sent most to the queue in this interval and whose sender is known. */
  #notify(now: Nanos, queue: number, number: number, of: number): void {
    const at = Math.floor(queue / PRIORITIES) * COLUMNS
    let left = number
    for (const row of this.#senders.largestFirst(queue)) {
      const column = this.#notifyFlow(now, row, of)
      this.#counts[at + column]! += 1
      if (column !== UNKNOWN_SENDER) left--
      if (left === 0) return
    }
  }

  /** Returns the column in which the outcome is counted. */
  #notifyFlow(now: Nanos, row: number, of: number): number {
    const senderQpn = this.#flows.senderQpn[row]!
    if (senderQpn === 0) return UNKNOWN_SENDER
    if (now - this.#cnpNs[row]! < this.#options.flowIntervalNs) return SPACED
    const into = this.#switch.pool.take()
    if (into === null) return NO_FRAME
    this.#cnpNs[row] = now
    this.#cnps[row]! += 1
    this.#flows.headersOf(row)
    into.shim = -1
    into.bth = beginHeaders(into, this.#flows.headers, true, udp.PORT_ROCE) + udp.BYTES
    setDscp(into, this.#options.dscp)
    cnp.write(into.view, into.bth, bth.DEFAULT_PARTITION_KEY, senderQpn)
    into.payload = into.bth + bth.BYTES + cnp.BYTES
    into.length = into.payload
    endHeaders(into)
    this.#switch.send(now, into)
    return of
  }
}

/** A line for each port about which CNPs were sent, for tables. */
function linesOf({ ipcc }: { ipcc?: IpccReport }): string[] {
  if (ipcc === undefined || ipcc.sent === 0) return []
  const { cases, list } = ipcc
  const counts = `queue rising ${cases.risingLow} and full ${cases.risingHigh}, falling and full ${cases.fallingHigh}`
  const flows = list.map(({ from, senderQpn, cnps }) => `${from} QP ${senderQpn} ${cnps}`)
  return [`CNPs: ${counts}${flows.length === 0 ? '' : `; to ${flows.join(', ')}`}`]
}

const DEFAULT_COUNT: CnpCountOptions = { few: 0.25, more: 1, high: 0.4, least: 0.1 }

export const IPCC: FeatureEntry = {
  name: 'ipcc',
  doc: 'IPCC: the switch sends CNPs to the sources of its queues by itself.',
  usual: 'the switch sends no CNPs',
  example: { full: '1MB' },
  about:
    'Intelligent proactive congestion control (white paper on lossless networks). Each `interval` the switch works out from the length of a queue, its trend and the use of its buffer how many CNPs to send. They go to the sources of the flows that have sent most to it, in the name of their receivers.',
  options: [
    {
      name: 'full',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'The queue that uses its buffer fully.',
      usual:
        'what the link sends in 80us (below 4.8 Gbit/s 48KB), or the threshold of PFC or the bound of the queue where that is less',
      example: '1MB',
    },
    {
      name: 'least',
      kind: 'share',
      min: 0,
      max: 1,
      doc: 'Below this utilization of the buffer nothing is sent.',
      default: DEFAULT_COUNT.least,
      example: 0.05,
    },
    {
      name: 'high',
      kind: 'share',
      min: 0,
      max: 1,
      doc: 'From this utilization of the buffer on it is high.',
      default: DEFAULT_COUNT.high,
      example: 0.5,
    },
    {
      name: 'few',
      kind: 'share',
      min: 0,
      max: 1,
      doc: 'Share of the flows that get a CNP where the queue grows and utilization is low, or shrinks and it is high; rounded up.',
      default: DEFAULT_COUNT.few,
      example: 0.5,
    },
    {
      name: 'more',
      kind: 'share',
      min: 0,
      max: 1,
      doc: 'The same where the queue grows and utilization is high.',
      default: DEFAULT_COUNT.more,
      example: 0.8,
    },
    {
      name: 'interval',
      kind: 'time',
      min: 1000,
      max: 4e9,
      doc: 'How often a queue is looked at.',
      usual: 'the time in which its link sends an eighth of `full`, but 10us to 50us',
      example: '20us',
    },
    {
      name: 'flowInterval',
      kind: 'time',
      min: 1000,
      max: 4e9,
      doc: 'Between two CNPs for one flow at least.',
      default: 50 * MICROSECOND,
      example: '20us',
    },
    {
      name: 'most',
      kind: 'count',
      min: 1,
      max: 65_536,
      doc: 'CNPs about one queue in an interval at most.',
      default: 64,
      example: 128,
    },
    {
      name: 'dscp',
      kind: 'count',
      min: 0,
      max: 63,
      doc: 'DSCP of the CNPs.',
      default: 48,
      example: 26,
    },
    {
      name: 'priorities',
      kind: 'priorities',
      doc: 'Priorities whose queues are looked at.',
      default: [3],
      example: [3, 4],
    },
    {
      name: 'flows',
      kind: 'count',
      min: 1,
      max: 65_536,
      doc: 'Flows that the table has room for; each direction of a connection in which data or requests go is one.',
      default: 4096,
      example: 65_536,
    },
    {
      name: 'age',
      kind: 'time',
      min: 1000,
      max: MOST,
      doc: 'A flow that is silent for so long may lose its place.',
      default: SECOND,
      example: '10s',
    },
  ],
  check: ({ least, high, few, more, priorities }: IpccOptions) => [
    ...(least > high ? [{ option: 'least', wrong: 'least must not be above high' }] : []),
    ...(few > more ? [{ option: 'few', wrong: 'few must not be above more' }] : []),
    ...(more === 0 ? [{ option: 'more', wrong: 'more is above 0: no flow would get a CNP' }] : []),
    ...(priorities.length === 0
      ? [{ option: 'priorities', wrong: 'priorities names none, so no queue is looked at' }]
      : []),
  ],
  figures: [
    { name: 'ipcc.sent', column: 'CNPs' },
    { name: 'ipcc.unknownSender', column: 'unknown senders' },
    { name: 'ipcc.missed', column: 'no place' },
    { name: 'ipcc.forged', column: 'forged' },
  ],
  lines: linesOf as never,
  create: (options: IpccOptions, sw, timers) => new Ipcc(options, sw, timers),
}

import type { Frame } from '../../../lib/frame/frame.js'
import { MOST } from '../../../lib/options/option.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import { hasPayload, isReadResponse, isRequest, Opcode } from '../../../lib/wire/ib/opcode.js'
import * as udp from '../../../lib/wire/net/udp.js'
import * as fairRate from '../../../lib/wire/weir/fair-rate.js'
import type { FeatureReport, FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import type { QueueTimers } from '../feature/queue-timers.js'
import type { EgressPort } from '../queueing/egress-port.js'
import {
  type FairRateOptions,
  FairRatePi,
  fairRateConstants,
  fairRateContradictions,
} from './fair-rate-pi.js'
import { beginHeaders, endHeaders, NoticeSeals } from './notice.js'
import { type QueuedFlow, QueuedFlows } from './queued-flows.js'

/** The congestion point of RoCC. */
export interface RoccOptions extends FairRateOptions {
  /** Flows of a port that get its fair rate. */
  flows: number
  /** A flow whose last packet came longer ago has none in the queue. Default: two intervals. */
  ageNs?: Nanos
  /** The key for authenticated notices where hosts have a secret: `directKey` of it. Default: they carry no tag. */
  key?: Uint32Array
}

export interface RoccReport {
  /** Fair rates that the switch has sent of this port. */
  sent: number
  /** Packets of flows for which the table had no place, and fair rates for which no frame was free. */
  missed: number
  /** F now, bit/s. */
  fairRateBps: number
}

const AGE_INTERVALS = 2

/** What one port has. */
class RoccPort {
  readonly pi: FairRatePi
  readonly flows: QueuedFlows
  /** Its timer runs. */
  active = false
  sent = 0
  missed = 0
  sentBefore = 0
  missedBefore = 0

  constructor(rateBps: number, options: RoccOptions) {
    const constants = fairRateConstants(rateBps, options)
    this.pi = new FairRatePi(constants)
    this.flows = new QueuedFlows(options.flows, options.ageNs ?? AGE_INTERVALS * constants.intervalNs)
  }

  get missedInAll(): number {
    return this.missed + this.flows.missed
  }
}

/**
 * RoCC's congestion point (Taheri et al., CoNEXT 2020): each port works out its fair rate every T, and sends it to the sources of the flows
 * in its queue (`lib/wire/weir/fair-rate.ts`). While nothing waits, or the rate is that of the link, it sends nothing, and sources
 * recover by themselves. A port rests while its rate is that of the link and no data comes.
 */
class CongestionPoint implements SwitchFeature {
  readonly #switch: FeatureSwitch
  readonly #timers: QueueTimers
  readonly #key: Uint32Array | null
  readonly #seals: NoticeSeals
  readonly #ports: readonly RoccPort[]
  readonly #header = new bth.Bth({ opcode: Opcode.FAIR_RATE })
  readonly #fields: fairRate.FairRateFields

  constructor(options: RoccOptions, sw: FeatureSwitch, timers: QueueTimers) {
    this.#switch = sw
    this.#timers = timers
    this.#key = options.key ?? null
    this.#seals = NoticeSeals.of(sw)
    this.#ports = sw.ports.map(({ rateBps }) => new RoccPort(rateBps, options))
    this.#fields = { switchId: sw.id, port: 0, rateBps: 0, intervalNs: 0 }
  }

  offered(now: Nanos, frame: Frame, _ingress: number, { index }: EgressPort): void {
    if (!isData(frame)) return
    const port = this.#ports[index]!
    port.flows.add(now, frame)
    if (port.active) return
    port.active = true
    this.#timers.set(index, 0, now + port.pi.constants.intervalNs)
  }

  timeout(at: Nanos, index: number): void {
    const port = this.#ports[index]!
    const { pi, flows } = port
    const { queueBytes } = this.#switch.ports[index]!
    pi.update(queueBytes)
    flows.removeOld(at)
    const isLimited = pi.rateBps < pi.constants.maxBps
    if (isLimited && queueBytes > 0) {
      for (let i = 0; i < flows.count; i++) this.#send(at, port, index, flows.flow(i))
    }
    port.active = isLimited || queueBytes > 0 || flows.count > 0
    if (port.active) this.#timers.set(index, 0, at + pi.constants.intervalNs)
  }

  /** Rates are those of the links again, and no flow is known. */
  restart(): void {
    for (const [index, port] of this.#ports.entries()) {
      port.pi.restart()
      port.flows.removeOld(NEVER)
      port.active = false
      this.#timers.set(index, 0, NEVER)
    }
  }

  reset(): void {
    for (const port of this.#ports) {
      port.sentBefore = port.sent
      port.missedBefore = port.missedInAll
    }
  }

  report(_now: Nanos, index: number): FeatureReport {
    const { sent, sentBefore, missedInAll, missedBefore, pi } = this.#ports[index]!
    const rocc: RoccReport = {
      sent: sent - sentBefore,
      missed: missedInAll - missedBefore,
      fairRateBps: Math.round(pi.rateBps),
    }
    return { rocc }
  }

  #send(now: Nanos, port: RoccPort, index: number, flow: QueuedFlow): void {
    const into = this.#switch.pool.take()
    if (into === null) {
      port.missed++
      return
    }
    port.sent++
    const fields = this.#fields
    fields.port = index
    fields.rateBps = port.pi.rateBps
    fields.intervalNs = port.pi.constants.intervalNs
    into.shim = -1
    into.bth = beginHeaders(into, flow, true, udp.PORT_ROCE) + udp.BYTES
    const header = this.#header
    header.partitionKey = flow.partitionKey
    header.destQpn = flow.destQpn
    header.psn = flow.psn
    bth.write(into.view, into.bth, header)
    bth.setBecn(into.view, into.bth, true)
    const at = into.bth + bth.BYTES
    fairRate.write(into.view, at, flow.ofResponse ? fairRate.KIND_RESPONSE : fairRate.KIND_REQUEST, fields)
    into.payload = at + fairRate.BYTES
    into.length = into.payload
    if (this.#key !== null) this.#seals.seal(now, into, this.#key)
    endHeaders(into)
    this.#switch.send(now, into)
  }
}

/** Requests and READ responses with payload. */
function isData({ view, bth: at, payload, payloadLength }: Frame): boolean {
  if (payload < 0 || payloadLength === 0 || at < 0) return false
  const opcode = bth.opcode(view, at)
  return hasPayload(opcode) && (isRequest(opcode) || isReadResponse(opcode))
}

const BY_RATE = 'others in proportion'

export const ROCC: FeatureEntry = {
  name: 'rocc',
  doc: 'Each port works out the fair rate of its flows and sends it to their sources: the congestion point of RoCC, for flows with `cc: rocc`.',
  usual: 'the switch sends no fair rates',
  example: { qRef: '300KB' },
  about:
    'The congestion point of RoCC (Taheri et al., CoNEXT 2020). The defaults are those of the paper for 40 and 100 Gbit/s. With another rate they are those of the nearer one with queues in proportion, below 4 Gbit/s the interval.',
  options: [
    {
      name: 'alpha',
      kind: 'number',
      min: 0.000_001,
      max: 10,
      doc: "Gain of the queue's distance from `qRef`: 10 Mbit/s for each 600 B.",
      usual: '0.3 up to 63 Gbit/s, else 0.45',
      example: 0.2,
    },
    {
      name: 'beta',
      kind: 'number',
      min: 0,
      max: 20,
      doc: "Gain of the queue's growth in an interval, in the same units.",
      usual: '1.5 up to 63 Gbit/s, else 2.25',
      example: 1.2,
    },
    {
      name: 'qLow',
      kind: 'bytes',
      min: 0,
      max: MOST,
      doc: 'While the queue is shorter, the fair rate rises by the gains undivided; below `qRef`. 0: gains are divided at low rates however short the queue is, as in the paper.',
      usual: 'an eighth of `qRef`',
      example: '10KB',
    },
    {
      name: 'qRef',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'The queue to be kept.',
      usual: `150 KB for 40 Gbit/s, 300 KB for 100 Gbit/s, ${BY_RATE}; less below a given \`qMid\` or \`qMax\``,
      example: '300KB',
    },
    {
      name: 'qMid',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'Growth of the queue in an interval that halves the fair rate; above `qRef`.',
      usual: 'twice `qRef`; less below a given `qMax`',
      example: '600KB',
    },
    {
      name: 'qMax',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'The queue at which the fair rate falls to `minRate`; above `qRef` and `qMid`.',
      usual: '2.4 times `qRef` up to 63 Gbit/s, else 2.2 times; more above a given `qMid`',
      example: '660KB',
    },
    {
      name: 'interval',
      kind: 'time',
      min: 1000,
      max: 4e9,
      doc: 'T: how often a port works out its fair rate, and sends it.',
      usual: '40us; below 4 Gbit/s longer in proportion',
      example: '100us',
    },
    {
      name: 'minRate',
      kind: 'rate',
      min: 1000,
      max: 4e12,
      doc: 'The lowest fair rate, below `maxRate` and every link of the switch.',
      usual: '100 Mbit/s; below 40 Gbit/s a 400th of `maxRate`',
      example: '50Mbps',
    },
    {
      name: 'maxRate',
      kind: 'rate',
      min: 1000,
      max: 4e12,
      doc: 'The highest fair rate, below the fastest link of the switch.',
      usual: 'that of the link',
      example: '900Mbps',
    },
    {
      name: 'flows',
      kind: 'count',
      min: 1,
      max: 65_536,
      doc: 'Flows of a port that get its fair rate at most.',
      default: 1024,
      example: 4096,
    },
    {
      name: 'age',
      kind: 'time',
      min: 1000,
      max: MOST,
      doc: 'A flow whose last packet came longer ago counts as having none in the queue.',
      usual: 'two intervals',
      example: '200us',
    },
  ],
  figures: [
    { name: 'rocc.sent', column: 'fair rates' },
    { name: 'rocc.missed', column: 'missed' },
  ],
  checkLinks: fairRateContradictions,
  create: (options: RoccOptions, sw, timers) => new CongestionPoint(options, sw, timers),
}

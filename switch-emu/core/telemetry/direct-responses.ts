import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import { MOST } from '../../../lib/options/option.js'
import { MICROSECOND, type Nanos } from '../../../lib/time/nanos.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import { hasPayload, isReadResponse, isRequest, Opcode } from '../../../lib/wire/ib/opcode.js'
import * as udp from '../../../lib/wire/net/udp.js'
import { HopRecords, MAX_HOPS } from '../../../lib/wire/telemetry/hop-records.js'
import { HopSnapshot } from '../../../lib/wire/telemetry/hop-snapshot.js'
import * as intShim from '../../../lib/wire/telemetry/int-shim.js'
import * as telemetry from '../../../lib/wire/telemetry/telemetry.js'
import * as delayedAck from '../../../lib/wire/weir/delayed-ack.js'
import type { FeatureReport, FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import { flowHash } from '../forwarding/ecmp.js'
import { dscp } from '../forwarding/ip-header.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { BloomFilter } from './bloom-filter.js'
import { IntStamper } from './int-stamper.js'
import { LoadView } from './load-view.js'
import { beginHeaders, endHeaders, NoticeSeals } from './notice.js'

/** When a congested switch sends direct responses, and to whom. */
export interface DirectResponseOptions {
  /** The switch responds to a packet that finds this many bytes in its egress queue, including itself. */
  thresholdBytes: number
  /** The switch responds to a flow at most once in this time. Default 10 us. */
  intervalNs?: Nanos
  /** Sender-based or receiver-based control. Default sender. */
  to?: 'sender' | 'receiver'
  /**
   * Which data packets get responses: every one that collects telemetry or asks for responses (default), or
   * only those that ask.
   */
  of?: 'all' | 'subscribed'
  /** Packets with this DSCP ask too. Default: only the flag of the shim does. */
  subscribedDscp?: number
  /**
   * The key for authenticated responses where hosts have a secret: `directKey` of it. Default: responses
   * carry no tag.
   */
  key?: Uint32Array
  /** Bits of the filter of flows that got a response, a power of two. Default 4096. */
  filterBits?: number
}

const DEFAULT_INTERVAL_NS = 10_000
const DEFAULT_FILTER_BITS = 4096

/**
 * Telemetry that a congested switch sends directly, without the detour by the receiver (draft-01 of HPCC++,
 * section 6.3). A response contains the number of the packet that met the congestion, the hops that the
 * packet has passed, and this hop as it is now. A Bloom filter that a timer empties prevents a burst of
 * responses to a burst of packets.
 *
 * A packet names only its receiver's queue pair, so the response does too. With BECN it goes back to the
 * sender, which finds the flow by that queue pair. With FECN it goes on to the receiver.
 */
class DirectResponses implements SwitchFeature {
  readonly #switch: FeatureSwitch
  readonly #options: Required<Omit<DirectResponseOptions, 'subscribedDscp' | 'key'>>
  readonly #subscribedDscp: number
  readonly #key: Uint32Array | null
  readonly #seals: NoticeSeals
  readonly #view: LoadView
  readonly #answered: BloomFilter
  #filterUntilNs: Nanos = Number.NEGATIVE_INFINITY
  readonly #hop = new HopSnapshot()
  readonly #header = new bth.Bth({ opcode: Opcode.DIRECT_NOTIFY })
  readonly #records = new HopRecords()
  /** Responses since the beginning and at the window's start, by the congested port. */
  readonly #sent: Float64Array
  readonly #before: Float64Array

  constructor(options: DirectResponseOptions, sw: FeatureSwitch) {
    const { thresholdBytes, intervalNs = DEFAULT_INTERVAL_NS, to = 'sender', of = 'all' } = options
    const { filterBits = DEFAULT_FILTER_BITS, subscribedDscp = -1, key = null } = options
    if (!(thresholdBytes >= 1) || !(intervalNs >= 1)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `direct responses: threshold and interval are above 0, not ${thresholdBytes} bytes and ${intervalNs} ns`,
      )
    }
    this.#options = { thresholdBytes, intervalNs, to, of, filterBits }
    this.#subscribedDscp = subscribedDscp
    this.#key = key
    this.#seals = NoticeSeals.of(sw)
    this.#switch = sw
    this.#view = sw.find(IntStamper)?.view ?? new LoadView()
    this.#answered = new BloomFilter(filterBits)
    this.#hop.switchId = sw.id
    this.#sent = new Float64Array(sw.ports.length)
    this.#before = new Float64Array(sw.ports.length)
  }

  /** No flow counts as answered. */
  restart(): void {
    this.#answered.clear()
    this.#filterUntilNs = Number.NEGATIVE_INFINITY
  }

  reset(): void {
    this.#before.set(this.#sent)
  }

  /** Counts at the congested port. */
  report(_now: Nanos, port: number): FeatureReport {
    return { directResponses: this.#sent[port]! - this.#before[port]! }
  }

  /** Reports congestion that the frame has met at its egress queue, whether or not it was queued. */
  offered(now: Nanos, frame: Frame, ingress: number, port: EgressPort, priority: number): void {
    if (!this.#isDue(now, frame, port, priority)) return
    const response = this.#respond(now, frame, port, priority)
    if (response !== null) this.#switch.send(now, response, ingress)
  }

  /**
   * Returns true if the switch must respond to a packet for that queue of the port. Then the flow counts as
   * answered.
   */
  #isDue(now: Nanos, frame: Frame, port: EgressPort, priority: number): boolean {
    if (this.#view.queueBytes(port, priority) < this.#options.thresholdBytes) return false
    if (!this.#isEligible(frame)) return false
    if (now >= this.#filterUntilNs) {
      this.#answered.clear()
      this.#filterUntilNs = now + this.#options.intervalNs
    }
    const { view, length, l3, l4 } = frame
    return this.#answered.add(flowHash(view, length, l3, l4) ^ bth.destQpn(view, frame.bth))
  }

  #isEligible(frame: Frame): boolean {
    if (frame.payload < 0 || frame.payloadLength === 0) return false
    const opcode = bth.opcode(frame.view, frame.bth)
    if (!hasPayload(opcode) || !(isRequest(opcode) || isReadResponse(opcode))) return false
    const asks =
      (telemetry.flags(frame) & intShim.FLAG_SUBSCRIBED) !== 0 || dscp(frame) === this.#subscribedDscp
    return asks || (this.#options.of === 'all' && frame.shim >= 0 && !telemetry.isEcho(frame))
  }

  /** Returns the response to a packet, or null if no frame is free. */
  #respond(now: Nanos, frame: Frame, port: EgressPort, priority: number): Frame | null {
    const into = this.#switch.pool.take()
    if (into === null) return null
    this.#sent[port.index]! += 1
    this.#collect(now, frame, port, priority)
    const back = this.#options.to === 'sender'
    const records = this.#records
    const l4 = beginHeaders(into, frame, back, udp.PORT_INT)
    const at = l4 + udp.BYTES
    into.shim = at
    into.intFormat = telemetry.NATIVE
    into.bth = at + intShim.writeEchoOf(into.view, at, records)
    const from = frame.view
    const header = this.#header
    header.partitionKey = bth.partitionKey(from, frame.bth)
    header.destQpn = bth.destQpn(from, frame.bth)
    header.psn = bth.psn(from, frame.bth)
    bth.write(into.view, into.bth, header)
    if (back) bth.setBecn(into.view, into.bth, true)
    else bth.setFecn(into.view, into.bth, true)
    const kind = isReadResponse(bth.opcode(from, frame.bth))
      ? delayedAck.KIND_RESPONSE
      : delayedAck.KIND_REQUEST
    delayedAck.write(into.view, into.bth + bth.BYTES, kind, -1)
    into.payload = into.bth + bth.BYTES + delayedAck.BYTES
    into.length = into.payload
    if (this.#key !== null) this.#seals.seal(now, into, this.#key)
    endHeaders(into)
    return into
  }

  /** Collects the hops that the packet has passed, then this one. */
  #collect(now: Nanos, frame: Frame, port: EgressPort, priority: number): void {
    const records = this.#records
    const hop = this.#hop
    records.count = 0
    records.pathId = 0
    records.flows = 0
    records.overflow = false
    records.ratioOnly = false
    if (frame.shim >= 0 && !telemetry.isEcho(frame)) telemetry.read(frame, records)
    hop.arrivalNs = now
    hop.startNs = now
    this.#view.fill(hop, port, priority, 0)
    // The packet has not left yet. Its sojourn will take as long as the bytes that wait before it.
    hop.qlenBytes = this.#view.queueBytes(port, priority)
    this.#view.conceal(hop)
    if (this.#view.ratioOnly) records.ratioOnly = true
    const row = Math.min(records.count, MAX_HOPS - 1)
    records.switchId[row] = hop.switchId
    records.port[row] = port.index
    records.rateBps[row] = hop.rateBps
    records.tsNs[row] = now
    records.txBytes[row] = hop.txBytes
    records.qlenBytes[row] = hop.qlenBytes
    records.pathId ^= hop.switchId
    records.count = row + 1
  }
}

export const DIRECT: FeatureEntry = {
  name: 'direct',
  within: 'telemetry',
  doc: 'The switch answers senders or receivers by itself.',
  usual: 'the switch sends nothing by itself',
  example: { threshold: '50KB' },
  about: 'Telemetry that a congested switch sends by itself (draft-pan-tsvwg-hpccplus-01, section 6.3).',
  options: [
    {
      name: 'threshold',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'A packet that finds so much in its egress queue, itself included, is answered.',
      example: '50KB',
    },
    {
      name: 'interval',
      kind: 'time',
      min: 1,
      max: MOST,
      doc: 'A flow is answered once in this time at most.',
      default: 10 * MICROSECOND,
      example: '20us',
    },
    {
      name: 'to',
      kind: 'choice',
      choices: ['sender', 'receiver'],
      doc: 'Who gets the direct responses.',
      usual: '`receiver` if the controller of the scenario works there, else `sender`',
      example: 'sender',
    },
    {
      name: 'of',
      kind: 'choice',
      choices: ['all', 'subscribed'],
      doc: 'All packets that collect telemetry, or only those that ask (`telemetry.subscribe`).',
      default: 'all',
      example: 'subscribed',
    },
  ],
  create: (options: DirectResponseOptions, sw) => new DirectResponses(options, sw),
}

/**
 * The RoCEv2 flows of a switch: source, destination and destination QP of each, the port that it comes in by, and the QP of its sender, which
 * no data packet has. Where the switch has that from:
 *
 * - **the connection manager**: a REQ has the QPN of the active end, and the REP that answers its communication id that of the passive end.
 *   A DREQ ends what is known of the two.
 * - **answers**: an acknowledgement, NAK or READ response from B to A has a QPN of A, and the PSN of a request that A sent to B. If a request
 *   with just that PSN has passed from A to B, the two belong together. Two such answers in a row have to agree, so a single one that is
 *   forged, or a chance, has no effect.
 *
 * A flow has to come from where its source is: packets that come in by a port by which the switch does not send to their source are no part of
 * it. A flow whose sender nobody has shown is a newcomer of the table, whom the next flow may replace.
 */
import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as dreq from '../../../lib/wire/cm/dreq.js'
import { Attribute, localCommId, remoteCommId } from '../../../lib/wire/cm/fields.js'
import * as mad from '../../../lib/wire/cm/mad.js'
import * as rep from '../../../lib/wire/cm/rep.js'
import * as req from '../../../lib/wire/cm/req.js'
import * as bth from '../../../lib/wire/ib/bth.js'
import { hasAeth, isReadResponse, isRequest, Opcode } from '../../../lib/wire/ib/opcode.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../../lib/wire/net/ipv6.js'
import * as udp from '../../../lib/wire/net/udp.js'
import type { FeatureSwitch } from '../feature/feature.js'
import { FlowKey } from '../flows/flow-key.js'
import { SwitchFlows } from '../flows/switch-flows.js'

/** PSNs of requests that wait for their answers. Newer ones overwrite older ones. */
const RECENT = 8192
/** REQs that wait for theirs, of each port by which they come in. */
const REQS_OF_PORT = 64
const NONE = -1
const UNKNOWN = 0

/** Headers of a packet of each flow, as `beginHeaders` reads them: MAC addresses, IP header without options, UDP source port. */
const L3 = ethernet.BYTES
const L4 = L3 + ipv6.BYTES
const HEADERS = L4 + udp.BYTES

/** Counts of a port. */
export const FlowCount = {
  /** Packets for the port of flows for which the table had no place. */
  MISSED: 0,
  /** Packets that came in by the port, and whose source is not behind it. */
  FORGED: 1,
  /** Flows that come in by the port whose sender's QPN was learned from the connection manager, and from answers. */
  BY_CM: 2,
  BY_ANSWERS: 3,
} as const
const COUNTS = 4

/** Who keeps more of each flow, by place. */
interface FlowOwner {
  /** Another flow has got the place. */
  begin(row: number): void
}

export class RoceFlows {
  readonly table: SwitchFlows
  /** By place: QPN of the sender, 0: unknown. */
  readonly senderQpn: Uint32Array
  /** A flow's headers after `headersOf`. */
  readonly headers: { bytes: Buffer; view: DataView; l3: number; l4: number }
  readonly #switch: FeatureSwitch
  readonly #owner: FlowOwner
  readonly #key: FlowKey
  /** By place: the QPN that one answer has shown, 0: none has. */
  readonly #candidate: Uint32Array
  readonly #headers: Buffer
  /** By hash of two hosts and a PSN: the place of the flow that sent it. */
  readonly #recent = new Int32Array(RECENT).fill(NONE)
  /** By port, then by hash of two hosts and a communication id: a second hash, and the QPN; 0: no REQ. */
  readonly #reqHash: Int32Array
  readonly #reqQpn: Uint32Array
  /** By port x COUNTS. */
  readonly #counts: Float64Array

  constructor(flows: number, ageNs: Nanos, sw: FeatureSwitch, owner: FlowOwner) {
    const ports = sw.ports.length
    this.#switch = sw
    this.#owner = owner
    this.table = new SwitchFlows({ flows, ageNs, ports })
    this.senderQpn = new Uint32Array(flows)
    this.#candidate = new Uint32Array(flows)
    this.#key = new FlowKey(Math.floor(sw.random() * 2 ** 32))
    this.#headers = Buffer.alloc(flows * HEADERS)
    const bytes = Buffer.alloc(HEADERS)
    this.headers = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, HEADERS), l3: L3, l4: L4 }
    this.#reqHash = new Int32Array(ports * REQS_OF_PORT)
    this.#reqQpn = new Uint32Array(ports * REQS_OF_PORT)
    this.#counts = new Float64Array(ports * COUNTS)
  }

  /** A packet passes. Returns the place of its flow, or -1: it has none, or is of none. */
  pass(now: Nanos, frame: Frame, ingress: number, egress: number): number {
    const { view, bth: at } = frame
    if (at < 0) return NONE
    const opcode = bth.opcode(view, at)
    if (opcode === Opcode.UD_SEND_ONLY) {
      if (bth.destQpn(view, at) === 1) this.#manage(now, frame, ingress, egress)
      return NONE
    }
    const isResponse = isReadResponse(opcode)
    const isOfFlow = isResponse || isRequest(opcode)
    if (!isOfFlow && !hasAeth(opcode)) return NONE
    this.#key.read(frame, 0)
    const row = isOfFlow ? this.#enter(now, frame, ingress, egress) : NONE
    if (isResponse || !isOfFlow) this.#answer(frame, ingress)
    else if (row !== NONE && this.senderQpn[row] === UNKNOWN)
      this.#recent[this.#key.hashWith(bth.psn(view, at)) & (RECENT - 1)] = row
    return row
  }

  /** Keeps the headers of a packet of the flow. */
  keepHeaders(row: number, { bytes, view, l3, l4 }: Frame): void {
    const at = row * HEADERS
    bytes.copy(this.#headers, at, 0, L3)
    const ip = ipv4.version(view, l3) === 4 ? ipv4.BYTES : ipv6.BYTES
    bytes.copy(this.#headers, at + L3, l3, l3 + ip)
    bytes.copy(this.#headers, at + L4, l4, l4 + udp.BYTES)
  }

  /** Fills `headers` with those of the flow. */
  headersOf(row: number): void {
    this.#headers.copy(this.headers.bytes, 0, row * HEADERS, (row + 1) * HEADERS)
  }

  count(port: number, of: number): number {
    return this.#counts[port * COUNTS + of]!
  }

  resetCounts(): void {
    this.#counts.fill(0)
  }

  /** Forgets all flows. Counts remain. */
  clear(): void {
    this.table.clear()
    this.#recent.fill(NONE)
    this.#reqQpn.fill(UNKNOWN)
  }

  // ---- Places

  /** The place of the flow of the key, whose packet came in by that port. */
  #enter(now: Nanos, frame: Frame, ingress: number, egress: number): number {
    const { table } = this
    const known = table.find(this.#key)
    if (known !== NONE && table.ingress[known] === ingress) {
      table.seenNs[known] = now
      return known
    }
    if (!this.#isFromSource(frame, ingress)) return NONE
    if (known === NONE) return this.#begin(now, ingress, egress)
    table.move(known, ingress)
    table.seenNs[known] = now
    return known
  }

  /** A place for the flow of the key. */
  #begin(now: Nanos, ingress: number, egress: number): number {
    const row = this.table.touch(now, this.#key, ingress)
    if (row === NONE) this.#counts[egress * COUNTS + FlowCount.MISSED]! += 1
    else if (this.table.isNew) {
      this.senderQpn[row] = UNKNOWN
      this.#candidate[row] = UNKNOWN
      this.#owner.begin(row)
    }
    return row
  }

  #isFromSource(frame: Frame, ingress: number): boolean {
    if (this.#switch.isOnWayBack(frame, ingress)) return true
    this.#counts[ingress * COUNTS + FlowCount.FORGED]! += 1
    return false
  }

  // ---- The sender's QPN

  /** An answer to a request. The key is that of its own flow. */
  #answer(frame: Frame, ingress: number): void {
    const { view, bth: at } = frame
    const qpn = bth.destQpn(view, at)
    const key = this.#key
    key.turn(0)
    const row = this.#recent[key.hashWith(bth.psn(view, at)) & (RECENT - 1)]!
    if (row === NONE || this.senderQpn[row] !== UNKNOWN) return
    key.setQpn(this.table.qpn(row))
    // The hash may be that of other hosts, and the place another flow's.
    if (this.table.find(key) !== row || !this.#isFromSource(frame, ingress)) return
    if (this.#candidate[row] !== qpn) {
      this.#candidate[row] = qpn
      return
    }
    this.#learn(row, qpn, FlowCount.BY_ANSWERS)
    key.turn(qpn)
    const back = this.table.find(key)
    if (back !== NONE) this.#learn(back, this.table.qpn(row), FlowCount.BY_ANSWERS)
  }

  #learn(row: number, qpn: number, from: number): void {
    if (this.senderQpn[row] !== qpn) this.#counts[this.table.ingress[row]! * COUNTS + from]! += 1
    this.senderQpn[row] = qpn
    this.table.keep(row)
  }

  /** A message of the connection manager. */
  #manage(now: Nanos, frame: Frame, ingress: number, egress: number): void {
    const { view, payload, payloadLength } = frame
    if (payload < 0 || payload + mad.BYTES > frame.length) return
    if (mad.check(view, payload, payload + payloadLength) !== mad.MadFault.NONE) return
    const kind = mad.attributeId(view, payload)
    if (kind !== Attribute.REQ && kind !== Attribute.REP && kind !== Attribute.DREQ) return
    if (!this.#isFromSource(frame, ingress)) return
    this.#key.read(frame, 0)
    if (kind === Attribute.REQ) this.#asked(ingress, localCommId(view, payload), req.localQpn(view, payload))
    else if (kind === Attribute.DREQ) this.#ended(dreq.remoteQpn(view, payload))
    else {
      const passiveQpn = rep.localQpn(view, payload)
      this.#accepted(now, ingress, egress, remoteCommId(view, payload), passiveQpn)
    }
  }

  /** A REQ from the active end. The key has its addresses. */
  #asked(ingress: number, id: number, activeQpn: number): void {
    const at = this.#reqAt(ingress, id)
    this.#reqHash[at] = this.#key.hashWith(~id)
    this.#reqQpn[at] = activeQpn
  }

  /** The REP to a REQ, from the passive end, for the port by which the REQ came. The key has its addresses. */
  #accepted(now: Nanos, ingress: number, egress: number, id: number, passiveQpn: number): void {
    const key = this.#key
    key.turn(0)
    const at = this.#reqAt(egress, id)
    const activeQpn = this.#reqQpn[at]!
    if (activeQpn === UNKNOWN || this.#reqHash[at] !== key.hashWith(~id)) return
    this.#reqQpn[at] = UNKNOWN
    key.setQpn(passiveQpn)
    const there = this.#begin(now, egress, ingress)
    if (there !== NONE) this.#learn(there, activeQpn, FlowCount.BY_CM)
    key.turn(activeQpn)
    const back = this.#begin(now, ingress, egress)
    if (back !== NONE) this.#learn(back, passiveQpn, FlowCount.BY_CM)
  }

  /** One end leaves, and names the QPN of the other. The key has its addresses. */
  #ended(qpn: number): void {
    const key = this.#key
    key.setQpn(qpn)
    const there = this.table.find(key)
    if (there === NONE) return
    const senderQpn = this.senderQpn[there]!
    this.table.remove(there)
    if (senderQpn === UNKNOWN) return
    key.turn(senderQpn)
    const back = this.table.find(key)
    if (back !== NONE) this.table.remove(back)
  }

  #reqAt(port: number, id: number): number {
    return port * REQS_OF_PORT + (this.#key.hashWith(id) & (REQS_OF_PORT - 1))
  }
}

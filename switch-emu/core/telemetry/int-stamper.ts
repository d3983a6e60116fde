import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import { writeL4Checksum } from '../../../lib/wire/net/l4-checksum.js'
import * as udp from '../../../lib/wire/net/udp.js'
import { HopSnapshot } from '../../../lib/wire/telemetry/hop-snapshot.js'
import * as telemetry from '../../../lib/wire/telemetry/telemetry.js'
import * as telemetryHop from '../../../lib/wire/telemetry/telemetry-hop.js'
import type { FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import { ecn, ttl } from '../forwarding/ip-header.js'
import type { EgressPort } from '../queueing/egress-port.js'
import { IntTable } from './int-table.js'
import { LoadView, type LoadViewOptions } from './load-view.js'
import { PortLoad } from './port-load.js'

/**
 * Writes a switch's record into a frame that collects telemetry, when its first bit leaves. All values are of
 * that moment: the time, the bytes that the port had sent before this frame, and the bytes that wait behind
 * it (HPCC++ draft, figure 1).
 *
 * A frame with the reverse flag travels against the data whose path it reports. It gets the values of the
 * port that it came in by, by which that data leaves (FNCC, section 3.2.1): of that moment, or those of the
 * switch's table (`IntTable`).
 *
 * A `LoadView` decides which queue and which rate are reported: those of the port, or of the packet's
 * priority.
 */
export class IntStamper implements SwitchFeature {
  readonly view: LoadView
  readonly #hop = new HopSnapshot()
  readonly #mtuBytes: number
  /** Null: acknowledgements that collect for the data get the load of the moment. */
  readonly #table: IntTable | null
  readonly #load = new PortLoad()
  /** Bytes that the next starting frame gets here. */
  #growth = 0

  /** @param options load in telemetry. Default: of whole ports and links */
  constructor(options: LoadViewOptions, sw: FeatureSwitch) {
    this.view = new LoadView(options)
    this.#hop.switchId = sw.id
    this.#mtuBytes = sw.mtuBytes
    this.#table = sw.find(IntTable)
  }

  grow(frame: Frame): number {
    this.#growth = frame.intFormat === telemetry.NATIVE ? 0 : telemetryHop.growthBytes(frame, this.#mtuBytes)
    return this.#growth
  }

  start(startNs: Nanos, frame: Frame, egress: EgressPort, ingress: EgressPort): void {
    if (frame.shim < 0) return
    const { view } = this
    const hop = this.#hop
    const growth = this.#growth
    hop.ingressPort = ingress.index
    hop.arrivalNs = frame.enqueuedNs
    hop.startNs = startNs
    hop.priority = egress.sentPriority
    if (telemetryHop.isReverse(frame)) this.#fillReverse(startNs, ingress)
    else {
      hop.egressPort = egress.index
      view.fill(hop, egress, hop.priority, frame.wireLength + growth)
    }
    view.conceal(hop)
    // The native shim has no place for what the IP header says.
    if (frame.intFormat !== telemetry.NATIVE) {
      hop.ttl = ttl(frame)
      hop.ecn = ecn(frame)
    }
    telemetryHop.stamp(frame, hop, growth)
    if (view.ratioOnly) telemetryHop.markRatioOnly(frame)
    if (telemetry.isInUdp(frame) && udp.checksum(frame.view, frame.l4) !== 0) mendChecksum(frame)
  }

  /** @param port by which the data leaves */
  #fillReverse(startNs: Nanos, port: EgressPort): void {
    if (this.#table === null) this.#load.take(port, startNs)
    const load = this.#table === null ? this.#load : this.#table.row(startNs, port.index)
    this.#hop.egressPort = port.index
    this.view.fillFrom(this.#hop, load, port, this.#hop.priority)
  }
}

/**
 * UDP's checksum covers telemetry after UDP, if the sending host's kernel has written a checksum. Over IPv4
 * the checksum is removed (RFC 768), because Weir's and all RoCEv2 packets may have none. IPv6 requires one
 * (RFC 8200, section 8.1), so it is computed again.
 */
function mendChecksum({ view, l3, l4, length }: Frame): void {
  if (ipv4.version(view, l3) === 4) udp.setChecksum(view, l4, 0)
  else writeL4Checksum(view, l3, length)
}

export const TELEMETRY: FeatureEntry = {
  name: 'telemetry',
  doc: 'What the switch writes about its load, and whether it answers by itself. `off`: it writes nothing into packets that collect telemetry, as a switch that knows no INT.',
  usual: 'each key at its default',
  example: { queue: 'sojourn' },
  title: 'telemetry of a switch',
  about: 'What the switch writes about its load.',
  mayBeOff: true,
  options: [
    {
      name: 'queue',
      kind: 'choice',
      choices: ['port', 'own', 'sojourn'],
      doc: "The queue length that is written: of the whole port, of the packet's own queue, or the packet's time in the switch as the bytes that the link sends in that time.",
      default: 'port',
      example: 'sojourn',
    },
    {
      name: 'rate',
      kind: 'choice',
      choices: ['link', 'share'],
      doc: "The rate that is written: the link's, or what `scheduler` guarantees the packet's priority, with the bytes and the queue of that priority alone.",
      default: 'link',
      example: 'share',
    },
    {
      name: 'ratioOnly',
      kind: 'flag',
      doc: 'Every link is described as if it had 100 Gbit/s, bytes and queue scaled, for paths across operators.',
      default: false,
      example: true,
    },
  ],
  standard: {},
  create: (options: LoadViewOptions, sw) => new IntStamper(options, sw),
}

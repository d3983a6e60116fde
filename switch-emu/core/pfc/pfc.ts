import type { Frame } from '../../../lib/frame/frame.js'
import { MOST } from '../../../lib/options/option.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import type { FeatureReport, FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import type { DropReason } from '../queueing/counters.js'
import type { PortFigures } from '../queueing/port-report.js'
import { IngressAccounting, type PfcOptions } from './ingress-accounting.js'
import { PfcSender } from './pfc-sender.js'

/** Source address of PFC frames: locally administered, then the switch's id, and the port. */
const MAC_BASE = 0x02_57_53_00_00_00

/** What PFC adds to the result of a port. */
export interface PfcReport {
  /** PFC frames by which this port paused its peer, repeated ones included. Resumes do not count. */
  pausesSent: number
  pfc: {
    /** Pauses that the peer sent, counted for each priority in them. */
    pausesReceived: number
    /** Time for which the peer paused each priority of this port, 0 to 7. */
    pausedNsByPriority: Nanos[]
    /**
     * The most bytes in the switch that came in by this port with one lossless priority, including headroom.
     */
    maxIngressBytes: number
    /** The most bytes of headroom that one lossless priority of this port used. */
    maxHeadroomBytes: number
  }
}

/**
 * Priority flow control of a switch (IEEE 802.1Qbb). A frame of a lossless priority that finds its ingress
 * port's share of the memory used up goes to that port's headroom, and the peer is paused. This class sends
 * pauses. `PauseState` makes a port obey the pauses of its peer, for the lossless priorities.
 */
export class Pfc implements SwitchFeature {
  /** Memory by port and priority that frames came in by. */
  readonly accounting: IngressAccounting
  /** By port. */
  readonly senders: readonly PfcSender[]
  readonly #switch: FeatureSwitch
  /** By port: pauses that had been sent when the window began. */
  readonly #pausesBefore: Float64Array

  constructor(options: PfcOptions, sw: FeatureSwitch) {
    const { id, ports, pool, bufferBytes } = sw
    this.#switch = sw
    this.accounting = new IngressAccounting(options, bufferBytes, ports.length)
    this.senders = ports.map(
      ({ index, rateBps }) => new PfcSender(pool, MAC_BASE + id * 256 + index, rateBps, options.quanta),
    )
    for (const port of ports) port.addUrgent(this.senders[port.index]!)
    this.#pausesBefore = new Float64Array(ports.length)
  }

  admit(now: Nanos, frame: Frame, ingress: number, priority: number): DropReason {
    const reason = this.accounting.admit(ingress, priority, frame.wireLength)
    this.#tellPeer(now, ingress)
    return reason
  }

  leave(now: Nanos, frame: Frame, ingress: number, priority: number): void {
    this.accounting.release(ingress, priority, frame.wireLength)
    this.#tellPeer(now, ingress)
  }

  /**
   * Allows or forbids a port to pause a priority of its peer. Default: allowed, unless a watchdog forbids it.
   */
  setPauseSending(now: Nanos, port: number, priority: number, on: boolean): void {
    this.senders[port]!.allow(priority, on)
    this.#tellPeer(now, port)
  }

  link(now: Nanos, port: number, isUp: boolean): void {
    if (isUp) this.senders[port]!.repeat(now)
  }

  /** Nothing waits any more, so no priority has to be paused. */
  restart(now: Nanos): void {
    for (const sender of this.senders) sender.repeat(now)
  }

  reset(): void {
    this.accounting.resetWindow()
    for (const [port, { counters }] of this.senders.entries()) this.#pausesBefore[port] = counters.pauses
  }

  report(_now: Nanos, port: number, { pausesReceived, pausedNsByPriority }: PortFigures): FeatureReport {
    const report: PfcReport = {
      pausesSent: this.senders[port]!.counters.pauses - this.#pausesBefore[port]!,
      pfc: {
        pausesReceived,
        pausedNsByPriority,
        maxIngressBytes: this.accounting.maxBytesOf(port),
        maxHeadroomBytes: this.accounting.maxHeadroomOf(port),
      },
    }
    return { ...report }
  }

  /** Pauses exactly the priorities of a port's peer that are above their thresholds. */
  #tellPeer(now: Nanos, port: number): void {
    if (this.senders[port]!.want(now, this.accounting.xoffMask(port))) this.#switch.wake(now, port)
  }
}

/** Bit p: priority p is lossless. */
function losslessMaskOf({ priorities }: Pick<PfcOptions, 'priorities'>): number {
  return priorities.reduce((mask, p) => mask | (1 << p), 0)
}

const STATIC = { xoff: '500KB' }

export const PFC: FeatureEntry = {
  name: 'pfc',
  doc: 'Priority flow control.',
  default: 'off',
  example: STATIC,
  about:
    'Priority flow control (802.1Qbb). Give `xoff` or `alpha`. `pfc: off` is the default: a full buffer drops.',
  mayBeOff: true,
  json: { oneOf: [{ required: ['xoff'] }, { required: ['alpha'] }] },
  options: [
    {
      name: 'xoff',
      kind: 'bytes',
      min: 1,
      max: MOST,
      doc: 'Bytes that came in by one port with one priority and have not left; above it the peer is paused [static_th].',
      usual: '`alpha` is the threshold',
      example: '500KB',
    },
    {
      name: 'alpha',
      kind: 'number',
      min: 1 / 1024,
      max: 128,
      doc: 'Instead of `xoff`: the threshold is this times the shared memory that is free [dynamic_th, its logarithm to base 2].',
      usual: '`xoff` is the threshold',
      example: 1,
    },
    {
      name: 'xon',
      kind: 'bytes',
      min: 0,
      max: MOST,
      doc: 'At so many bytes the peer may go on [xon].',
      usual: '80 % of `xoff`; none with `alpha`',
      example: '300KB',
      with: STATIC,
    },
    {
      name: 'xonOffset',
      kind: 'bytes',
      min: 0,
      max: MOST,
      doc: 'The peer may go on at so many bytes below the threshold [xon_offset].',
      usual: '2288B with `alpha`; none with `xoff`',
      example: '4KB',
      with: { alpha: 1 },
    },
    {
      name: 'reserved',
      kind: 'bytes',
      min: 0,
      max: MOST,
      doc: 'Memory that each port and lossless priority has for itself [size].',
      default: 0,
      example: '4KB',
      with: STATIC,
    },
    {
      name: 'headroom',
      kind: 'bytes',
      min: 0,
      max: MOST,
      doc: 'Room of each port and lossless priority for what still arrives after a pause [xoff of a buffer profile].',
      usual: 'what the link can bring: 2 x delay x rate + 3 frames + 60B',
      example: '50KB',
      with: STATIC,
    },
    {
      name: 'quanta',
      kind: 'count',
      min: 1,
      max: 65_535,
      doc: 'Length of a pause, in 512 bit times. A pause is repeated at half time while it is needed.',
      default: 65_535,
      example: 1000,
      with: STATIC,
    },
    {
      name: 'priorities',
      kind: 'priorities',
      doc: 'Lossless priorities [pfc_enable].',
      default: [3],
      example: [3, 4],
      with: STATIC,
    },
  ],
  losslessMask: losslessMaskOf,
  create: (options: PfcOptions, sw) => new Pfc(options, sw),
}

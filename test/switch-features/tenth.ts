/** A feature that Weir does not have: it marks every tenth packet, and sends a packet of its own each so often. */
import type { Frame } from '../../lib/frame/frame.js'
import type { Nanos } from '../../lib/time/nanos.js'
import * as ethernet from '../../lib/wire/ethernet.js'
import * as ipv4 from '../../lib/wire/ipv4.js'
import * as udp from '../../lib/wire/udp.js'
import type { FeatureSwitch, SwitchFeature } from '../../switch-emu/core/feature/feature.js'
import type { FeatureEntry } from '../../switch-emu/core/feature/feature-entry.js'
import type { QueueTimers } from '../../switch-emu/core/feature/queue-timers.js'
import { markCe } from '../../switch-emu/core/forwarding/ip-header.js'
import { DropReason } from '../../switch-emu/core/queueing/counters.js'
import type { EgressPort } from '../../switch-emu/core/queueing/egress-port.js'

export interface TenthOptions {
  every: number
  intervalNs: Nanos
}

/** 10.0.0.2, the second host of a scenario, and an address that no host has. */
const TO = 0x0a00_0002
const FROM = 0x0aff_0001
/** The discard port (RFC 863). */
const DISCARD = 9

class Tenth implements SwitchFeature {
  readonly #options: TenthOptions
  readonly #switch: FeatureSwitch
  readonly #timers: QueueTimers
  readonly #seen: Float64Array
  readonly #marked: Float64Array
  #sent = 0

  constructor(options: TenthOptions, sw: FeatureSwitch, timers: QueueTimers) {
    this.#options = options
    this.#switch = sw
    this.#timers = timers
    this.#seen = new Float64Array(sw.ports.length)
    this.#marked = new Float64Array(sw.ports.length)
    timers.set(0, 0, sw.startNs + options.intervalNs)
  }

  enqueue(_now: Nanos, frame: Frame, { index }: EgressPort): DropReason {
    this.#seen[index]! += 1
    if (frame.l3 >= 0 && this.#seen[index]! % this.#options.every === 0) {
      markCe(frame)
      this.#marked[index]! += 1
    }
    return DropReason.NONE
  }

  timeout(at: Nanos): void {
    this.#timers.set(0, 0, at + this.#options.intervalNs)
    const frame = this.#switch.pool.take()
    if (frame === null) return
    const { view } = frame
    ethernet.write(view, 0, 2, 1, ethernet.TYPE_IPV4)
    ipv4.write(view, ethernet.BYTES, 0, ipv4.BYTES + udp.BYTES, 0, true, 64, ipv4.PROTOCOL_UDP, FROM, TO)
    udp.write(view, ethernet.BYTES + ipv4.BYTES, DISCARD, DISCARD, udp.BYTES)
    frame.l3 = ethernet.BYTES
    frame.l4 = ethernet.BYTES + ipv4.BYTES
    frame.length = frame.l4 + udp.BYTES
    frame.wireLength = frame.length
    this.#sent++
    this.#switch.send(at, frame)
  }

  reset(): void {
    this.#seen.fill(0)
    this.#marked.fill(0)
    this.#sent = 0
  }

  report(_now: Nanos, port: number) {
    return { tenth: { seen: this.#seen[port]!, marked: this.#marked[port]!, sent: this.#sent } }
  }
}

export const TENTH: FeatureEntry = {
  name: 'tenth',
  doc: 'Every tenth packet is marked, and the switch sends some by itself.',
  example: { interval: '10us' },
  options: [
    { name: 'every', kind: 'count', min: 1, max: 1000, doc: 'Each so manyth.', default: 10, example: 20 },
    { name: 'interval', kind: 'time', doc: 'Between two packets of the switch.', example: '10us' },
  ],
  figures: [
    { name: 'tenth.marked', column: 'tenths' },
    { name: 'tenth.sent', column: 'own' },
  ],
  create: (options: TenthOptions, sw, timers) => new Tenth(options, sw, timers),
}

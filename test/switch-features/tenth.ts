/**
 * A feature that Weir does not have: it marks every tenth packet, and sends a packet of its own at an
 * interval.
 */
import type { Frame } from '../../lib/frame/frame.js'
import { MOST, type Option } from '../../lib/options/option.js'
import type { Nanos } from '../../lib/time/nanos.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import type { FeatureSwitch, SwitchFeature } from '../../switch-emu/core/feature/feature.js'
import type { FeatureEntry } from '../../switch-emu/core/feature/feature-entry.js'
import type { QueueTimers } from '../../switch-emu/core/feature/queue-timers.js'
import { markCe } from '../../switch-emu/core/forwarding/ip-header.js'
import { DropReason } from '../../switch-emu/core/queueing/counters.js'
import type { EgressPort } from '../../switch-emu/core/queueing/egress-port.js'

interface TenthOptions {
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
    ipv4.write(view, ethernet.BYTES, {
      tos: 0,
      totalLength: ipv4.BYTES + udp.BYTES,
      identification: 0,
      dontFragment: true,
      ttl: 64,
      protocol: ipv4.PROTOCOL_UDP,
      source: FROM,
      destination: TO,
    })
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
    {
      name: 'interval',
      kind: 'time',
      min: 1,
      max: MOST,
      doc: 'Between two packets of the switch.',
      example: '10us',
    },
  ],
  figures: [
    { name: 'tenth.marked', column: 'tenths' },
    { name: 'tenth.sent', column: 'own' },
  ],
  create: (options: TenthOptions, sw, timers) => new Tenth(options, sw, timers),
}

const OFTEN: Option = { name: 'often', kind: 'count', min: 1, max: 9, doc: 'How often.', example: 3 }

/** Features that do nothing, with options of every kind, two of them within others. */
export const ALL_KINDS: readonly FeatureEntry[] = [
  {
    name: 'kinds',
    doc: 'Nothing.',
    example: { gain: 1 },
    mayBeOff: true,
    options: [
      { name: 'room', kind: 'bytes', min: 0, max: MOST, doc: 'Room.', default: 2048, example: '1KB' },
      { name: 'wait', kind: 'time', min: 1, max: MOST, doc: 'Time.', default: 5000, example: '1ms' },
      { name: 'part', kind: 'share', min: 0, max: 1, doc: 'Share.', default: 0.5, example: 1 },
      { name: 'gain', kind: 'number', min: 1, max: 3, doc: 'Gain.', default: 1.5, example: 2 },
      {
        name: 'at',
        kind: 'choice',
        choices: ['front', 'back'],
        doc: 'Where.',
        default: 'front',
        example: 'back',
      },
      { name: 'loud', kind: 'flag', doc: 'Loud.', default: false, example: true },
      { name: 'only', kind: 'priorities', doc: 'Which.', usual: 'all', example: [3] },
      {
        name: 'step',
        kind: 'mapping',
        doc: 'Steps.',
        usual: 'none',
        example: { size: '1KB', often: 1 },
        options: [{ name: 'size', kind: 'bytes', min: 1, max: MOST, doc: 'Size.', example: '1KB' }, OFTEN],
      },
    ],
    check: ({ gain, at }: { gain?: number; at?: string }) => [
      ...(gain === 3 ? [{ option: 'gain', wrong: 'gain is below 3' }] : []),
      ...(gain === 1 && at === 'back' ? [{ option: 'at', wrong: 'a gain of 1 is at the front' }] : []),
    ],
    create: () => ({}),
  },
  {
    name: 'inner',
    within: 'kinds',
    doc: 'Nothing.',
    example: { often: 1 },
    options: [OFTEN],
    create: () => ({}),
  },
  {
    name: 'deep',
    within: 'telemetry',
    doc: 'Nothing.',
    example: { often: 1 },
    several: true,
    options: [OFTEN],
    create: () => ({}),
  },
]

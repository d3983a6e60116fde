/** Every congestion controller by name: the one place to add a new one. */
import { WeirError } from '../errors.js'
import { checkOptions } from '../options/check-options.js'
import { checkIdleOptions } from '../options/idle.js'
import { AUTO_OPTIONS, Auto } from './auto/auto.js'
import type { CongestionContext, CongestionControl, ReceiverControl } from './congestion-control.js'
import { Cubic } from './cubic/cubic.js'
import { CUBIC_OPTIONS } from './cubic/cubic-options.js'
import { FIXED_WINDOW_OPTIONS, FixedWindow } from './fixed-window/fixed-window.js'
import { HPCC_OPTIONS, Hpcc } from './hpcc/hpcc.js'
import { type OptionSpec, type OptionValues, optionFlag } from './options.js'
import { RX_HPCC_OPTIONS, RxHpcc } from './rx-hpcc/rx-hpcc.js'
import { RxHpccReceiver } from './rx-hpcc/rx-hpcc-receiver.js'
import { RxListing } from './rx-hpcc/rx-listing.js'

interface Entry {
  options: readonly OptionSpec[]
  /** Which of its packets are to collect in-band telemetry; some: as the path shows, see `collectsAll`. */
  telemetry: 'all' | 'some' | 'none'
  create(context: CongestionContext, options: OptionValues): CongestionControl
  /** It takes notice of what congested switches send by themselves. */
  takesDirectResponses: boolean
  /** The share of a window after which it needs an acknowledgement. */
  ackShare: number
  /** The receiver's end, if the window is worked out there. */
  createReceiver?(context: CongestionContext, options: OptionValues): ReceiverControl
}

const CATALOGUE: Readonly<Record<string, Entry>> = {
  hpcc: {
    options: HPCC_OPTIONS,
    telemetry: 'all',
    takesDirectResponses: true,
    ackShare: 1 / 2,
    create: (context, options) => new Hpcc(context, options),
  },
  'rx-hpcc': {
    options: RX_HPCC_OPTIONS,
    telemetry: 'all',
    takesDirectResponses: true,
    // Windows of the receiver acknowledge as well, so fewer are asked for.
    ackShare: 3 / 4,
    create: (context, options) => new RxHpcc(context, options),
    createReceiver: (context, options) =>
      optionFlag('rx-hpcc', RX_HPCC_OPTIONS, options, 'literal')
        ? new RxListing(context, options)
        : new RxHpccReceiver(context, options),
  },
  'fixed-window': {
    options: FIXED_WINDOW_OPTIONS,
    telemetry: 'none',
    takesDirectResponses: false,
    ackShare: 1 / 2,
    create: (context, options) => new FixedWindow(context, options),
  },
  cubic: {
    options: CUBIC_OPTIONS,
    // Looked at for N and the receiver's budget, and as all that answers READ responses.
    telemetry: 'some',
    takesDirectResponses: false,
    // HyStart++ judges a round by eight round trips (RFC 9406, section 4.3: N_RTT_SAMPLE).
    ackShare: 1 / 8,
    create: (context, options) => new Cubic(context, options),
  },
  auto: {
    options: AUTO_OPTIONS,
    telemetry: 'some',
    takesDirectResponses: true,
    ackShare: 1 / 8,
    create: (context, options) => new Auto(context, options),
  },
}

export function ccNames(): string[] {
  return Object.keys(CATALOGUE)
}

/** Descriptions of a controller's options. Throws WEIR_BAD_ARGUMENT for an unknown name. */
export function ccOptions(name: string): readonly OptionSpec[] {
  return entry(name).options
}

export function ccWantsTelemetry(name: string): boolean {
  return entry(name).telemetry !== 'none'
}

/** True if it takes notice of what congested switches send by themselves (draft-pan-tsvwg-hpccplus-01, section 6.3). */
export function ccTakesDirectResponses(name: string): boolean {
  return entry(name).takesDirectResponses
}

/** True if every packet collects telemetry that the settings say may. */
export function ccAlwaysCollects(name: string): boolean {
  return entry(name).telemetry === 'all'
}

/** The share of a window after which the controller needs an acknowledgement, if not more often anyway. */
export function ccAckShare(name: string): number {
  return entry(name).ackShare
}

/** True if the receiver works out the window. */
export function ccIsReceiverBased(name: string): boolean {
  return entry(name).createReceiver !== undefined
}

/**
 * The receiver's end of a receiver-based controller. Throws WEIR_BAD_ARGUMENT as `createCongestionControl`, but not for options without
 * effect: those of a peer are no mistake of this host's user.
 */
export function createReceiverControl(
  name: string,
  context: CongestionContext,
  options: OptionValues = {},
): ReceiverControl {
  const { createReceiver, options: specs } = entry(name)
  if (createReceiver === undefined) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `${name} is not worked out at the receiver`)
  }
  checkOptions(name, specs, options)
  return createReceiver(context, options)
}

/**
 * A new controller. Throws WEIR_BAD_ARGUMENT for an unknown name or option, a value out of range, or an option that has no effect
 * beside the others.
 */
export function createCongestionControl(
  name: string,
  context: CongestionContext,
  options: OptionValues = {},
): CongestionControl {
  const found = entry(name)
  checkOptions(name, found.options, options)
  checkIdleOptions(name, found.options, options)
  return found.create(context, options)
}

function entry(name: string): Entry {
  const found = Object.hasOwn(CATALOGUE, name) ? CATALOGUE[name] : undefined
  if (found === undefined) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `no congestion controller is called ${name}; there are ${ccNames().join(', ')}`,
    )
  }
  return found
}

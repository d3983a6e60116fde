/** Every congestion controller by name: the one place to add a new one. */
import { WeirError } from '../errors.js'
import type { CongestionContext, CongestionControl } from './congestion-control.js'
import { FIXED_WINDOW_OPTIONS, FixedWindow } from './fixed-window.js'
import { HPCC_OPTIONS, Hpcc } from './hpcc.js'
import { checkOptionNames, type OptionSpec, type OptionValues } from './options.js'

interface Entry {
  options: readonly OptionSpec[]
  /** True if its packets are to collect in-band telemetry. */
  telemetry: boolean
  create(context: CongestionContext, options: OptionValues): CongestionControl
}

const CATALOGUE: Readonly<Record<string, Entry>> = {
  hpcc: { options: HPCC_OPTIONS, telemetry: true, create: (context, options) => new Hpcc(context, options) },
  'fixed-window': {
    options: FIXED_WINDOW_OPTIONS,
    telemetry: false,
    create: (context, options) => new FixedWindow(context, options),
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
  return entry(name).telemetry
}

/** A new controller. Throws WEIR_BAD_ARGUMENT for an unknown name or option, or a value out of range. */
export function createCongestionControl(
  name: string,
  context: CongestionContext,
  options: OptionValues = {},
): CongestionControl {
  const found = entry(name)
  checkOptionNames(name, found.options, options)
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

import type { Option } from '../../../lib/options/option.js'
import type { FeatureSwitch, SwitchFeature } from './feature.js'
import type { QueueTimers } from './queue-timers.js'

/** A number that the feature adds to the result of a port. */
interface FeatureFigure {
  /** Member of the feature's report: `name`, or `member.name` of a mapping in it. */
  name: string
  /** Head of its column in the table of ports; shown where a port has one. */
  column: string
}

/** The entry of a feature in the catalogue: everything that scenario files, their reference, reports and the switch know of it. */
export interface FeatureEntry {
  /** The key of its options, in scenario files and for `Switch`. */
  name: string
  /** What the key does, a sentence or more. */
  doc: string
  /** What holds without the key, in words. */
  usual?: string
  /** The value that has the same effect as leaving the key out. */
  default?: unknown
  /** A value of the key, as a file has it. */
  example: unknown
  /** The name of the mapping of its options in messages and the reference. Default: the name. */
  title?: string
  /** Text of the reference page before its options. */
  about?: string
  /** The feature in whose mapping the key stands. Default: it is a key of a switch. */
  within?: string
  /** Keys beside it in that mapping without which the example is refused. */
  with?: Readonly<Record<string, unknown>>
  /** The value may be a list of such mappings. */
  several?: boolean
  /** `off` is a value of the key. */
  mayBeOff?: boolean
  /** What JSON Schema can say of its mapping beyond the options one by one. */
  json?: Readonly<Record<string, unknown>>
  /** Null: its options are no mapping of a switch; lib/scenario knows where they stand. */
  options: readonly Option[] | null
  /** Conflicts between options that are right one by one: the option, and a sentence. */
  check?(options: never): readonly { option: string; wrong: string }[]
  figures?: readonly FeatureFigure[]
  /** What `create` gets where nothing is given. Default: the feature is off then. */
  standard?: unknown
  /** Bit p: with these options priority p is lossless. Default: none. */
  losslessMask?(options: never): number
  /** @param options by `keyOf` of lib/options, in bytes and ns */
  create(options: never, sw: FeatureSwitch, timers: QueueTimers): SwitchFeature
}

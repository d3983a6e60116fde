import type { Option } from '../../../lib/options/option.js'
import type { FeatureSwitch, SwitchFeature } from './feature.js'
import type { QueueTimers } from './queue-timers.js'

/** A number that the feature adds to the result of a port. */
interface FeatureFigure {
  /** Member of the feature's report: `name`, or `member.name` of a nested mapping. */
  name: string
  /** Head of its column in the table of ports. The column is shown if a port has a figure. */
  column: string
}

/** Something that a feature did at a port at one time, for a report: drawn beside the series of the port, and listed. */
export interface Moment {
  /** From the start of the window. */
  atNs: number
  /** What at the port it was about, behind the port's name: a priority. Series of the same are drawn with it. */
  of: string
  /** One word for what was done. */
  kind: string
  /** Columns of the list, by their heads. */
  cells: Readonly<Record<string, string>>
}

/**
 * The catalogue's entry of a feature. It is all that scenario files, their reference, reports and the switch
 * need.
 */
export interface FeatureEntry {
  /** The key of its options, in scenario files and for `Switch`. */
  name: string
  /** The meaning of the key, one or more sentences. */
  doc: string
  /** The default in words. */
  usual?: string
  /** The value that has the same effect as leaving the key out. */
  default?: unknown
  /** An example value of the key. */
  example: unknown
  /** Name of the mapping in messages and the reference. Default: the feature's name. */
  title?: string
  /** Text of the reference page before its options. */
  about?: string
  /** The feature whose mapping contains the key. Default: the key is in the switch's mapping. */
  within?: string
  /** Other keys of that mapping that the example needs. */
  with?: Readonly<Record<string, unknown>>
  /** True: the value may be a list of mappings. */
  several?: boolean
  /** True: `off` is a valid value of the key. */
  mayBeOff?: boolean
  /** JSON Schema of its mapping in addition to the single options. */
  json?: Readonly<Record<string, unknown>>
  /** Null: its options are no mapping of a switch, and lib/scenario resolves them. */
  options: readonly Option[] | null
  /** Returns conflicts between options that are valid one by one: the option, and a sentence. */
  check?(options: never): readonly { option: string; wrong: string }[]
  /** The same beside the rates of the switch's links, bit/s, which are one at least. */
  checkLinks?(options: never, ratesBps: readonly number[]): readonly { option: string; wrong: string }[]
  figures?: readonly FeatureFigure[]
  /** What it has to say of a port below the tables, a line each. `report` is the port's result. */
  lines?(report: never): readonly string[]
  /** What it did at a port, one after the other, and the title of the list. `report` is the port's result. */
  moments?: { title: string; of(report: never): readonly Moment[] }
  /** The options for `create` if none are given. Default: the feature is off then. */
  standard?: unknown
  /**
   * It draws random numbers. All switches draw from one source, so the order of events at different switches then counts for results.
   */
  draws?: boolean
  /** Bit p: priority p is lossless with these options. Default: none. */
  losslessMask?(options: never): number
  /** @param options by `keyOf` of lib/options, in bytes and ns */
  create(options: never, sw: FeatureSwitch, timers: QueueTimers): SwitchFeature
}

/** Every congestion controller by name: the one place to add a new one. */
import { WeirError } from '../errors.js'
import { checkOptions } from '../options/check-options.js'
import { checkIdleOptions } from '../options/idle.js'
import type { Need } from '../wire/weir/needs.js'
import type { About } from './about.js'
import { AUTO_OPTIONS, Auto } from './auto/auto.js'
import { AUTO_ABOUT } from './auto/auto-about.js'
import { checkBounds, type OptionBounds, WINDOW_BOUNDS } from './bounds.js'
import type { CongestionContext, CongestionControl, ReceiverControl } from './congestion-control.js'
import { Cubic } from './cubic/cubic.js'
import { CUBIC_ABOUT } from './cubic/cubic-about.js'
import { CUBIC_BOUNDS, CUBIC_OPTIONS } from './cubic/cubic-options.js'
import { Dcqcn } from './dcqcn/dcqcn.js'
import { DCQCN_ABOUT } from './dcqcn/dcqcn-about.js'
import { CNP_INTERVAL_DEFAULT_NS, cnpIntervalNs, DCQCN_OPTIONS } from './dcqcn/dcqcn-options.js'
import { Dctcp } from './dctcp/dctcp.js'
import { DCTCP_ABOUT } from './dctcp/dctcp-about.js'
import { DCTCP_OPTIONS } from './dctcp/dctcp-options.js'
import { FIXED_WINDOW_OPTIONS, FixedWindow } from './fixed-window/fixed-window.js'
import { FIXED_WINDOW_ABOUT } from './fixed-window/fixed-window-about.js'
import { createFncc, FNCC_OPTIONS } from './fncc/fncc.js'
import { FNCC_ABOUT } from './fncc/fncc-about.js'
import { HPCC_OPTIONS, Hpcc } from './hpcc/hpcc.js'
import { HPCC_ABOUT } from './hpcc/hpcc-about.js'
import {
  type Abilities,
  type FeedbackOffer,
  grantedOf,
  type Needs,
  neededOfPeer,
  needText,
  offerOf,
  RECEIVING_PARTS_MAX,
} from './needs.js'
import { type OptionSpec, type OptionValues, optionFlag } from './options.js'
import { ROCC_OPTIONS, Rocc } from './rocc/rocc.js'
import { ROCC_ABOUT } from './rocc/rocc-about.js'
import { Rttcc } from './rttcc/rttcc.js'
import { RTTCC_ABOUT } from './rttcc/rttcc-about.js'
import { RTTCC_OPTIONS } from './rttcc/rttcc-options.js'
import { RX_HPCC_OPTION_PLACES, RX_HPCC_OPTIONS, RxHpcc } from './rx-hpcc/rx-hpcc.js'
import { RX_HPCC_ABOUT } from './rx-hpcc/rx-hpcc-about.js'
import { RxHpccReceiver } from './rx-hpcc/rx-hpcc-receiver.js'
import { RxListing } from './rx-hpcc/rx-listing.js'
import { Swift } from './swift/swift.js'
import { SWIFT_ABOUT } from './swift/swift-about.js'
import { SWIFT_BOUNDS, SWIFT_OPTIONS } from './swift/swift-options.js'
import { Timely } from './timely/timely.js'
import { TIMELY_ABOUT } from './timely/timely-about.js'
import { TIMELY_BOUNDS, TIMELY_OPTIONS } from './timely/timely-options.js'

/** A controller that windows are worked out for at the receiver. */
interface ReceivingPart {
  /** Its number in the words of a connection, 0 to 18: it never changes, and no other controller has it. */
  number: number
  /**
   * Where a request has each option that the receiver needs: places 0 to 10. A peer of another version reads them there, so no option
   * ever changes its place.
   */
  optionPlaces: Readonly<Record<string, number>>
  create(context: CongestionContext, options: OptionValues): ReceiverControl
}

/** What the rest of the program knows of a controller. */
export interface ControllerEntry {
  name: string
  options: readonly OptionSpec[]
  /** Those of them that bound the same value. Default: none does. */
  bounds?: readonly OptionBounds[]
  /** What it needs of its peer and the path. */
  needs: Needs
  /** Those of them that follow from its options. Default: none does. */
  needsBy?(options: OptionValues): Needs
  /**
   * The controller that takes over where the peer refuses one of the needs; it gets those options that it has too. Default: this one
   * goes on without.
   */
  otherwise?: string
  create(context: CongestionContext, options: OptionValues): CongestionControl
  /** What users read of it. A program that adds a controller of its own need not say anything. */
  about?: About
  /** The receiver's end, if the window is worked out there. */
  receivingPart?: ReceivingPart
}

/** A controller and its options. */
export interface ChosenController {
  name: string
  options: OptionValues
}

/** What two ends have agreed on for the packets of one of them. */
export interface Agreement {
  /** The controller, which follows from what was granted. */
  cc: ChosenController
  /** Why it is that one. */
  reason: string
  /** What the peer does for that controller. */
  granted: readonly Need[]
  /** What it refuses of what the configured one needs. */
  refused: readonly Need[]
}

export const AS_CONFIGURED = 'as configured'

const CATALOGUE: ControllerEntry[] = [
  {
    name: 'hpcc',
    options: HPCC_OPTIONS,
    about: HPCC_ABOUT,
    needs: { telemetry: 'all', directResponses: true },
    create: (context, options) => new Hpcc(context, options),
  },
  {
    name: 'fncc',
    options: FNCC_OPTIONS,
    about: FNCC_ABOUT,
    needs: { reverseTelemetry: 'data-way' },
    otherwise: 'hpcc',
    create: createFncc,
  },
  {
    name: 'rx-hpcc',
    options: RX_HPCC_OPTIONS,
    about: RX_HPCC_ABOUT,
    // Windows of the receiver acknowledge as well, so fewer acknowledgements are asked for.
    needs: { telemetry: 'all', directResponses: true, ackShare: 3 / 4 },
    otherwise: 'hpcc',
    create: (context, options) => new RxHpcc(context, options),
    receivingPart: {
      number: 0,
      optionPlaces: RX_HPCC_OPTION_PLACES,
      create: (context, options) =>
        optionFlag('rx-hpcc', RX_HPCC_OPTIONS, options, 'literal')
          ? new RxListing(context, options)
          : new RxHpccReceiver(context, options),
    },
  },
  {
    name: 'fixed-window',
    options: FIXED_WINDOW_OPTIONS,
    about: FIXED_WINDOW_ABOUT,
    needs: {},
    create: (context, options) => new FixedWindow(context, options),
  },
  {
    name: 'cubic',
    options: CUBIC_OPTIONS,
    bounds: CUBIC_BOUNDS,
    about: CUBIC_ABOUT,
    // Its telemetry carries N, holds flows to the receiver's budget, and is the only answer to READ responses. HyStart++ judges a round
    // by eight round trips (RFC 9406, section 4.3: N_RTT_SAMPLE).
    needs: { telemetry: 'some', marks: true, ackShare: 1 / 8 },
    create: (context, options) => new Cubic(context, options),
  },
  {
    name: 'dcqcn',
    options: DCQCN_OPTIONS,
    about: DCQCN_ABOUT,
    needs: { marks: true, cnpIntervalNs: CNP_INTERVAL_DEFAULT_NS },
    needsBy: options => ({ cnpIntervalNs: cnpIntervalNs(options) }),
    otherwise: 'cubic',
    create: (context, options) => new Dcqcn(context, options),
  },
  {
    name: 'dctcp',
    options: DCTCP_OPTIONS,
    bounds: WINDOW_BOUNDS,
    about: DCTCP_ABOUT,
    needs: { marks: true, ackShare: 1 / 8 },
    otherwise: 'cubic',
    create: (context, options) => new Dctcp(context, options),
  },
  {
    name: 'timely',
    options: TIMELY_OPTIONS,
    bounds: TIMELY_BOUNDS,
    about: TIMELY_ABOUT,
    // Without the peer's time stamps round trips contain the time that it takes to answer.
    needs: { timeStamps: true, ackShare: 1 / 8 },
    create: (context, options) => new Timely(context, options),
  },
  {
    name: 'swift',
    options: SWIFT_OPTIONS,
    bounds: SWIFT_BOUNDS,
    about: SWIFT_ABOUT,
    // Without time stamps the delay of the receiving host counts as that of the network, without hop counts targets do not follow the path.
    needs: { timeStamps: true, hopCount: true, ackShare: 1 / 8 },
    create: (context, options) => new Swift(context, options),
  },
  {
    name: 'rttcc',
    options: RTTCC_OPTIONS,
    about: RTTCC_ABOUT,
    needs: { telemetry: 'probes' },
    otherwise: 'cubic',
    create: (context, options) => new Rttcc(context, options),
  },
  {
    name: 'rocc',
    options: ROCC_OPTIONS,
    about: ROCC_ABOUT,
    needs: { fairRates: true },
    create: (context, options) => new Rocc(context, options),
  },
  {
    name: 'auto',
    options: AUTO_OPTIONS,
    bounds: CUBIC_BOUNDS,
    about: AUTO_ABOUT,
    needs: { telemetry: 'some', marks: true, directResponses: true, ackShare: 1 / 8 },
    create: (context, options) => new Auto(context, options),
  },
]

const BY_NAME = new Map(CATALOGUE.map(each => [each.name, each]))

/**
 * Adds a controller of a program's own behind the others. Whoever wants it in scenario files and on command lines adds it before
 * lib/scenario and the commands are loaded. Throws WEIR_BAD_ARGUMENT for a name, or the number of a receiving part, that is taken or
 * out of range.
 */
export function addController(added: ControllerEntry): void {
  const { name, receivingPart, otherwise } = added
  const number = receivingPart?.number ?? 0
  if (CATALOGUE.some(other => other.name === name)) throw refused(name, 'there is one of this name already')
  if (!Number.isInteger(number) || number < 0 || number >= RECEIVING_PARTS_MAX)
    throw refused(name, `the number of its receiving part is 0 to ${RECEIVING_PARTS_MAX - 1}, not ${number}`)
  if (receivingPart !== undefined && partNumbered(number) !== undefined)
    throw refused(name, `the receiving part of another one has the number ${number}`)
  if (otherwise !== undefined) entry(otherwise)
  CATALOGUE.push(added)
  BY_NAME.set(name, added)
}

function refused(name: string, why: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `congestion controller ${name}: ${why}`)
}

export function ccNames(): string[] {
  return CATALOGUE.map(({ name }) => name)
}

/** Descriptions of a controller's options. Throws WEIR_BAD_ARGUMENT for an unknown name. */
export function ccOptions(name: string): readonly OptionSpec[] {
  return entry(name).options
}

/** Pairs of its options that bound the same value. Throws WEIR_BAD_ARGUMENT for an unknown name. */
export function ccBounds(name: string): readonly OptionBounds[] {
  return entry(name).bounds ?? []
}

export function ccWantsTelemetry(name: string): boolean {
  return telemetryOf(name) !== 'none'
}

/** True if it takes notice of what congested switches send by themselves (draft-pan-tsvwg-hpccplus-01, section 6.3). */
export function ccTakesDirectResponses(name: string): boolean {
  return entry(name).needs.directResponses === true
}

/** True if every packet collects telemetry that the settings say may. */
export function ccAlwaysCollects(name: string): boolean {
  return telemetryOf(name) === 'all'
}

/** True if its needs say how telemetry returns, whatever the receiving host is set to. */
export function ccDecidesReturn(name: string): boolean {
  const { returned, reverseTelemetry } = entry(name).needs
  return returned !== undefined || reverseTelemetry !== undefined
}

/** True if it takes notice of the fair rates that switches send. */
export function ccTakesFairRates(name: string): boolean {
  return entry(name).needs.fairRates === true
}

/** True if its peer has to answer CE marks by CNPs: between Weir hosts nobody else gets any. */
export function ccAsksForCnps(name: string): boolean {
  return entry(name).needs.cnpIntervalNs !== undefined
}

/** True if it, or the controller that takes over from it, takes notice of CNPs. */
export function ccHearsCnps(name: string): boolean {
  const { needs, otherwise } = entry(name)
  return needs.marks === true || (otherwise !== undefined && ccHearsCnps(otherwise))
}

/** True if acknowledgements collect telemetry for it. */
export function ccAcksCollect(name: string): boolean {
  return entry(name).needs.reverseTelemetry !== undefined
}

function telemetryOf(name: string): NonNullable<Needs['telemetry']> {
  return entry(name).needs.telemetry ?? 'none'
}

/** The share of a window after which the controller needs an acknowledgement, if not more often anyway. */
export function ccAckShare(name: string): number {
  return entry(name).needs.ackShare ?? 1 / 2
}

/** Packets for which it needs one acknowledgement; 0 = as the peer is set. */
export function ccAckEvery(name: string): number {
  return entry(name).needs.ackEvery ?? 0
}

/** True if only its probes collect telemetry, whatever the settings say. */
export function ccProbesOnly(name: string): boolean {
  return telemetryOf(name) === 'probes'
}

/** True if the receiver works out the window. */
export function ccIsReceiverBased(name: string): boolean {
  return entry(name).receivingPart !== undefined
}

/** Where a request to the receiver has each option of a receiver-based controller. Throws WEIR_BAD_ARGUMENT for another one. */
export function ccOptionPlaces(name: string): Readonly<Record<string, number>> {
  return partOf(entry(name)).optionPlaces
}

// ---- What two ends agree on

/** What the peer has to hear: the needs of the controller, and of the one that would take over. */
export function ccNeeds({ name, options }: ChosenController): readonly Need[] {
  const found = entry(name)
  const own = ownNeeds(found, options)
  const others = found.otherwise === undefined ? [] : ccNeeds({ name: found.otherwise, options: {} })
  return [...own, ...others.filter(({ id }) => !own.some(need => need.id === id))]
}

function ownNeeds({ needs, needsBy, receivingPart }: ControllerEntry, options: OptionValues = {}): Need[] {
  return neededOfPeer({ ...needs, ...needsBy?.(options) }, receivingPart?.number ?? -1)
}

/**
 * What comes of a controller's needs with a peer that offers this. A controller that is refused one gives way, if its entry says to
 * which. @param broken what the peer has granted and does not give, and so counts as refused: bit `id` for each need
 */
export function agreeOn(cc: ChosenController, offer: FeedbackOffer, broken = 0): Agreement {
  const found = entry(cc.name)
  const { otherwise } = found
  const granted: Need[] = []
  const refused: Need[] = []
  for (const need of ownNeeds(found, cc.options)) {
    const given = (broken & (1 << need.id)) !== 0 ? null : grantedOf(offer, need)
    if (given === null) refused.push(need)
    else granted.push(given)
  }
  if (refused.length === 0 || otherwise === undefined) return { cc, reason: AS_CONFIGURED, granted, refused }
  const names = ccOptions(otherwise).map(spec => spec.name)
  const options = Object.fromEntries(Object.entries(cc.options).filter(([name]) => names.includes(name)))
  const instead = agreeOn({ name: otherwise, options }, offer, broken)
  const reason = `${cc.name} would need ${needTexts(refused).join(', ')}`
  return { cc: instead.cc, reason, granted: instead.granted, refused }
}

/** What this host offers its peers. */
export function ownOffer(abilities: Abilities): FeedbackOffer {
  const numbers = CATALOGUE.flatMap(({ receivingPart }) => receivingPart?.number ?? [])
  return offerOf(numbers, abilities)
}

/** For people. */
export function needTexts(needs: readonly Need[]): string[] {
  return needs.map(need => needText(need, part => partNumbered(part)?.name ?? `algorithm ${part}`))
}

/** What the controller needs of its peer, and what takes over without it, for help texts; empty: nothing. */
export function ccNeedsText(name: string): string {
  const { otherwise } = entry(name)
  const texts = needTexts(ownNeeds(entry(name)))
  if (texts.length === 0) return ''
  return `needs of the receiving host: ${texts.join(', ')}${otherwise === undefined ? '' : `; ${otherwise} takes over without`}`
}

/** The receiver's end that a peer asks for by its number: its options' places, and how to make it. Undefined: there is none. */
export function receivingPart(number: number): ReceivingPart | undefined {
  return partNumbered(number)?.receivingPart
}

function partNumbered(number: number): ControllerEntry | undefined {
  return CATALOGUE.find(({ receivingPart }) => receivingPart?.number === number)
}

function partOf({ name, receivingPart }: ControllerEntry): ReceivingPart {
  if (receivingPart !== undefined) return receivingPart
  throw new WeirError('WEIR_BAD_ARGUMENT', `${name} is not worked out at the receiver`)
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
  const found = entry(name)
  const part = partOf(found)
  checkOptions(name, found.options, options)
  return part.create(context, options)
}

/**
 * A new controller. Throws WEIR_BAD_ARGUMENT for an unknown name or option, a value out of range, or an option that has no effect
 * beside the others or contradicts one. Bounds in packets are not compared with those in bytes: `checkController` does so before there are
 * connections, whose packets may be longer.
 */
export function createCongestionControl(
  name: string,
  context: CongestionContext,
  options: OptionValues = {},
): CongestionControl {
  const found = entry(name)
  if (CHECKED.get(options) !== name) {
    checkOptions(name, found.options, options)
    checkIdleOptions(name, found.options, options)
    checkBounds(name, found.bounds ?? [], found.options, options, 0)
    CHECKED.set(options, name)
  }
  return found.create(context, options)
}

/** The controller that these options have been found good for last: all connections of a NIC may have the same. */
const CHECKED = new WeakMap<OptionValues, string>()

/** Throws WEIR_BAD_ARGUMENT for an unknown name. */
export function controllerEntry(name: string): Readonly<ControllerEntry> {
  return entry(name)
}

function entry(name: string): ControllerEntry {
  const found = BY_NAME.get(name)
  if (found === undefined) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `no congestion controller is called ${name}; there are ${ccNames().join(', ')}`,
    )
  }
  return found
}

/** A controller as users read of it, from its entry and its table of options: what `weir cc` prints and docs/controllers lists. */
import type { About } from './about.js'
import { agreeOn, ccNames, controllerEntry, needTexts } from './catalogue.js'
import { type Needs, neededOfPeer, PLAIN_OFFER } from './needs.js'
import type { OptionSpec } from './options.js'

/** The places of scenarios: all run the same objects, so a controller runs in each. */
const PLACES = ['virtual', 'overlay', 'veth'] as const

/** Phrases without a capital and a full stop; lists and texts may be empty. */
export interface ControllerDescription extends About {
  name: string
  /** Where scenarios run it. */
  places: readonly string[]
  /** What it needs of its peer. */
  peer: readonly string[]
  /** What of that a RoCEv2 peer other than Weir refuses. */
  foreignRefuses: readonly string[]
  /** The controller that takes over where the peer refuses one of the needs; empty: it goes on without. */
  otherwise: string
  /** How it hears of the path. */
  feedback: readonly string[]
  options: readonly OptionSpec[]
}

/** Whoever adds a controller of his own need not say anything of it. */
const UNSAID: About = {
  is: '',
  source: null,
  switches: '',
  host: '',
  loss: '',
  plainNetworks: { works: false, how: '' },
  foreignPeers: { works: false, how: '' },
}

/** Throws WEIR_BAD_ARGUMENT for an unknown name. */
export function describeController(name: string): ControllerDescription {
  const { about = UNSAID, needsBy, receivingPart, otherwise = '', options, ...entry } = controllerEntry(name)
  const needs = { ...entry.needs, ...needsBy?.({}) }
  const { refused } = agreeOn({ name, options: {} }, PLAIN_OFFER)
  return {
    name,
    ...about,
    places: PLACES,
    peer: needTexts(neededOfPeer(needs, receivingPart?.number ?? -1)),
    foreignRefuses: needTexts(refused),
    otherwise,
    feedback: feedbackOf(needs, receivingPart !== undefined),
    options,
  }
}

export function describeControllers(): ControllerDescription[] {
  return ccNames().map(describeController)
}

function feedbackOf(needs: Needs, isReceiverBased: boolean): string[] {
  const { telemetry = 'none', returned, reverseTelemetry, marks, cnpIntervalNs, timeStamps } = needs
  const ways = {
    ack: 'telemetry on acknowledgements',
    notify: 'telemetry by notifications',
    asSet: 'telemetry on acknowledgements, or by notifications where the receiving host is set so',
  }
  return [
    isReceiverBased && 'windows that the receiver sends',
    telemetry === 'probes' && 'answers to probes',
    (telemetry === 'all' || telemetry === 'some') && !isReceiverBased && ways[returned ?? 'asSet'],
    reverseTelemetry === 'data-way' && 'telemetry that switches write into acknowledgements',
    reverseTelemetry === 'own-way' && 'telemetry of the way back, on acknowledgements',
    needs.directResponses === true && 'packets of congested switches',
    needs.fairRates === true && 'fair rates that switches send',
    marks === true && 'CE marks that acknowledgements echo',
    cnpIntervalNs !== undefined && 'CNPs',
    timeStamps === true && 'time stamps of the peer on acknowledgements',
    'acknowledgements and losses',
  ].filter(text => text !== false)
}

/** What two Weir hosts say beyond the standard, in the private data of REQ and REP, and of REJ and DREQ. */
import { createHash } from 'node:crypto'
import { type FeedbackOffer, offerOfPeer, PLAIN_OFFER } from '../../cc/needs.js'
import { probesPaths } from '../../cc/path-settings.js'
import type { Disconnected, Rejected } from '../../cm/events.js'
import { REQ_USER_BYTES } from '../../cm/options.js'
import * as weirData from '../../cm/weir-private-data.js'
import { WeirError } from '../../errors.js'
import { printable } from '../../printable.js'
import { Reason, reasonName } from '../../wire/cm/rej.js'
import { SPARE_BYTES } from '../../wire/cm/req.js'
import { directKey } from '../../wire/weir/direct-tag.js'
import * as needs from '../../wire/weir/needs.js'
import type { NicSettings } from '../config.js'
import { flowBytesOf } from '../feedback/host-share.js'
import type { Flow } from '../flow/flow.js'
import {
  answerRequest,
  type ConnectWords,
  provesRequest,
  provesWords,
  requestWords,
  takeReply,
  wordsProof,
} from '../keys/connection-key.js'
import { SwitchGuard } from '../keys/switch-guard.js'
import { termsOf } from './terms.js'
import { peerOf } from './udp-ports.js'

/** What a Weir host says of itself at connect. */
export type PeerWords = weirData.ConnectParameters

const VERSION = 1
/** Bit of `features`: keeps packets that come out of order, sends SACKs and reads them. */
const SELECTIVE_REPEAT = 1
/** Answers path probes. */
const PATH_ANSWERS = 2
/** Takes no runs of packets: the peer must send each by itself. A peer that says nothing takes runs. */
const NO_RUNS = 4
/** Sends a connection's packets from one UDP source port, unless the peer chooses paths, which it follows. */
const KEEPS_PORT = 8
/** Its data packets and probes say with which window they were sent, where the peer works windows out. */
const WINDOW_NUMBERS = 16
const NO_WORDS = new Uint8Array(0)
const NOT_BY_DGRAM =
  'io dgram reaches Weir hosts only, because it cannot choose the IP identification, which the ICRC of other RoCEv2 hosts covers: use --io batch, raw or packet for those'
/** Bytes of needs for which a REQ has room beside all other words of Weir's, but for those of a key or an application. */
const NEEDS_THAT_FIT = 13

/** What a REQ carries beyond the standard. */
interface RequestData {
  privateData: Uint8Array
  /** As ConnectParams. */
  spare: Uint8Array
}

/**
 * This end's words and the application's data, for a REQ. Where the words have no room, some are left out, in this order: the budget of
 * the host as a whole, that packets carry acknowledgements, that this end fills its packets, that it does without ICRCs, how often it
 * acknowledges. Throws WEIR_BAD_ARGUMENT if there is no room for the application's data.
 */
export function requestData(
  settings: NicSettings,
  flow: Flow,
  applicationData: Uint8Array = NO_WORDS,
): RequestData {
  const keyWords = ownKeyWords(settings, flow)
  if (settings.secret === undefined) {
    const said = saidBy(settings, flow, NO_WORDS, keyWords)
    const privateBytes = Math.min(REQ_USER_BYTES, applicationData.length)
    const spare = encodeWithin(SPARE_BYTES, { ...said, privateBytes })
    if (spare.length <= SPARE_BYTES) {
      flow.handshake.onRequestWords(spare)
      return { privateData: applicationData, spare }
    }
  }
  const say = () => encodeWithin(REQ_USER_BYTES, saidBy(settings, flow, applicationData, keyWords))
  return { privateData: wordsThatFit(flow, say, applicationData), spare: NO_WORDS }
}

/** What a REP carries: the application's data, among this end's words if the peer is a Weir host. Throws as requestData. */
export function replyData(
  settings: NicSettings,
  flow: Flow,
  applicationData: Uint8Array = NO_WORDS,
): Uint8Array {
  if (!flow.peer.isWeir) return applicationData
  const { handshake } = flow
  const said = saidBy(settings, flow, applicationData, ownKeyWords(settings, flow))
  const words = weirData.encode(said)
  handshake.onReplyWords(words)
  if (handshake.wordsKey === null) return words
  const exchange = exchangeOf(flow, words, flow.qp.remoteQpn, flow.qp.sndNxt)
  return weirData.encode({ ...said, wordsProof: wordsProof(handshake.wordsKey, exchange) })
}

/** Digest of Weir's words in REQ and REP and of both queue pairs, as this end knows them; the same at both ends. */
export function agreedOf(flow: Flow): Uint8Array {
  const { request, reply } = flow.handshake
  const { activeQpn, passiveQpn } = exchangeOf(flow, reply, flow.qp.remoteQpn, 0)
  const numbers = [activeQpn, passiveQpn, request.length, reply.length].join(' ')
  return createHash('sha256').update(`${numbers} `).update(request).update(reply).digest()
}

/** The words as bytes. Where these are too long, the budget of all connections is left out: the peer takes that of one for it. */
function encodeWithin(bytesMax: number, said: PeerWords): Uint8Array {
  const words = weirData.encode(said)
  return words.length <= bytesMax ? words : weirData.encode({ ...said, hostBudgetUnits: 0 })
}

/** The words for the private data of a REQ, as many as fit. @param say them once the flow does without something */
function wordsThatFit(
  { handshake, peer, cc }: Flow,
  say: () => Uint8Array,
  applicationData: Uint8Array,
): Uint8Array {
  let words = say()
  const leaveOuts = [
    () => peer.carriesAcks.drop(),
    () => peer.filledPayload.drop(),
    () => peer.withoutIcrc.drop(),
    () => handshake.hideAckEvery(),
  ]
  for (const leaveOut of leaveOuts) {
    if (words.length <= REQ_USER_BYTES) break
    leaveOut()
    words = say()
  }
  handshake.onRequestWords(words)
  const beyond = words.length - REQ_USER_BYTES
  if (beyond <= 0 || applicationData.length === 0) return words
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `privateData of ${applicationData.length} bytes is ${beyond} too long beside what ${cc.name} needs of the peer${handshake.keyWords.length > 0 ? ' and the key' : ''}`,
  )
}

/** This end's words as the peer reads them from a REQ or a REP: for peers that need no message. Throws as requestData. */
export function wordsAsRead(
  settings: NicSettings,
  flow: Flow,
  applicationData: Uint8Array = NO_WORDS,
): PeerWords {
  const { length } = applicationData
  const { active } = flow.handshake
  const needs = termsOf(settings).asked(flow.cc)
  // Words that may not fit, of which some would be left out or refused, are written.
  const fit = active ? length === 0 && needs.length <= NEEDS_THAT_FIT : length <= weirData.REPLY_BYTES_MAX
  if (!fit) return writtenWords(settings, flow, applicationData)
  const said = saidBy(settings, flow, new Uint8Array(applicationData), ownKeyWords(settings, flow))
  // The budget of the host as a whole is left out sooner than that.
  return active && said.hostBudgetUnits > 0 ? writtenWords(settings, flow, applicationData) : said
}

/** The same where they have to be written. */
function writtenWords(settings: NicSettings, flow: Flow, data: Uint8Array): PeerWords {
  if (!flow.handshake.active) return spokenWords(replyData(settings, flow, data))!
  const written = requestData(settings, flow, data)
  const words = wordsOfRequest(written)!
  return { ...words, applicationData: weirData.applicationData(words, written.privateData), privateBytes: 0 }
}

function saidBy(
  settings: NicSettings,
  flow: Flow,
  applicationData: Uint8Array,
  keyWords: Uint8Array,
): weirData.ConnectParameters {
  const terms = termsOf(settings)
  const offer = terms.offer(flow.handshake.hidesAckEvery)
  return {
    version: VERSION,
    features: ownFeatures(settings, flow, offer),
    pathMtu: flow.peer.pathMtu,
    filledPayload: flow.peer.filledPayload.offered,
    withoutIcrc: flow.peer.withoutIcrc.offered,
    carriesAcks: flow.peer.carriesAcks.offered,
    ...budgetWords(settings.receiveBudgetBytes ?? 0),
    applicationData,
    privateBytes: 0,
    keyWords,
    needs: terms.asked(flow.cc),
    ackEvery: offer.ackEvery,
    wordsProof: NO_WORDS,
  }
}

/** What this host takes in at a time. @param budgetBytes of all connections; 0 = not known */
function budgetWords(budgetBytes: number): Pick<PeerWords, 'receiveBudgetBytes' | 'hostBudgetUnits'> {
  const receiveBudgetBytes = flowBytesOf(budgetBytes)
  if (receiveBudgetBytes === budgetBytes) return { receiveBudgetBytes, hostBudgetUnits: 0 }
  const units = Math.floor(budgetBytes / weirData.HOST_BUDGET_UNIT)
  return { receiveBudgetBytes, hostBudgetUnits: Math.min(units, weirData.HOST_BUDGET_UNITS_MAX) }
}

/** What both ends have said, as this end knows it. @param reply words of the REP, without their proof */
function exchangeOf(
  { qpn, handshake: { active, receivePsn, request } }: Flow,
  reply: Uint8Array,
  peerQpn: number,
  peerPsn: number,
): ConnectWords {
  return {
    request,
    reply,
    activeQpn: active ? qpn : peerQpn,
    passiveQpn: active ? peerQpn : qpn,
    activePsn: active ? receivePsn : peerPsn,
    passivePsn: active ? peerPsn : receivePsn,
  }
}

function ownFeatures(
  settings: NicSettings,
  { peer: { selectiveRepeat }, path }: Flow,
  offer: FeedbackOffer,
): number {
  const keepsPort = probesPaths(path.settings) || settings.failover ? 0 : KEEPS_PORT
  const always = PATH_ANSWERS | WINDOW_NUMBERS | offer.features
  return (
    (always | (selectiveRepeat ? SELECTIVE_REPEAT : 0) | (settings.takesRuns ? 0 : NO_RUNS) | keepsPort) >>> 0
  )
}

/** What the other end grants this one. */
function offerOf(words: PeerWords | null): FeedbackOffer {
  if (words === null) return PLAIN_OFFER
  return offerOfPeer(words)
}

/** The words of a REQ, null for that of a plain RoCEv2 peer. */
export function wordsOfRequest({ spare, privateData }: RequestData): PeerWords | null {
  return spokenWords(spare) ?? spokenWords(privateData)
}

/** The other end's words, null for a plain RoCEv2 peer. Words that cannot be read count as none. */
export function spokenWords(privateData: Uint8Array): PeerWords | null {
  const words = weirData.decode(privateData)
  if (words === null || words === 'malformed') return null
  return needs.decode(words.needs) === null ? null : words
}

/** By these words the active end proves that it has the key, and the passive end, which has accepted the request, answers. */
function ownKeyWords(settings: NicSettings, flow: Flow): Uint8Array {
  const { secret, random } = settings
  const { handshake } = flow
  if (secret !== undefined && handshake.active) {
    handshake.speak(requestWords(secret, random, flow.qpn, handshake.receivePsn))
  }
  return handshake.keyWords
}

/** Passive end: throws WEIR_REJECTED, with the reason that the peer hears, unless both ends have the same secret or none. */
export function checkKey(
  { secret }: NicSettings,
  words: PeerWords | null,
  peer: { qpn: number; startingPsn: number },
): void {
  const spoken = words?.keyWords ?? NO_WORDS
  if (secret === undefined) {
    if (spoken.length === 0) return
    throw new WeirError('WEIR_REJECTED', 'this host has no key: give it the same --key-file, or give none')
  }
  if (spoken.length === 0) {
    throw new WeirError('WEIR_REJECTED', 'this host takes only connections with its key: give --key-file')
  }
  if (!provesRequest(spoken, secret, peer.qpn, peer.startingPsn)) {
    throw new WeirError('WEIR_REJECTED', 'this host has another key: both need the same --key-file')
  }
}

/** False if the sender of a REQ does not have the secret. */
export function proves(
  { secret }: NicSettings,
  words: PeerWords | null,
  peer: { qpn: number; startingPsn: number },
): boolean {
  return (
    secret === undefined || provesRequest(words?.keyWords ?? NO_WORDS, secret, peer.qpn, peer.startingPsn)
  )
}

/** Gives the peer its guards, once both ends have the nonces; `flow.ending.failure` says if the peer is not to be trusted. */
function agreeOnKey(
  { secret, random }: NicSettings,
  flow: Flow,
  pair: PeerPair,
  words: PeerWords | null,
  privateData: Uint8Array,
): void {
  if (secret === undefined) return
  const { handshake, peer } = flow
  peer.trustSwitches(new SwitchGuard(directKey(secret)))
  const spoken = words?.keyWords ?? NO_WORDS
  if (!handshake.active) {
    const answer = answerRequest(spoken, secret, random)
    handshake.speak(answer.words)
    handshake.proveBy(answer.wordsKey)
    peer.trust(answer.guard, answer.ends)
    return
  }
  const keys = takeReply(handshake.keyWords, spoken, secret)
  if (keys === null) {
    const why = spoken.length === 0 ? 'has no key' : 'has another key'
    flow.ending.fail(
      new WeirError(
        'WEIR_REJECTED',
        `${flow.remote} ${why}, and this host takes only connections with its own: both need the same --key-file`,
      ),
    )
    return
  }
  peer.trust(keys.guard, keys.ends)
  if (keys.wordsKey === null) return
  const { words: reply, proof } = weirData.splitProof(privateData)
  if (provesWords(proof, keys.wordsKey, exchangeOf(flow, reply, pair.qpn, pair.startingPsn))) return
  const what = `${flow.remote} has the key, but somebody on the path has changed what the two hosts said to each other at connect`
  flow.ending.fail(new WeirError('WEIR_REJECTED', what))
}

/** Where the peer's words are written: a REQ, or a REP, which has nothing to spare. */
interface Written {
  privateData: Uint8Array
  spare?: Uint8Array
}

/** The peer's queue pair, and the first PSN that it expects. */
interface PeerPair {
  qpn: number
  startingPsn: number
}

/** Keeps the peer's words as they came. A REQ has no proof: bytes there that look like one are its own. */
function noteWords({ handshake }: Flow, { privateData, spare = NO_WORDS }: Written): void {
  const words = spokenWords(spare) !== null ? spare : spokenWords(privateData) !== null ? privateData : null
  if (words === null) return
  if (handshake.active) handshake.onReplyWords(Uint8Array.from(weirData.splitProof(words).words))
  else handshake.onRequestWords(Uint8Array.from(weirData.wordsOf(words)))
}

/** Settles the flow by what the peer said. @param written where its words were read; null: no message was written */
export function heed(
  settings: NicSettings,
  flow: Flow,
  peer: PeerPair,
  words: PeerWords | null,
  written: Written | null,
): void {
  if (written !== null) {
    noteWords(flow, written)
    agreeOnKey(settings, flow, peer, words, written.privateData)
  }
  flow.agree(offerOf(words))
  if (words === null) {
    flow.peer.isPlain()
    flow.receiver.serveAsPlain()
    return
  }
  const { features, pathMtu, filledPayload, withoutIcrc, carriesAcks, receiveBudgetBytes, hostBudgetUnits } =
    words
  const granted = termsOf(settings).granted(flow.handshake.hidesAckEvery, features, words.needs)
  flow.receiver.serve(granted.needs)
  flow.stats.feedbackGiven = granted.texts
  flow.peer.agree({
    answersPaths: (features & PATH_ANSWERS) !== 0,
    numbersWindows: (features & WINDOW_NUMBERS) !== 0,
    keepsPort: (features & KEEPS_PORT) !== 0,
    takesRuns: (features & NO_RUNS) === 0,
    selectiveRepeat: (features & SELECTIVE_REPEAT) !== 0,
    pathMtu,
    filledPayload,
    withoutIcrc,
    carriesAcks,
  })
  if (receiveBudgetBytes > 0) {
    const hostBytes = hostBudgetUnits * weirData.HOST_BUDGET_UNIT
    flow.sender.congestion.hostShare.onBudget(receiveBudgetBytes, hostBytes)
  }
}

/**
 * Private data that says why this end refuses (REJ), or leaves because of an error (DREQ).
 * Empty for a peer that is no Weir host.
 * @param flow the one that is left, null = there is none yet
 */
export function refusal(error: unknown, flow: Flow | null = null): Uint8Array {
  if (flow !== null && !flow.peer.isWeir) return NO_WORDS
  const code = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
  const message = error instanceof Error ? error.message : String(error)
  return weirData.encodeRejection({ code, message, proof: flow?.peer.ends?.own ?? NO_WORDS })
}

/** Private data of a message that ends the flow in order: on a connection with a key, the proof that this end sends it. */
export function farewell(flow: Flow | null): Uint8Array {
  const proof = flow?.peer.ends?.own
  return proof === undefined ? NO_WORDS : weirData.encodeRejection({ code: '', message: '', proof })
}

/** False for a message that would end an established connection and cannot be the peer's. */
export function mayEnd(flow: Flow | null, privateData: Uint8Array): boolean {
  const ends = flow?.peer.ends
  if (!ends) return true
  const said = weirData.decodeRejection(privateData)
  return said !== null && said !== 'malformed' && ends.isPeers(said.proof)
}

/** Why the peer refused, for this end's application. */
export function rejection(flow: Flow, event: Pick<Rejected, 'reason' | 'privateData'>): WeirError {
  const said = weirData.decodeRejection(event.privateData)
  const why =
    said !== null && said !== 'malformed' && said.code !== ''
      ? said.message
      : event.reason === Reason.INVALID_SERVICE_ID
        ? 'nothing there takes such connections'
        : reasonName(event.reason)
  const isFull =
    event.reason === Reason.NO_RESOURCES || (said as { code?: string } | null)?.code === 'WEIR_FULL'
  return new WeirError(
    isFull ? 'WEIR_FULL' : 'WEIR_REJECTED',
    `${flow.remote} refused the connection: ${why}`,
  )
}

/**
 * Why a request stayed without an answer, for this end's application.
 * @param dropped what has been dropped of the peer's packets meanwhile, in words; '' = nothing
 */
export function unanswered({ choosesIds }: NicSettings, flow: Flow, dropped: string): WeirError {
  const why =
    dropped === '' ? 'did not answer: is a daemon running there?' : `has sent nothing that counts: ${dropped}`
  // No ICRC of this host's is right for a peer that counts the identification.
  const unheard = choosesIds || flow.remote.family === 6 ? '' : `; ${NOT_BY_DGRAM}`
  return new WeirError('WEIR_UNREACHABLE', `${peerOf(flow)} ${why}${unheard}`)
}

/** What has failed at the peer that ended the connection, for this end's application; null: it left in order. */
export function peerFailure(flow: Flow, event: Disconnected): WeirError | null {
  const said = weirData.decodeRejection(event.privateData)
  if (said === null || said === 'malformed' || said.code === '') return null
  return new WeirError(
    'WEIR_CONNECTION_LOST',
    `${flow.remote} gave the connection up: ${printable(said.message)}`,
  )
}

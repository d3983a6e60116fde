/** What two Weir hosts say beyond the standard, in the private data of REQ and REP, and of REJ and DREQ. */
import { probesPaths } from '../../cc/path-settings.js'
import type { Disconnected, Rejected } from '../../cm/events.js'
import * as weirData from '../../cm/weir-private-data.js'
import { WeirError } from '../../errors.js'
import { printable } from '../../printable.js'
import { Reason, reasonName } from '../../wire/cm/rej.js'
import { directKey } from '../../wire/weir/direct-tag.js'
import { intFormat, type NicSettings } from '../config.js'
import type { Flow } from '../flow/flow.js'
import { answerRequest, provesRequest, requestWords, takeReply } from '../keys/connection-key.js'
import { SwitchGuard } from '../keys/switch-guard.js'
import { peerOf } from './udp-ports.js'

export type PeerWords = weirData.ConnectParameters

const VERSION = 1
/** Bit of `features`: keeps packets that come out of order, sends SACKs and reads them. */
const SELECTIVE_REPEAT = 1
/** Answers path probes. */
const PATH_ANSWERS = 2
/** Takes no runs of packets: each must be sent by itself. A peer that says nothing takes runs. */
const NO_RUNS = 4
/** Sends a connection's packets from one UDP source port, unless the peer chooses paths, which it follows. */
const KEEPS_PORT = 8
/** Its data packets and probes say with which window they were sent, where the peer works windows out. */
const WINDOW_NUMBERS = 16
const NO_WORDS = new Uint8Array(0)

/** This end's words, for a REQ or a REP. */
export function ownWords(settings: NicSettings, flow: Flow, applicationData?: Uint8Array): Uint8Array {
  return weirData.encode({
    version: VERSION,
    features: ownFeatures(settings, flow),
    pathMtu: flow.peer.pathMtu,
    intFormat: intFormat(settings),
    intSlots: flow.sender.telemetry.slots,
    zeroIpId: true,
    receiveBudgetBytes: settings.receiveBudgetBytes ?? 0,
    applicationData: applicationData ?? new Uint8Array(0),
    keyWords: ownKeyWords(settings, flow),
  })
}

function ownFeatures({ takesRuns }: NicSettings, { peer: { selectiveRepeat }, path }: Flow): number {
  const keepsPort = probesPaths(path.settings) ? 0 : KEEPS_PORT
  const always = PATH_ANSWERS | WINDOW_NUMBERS
  return always | (selectiveRepeat ? SELECTIVE_REPEAT : 0) | (takesRuns ? 0 : NO_RUNS) | keepsPort
}

/** The other end's words, null for a plain RoCEv2 peer. Words that cannot be read count as none. */
export function spokenWords(privateData: Uint8Array): PeerWords | null {
  const words = weirData.decode(privateData)
  return words === 'malformed' ? null : words
}

/** The active end proves by them that it has the key. The passive end, which has taken up the request, answers by them. */
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

/** False for a REQ of whoever does not have the secret. */
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
function agreeOnKey({ secret, random }: NicSettings, flow: Flow, words: PeerWords | null): void {
  if (secret === undefined) return
  const { handshake, peer } = flow
  peer.trustSwitches(new SwitchGuard(directKey(secret)))
  const spoken = words?.keyWords ?? NO_WORDS
  if (!handshake.active) {
    const answer = answerRequest(spoken, secret, random)
    handshake.speak(answer.words)
    peer.trust(answer.guard, answer.ends)
    return
  }
  const keys = takeReply(handshake.keyWords, spoken, secret)
  if (keys !== null) {
    peer.trust(keys.guard, keys.ends)
    return
  }
  const why = spoken.length === 0 ? 'has no key' : 'has another key'
  flow.ending.fail(
    new WeirError(
      'WEIR_REJECTED',
      `${flow.remote} ${why}, and this host takes only connections with its own: both need the same --key-file`,
    ),
  )
}

/** Settles the flow by what the peer said. */
export function heed(settings: NicSettings, flow: Flow, words: PeerWords | null): void {
  agreeOnKey(settings, flow, words)
  if (words === null) {
    flow.peer.isPlain()
    return
  }
  const { features, pathMtu, receiveBudgetBytes } = words
  flow.peer.agree({
    answersPaths: (features & PATH_ANSWERS) !== 0,
    numbersWindows: (features & WINDOW_NUMBERS) !== 0,
    keepsPort: (features & KEEPS_PORT) !== 0,
    takesRuns: (features & NO_RUNS) === 0,
    selectiveRepeat: (features & SELECTIVE_REPEAT) !== 0,
    pathMtu,
  })
  if (receiveBudgetBytes > 0) flow.sender.congestion.hostShare.budgetBytes = receiveBudgetBytes
}

/**
 * Private data that says why this end refuses (REJ), or leaves because of an error (DREQ).
 * @param flow the one that is left, null = there is none yet
 */
export function refusal(error: unknown, flow: Flow | null = null): Uint8Array {
  const code = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
  const message = error instanceof Error ? error.message : String(error)
  return weirData.encodeRejection({ code, message, proof: flow?.peer.ends?.own ?? NO_WORDS })
}

/** Private data of a message that ends the flow in order: on a connection with a key, the proof that this end sends it. */
export function farewell(flow: Flow | undefined): Uint8Array {
  const proof = flow?.peer.ends?.own
  return proof === undefined ? NO_WORDS : weirData.encodeRejection({ code: '', message: '', proof })
}

/** False for a message that would end an established connection and cannot be the peer's. */
export function mayEnd(flow: Flow | undefined, privateData: Uint8Array): boolean {
  const ends = flow?.peer.ends
  if (!ends) return true
  const said = weirData.decodeRejection(privateData)
  return said !== null && said !== 'malformed' && ends.isPeers(said.proof)
}

/** Why the peer refused, as this end's application hears it. */
export function rejection(flow: Flow, event: Rejected): WeirError {
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

/** Why a request stayed without an answer, as this end's application hears it. */
export function unanswered(flow: Flow): WeirError {
  const why = flow.handshake.answerHidden
    ? "answers, but the ICRC of its packets covers their IP identification, which the sockets of io batch and dgram hide (Linux's Soft-RoCE is such a peer): use --io raw"
    : 'did not answer: is a daemon running there?'
  return new WeirError('WEIR_UNREACHABLE', `${peerOf(flow)} ${why}`)
}

/** What has failed at the peer that ended the connection, as this end's application hears it; null: it left in order. */
export function peerFailure(flow: Flow, event: Disconnected): WeirError | null {
  const said = weirData.decodeRejection(event.privateData)
  if (said === null || said === 'malformed' || said.code === '') return null
  return new WeirError(
    'WEIR_CONNECTION_LOST',
    `${flow.remote} gave the connection up: ${printable(said.message)}`,
  )
}

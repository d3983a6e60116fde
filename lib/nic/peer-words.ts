/** What two weirs tell each other at connect, beyond the standard: in the private data of REQ, REP and REJ. */
import type { Rejected } from '../cm/events.js'
import * as weirData from '../cm/weir-private-data.js'
import { WeirError } from '../errors.js'
import { Reason, reasonName } from '../wire/cm/rej.js'
import { intFormat, type NicSettings } from './config.js'
import type { Flow } from './flow.js'

export type PeerWords = weirData.ConnectParameters

const VERSION = 1
/** Bit of `features`: keeps packets that come out of order, sends SACKs and reads them. */
const SELECTIVE_REPEAT = 1

/** This end's words, for a REQ or a REP. */
export function ownWords(settings: NicSettings, flow: Flow, applicationData?: Uint8Array): Uint8Array {
  return weirData.encode({
    version: VERSION,
    features: flow.selectiveRepeat ? SELECTIVE_REPEAT : 0,
    pathMtu: flow.pathMtu,
    intFormat: intFormat(settings),
    intSlots: settings.int.hops,
    zeroIpId: true,
    receiveBudgetBytes: settings.receiveBudgetBytes ?? 0,
    applicationData: applicationData ?? new Uint8Array(0),
  })
}

/** The other end's, null for a peer that is no weir. Nonsense counts as silence. */
export function spokenWords(privateData: Uint8Array): PeerWords | null {
  const words = weirData.decode(privateData)
  return words === 'malformed' ? null : words
}

/** Settles the flow by what the peer said. */
export function heed(flow: Flow, words: PeerWords | null): void {
  if (words === null) {
    flow.selectiveRepeat = false
    return
  }
  flow.peerIsWeir = true
  flow.selectiveRepeat &&= (words.features & SELECTIVE_REPEAT) !== 0
  flow.pathMtu = Math.min(flow.pathMtu, words.pathMtu)
  if (words.receiveBudgetBytes > 0) flow.receiveBudgetBytes = words.receiveBudgetBytes
}

/** Why this end refuses, for a REJ. */
export function refusal(error: unknown): Uint8Array {
  const code = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
  return weirData.encodeRejection({ code, message: error instanceof Error ? error.message : String(error) })
}

/** Why the peer refused, as this end's application hears it. */
export function rejection(flow: Flow, event: Rejected): WeirError {
  const said = weirData.decodeRejection(event.privateData)
  const why =
    said !== null && said !== 'malformed'
      ? said.message
      : event.reason === Reason.INVALID_SERVICE_ID
        ? 'nothing there takes such connections'
        : reasonName(event.reason)
  return new WeirError('WEIR_REJECTED', `${flow.remote} refused the connection: ${why}`)
}

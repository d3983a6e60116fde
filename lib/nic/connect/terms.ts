import { type ChosenController, ccNeeds, needTexts, ownOffer } from '../../cc/catalogue.js'
import { type FeedbackOffer, grantedOf, readsNeeds, withoutAckEvery } from '../../cc/needs.js'
import * as needs from '../../wire/weir/needs.js'
import type { NicSettings } from '../config.js'

/** Different lists of needs that a host remembers. Peers may write any; those of one program write few. */
const LISTS_MAX = 64

/** What a host grants to one peer. */
interface Granted {
  needs: readonly needs.Need[]
  /** In words, for people. */
  texts: readonly string[]
}

/** A Weir host that says nothing of needs may ask for windows of rx-hpcc. */
const OLDER: readonly needs.Need[] = [{ id: needs.NeedId.RECEIVING_PART, value: 0 }]

/**
 * What one host grants its peers and asks of them: the same for all connections with the same needs, so each is worked out once.
 * Controllers that a program adds later than a NIC's first connection do not count for that NIC.
 */
class Terms {
  readonly #offer: FeedbackOffer
  /** The same for a peer that does not learn how often this host acknowledges. */
  readonly #lesserOffer: FeedbackOffer
  readonly #asked = new WeakMap<ChosenController, Uint8Array>()
  readonly #granted = new Map<string, Granted>()
  /** The list that was named last, and what is granted of it: mostly the next connection names the same one. */
  #last: { hidesAckEvery: boolean; list: Uint8Array; granted: Granted } | null = null
  readonly #toOlder: Granted

  constructor(settings: NicSettings) {
    this.#offer = ownOffer(settings)
    this.#lesserOffer = withoutAckEvery(this.#offer)
    this.#toOlder = { needs: givenOf(this.#offer, OLDER), texts: [] }
  }

  /** What this host grants. @param hidesAckEvery its words leave out how often it acknowledges */
  offer(hidesAckEvery: boolean): FeedbackOffer {
    return hidesAckEvery ? this.#lesserOffer : this.#offer
  }

  /** The needs of that controller, as words of a connection have them. */
  asked(controller: ChosenController): Uint8Array {
    const known = this.#asked.get(controller)
    if (known !== undefined) return known
    const bytes = needs.encode(ccNeeds(controller))
    this.#asked.set(controller, bytes)
    return bytes
  }

  /**
   * What this host grants of the needs that a Weir host's words name.
   * @param hidesAckEvery as `offer`; @param features of these words; @param list sound, encoded
   */
  granted(hidesAckEvery: boolean, features: number, list: Uint8Array): Granted {
    if (!readsNeeds(features)) return this.#toOlder
    const last = this.#last
    if (last?.list === list && last.hidesAckEvery === hidesAckEvery) return last.granted
    const granted = this.#grantedOf(hidesAckEvery, list)
    this.#last = { hidesAckEvery, list, granted }
    return granted
  }

  #grantedOf(hidesAckEvery: boolean, list: Uint8Array): Granted {
    const key = String.fromCharCode(Number(hidesAckEvery), ...list)
    const known = this.#granted.get(key)
    if (known !== undefined) return known
    if (this.#granted.size === LISTS_MAX) this.#granted.clear()
    const given = givenOf(this.offer(hidesAckEvery), needs.decode(list)!)
    const granted = { needs: given, texts: needTexts(given) }
    this.#granted.set(key, granted)
    return granted
  }
}

function givenOf(offer: FeedbackOffer, asked: readonly needs.Need[]): readonly needs.Need[] {
  return asked.flatMap(need => grantedOf(offer, need) ?? [])
}

const BY_SETTINGS = new WeakMap<NicSettings, Terms>()

/** The terms of the host with these settings. */
export function termsOf(settings: NicSettings): Terms {
  const known = BY_SETTINGS.get(settings)
  if (known !== undefined) return known
  const terms = new Terms(settings)
  BY_SETTINGS.set(settings, terms)
  return terms
}

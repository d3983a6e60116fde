/** What two ends agree on, worked out once for all connections of a controller whose peers offer the same. */
import { type Agreement, agreeOn, type ChosenController, needTexts } from './catalogue.js'
import type { FeedbackOffer } from './needs.js'

/** An agreement, with its needs in words for people. */
interface WordedAgreement extends Agreement {
  grantedTexts: readonly string[]
  refusedTexts: readonly string[]
}

interface Kept extends FeedbackOffer {
  broken: number
  agreement: WordedAgreement
}

/** The last one of each controller. */
const LAST = new WeakMap<ChosenController, Kept>()

/** As `agreeOn`. Nobody may change what it returns: other connections have the same. */
export function agreementOn(cc: ChosenController, offer: FeedbackOffer, broken: number): WordedAgreement {
  const { features, ackEvery } = offer
  const last = LAST.get(cc)
  const isSame = last?.features === features && last.ackEvery === ackEvery && last.broken === broken
  if (isSame) return last.agreement
  const agreed = agreeOn(cc, offer, broken)
  const refusedTexts = needTexts(agreed.refused).map((text, i) =>
    (broken & (1 << agreed.refused[i]!.id)) !== 0 ? `${text} (granted, and not given)` : text,
  )
  const agreement = { ...agreed, grantedTexts: needTexts(agreed.granted), refusedTexts }
  LAST.set(cc, { features, ackEvery, broken, agreement })
  return agreement
}

import { PAPER_40G, paperRate, UNIT_BPS, UNIT_BYTES } from '../switch-emu/rocc-paper.js'

const STEP_NS = 500
const INTERVAL_NS = 40_000
/** A source doubles its rate when no fair rate has come for this time, as in its authors' simulation. */
const RECOVERY_NS = 55_000

interface ModelOptions {
  flows: number
  /** What each source offers, as a share of the link of 40 Gbit/s. */
  share: number
  /** From the queue to a source, and back with what it sends. */
  delayNs: number
  bufferBytes: number
  /** See `paperRate`. */
  qLow: number
}

/**
 * RoCC without packets: equal flows that begin at once fill one queue, of which algorithm 1 works out F. The sources have F a delay later, if
 * anything waited, and double their rate without.
 *
 * @returns F after each interval, as a multiple of the fair share
 */
export function roccModel({ flows, share, delayNs, bufferBytes, qLow }: ModelOptions, ms: number): number[] {
  const { bps, fMax } = PAPER_40G
  const offered = share * bps
  const [arriving, leaving] = [(STEP_NS * flows) / 8e9, (STEP_NS * bps) / 8e9]
  const seen: number[] = []
  const coming: { atNs: number; rateBps: number }[] = []
  let [f, rateBps, limitedNs, queue, old] = [fMax, bps, Number.POSITIVE_INFINITY, 0, 0]
  for (let now = 0; now < ms * 1e6; now += STEP_NS) {
    queue = Math.min(bufferBytes, queue + Math.min(rateBps, offered) * arriving)
    queue -= Math.min(queue, leaving)
    if (coming.length > 0 && coming[0]!.atNs <= now) {
      rateBps = coming.shift()!.rateBps
      limitedNs = now
    } else if (now - limitedNs >= RECOVERY_NS) {
      rateBps = Math.min(bps, 2 * rateBps)
      limitedNs = rateBps < bps ? now : Number.POSITIVE_INFINITY
    }
    if (now === 0 || now % INTERVAL_NS !== 0) continue
    f = paperRate(PAPER_40G, f, queue / UNIT_BYTES, old / UNIT_BYTES, qLow)
    old = queue
    if (queue > 0 && f < fMax) coming.push({ atNs: now + delayNs, rateBps: f * UNIT_BPS })
    seen.push((f * UNIT_BPS * flows) / bps)
  }
  return seen
}

/** When F has last been off the fair share by more than `off`, ms. */
export function settledMs(ratios: readonly number[], off: number): number {
  const last = ratios.findLastIndex(ratio => Math.abs(ratio - 1) > off)
  return ((last + 1) * INTERVAL_NS) / 1e6
}

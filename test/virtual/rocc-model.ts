import { PAPER_40G, paperRate, UNIT_BPS, UNIT_BYTES } from '../switch-emu/rocc-paper.js'

const STEP_NS = 500
const INTERVAL_NS = 40_000
/** A source doubles its rate when no fair rate has come for this time, as in its authors' simulation. */
const RECOVERY_NS = 55_000

interface ModelOptions {
  flows: number
  /** Time between the starts of two flows. */
  gapNs: number
  /** What each source offers, as a share of the link of 40 Gbit/s. */
  share: number
  /** From the queue to a source, and back with what it sends. */
  delayNs: number
  bufferBytes: number
  /** See `paperRate`. */
  qLow: number
  /**
   * Sources send packets of so many bytes, each when the one before has taken its time at the rate of now, as Weir's pacer has it and the
   * ns-3 model of HPCC. Default: a fluid.
   */
  packetBytes?: number
}

/** Bytes that come from all sources in the step that ends now. */
type Arrivals = (now: number, rateBps: number) => number

/**
 * RoCC without Weir: equal flows that begin together fill one queue, of which algorithm 1 works out F. The sources have F a delay later, if
 * anything waited, and double their rate without.
 *
 * @returns F after each interval, as a multiple of the fair share
 */
export function roccModel(options: ModelOptions, ms: number): number[] {
  const { flows, share, delayNs, bufferBytes, qLow } = options
  const { bps, fMax } = PAPER_40G
  const arrivals = options.packetBytes === undefined ? fluid(options) : packets(options)
  const offered = share * bps
  const leaving = (STEP_NS * bps) / 8e9
  const seen: number[] = []
  const coming: { atNs: number; rateBps: number }[] = []
  let [f, rateBps, limitedNs, queue, old] = [fMax, bps, Number.POSITIVE_INFINITY, 0, 0]
  for (let now = 0; now < ms * 1e6; now += STEP_NS) {
    queue = Math.min(bufferBytes, queue + arrivals(now, Math.min(rateBps, offered)))
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

function fluid({ flows, gapNs }: ModelOptions): Arrivals {
  return (now, rateBps) => (Math.min(flows, 1 + Math.floor(now / gapNs)) * rateBps * STEP_NS) / 8e9
}

function packets({ flows, gapNs, packetBytes = 0 }: ModelOptions): Arrivals {
  const lastNs = Float64Array.from({ length: flows }, (_, flow) => flow * gapNs)
  return (now, rateBps) => {
    const takesNs = (packetBytes * 8e9) / rateBps
    let bytes = 0
    for (const [flow, last] of lastNs.entries()) {
      let at = last
      while (at + takesNs <= now) {
        // What is late because the rate has just grown is not made up for.
        at = Math.max(at + takesNs, now - STEP_NS)
        bytes += packetBytes
      }
      lastNs[flow] = at
    }
    return bytes
  }
}

/** When F has last been off the fair share by more than `off`, ms. */
export function settledMs(ratios: readonly number[], off: number): number {
  const last = ratios.findLastIndex(ratio => Math.abs(ratio - 1) > off)
  return ((last + 1) * INTERVAL_NS) / 1e6
}

/** When F first comes near the fair share, ms. */
export function reachedMs(ratios: readonly number[], off: number): number {
  return ((1 + ratios.findIndex(ratio => Math.abs(ratio - 1) <= off)) * INTERVAL_NS) / 1e6
}

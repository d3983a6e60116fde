/** RoCC's algorithm 1 worked out by itself, in the paper's own units: F in 10 Mbit/s, Q in 600 B (Taheri et al., CoNEXT 2020, section 6). */
export const UNIT_BPS = 10e6
export const UNIT_BYTES = 600

export const PAPER_40G = {
  bps: 40e9,
  alpha: 0.3,
  beta: 1.5,
  fMin: 10,
  fMax: 4000,
  qRef: 250,
  qMid: 500,
  qMax: 600,
}
export const PAPER_100G = {
  bps: 100e9,
  alpha: 0.45,
  beta: 2.25,
  fMin: 10,
  fMax: 10_000,
  qRef: 500,
  qMid: 1000,
  qMax: 1100,
}

/**
 * The next F.
 *
 * @param qLow below which gains are not divided; 0: algorithm 1 as printed
 */
export function paperRate(paper: typeof PAPER_40G, f: number, q: number, qOld: number, qLow: number): number {
  const { alpha, beta, fMin, fMax, qRef, qMid, qMax } = paper
  let next: number
  if (q >= qMax && f > fMax / 8) next = fMin
  else if (q - qOld >= qMid && f > fMax / 8) next = f / 2
  else {
    let level = 2
    while (f < fMax / level && level < 64) level *= 2
    const isLow = q < qLow && (q + qOld) / 2 < qLow
    const ratio = isLow ? 1 : level / 2
    next = f - (alpha / ratio) * (q - qRef) - (beta / ratio) * (q - qOld)
  }
  return Math.min(fMax, Math.max(fMin, next))
}

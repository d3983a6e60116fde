/**
 * TCP CUBIC on a path with random drops and no queue: a window, a clock and the formulas of RFC 9438, packet
 * by packet. It uses nothing of `lib/cc`.
 */

interface ModelOptions {
  /** Chance that a packet is lost. */
  loss: number
  rttSeconds: number
  /** Payload bytes of a segment. */
  segmentBytes: number
  /** Alpha remains 3 (1 - beta) / (1 + beta) beyond the last maximum, as in Linux (RFC 8312). */
  linux?: boolean
}

const BETA = 0.7
const C = 0.4
const ALPHA = (3 * (1 - BETA)) / (1 + BETA)

/** Goodput in bit/s after a long time. @param random draws from 0 to 1 */
export function cubicGoodputBps(options: ModelOptions, seconds: number, random: () => number): number {
  const { loss, rttSeconds, segmentBytes, linux = false } = options
  // Windows are segments.
  let cwnd = Math.sqrt(1.5 / loss)
  let prior = cwnd
  let wMax = cwnd
  let wEst = cwnd
  let k = 0
  let epoch = 0
  let recoveryEnds = 0
  let delivered = 0
  let now = 0
  while (now < seconds) {
    now += rttSeconds / cwnd
    if (random() < loss) {
      if (now < recoveryEnds) continue
      // Sections 4.6 and 4.7. Recovery takes a round trip.
      prior = cwnd
      wMax = cwnd < wMax ? (cwnd * (1 + BETA)) / 2 : cwnd
      cwnd *= BETA
      wEst = cwnd
      recoveryEnds = now + rttSeconds
      epoch = recoveryEnds
      k = Math.cbrt((wMax - cwnd) / C)
      continue
    }
    delivered++
    if (now < recoveryEnds) continue
    const alpha = linux || wEst < prior ? ALPHA : 1
    wEst += alpha / cwnd
    const cubicAt = (t: number) => C * (t - k) ** 3 + wMax
    const t = now - epoch
    if (cubicAt(t) < wEst) cwnd = Math.max(cwnd, wEst)
    else cwnd += (Math.max(cwnd, Math.min(1.5 * cwnd, cubicAt(t + rttSeconds))) - cwnd) / cwnd
  }
  return (8 * delivered * segmentBytes) / now
}

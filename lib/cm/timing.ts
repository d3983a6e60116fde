/**
 * Times of the connection manager. On the wire a time is a 5-bit exponent n, for 4.096 us * 2^n (IBA 12.6.5).
 * Linux uses 2^(n-8) ms instead, at least 1 ms, which is 4.6 % less. Weir does so too, so that both ends
 * agree.
 */
import { MILLISECOND, type Nanos } from '../time/nanos.js'

/** Exponents are 5 bits wide. */
const EXPONENT_MAX = 31

/** Returns the time of an exponent of 0 to 31: 20 gives 4,096 ms. */
export function timeoutNs(exponent: number): Nanos {
  return 2 ** Math.max(exponent - 8, 0) * MILLISECOND
}

/**
 * Returns the exponent of a queue pair's ACK timeout (IBA 12.7.34, as Linux derives it). It is for twice the
 * packet life time plus the peer's ACK delay. The larger one of the two exponents counts, plus one when they
 * are close.
 */
export function ackTimeoutExponent(targetAckDelay: number, packetLifeTime: number): number {
  const bothWays = packetLifeTime + 1
  const sum =
    bothWays >= targetAckDelay
      ? bothWays + (targetAckDelay >= bothWays - 1 ? 1 : 0)
      : targetAckDelay + (bothWays >= targetAckDelay - 1 ? 1 : 0)
  return Math.min(EXPONENT_MAX, sum)
}

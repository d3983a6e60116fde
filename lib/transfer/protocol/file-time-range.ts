/** What a peer may say of a file's time. */
import type { Offer } from './messages.js'

/** As far as a Date reaches. */
const TIME_MS_MAX = 8.64e15
const SECOND_NS = 1e9

export function isTime({ mtimeMs, mtimeNanos = 0 }: Pick<Offer, 'mtimeMs' | 'mtimeNanos'>): boolean {
  return Math.abs(mtimeMs) <= TIME_MS_MAX && mtimeNanos < SECOND_NS
}

import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as bth from '../../wire/ib/bth.js'
import * as sack from '../../wire/weir/sack.js'
import { unwrapPsn } from '../queues/psn.js'
import type { SelectiveRepeat } from '../recovery/selective-repeat.js'
import { concludeSelective } from './on-acknowledge.js'
import type { Requester } from './requester.js'

const SACK_AT = bth.BYTES + aeth.BYTES
const FIRST_BIT = 0x8000_0000

/**
 * A SACK: acknowledges as an ACK does, and names packets beyond that which the peer keeps. One that names packets
 * never sent, or begins before what it acknowledges, is dropped whole.
 *
 * @param seq unwrapped PSN of the packet
 */
export function onSack(requester: Requester, now: Nanos, frame: Frame, seq: number): void {
  const { counters } = requester.context
  const { selective } = requester
  const view = frame.view
  const at = frame.bth + SACK_AT
  const base = unwrapPsn(sack.basePsn(view, at), seq)
  const syndrome = aeth.syndrome(view, frame.bth + bth.BYTES)
  const last = base + sack.lastBit(view, at)
  if (
    selective === null ||
    !aeth.isAck(syndrome) ||
    base <= seq ||
    Math.max(last, seq) >= requester.outbound.sndNxt
  ) {
    counters.droppedSack++
    return
  }
  counters.acks++
  counters.sacks++
  requester.onDuplicateCount(now, bth.duplicates(view, frame.bth))
  if (seq >= requester.outbound.sndUna) {
    requester.acknowledgeThrough(now, seq)
    selective.acknowledged(now, seq)
  }
  if (takeBitmap(requester, selective, now, view, at, base)) requester.onSign(now)
  concludeSelective(requester, selective, now, seq)
}

/** True if the bitmap has packets that were not known to have arrived. */
function takeBitmap(
  requester: Requester,
  selective: SelectiveRepeat,
  now: Nanos,
  view: DataView,
  at: number,
  base: number,
): boolean {
  let news = false
  for (let index = 0; index < sack.WORDS; index++) {
    for (let bits = sack.word(view, at, index); bits !== 0; ) {
      const bit = Math.clz32(bits)
      bits = (bits & ~(FIRST_BIT >>> bit)) >>> 0
      const seq = base + 32 * index + bit
      if (seq >= requester.outbound.sndUna && selective.sacked(now, seq)) news = true
    }
  }
  return news
}

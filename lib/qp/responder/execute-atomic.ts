import type { Frame } from '../../frame/frame.js'
import * as atomicEth from '../../wire/ib/atomic-eth.js'
import * as bth from '../../wire/ib/bth.js'
import { Opcode } from '../../wire/ib/opcode.js'
import { readHigh, readLow, writeAtomicResult } from '../memory/atomic-memory.js'
import type { MemoryRegion } from '../memory/memory.js'
import type { Inbound } from './inbound.js'
import { RequestState } from './states.js'

const WORD_BYTES = 8
const U32 = 0x1_0000_0000

/**
 * COMPARE AND SWAP or FETCH AND ADD (IBA 9.4.5): carried out once, its result kept for replay. It is atomic because the adapter
 * does one thing at a time.
 */
export function executeAtomic(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const at = frame.bth + bth.BYTES
  const region = inbound.region!
  const { offset } = inbound
  const record = inbound.table.newest
  record.isAtomic = true
  record.firstSeq = inbound.expectedSeq
  record.lastSeq = inbound.expectedSeq
  record.nextSeq = inbound.expectedSeq
  record.untilSeq = inbound.expectedSeq
  record.msn = ++inbound.msn
  record.region = region
  record.offset = offset
  record.length = WORD_BYTES
  record.address = atomicEth.address(frame.view, at)
  record.originalHigh = readHigh(region, offset)
  record.originalLow = readLow(region, offset)
  if (opcode === Opcode.RC_COMPARE_SWAP) compareAndSwap(frame, at, region, offset)
  else fetchAndAdd(frame, at, region, offset)
  inbound.region = null
  return RequestState.ADVANCE
}

function compareAndSwap(frame: Frame, at: number, region: MemoryRegion, offset: number): void {
  const view = frame.view
  if (
    readHigh(region, offset) === atomicEth.compareHigh(view, at) &&
    readLow(region, offset) === atomicEth.compareLow(view, at)
  ) {
    const high = atomicEth.swapOrAddHigh(view, at)
    writeAtomicResult(region, offset, high, atomicEth.swapOrAddLow(view, at))
  }
}

/** Adds modulo 2^64, in halves. */
function fetchAndAdd(frame: Frame, at: number, region: MemoryRegion, offset: number): void {
  const low = readLow(region, offset) + atomicEth.swapOrAddLow(frame.view, at)
  const carry = low >= U32 ? 1 : 0
  const high = readHigh(region, offset) + atomicEth.swapOrAddHigh(frame.view, at) + carry
  writeAtomicResult(region, offset, high % U32, low % U32)
}

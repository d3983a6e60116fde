import type { Frame } from '../../frame/frame.js'
import * as atomicEth from '../../wire/ib/atomic-eth.js'
import * as bth from '../../wire/ib/bth.js'
import { Opcode } from '../../wire/ib/opcode.js'
import { readHigh, readLow, writeAtomicResult } from '../memory/atomic-memory.js'
import { Access, type MemoryRegion } from '../memory/memory.js'
import type { Inbound } from './inbound.js'
import { Verdict } from './verdict.js'

const WORD_BYTES = 8
const U32 = 0x1_0000_0000

/**
 * COMPARE AND SWAP or FETCH AND ADD, in order (IBA 9.4.5): carried out once, its result kept for replay.
 * It is atomic because the adapter does one thing at a time.
 */
export function onAtomic(inbound: Inbound, frame: Frame, opcode: number): Verdict {
  const settings = inbound.context.settings
  const at = frame.bth + bth.BYTES
  const address = atomicEth.address(frame.view, at)
  // IBA 9.7.4.1 (rights) and 9.4.5 (the address is a multiple of 8).
  if ((settings.access & Access.REMOTE_ATOMIC) === 0 || address % WORD_BYTES !== 0) return Verdict.INVALID
  const region = settings.memory.findIn(settings.domain, atomicEth.rkey(frame.view, at))
  if (
    region === null ||
    !region.allows(Access.REMOTE_ATOMIC) ||
    !region.holds(address - region.address, WORD_BYTES) ||
    !region.admits(address - region.address, WORD_BYTES)
  ) {
    return Verdict.NO_ACCESS
  }
  const record = inbound.table.take()
  if (record === null) return Verdict.INVALID
  const offset = address - region.address
  record.isAtomic = true
  record.firstSeq = inbound.expectedSeq
  record.lastSeq = inbound.expectedSeq
  record.nextSeq = inbound.expectedSeq
  record.untilSeq = inbound.expectedSeq
  record.msn = ++inbound.msn
  record.region = region
  record.offset = offset
  record.length = WORD_BYTES
  record.address = address
  record.originalHigh = readHigh(region, offset)
  record.originalLow = readLow(region, offset)
  if (opcode === Opcode.RC_COMPARE_SWAP) compareAndSwap(frame, at, region, offset)
  else fetchAndAdd(frame, at, region, offset)
  inbound.responsePackets = 1
  return Verdict.ANSWERED
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

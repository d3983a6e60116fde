/** Atomic Extended Transport Header (IBA 9.3.4): 28 bytes, big-endian. 64-bit operands are pairs of u32. */
import { printAddress, readAddress, writeAddress } from './address-64.js'

export const BYTES = 28

const ADDRESS = 0
const RKEY = 8
const SWAP_OR_ADD = 12
const COMPARE = 20

/** Remote virtual address, a multiple of 8. NaN when it is 2^53 or more. */
export function address(view: DataView, at: number): number {
  return readAddress(view, at + ADDRESS)
}

export function rkey(view: DataView, at: number): number {
  return view.getUint32(at + RKEY)
}

export function swapOrAddHigh(view: DataView, at: number): number {
  return view.getUint32(at + SWAP_OR_ADD)
}

export function swapOrAddLow(view: DataView, at: number): number {
  return view.getUint32(at + SWAP_OR_ADD + 4)
}

export function compareHigh(view: DataView, at: number): number {
  return view.getUint32(at + COMPARE)
}

export function compareLow(view: DataView, at: number): number {
  return view.getUint32(at + COMPARE + 4)
}

export function setAddress(view: DataView, at: number, value: number): void {
  writeAddress(view, at + ADDRESS, value)
}

export function setRkey(view: DataView, at: number, value: number): void {
  view.setUint32(at + RKEY, value)
}

export function setSwapOrAdd(view: DataView, at: number, high: number, low: number): void {
  view.setUint32(at + SWAP_OR_ADD, high)
  view.setUint32(at + SWAP_OR_ADD + 4, low)
}

export function setCompare(view: DataView, at: number, high: number, low: number): void {
  view.setUint32(at + COMPARE, high)
  view.setUint32(at + COMPARE + 4, low)
}

/** Operands of an atomic. Each 64-bit word is two halves. */
export interface AtomicEth {
  /** Virtual address, a multiple of 8. */
  address: number
  rkey: number
  /** COMPARE AND SWAP: the new value. FETCH AND ADD: the value to add. */
  swapOrAddHigh: number
  swapOrAddLow: number
  compareHigh: number
  compareLow: number
}

export function write(view: DataView, at: number, header: AtomicEth): void {
  writeAddress(view, at + ADDRESS, header.address)
  view.setUint32(at + RKEY, header.rkey)
  setSwapOrAdd(view, at, header.swapOrAddHigh, header.swapOrAddLow)
  setCompare(view, at, header.compareHigh, header.compareLow)
}

export function print(view: DataView, at: number): string {
  const swap = printAddress(view, at + SWAP_OR_ADD)
  const compare = printAddress(view, at + COMPARE)
  return `va ${printAddress(view, at)} rkey 0x${rkey(view, at).toString(16)} swap-add ${swap} compare ${compare}`
}

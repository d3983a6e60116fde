/**
 * Atomic ACK Extended Transport Header (IBA 9.3): the previous contents of the memory, 64 bits as two u32.
 */
import { printAddress } from './address-64.js'

export const BYTES = 8

export function originalHigh(view: DataView, at: number): number {
  return view.getUint32(at)
}

export function originalLow(view: DataView, at: number): number {
  return view.getUint32(at + 4)
}

function setOriginal(view: DataView, at: number, high: number, low: number): void {
  view.setUint32(at, high)
  view.setUint32(at + 4, low)
}

export function write(view: DataView, at: number, high: number, low: number): void {
  setOriginal(view, at, high, low)
}

export function print(view: DataView, at: number): string {
  return `original ${printAddress(view, at)}`
}

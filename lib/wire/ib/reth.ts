/** RDMA Extended Transport Header (IBA 9.3.3): 16 bytes, big-endian; WRITE FIRST/ONLY and READ requests. */
import { printAddress, readAddress, writeAddress } from './address-64.js'

export const BYTES = 16

const ADDRESS = 0
const RKEY = 8
const LENGTH = 12

/** Remote virtual address. NaN when it is 2^53 or more. */
export function address(view: DataView, at: number): number {
  return readAddress(view, at + ADDRESS)
}

export function rkey(view: DataView, at: number): number {
  return view.getUint32(at + RKEY)
}

/** Bytes of the whole message, 0 to 2^32 - 1. The standard allows up to 2^31. */
export function length(view: DataView, at: number): number {
  return view.getUint32(at + LENGTH)
}

/** @param value an integer, 0 to 2^53 - 1 */
export function setAddress(view: DataView, at: number, value: number): void {
  writeAddress(view, at + ADDRESS, value)
}

export function setRkey(view: DataView, at: number, value: number): void {
  view.setUint32(at + RKEY, value)
}

export function setLength(view: DataView, at: number, value: number): void {
  view.setUint32(at + LENGTH, value)
}

export function write(view: DataView, at: number, virtualAddress: number, key: number, bytes: number): void {
  writeAddress(view, at + ADDRESS, virtualAddress)
  view.setUint32(at + RKEY, key)
  view.setUint32(at + LENGTH, bytes)
}

export function print(view: DataView, at: number): string {
  return `va ${printAddress(view, at)} rkey 0x${rkey(view, at).toString(16)} dmalen ${length(view, at)}`
}

import { existsSync, readFileSync } from 'node:fs'
import { interfaceOf } from './interface-of.js'

/** Stands for the rate of interfaces that are no network card: there the machine is the limit. */
const VIRTUAL_RATE_BPS = 40e9

/** MTU of the interface that has this address where the OS says (Linux), else Ethernet's 1500. */
export function interfaceMtu(address: string): number {
  const mtu = Number(read(address, 'mtu'))
  return mtu >= 576 ? Math.min(mtu, 65_535) : 1500
}

/** Rate of the network card that has this address, bit/s, where the OS says (Linux); 40 Gbit/s for anything else. */
export function interfaceRateBps(address: string): number {
  // The speed that a virtual interface claims means nothing.
  const mbps = Number(read(address, 'device') === null ? null : read(address, 'speed'))
  return mbps > 0 ? mbps * 1e6 : VIRTUAL_RATE_BPS
}

/** What Linux says about the interface that has this address: text, '' for a folder, null if nothing. */
function read(address: string, attribute: string): string | null {
  const name = interfaceOf(address)
  if (name === null) return null
  const path = `/sys/class/net/${name}/${attribute}`
  try {
    return attribute === 'device' ? (existsSync(path) ? '' : null) : readFileSync(path, 'utf8').trim()
  } catch {
    // Not Linux, or an interface without such a thing.
    return null
  }
}

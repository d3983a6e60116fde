import { existsSync, readFileSync } from 'node:fs'
import { interfaceOf } from './interface-of.js'

/** The assumed rate of interfaces that are no network card. The machine limits their rate. */
const VIRTUAL_RATE_BPS = 40e9

/**
 * Returns the MTU of the interface that has this address, bytes, if the OS reports it (Linux), else
 * Ethernet's 1500.
 */
export function interfaceMtu(address: string): number {
  const mtu = Number(read(address, 'mtu'))
  return mtu >= 576 ? Math.min(mtu, 65_535) : 1500
}

/**
 * Returns the rate of the network card that has this address, bit/s, if the OS reports it (Linux). Returns 40
 * Gbit/s for anything else.
 */
export function interfaceRateBps(address: string): number {
  // The speed that a virtual interface reports is meaningless.
  const mbps = Number(read(address, 'device') === null ? null : read(address, 'speed'))
  return mbps > 0 ? mbps * 1e6 : VIRTUAL_RATE_BPS
}

/**
 * Returns what Linux reports about the interface that has this address: a text, '' for a folder, null if
 * nothing.
 */
function read(address: string, attribute: string): string | null {
  const name = interfaceOf(address)
  if (name === null) return null
  const path = `/sys/class/net/${name}/${attribute}`
  try {
    return attribute === 'device' ? (existsSync(path) ? '' : null) : readFileSync(path, 'utf8').trim()
  } catch {
    // The OS is not Linux, or the interface lacks this attribute.
    return null
  }
}

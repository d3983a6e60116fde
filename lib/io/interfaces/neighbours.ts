import { readFileSync } from 'node:fs'
import type { HostAddress } from '../../wire/net/address.js'
import { type MacAddress, parseMac } from '../../wire/net/mac.js'

/** Flag of a resolved entry (linux/if_arp.h, ATF_COM). */
const COMPLETE = 0x02

/**
 * The neighbours on an interface that the kernel of this network namespace knows (proc(5), /proc/net/arp),
 * IPv4 only. It sends no request to the network: neighbours that the kernel has not resolved, or has
 * forgotten, are unknown.
 */
export class Neighbours {
  readonly #interface: string

  constructor(interfaceName: string) {
    this.#interface = interfaceName
  }

  /**
   * Returns the neighbour's MAC address, or undefined if it is not known. It reads a file, so do not call it
   * for every packet.
   */
  macOf(address: HostAddress): MacAddress | undefined {
    return address.family === 4 ? findMac(readTable(), this.#interface, address.toString()) : undefined
  }
}

/** Columns: IP address, HW type, Flags, HW address, Mask, Device. */
export function findMac(table: string, interfaceName: string, address: string): MacAddress | undefined {
  for (const line of table.split('\n').slice(1)) {
    const [entry, , flags, mac, , device] = line.trim().split(/\s+/)
    if (entry !== address || mac === undefined || device !== interfaceName) continue
    if ((Number(flags) & COMPLETE) !== 0) return parseMac(mac)
  }
  return undefined
}

function readTable(): string {
  try {
    return readFileSync('/proc/net/arp', 'utf8')
  } catch {
    return ''
  }
}

import { readFileSync } from 'node:fs'
import { endianness, networkInterfaces } from 'node:os'
import { HostAddress } from '../../wire/net/address.js'

/**
 * Returns the name of the network interface of this host that has this address, or null. Node omits
 * interfaces without carrier, for example a link whose other end is down. On Linux this function finds those
 * in the kernel's tables.
 *
 * @param address literal. For 127.0.0.0/8 any address of it. Throws WEIR_BAD_ARGUMENT for anything else
 */
export function interfaceOf(address: string): string | null {
  const wanted = HostAddress.parse(address)
  const text = wanted.toString()
  const isLoopback = text.startsWith('127.')
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    const has = addresses?.some(({ address: own }) =>
      isLoopback ? own.startsWith('127.') : own === text || own === address,
    )
    if (has) return name
  }
  return wanted.family === 4
    ? interfaceByRoutes(readTable('/proc/net/route'), wanted)
    : interfaceByAddresses(readTable('/proc/net/if_inet6'), wanted)
}

/**
 * Searches the table of IPv4 routes for the interface that reaches the address's network without a gateway.
 * If there are several, the longest prefix decides. Columns (proc(5)): interface, destination, gateway,
 * flags, three counts, mask. Addresses are in hex, in the machine's byte order.
 */
export function interfaceByRoutes(table: string, address: HostAddress): string | null {
  let found: string | null = null
  let narrowest = -1
  for (const line of table.split('\n').slice(1)) {
    const [name, destination, gateway, , , , , maskText] = line.trim().split(/\s+/)
    if (name === undefined || destination === undefined || maskText === undefined) continue
    const mask = ipv4Of(maskText)
    const isDirect = ipv4Of(gateway!) === 0
    if (!isDirect || (address.ipv4 & mask) >>> 0 !== ipv4Of(destination) || mask <= narrowest) continue
    found = name
    narrowest = mask
  }
  return found
}

/**
 * Searches the table of IPv6 addresses. Columns: address as 32 hex digits, index, length of prefix, scope,
 * flags, interface.
 */
export function interfaceByAddresses(table: string, address: HostAddress): string | null {
  const digits = Buffer.from(address.gid).toString('hex')
  for (const line of table.split('\n')) {
    const [own, , , , , name] = line.trim().split(/\s+/)
    if (own === digits && name !== undefined) return name
  }
  return null
}

function ipv4Of(hex: string): number {
  const bytes = Buffer.from(hex.padStart(8, '0'), 'hex')
  return endianness() === 'LE' ? bytes.readUInt32LE() : bytes.readUInt32BE()
}

function readTable(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

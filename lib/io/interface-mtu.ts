import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

/** MTU of the interface that has this address where the OS says (Linux), else Ethernet's 1500. */
export function interfaceMtu(address: string): number {
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    const loopback = address.startsWith('127.') && addresses?.some(a => a.address.startsWith('127.'))
    if (!loopback && !addresses?.some(a => a.address === address)) continue
    try {
      const mtu = Number(readFileSync(`/sys/class/net/${name}/mtu`, 'utf8'))
      if (mtu >= 576) return Math.min(mtu, 65_535)
    } catch {
      // Not Linux: there is no portable way to ask.
    }
  }
  return 1500
}

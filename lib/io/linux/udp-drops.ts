import { readFileSync } from 'node:fs'
import { HostAddress } from '../../wire/net/address.js'

/** Columns of /proc/net/udp (Documentation/networking/proc_net_tcp.rst): the local address and port, and the last one. */
const LOCAL_COLUMN = 1

/**
 * Returns how many datagrams the kernel has dropped at the socket with this address and port, because nobody read them in time. 0 where
 * the system does not say.
 */
export function udpDrops(address: string, port: number): number {
  const local = `${procAddress(HostAddress.parse(address))}:${port.toString(16).toUpperCase().padStart(4, '0')}`
  let drops = 0
  for (const line of tableOf(HostAddress.parse(address).family)) {
    const columns = line.trim().split(/\s+/)
    if (columns[LOCAL_COLUMN] === local) drops += Number(columns.at(-1))
  }
  return drops
}

function tableOf(family: 4 | 6): string[] {
  try {
    return readFileSync(family === 4 ? '/proc/net/udp' : '/proc/net/udp6', 'latin1').split('\n')
  } catch {
    return []
  }
}

/** Words of 32 bits as the machine has them: little-endian on all that Weir runs on. */
function procAddress({ family, gid }: HostAddress): string {
  const bytes = Buffer.from(gid.subarray(family === 4 ? 12 : 0))
  return bytes.swap32().toString('hex').toUpperCase()
}

/** Names of hosts to addresses. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { WeirError } from '../../errors.js'
import { hostPort } from '../../host-port.js'
import { HostAddress } from '../../wire/net/address.js'

/**
 * The address of `host`, a name or an address, in the family of `local`. Throws WEIR_UNREACHABLE,
 * WEIR_BAD_ARGUMENT.
 */
export async function resolveHost(host: string, local: HostAddress): Promise<HostAddress> {
  const address = isIP(host) ? HostAddress.parse(host) : await lookUp(host, local.family)
  if (address.family !== local.family) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `${host} is an IPv${address.family} address, this daemon has ${local}: start one with --address of that family`,
    )
  }
  const kind = kindOfMany(address)
  if (kind === null) return address
  throw new WeirError('WEIR_BAD_ARGUMENT', `${host} is ${kind} address: name the address of one host`)
}

/** What an address means that is no host's, in words; else null. */
function kindOfMany(address: HostAddress): string | null {
  const { family, ipv4, gid } = address
  if (family === 4 ? ipv4 === 0 : gid.every(byte => byte === 0)) return 'the unspecified'
  if (family === 4 && ipv4 === 0xffffffff) return 'the broadcast'
  return (family === 4 ? ipv4 >>> 28 === 0xe : gid[0] === 0xff) ? 'a multicast' : null
}

async function lookUp(host: string, family: 4 | 6): Promise<HostAddress> {
  try {
    const found = await lookup(host, { family })
    return HostAddress.parse(found.address)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const text = `${host} has no IPv${family} address (${code ?? (cause as Error).message})`
    throw new WeirError('WEIR_UNREACHABLE', text, { cause })
  }
}

/** A host as messages name it: with its UDP port, if one was named. @param port 0 = none was */
export function peerName(host: string, port: number): string {
  if (port === 0) return host
  return hostPort(host, port)
}

/** True for 127.0.0.0/8 and ::1. */
export function isLoopback(address: HostAddress): boolean {
  return address.family === 4 ? address.ipv4 >>> 24 === 127 : address.toString() === '::1'
}

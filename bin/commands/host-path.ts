import { isIPv6 } from 'node:net'
import { WeirError } from '../../lib/errors.js'

/** `HOST`, `HOST:PATH`, `[IPv6]:PATH` or a bare IPv6 address. Throws WEIR_BAD_ARGUMENT; `expected` says where. */
export function parseHostPath(text: string, expected: string): { host: string; path: string } {
  if (isIPv6(text)) return { host: text, path: '' }
  const match = /^(?:\[([^\]]+)\]|([^:[\]/]+))(?::(.*))?$/s.exec(text)
  const host = match?.[1] ?? match?.[2]
  if (host) return { host, path: match?.[3] ?? '' }
  throw new WeirError('WEIR_BAD_ARGUMENT', `"${text}" is no host: ${expected}`)
}

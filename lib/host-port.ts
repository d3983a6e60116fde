/** Hosts with their ports, as people write them: an IPv6 address contains colons, so it stands in brackets. */
import { isIPv6 } from 'node:net'

/** HOST:PORT for people. */
export function hostPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

export interface HostAndRest {
  /** A name or an address, without brackets. */
  host: string
  hasBrackets: boolean
  /** What follows the colon behind the host; null: there is none. */
  rest: string | null
}

/** Splits `HOST`, `HOST:REST`, `[IPv6]` and `[IPv6]:REST`. Null: it is none of them. What host and rest are is not looked at. */
export function splitHost(text: string): HostAndRest | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(.*))?$/s.exec(text)
  if (match === null) return null
  const [, inBrackets, plain, rest = null] = match
  return { host: (inBrackets ?? plain)!, hasBrackets: inBrackets !== undefined, rest }
}

/**
 * Parses how a command line names a host, and a path there.
 *
 * | form | |
 * |---|---|
 * | `HOST`, `HOST:PATH` | as in scp; HOST is a name or an IPv4 address |
 * | `[IPv6]`, `[IPv6]:PATH`, `IPv6` | an IPv6 address contains colons, so a path needs the brackets |
 * | `weir://HOST[:PORT][/PATH]` | with the UDP port of the host's daemon; special characters are written as
 * %XX |
 *
 * Only the URL has a port: after `HOST:` comes a path. A path that looks like a port is refused.
 */
import { isIPv6 } from 'node:net'
import { WeirError } from '../../lib/errors.js'
import { UDP_PORT } from '../../lib/nic/nic-options.js'
import type { CommandOption } from '../../lib/options/option.js'
import { parseNumber } from '../../lib/options/parse-options.js'

/** A scheme may be in capitals (RFC 3986, section 3.1). */
const SCHEME = /^weir:\/\//i
/** `--port` of commands that name another host. */
export const PEER_PORT = {
  ...UDP_PORT,
  doc: "UDP port of the host's daemon",
  command: { flag: '-P, --port <port>', usual: 'that of the daemon on this host' },
} as const satisfies CommandOption

export interface HostPath {
  host: string
  /** UDP port. 0 = not given. */
  port: number
  /** '' = not given. */
  path: string
}

/**
 * Throws WEIR_BAD_ARGUMENT.
 *
 * @param expected what the command wants there, for the message
 * @param portOption value of --port, 0 if absent
 */
export function parseHostPath(text: string, expected: string, portOption = 0): HostPath {
  const isUrl = SCHEME.test(text)
  const named = isUrl ? parseUrl(text) : parsePlain(text)
  if (named === null) throw bad(`"${text}" is no host: ${expected}`)
  if (named.port !== 0 && portOption !== 0 && named.port !== portOption) {
    throw bad(`"${text}" names port ${named.port}, --port is ${portOption}: leave one of them out`)
  }
  if (!isUrl && /^\d{1,5}(:|$)/.test(named.path)) throw lookLikePort(text, named)
  return { ...named, port: named.port || portOption }
}

/** Parses a host without a path. Throws WEIR_BAD_ARGUMENT. */
export function parseHost(text: string, portOption = 0): Omit<HostPath, 'path'> {
  const { host, port, path } = parseHostPath(text, 'HOST, [IPv6] or weir://HOST:PORT is expected', portOption)
  if (path === '') return { host, port }
  throw bad(`"${text}" names a path: a host alone is expected`)
}

/**
 * Returns true for the name of a host, false for a file of this machine. As in scp, a colon before any slash
 * makes a host. `./a:b` is a file.
 */
export function namesHost(text: string): boolean {
  return SCHEME.test(text) || /^(?:\[[^\]]*\]|[^/:]*):/.test(text)
}

/** Parses `--port`. Returns 0 if it is absent. Throws WEIR_BAD_ARGUMENT. */
export function portOption(text: string | undefined): number {
  return text === undefined ? 0 : parseNumber('--port', PEER_PORT, text)
}

function parsePlain(text: string): HostPath | null {
  if (isIPv6(text)) return { host: text, port: 0, path: '' }
  const match = /^(?:\[([^\]]+)\]|([^:[\]/]+))(?::(.*))?$/s.exec(text)
  const host = match?.[1] ?? match?.[2]
  return host ? { host, port: 0, path: match?.[3] ?? '' } : null
}

function parseUrl(text: string): HostPath | null {
  const match = /^weir:\/\/(?:\[([^\]]+)\]|([^:[\]/?#]+))(?::([^/?#]*))?(?:\/([^?#]*))?$/is.exec(text)
  const host = match?.[1] ?? match?.[2]
  if (!host) return null
  const port = match?.[3] === undefined ? 0 : parseNumber(`the port of "${text}"`, PEER_PORT, match[3])
  return { host, port, path: decoded(match?.[4] ?? '', text) }
}

function decoded(path: string, text: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw bad(`"${text}": a % in a URL is written as %25`)
  }
}

function lookLikePort(text: string, { host, path }: HostPath): WeirError {
  const [port = '', ...rest] = path.split(':')
  const name = isIPv6(host) ? `[${host}]` : host
  const more = rest.length > 0 ? `/${rest.join(':')}` : ''
  const meant = rest.length > 0 ? `${name}:${rest.join(':')}` : name
  return bad(
    `"${text}" may mean port ${port} or a path: write ${meant} --port ${port}, or weir://${name}:${port}${more}, for the port, and ${name}:./${path} for the path`,
  )
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}

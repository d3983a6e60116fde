/**
 * Parses how a command line names a host, and a path there.
 *
 * | form | |
 * |---|---|
 * | `HOST`, `HOST:PATH` | as in scp; HOST is a name or an IPv4 address |
 * | `HOST:PORT`, `HOST:PORT:PATH` | with the UDP port of the host's daemon |
 * | `[IPv6]`, `[IPv6]:PATH`, `[IPv6]:PORT:PATH`, `IPv6` | an IPv6 address contains colons, so a port or path needs the brackets |
 * | `weir://HOST[:PORT][/PATH]` | with the UDP port of the host's daemon; special characters are written as
 * %XX |
 *
 * One to five digits behind the first colon are a port if nothing or another colon follows them. So `HOST:2024/may` is a path, and a path
 * of such digits alone is written `HOST:./2024` or `HOST:2024/`.
 */
import { isIPv6 } from 'node:net'
import { WeirError } from '../../lib/errors.js'
import { splitHost } from '../../lib/host-port.js'
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
  const named = SCHEME.test(text) ? parseUrl(text) : parsePlain(text)
  if (named === null) throw bad(`"${text}" is no host: ${expected}`)
  if (named.port !== 0 && portOption !== 0 && named.port !== portOption) {
    throw bad(`"${text}" names port ${named.port}, --port is ${portOption}: leave one of them out`)
  }
  return { ...named, port: named.port || portOption }
}

/** Parses a host without a path. Throws WEIR_BAD_ARGUMENT. */
export function parseHost(text: string, portOption = 0): Omit<HostPath, 'path'> {
  const { host, port, path } = parseHostPath(text, 'HOST, HOST:PORT or [IPv6]:PORT is expected', portOption)
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
  const split = splitHost(text)
  if (split === null || (!split.hasBrackets && split.host.includes('/'))) return null
  return { host: split.host, ...portAndPath(split.rest ?? '', text) }
}

/** What stands behind `HOST:`. */
function portAndPath(rest: string, text: string): { port: number; path: string } {
  const match = /^(\d{1,5})(?::(.*))?$/s.exec(rest)
  if (!match) return { port: 0, path: rest }
  const [, digits = '', path = ''] = match
  const port = Number(digits)
  if (port >= PEER_PORT.min && port <= PEER_PORT.max) return { port, path }
  const meant = text.slice(0, text.length - rest.length)
  throw bad(
    `the port of "${text}" is a whole number from ${PEER_PORT.min} to ${PEER_PORT.max}; for the path write ${meant}./${rest}`,
  )
}

function parseUrl(text: string): HostPath | null {
  const [, authority = '', path = ''] = /^weir:\/\/([^/?#]*)(?:\/([^?#]*))?$/is.exec(text) ?? []
  const split = splitHost(authority)
  if (split === null) return null
  const { host, rest } = split
  const port = rest === null ? 0 : parseNumber(`the port of "${text}"`, PEER_PORT, rest)
  return { host, port, path: decoded(path, text) }
}

function decoded(path: string, text: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw bad(`"${text}": a % in a URL is written as %25`)
  }
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}

/** Which TCP targets a daemon dials for other hosts: none but those that its rules name. */
import { BlockList, isIP, isIPv6 } from 'node:net'
import { WeirError } from '../errors.js'
import { hostPort, splitHost } from '../host-port.js'

export interface Target {
  /** Name or address. */
  host: string
  port: number
}

const PORT_MAX = 65_535
const NAME_BYTES_MAX = 255

/** `host:port`, `[IPv6]:port`. Throws WEIR_BAD_ARGUMENT. */
export function parseTarget(text: string, what: string): Target {
  const { host, port } = split(text, what)
  if (port === '*' || host === '*' || host.includes('/')) throw bad(what, text)
  return { host, port: Number(port) }
}

export function showTarget({ host, port }: Target): string {
  return hostPort(host, port)
}

interface Rule {
  text: string
  port: number | '*'
  /** Whether it names the host as the peer calls it. */
  namesHost(host: string): boolean
  /** Whether it has that address. */
  hasAddress(address: string): boolean
}

/** Rules HOST:PORT. HOST is a name, an address, ADDRESS/BITS or *; PORT a number or *. */
export class AllowedTargets {
  readonly #rules: readonly Rule[]

  /** Throws WEIR_BAD_ARGUMENT for a rule that is none. */
  constructor(rules: readonly string[]) {
    this.#rules = rules.map(parseRule)
  }

  /** The rules as they were given. */
  get texts(): string[] {
    return this.#rules.map(({ text }) => text)
  }

  /** Whether a rule names the target as the peer does, whatever its address. */
  allowsName({ host, port }: Target): boolean {
    return this.#rules.some(rule => isPort(rule, port) && rule.namesHost(host))
  }

  /** Whether a rule has that address. */
  allowsAddress(address: string, port: number): boolean {
    return this.#rules.some(rule => isPort(rule, port) && rule.hasAddress(address))
  }

  /** Whether an address could be allowed: only then is a name resolved that no rule names. */
  mayAllow(port: number): boolean {
    return this.#rules.some(rule => isPort(rule, port))
  }
}

function isPort(rule: Rule, port: number): boolean {
  return rule.port === '*' || rule.port === port
}

function parseRule(text: string): Rule {
  const what = '--allow-tunnel'
  const { host, port } = split(text, what)
  const rule = { text, port: port === '*' ? ('*' as const) : Number(port) }
  if (host === '*') return { ...rule, namesHost: () => true, hasAddress: () => true }
  const [, address = host, bits] = /^(.*)\/(\d+)$/.exec(host) ?? []
  const family = isIP(address)
  if (family === 0) {
    if (bits !== undefined) throw bad(what, text)
    const name = canonicalName(host)
    return { ...rule, namesHost: asked => canonicalName(asked) === name, hasAddress: () => false }
  }
  const list = new BlockList()
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  try {
    list.addSubnet(address, Number(bits ?? (family === 4 ? 32 : 128)), kind)
  } catch {
    throw bad(what, text)
  }
  const hasAddress = (asked: string) => list.check(asked, isIPv6(asked) ? 'ipv6' : 'ipv4')
  return { ...rule, namesHost: asked => isIP(asked) !== 0 && hasAddress(asked), hasAddress }
}

/** Names differ neither by case nor by a dot at their end (RFC 1034, 3.1). */
function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

function split(text: string, what: string): { host: string; port: string } {
  const parts = splitHost(text)
  if (parts === null || parts.rest === null || /\s/.test(parts.host)) throw bad(what, text)
  const { host, hasBrackets, rest: port } = parts
  if (!/^(?:\d{1,5}|\*)$/.test(port)) throw bad(what, text)
  if (hasBrackets && !isIPv6(host.replace(/\/\d+$/, ''))) throw bad(what, text)
  const isInRange = port === '*' || (Number(port) >= 1 && Number(port) <= PORT_MAX)
  if (!isInRange || Buffer.byteLength(host) > NAME_BYTES_MAX) throw bad(what, text)
  return { host, port }
}

function bad(what: string, text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `${what}: HOST:PORT or [IPv6]:PORT is expected, not "${text}"`)
}

import { isIP, isIPv6 } from 'node:net'
import type { Command } from 'commander'
import { connectDaemon, type Progress, type TunnelRequest } from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { type HostAndRest, splitHost } from '../../lib/host-port.js'
import { printable } from '../../lib/printable.js'
import { readPrivateFile } from '../../lib/secure/private-file.js'
import { parseTarget, showTarget } from '../../lib/tunnel/targets.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { termList } from '../help-style.js'
import { PEER_PORT, parseHost, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { withSocketOption } from './socket-option.js'
import { addValueOptions } from './value-options.js'

export interface TunnelFlags {
  via?: string
  socks?: boolean
  socksAuth?: string
  port?: string
  socket: string
}

const LISTEN = [
  ['PORT', 'of 127.0.0.1: every user of this machine may connect; 0: the system chooses one'],
  ['ADDRESS:PORT, [IPv6]:PORT', 'of that address; with --socks beyond loopback only with --socks-auth'],
] as const

/** A name and a password of 255 bytes each, as many as RFC 1929 takes, and two more characters. */
const CREDENTIALS_BYTES_MAX = 512

/** `weir tunnel LISTEN TARGET` */
export function tunnelCommand(): Command {
  const command = commandOf('tunnel')
    .argument('<listen>', 'where TCP clients connect')
    .argument('[target]', 'HOST:PORT that the other daemon dials')
    .option('--via <host>', 'host whose daemon dials (default: the host of TARGET)')
    .option('--socks', 'be a SOCKS5 proxy (CONNECT): clients name the target')
    .option(
      '--socks-auth <file>',
      'with --socks: clients say the name and password of this file, as NAME:PASSWORD; of mode 0600',
    )
    .action(runTunnel)
  addValueOptions(command, [PEER_PORT])
  return withSocketOption(command).addHelpText('after', ({ command }) =>
    termList(command, 'Where clients connect:', LISTEN),
  )
}

async function runTunnel(listen: string, target: string | undefined, flags: TunnelFlags): Promise<void> {
  const request = tunnelRequestOf(listen, target, flags)
  const cancelled = new AbortController()
  const client = await connectDaemon(flags.socket)
  const removeHandlers = cancelOnSignal(cancelled)
  try {
    await client.tunnel(request, { signal: cancelled.signal, onProgress: reporter(request) })
  } catch (error) {
    if (!(error instanceof WeirError) || error.code !== 'WEIR_CANCELLED' || !cancelled.signal.aborted)
      throw error
    throw new WeirError(error.code, error.message, { cause: cancelled.signal.reason })
  } finally {
    client.close()
    removeHandlers()
  }
}

/** Says once where it listens, and each time that connections could not be carried. */
function reporter({
  targetHost = '',
  targetPort = 0,
  host = '',
}: Partial<TunnelRequest>): (progress: Progress) => void {
  let refusedBefore = -1
  return ({ tunnel }) => {
    if (!tunnel) return
    const { listening, refused, lastRefusal } = tunnel
    if (refusedBefore < 0) {
      const what =
        targetHost === '' ? 'SOCKS5 proxy' : `to ${showTarget({ host: targetHost, port: targetPort })}`
      process.stdout.write(`listening at ${listening}: ${what} by the daemon of ${host}; Ctrl-C ends it\n`)
      refusedBefore = 0
    }
    if (refused > refusedBefore)
      process.stderr.write(`${refused - refusedBefore} not carried: ${printable(lastRefusal)}\n`)
    refusedBefore = refused
  }
}

/** Throws WEIR_BAD_ARGUMENT. */
export function tunnelRequestOf(
  listen: string,
  target: string | undefined,
  flags: TunnelFlags,
): Partial<TunnelRequest> {
  const { socks = false, via, socksAuth } = flags
  if (socks === (target !== undefined))
    throw bad(
      socks
        ? 'with --socks clients name the target: leave TARGET out'
        : 'name a TARGET as HOST:PORT, or be a proxy by --socks',
    )
  if (socksAuth !== undefined && !socks) throw bad('--socks-auth is for --socks')
  if (socks && via === undefined) throw bad('--socks: name the host whose daemon dials by --via')
  const dialled = target === undefined ? null : parseTarget(target, 'TARGET')
  const place = listenOf(listen)
  if (socks && socksAuth === undefined && !isLoopback(place.listenAddress))
    throw bad(
      `a SOCKS5 proxy at ${place.listenAddress} is open to other hosts: give it a name and password by --socks-auth`,
    )
  return {
    ...place,
    ...parseHost(via ?? dialled!.host, portOption(flags.port)),
    ...(dialled === null ? {} : { targetHost: dialled.host, targetPort: dialled.port }),
    ...(socksAuth === undefined ? {} : readCredentials(socksAuth)),
  }
}

const NOWHERE: HostAndRest = { host: '', hasBrackets: false, rest: null }

function listenOf(text: string): { listenAddress: string; listenPort: number } {
  const hasPortAlone = /^\d+$/.test(text)
  const {
    host: address,
    hasBrackets,
    rest: port,
  } = splitHost(hasPortAlone ? `127.0.0.1:${text}` : text) ?? NOWHERE
  const isAddress = hasBrackets ? isIPv6(address) : isIP(address) !== 0
  if (!isAddress || port === null || !/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw bad(`LISTEN is PORT, ADDRESS:PORT or [IPv6]:PORT, not "${text}"`)
  return { listenAddress: address, listenPort: Number(port) }
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}

function readCredentials(path: string): { name: string; password: string } {
  let text: string
  try {
    text = readPrivateFile(path, CREDENTIALS_BYTES_MAX).toString()
  } catch (cause) {
    if (cause instanceof WeirError) throw cause
    throw new WeirError('WEIR_NO_FILE', `--socks-auth: ${(cause as Error).message}`, { cause })
  }
  const [, name, password] = /^([^:\n]+):([^\n]+)\n?$/.exec(text) ?? []
  if (name === undefined || password === undefined) throw bad(`${path} has no line NAME:PASSWORD`)
  return { name, password }
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}

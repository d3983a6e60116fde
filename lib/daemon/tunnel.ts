/** Answers requests to carry TCP connections, and dials for other hosts. */
import type { RequestBodies } from '../control/messages.js'
import type { Handler, RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { Logger } from '../log.js'
import type { StreamNic } from '../stream/nic-stream.js'
import { resolveHost } from '../transfer/task/resolve.js'
import { TunnelListener, type TunnelMode } from '../tunnel/tunnel-listener.js'
import { TunnelServer } from '../tunnel/tunnel-server.js'
import { TunnelStreams } from '../tunnel/tunnel-streams.js'
import type { HostParts } from './host-parts.js'

/** Listeners of one daemon at a time. */
const LISTENERS_MAX = 16
const PROGRESS_EVERY_MS = 500
/**
 * What a TCP connection says that its other end has reset, here or at the other daemon, or that a client says which leaves before it is
 * carried.
 */
const BY_ENDS: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'WEIR_STREAM_RESET', 'WEIR_CANCELLED'])

/** That an end leaves is usual. */
function levelOf({ code = '' }: NodeJS.ErrnoException): 'debug' | 'warn' {
  return BY_ENDS.has(code) ? 'debug' : 'warn'
}

/** Begins to dial for other hosts, as far as the rules allow. */
export function serveTunnels(host: HostParts): TunnelServer {
  return new TunnelServer(nicOf(host), host.tunnels, host.allowedTargets, (peer, error) =>
    host.log[levelOf(error)]({ peer, err: error }, 'a TCP connection was not carried for another host'),
  )
}

/** The TCP connections of a daemon. The log names what resets them: by `debug` if that was one of their own ends. */
export function newTunnelStreams(log: Logger): TunnelStreams {
  return new TunnelStreams(({ direction, peer, target, client }, cause) => {
    log[levelOf(cause)]({ direction, peer, target, client, err: cause }, 'a TCP connection was reset')
  })
}

/** Returns the handler of requests to listen. */
export function tunnelHandler(host: HostParts): Handler<'tunnel'> {
  let listeners = 0
  return async (request, context) => {
    if (listeners === LISTENERS_MAX)
      throw new WeirError('WEIR_FULL', `${LISTENERS_MAX} tunnels listen at this daemon already`)
    listeners++
    try {
      return await listen(host, request, context)
    } finally {
      listeners--
    }
  }
}

async function listen(
  host: HostParts,
  request: RequestBodies['tunnel'],
  { signal, progress }: RequestContext,
): Promise<never> {
  const remote = await resolveHost(request.host, host.address)
  let lastRefusal = ''
  const listener = await TunnelListener.open(request.listenAddress, request.listenPort, {
    nic: nicOf(host),
    streams: host.tunnels,
    via: {
      remote,
      options: { peerName: request.host, ...(request.port === 0 ? {} : { udpPort: request.port }) },
    },
    mode: modeOf(request),
    onRefused: error => {
      lastRefusal = error.message
      host.log[levelOf(error)]({ err: error }, 'a TCP connection was not carried')
      report()
    },
  })
  const report = () => {
    const { address: listening, carried: live, counters } = listener
    progress({ state: 'listening', tunnel: { listening, live, ...counters, lastRefusal } })
  }
  report()
  const timer = setInterval(report, PROGRESS_EVERY_MS)
  try {
    await new Promise<void>(resolve => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      if (signal.aborted) resolve()
    })
  } finally {
    clearInterval(timer)
    await listener.close()
  }
  throw new WeirError('WEIR_CANCELLED', 'the tunnel was ended')
}

/** Throws WEIR_BAD_ARGUMENT. */
function modeOf({ targetHost, targetPort, name, password }: RequestBodies['tunnel']): TunnelMode {
  if (targetHost !== '') return { target: { host: targetHost, port: targetPort } }
  if (Buffer.byteLength(name) > 255 || Buffer.byteLength(password) > 255)
    throw new WeirError('WEIR_BAD_ARGUMENT', 'name and password of SOCKS5 have at most 255 bytes')
  if ((name === '') !== (password === ''))
    throw new WeirError('WEIR_BAD_ARGUMENT', 'SOCKS5 takes a name and a password, or neither')
  return { socks: name === '' ? null : { name, password } }
}

function nicOf({ verbs, loop }: HostParts): StreamNic {
  return { verbs, now: () => loop.now(), wake: () => loop.wake() }
}

/** The TCP connection that a daemon makes for another host. */
import { lookup } from 'node:dns/promises'
import { connect, isIP, type Socket } from 'node:net'
import type { DialFailure } from './messages.js'
import { type AllowedTargets, showTarget, type Target } from './targets.js'

/** How long a target may take to answer. */
const DIAL_MS = 10_000

/** Why a target was not dialled, or did not answer. */
export class DialError extends Error {
  readonly reason: DialFailure

  constructor(reason: DialFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/**
 * Dials a target that the rules allow. A name that no rule names is resolved, and dialled by its address if a rule has that: so nobody gets
 * around a rule by a name that means another address the next time. Throws DialError.
 */
export async function dial(target: Target, allowed: AllowedTargets, signal: AbortSignal): Promise<Socket> {
  const host = await addressOf(target, allowed)
  return await new Promise((resolve, reject) => {
    const socket = connect({ host, port: target.port, allowHalfOpen: true, noDelay: true })
    const timer = setTimeout(
      () => fail(new DialError('TIMED_OUT', `${showTarget(target)} does not answer`)),
      DIAL_MS,
    )
    const fail = (error: Error) => {
      settle()
      socket.destroy()
      reject(error)
    }
    const onError = (error: NodeJS.ErrnoException) => fail(dialError(target, error))
    const onAbort = () => fail(new DialError('FAILED', 'the stream has ended'))
    const settle = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      socket.off('error', onError)
    }
    socket.once('error', onError)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    socket.once('connect', () => {
      settle()
      resolve(socket)
    })
  })
}

/** What is dialled: the name as it is where a rule has it, else an address that a rule has. */
async function addressOf(target: Target, allowed: AllowedTargets): Promise<string> {
  if (allowed.allowsName(target)) return target.host
  const refused = new DialError(
    'NOT_ALLOWED',
    `this daemon dials no ${showTarget(target)} for others (--allow-tunnel)`,
  )
  if (isIP(target.host) !== 0 || !allowed.mayAllow(target.port)) throw refused
  const addresses = await lookup(target.host, { all: true }).catch((error: Error) => {
    throw new DialError('NO_NAME', `${target.host} has no address`, { cause: error })
  })
  const found = addresses.find(({ address }) => allowed.allowsAddress(address, target.port))
  if (found === undefined) throw refused
  return found.address
}

const REASONS: Readonly<Record<string, DialFailure>> = {
  ECONNREFUSED: 'CONNECTION_REFUSED',
  EHOSTUNREACH: 'HOST_UNREACHABLE',
  EHOSTDOWN: 'HOST_UNREACHABLE',
  ENETUNREACH: 'NETWORK_UNREACHABLE',
  ETIMEDOUT: 'TIMED_OUT',
  ENOTFOUND: 'NO_NAME',
  EAI_AGAIN: 'NO_NAME',
}

function dialError(target: Target, error: NodeJS.ErrnoException): DialError {
  const code = error.code ?? (error as AggregateError & NodeJS.ErrnoException).errors?.[0]?.code
  return new DialError(REASONS[code ?? ''] ?? 'FAILED', `${showTarget(target)}: ${code ?? error.message}`, {
    cause: error,
  })
}

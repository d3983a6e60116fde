/** What a user can do about a transfer that has failed. */
import { WeirError } from '../../errors.js'
import type { HostAddress } from '../../wire/net/address.js'
import { isLoopback } from './resolve.js'

/** The error with advice behind its text, if there is any; else the same error. @param mayGoOn some of the file is there, and another transfer goes on from it */
export function withAdvice(
  error: unknown,
  local: HostAddress,
  remote: HostAddress,
  mayGoOn: boolean,
): unknown {
  if (!(error instanceof WeirError)) return error
  const advice = adviceFor(error, local, remote, mayGoOn)
  return advice === null ? error : new WeirError(error.code, `${error.message}: ${advice}`, { cause: error })
}

function adviceFor(
  { code }: WeirError,
  local: HostAddress,
  remote: HostAddress,
  mayGoOn: boolean,
): string | null {
  // A daemon on loopback reaches no other host, which is the most likely reason.
  if (code === 'WEIR_UNREACHABLE' && isLoopback(local) && !isLoopback(remote))
    return `this daemon has the address ${local} only; start it with --address of an interface`
  if (code === 'WEIR_CONNECTION_LOST' && mayGoOn)
    return 'start the transfer again, it goes on where it stopped'
  return null
}

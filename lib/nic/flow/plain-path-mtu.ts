/** Path MTUs towards hosts that are no Weir hosts. */
import { WeirError } from '../../errors.js'
import { PATH_MTUS } from '../../qp/transport-options.js'
import type { NicSettings } from '../config.js'
import { filledPayload } from './filled-payload.js'

/** The greatest path MTU towards a host that is no Weir host: packets collect no telemetry there, so that longer ones fit. */
export function plainPathMtu({ pathMtu, packetBytesMax, address }: NicSettings): number {
  const payload = filledPayload(packetBytesMax, address, null)
  return Math.max(pathMtu, PATH_MTUS.findLast(mtu => mtu <= payload) ?? 0)
}

/**
 * The path MTU of a queue pair that is made by hand. The program gives the other end the same, so another one than it has asked for would
 * end the connection: throws WEIR_BAD_ARGUMENT for more than packets of this NIC take.
 *
 * @param what the kind of queue pair, for the error
 */
export function pathMtuByHand(what: string, asked: number | undefined, settings: NicSettings): number {
  if (asked === undefined) return settings.pathMtu
  const most = plainPathMtu(settings)
  if (asked > most)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `${what}: packets of this host take a path MTU of ${most} at most, not ${asked}`,
    )
  return asked
}

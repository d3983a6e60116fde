import { WeirError } from '../errors.js'
import type { HostAddress } from '../wire/net/address.js'
import type { IntFormat } from '../wire/telemetry/telemetry.js'

/**
 * Throws WEIR_BAD_ARGUMENT for telemetry that a port cannot send. The kernel writes all headers up to UDP on
 * an ordinary socket, and IFA, and IOAM over IPv6, are in front of UDP.
 *
 * @param io name of the port, 'vxlan' in labs
 */
export function checkTelemetry(format: IntFormat, io: string, address: HostAddress): void {
  const isBeforeUdp = format === 'ifa' || (format === 'ioam' && address.family === 6)
  if (!isBeforeUdp || io === 'packet' || io === 'vxlan') return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `telemetry "${format}" is not for the sockets of io "${io}", which write the UDP header; use --io packet, or --int p4-int-md`,
  )
}

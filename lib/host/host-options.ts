import type { NicOptions } from '../daemon/open-nic.js'
import { WeirError } from '../errors.js'
import { printable } from '../printable.js'
import { offer } from '../scenario/model/names.js'

/** Address and settings of the NIC. Only the address is required. */
export interface HostOptions extends NicOptions {
  /**
   * Called once if a defect stops the NIC. All connections are closed then. Default: the error is thrown out
   * of the event loop.
   */
  onDefect?: (error: unknown) => void
}

/** Every name: the compiler refuses a list that lacks one. */
const NAMES = Object.keys({
  address: true,
  port: true,
  io: true,
  sourcePorts: true,
  byFlags: true,
  interface: true,
  lineRateBps: true,
  cc: true,
  anyCc: true,
  connections: true,
  queueDepth: true,
  pathMtu: true,
  baseRttNs: true,
  ackTimeoutNs: true,
  ackEveryPackets: true,
  retryCount: true,
  keepAliveNs: true,
  start: true,
  recovery: true,
  priority: true,
  dscpOfPriority: true,
  cnpPriority: true,
  untaggedCnps: true,
  int: true,
  icrc: true,
  ifaProtocol: true,
  telemetry: true,
  paths: true,
  secret: true,
  busyPoll: true,
  overlay: true,
  onDefect: true,
} satisfies Record<keyof HostOptions, true>) as readonly (keyof HostOptions)[]

/** A copy of the options that has the inherited ones as its own. Throws WEIR_BAD_ARGUMENT for a name that nothing reads. */
export function knownOptions(options: HostOptions): HostOptions {
  for (const name in options) {
    if (NAMES.includes(name as keyof HostOptions)) continue
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `Host.open: there is no option '${printable(name)}'; there are ${offer(name, NAMES)}`,
    )
  }
  const given = NAMES.filter(name => options[name] !== undefined)
  return Object.fromEntries(given.map(name => [name, options[name]])) as unknown as HostOptions
}

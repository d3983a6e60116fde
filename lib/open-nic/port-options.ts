/**
 * Options of a daemon that decide by which port it sends, or that only some ports obey: the one table that its command line, the help and
 * `open-nic.ts` follow.
 */
import { CLASS_SELECTORS, PRIORITY, SOURCE_PORTS } from '../nic/nic-options.js'
import { checkIdleOptions } from '../options/idle.js'
import { type CommandOption, flagOf, type IdleRule } from '../options/option.js'
import { CNP_PRIORITY } from '../qp/transport-options.js'
import { IFA_OPTION } from '../wire/telemetry/int-options.js'
import { IO_NAMES } from './io-names.js'

/** node:dgram cannot set the DSCP of a packet. */
const NO_DSCP: readonly IdleRule[] = [{ while: { io: 'dgram' }, mend: 'io to batch, raw or packet' }]

/** Ordinary sockets see UDP alone. */
const NO_IFA: readonly IdleRule[] = ['batch', 'dgram', 'raw'].map(io => ({
  while: { io },
  mend: 'io to packet',
}))

export const IO = {
  name: 'io',
  kind: 'choice',
  choices: IO_NAMES,
  default: 'auto',
  doc: 'how packets are sent and received',
  command: { flag: '--io <name>', env: 'WEIR_IO' },
} as const satisfies CommandOption

export const PORT_OPTIONS = [
  IO,
  {
    ...SOURCE_PORTS,
    idle: ['packet', 'raw'].map(io => ({ while: { io }, mend: 'io to batch or dgram' })),
  },
  {
    name: 'interface',
    kind: 'text',
    doc: 'network interface to send and receive by',
    idle: [{ while: { io: { not: 'packet' } }, mend: 'io to packet' }],
    command: { flag: '--interface <name>', usual: 'the one that has the address' },
  },
  { ...PRIORITY, idle: NO_DSCP },
  {
    name: 'dscpOfPriority',
    kind: 'text',
    default: CLASS_SELECTORS.join(','),
    doc: 'the eight DSCPs of priorities 0 to 7, each 0 to 63',
    idle: NO_DSCP,
    command: { flag: '--dscp-of-priority <list>' },
  },
  {
    ...IFA_OPTION,
    doc: 'IP protocol of IFA in this network, none of another use here',
    idle: NO_IFA,
  },
  {
    name: 'icrc',
    kind: 'choice',
    choices: ['always', 'none'],
    default: 'always',
    doc: 'packets have an ICRC always, or none between Weir hosts that both say none: the checksum of UDP and the digests of transfers find damaged bytes then',
    idle: ['raw', 'packet'].map(io => ({
      while: { io },
      why: `io is ${io}, whose packets nothing else checks`,
      mend: 'io to batch or dgram',
    })),
    command: { flag: '--icrc <when>' },
  },
  { ...CNP_PRIORITY, idle: NO_DSCP },
] as const satisfies readonly CommandOption[]

/** What a daemon is given of them. */
export interface GivenPortOptions {
  sourcePorts?: number
  interface?: string
  priority?: number
  dscpOfPriority?: readonly number[]
  ifaProtocol?: number
  icrc?: 'always' | 'none'
  cnpPriority?: number
  /** They were typed: messages call them as the command line does. Default false: as programs do. */
  byFlags?: boolean
}

/** Throws WEIR_BAD_ARGUMENT for an option that the port does not obey. @param io the port that is taken, not `auto` */
export function checkPortOptions(
  io: string,
  { interface: device, dscpOfPriority, byFlags, ...more }: GivenPortOptions,
): void {
  const { sourcePorts, priority, ifaProtocol, icrc, cnpPriority } = more
  const given = {
    io,
    sourcePorts,
    interface: device,
    priority,
    dscpOfPriority: dscpOfPriority?.join(','),
    ifaProtocol,
    icrc,
    cnpPriority,
  }
  checkIdleOptions('daemon', PORT_OPTIONS, given, byFlags ? flagOf : undefined)
}
